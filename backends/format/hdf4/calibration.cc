// SPDX-License-Identifier: MIT
#include "backends/format/hdf4/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "model/attributes.h"

namespace ndlfs::backends::hdf4 {
namespace {

constexpr std::string_view kOffset = "add_offset";
constexpr std::string_view kStoredOffset = "hdf4_add_offset";

}  // namespace

bool KeepsToCf(const std::vector<model::Attribute>& of_file) {
  for (const char* name : {"Conventions", "conventions"}) {
    const std::string text = model::TextOf(of_file, name);
    if (text.find("CF-") != text.npos || text.find("COARDS") != text.npos) return true;
  }
  return false;
}

std::string SayCalibrationInCf(bool is_cf, std::vector<model::Attribute>& attributes) {
  const auto scale = model::NumberOf(attributes, "scale_factor");
  const auto offset = model::NumberOf(attributes, kOffset);
  if (is_cf || !scale || !offset || *offset == 0) return {};
  if (model::FindAttribute(attributes, kStoredOffset) != nullptr) return {};
  const double of_cf = -*scale * *offset;
  if (!std::isfinite(of_cf)) return {};
  const auto found = std::ranges::find(attributes, kOffset, &model::Attribute::name);
  model::Attribute stored = *found;
  stored.name = kStoredOffset;
  // As wide as the scale factor: CF takes the type of the values from both.
  const auto* factor = model::FindAttribute(attributes, "scale_factor");
  const bool is_single = factor->type.kind() == model::Datatype::Kind::kFloat &&
                         factor->type.size() == sizeof(float);
  found->type = is_single ? model::Datatype::Float32() : model::Datatype::Float64();
  found->shape = {};
  found->value = is_single ? static_cast<double>(static_cast<float>(of_cf)) : of_cf;
  const std::string note = fmt::format(
      "add_offset {} is to be subtracted before scaling, as HDF4 has it; it is shown as CF's, "
      "{}. The file's own number is in {}",
      model::FormatFloat(*offset), model::FormatFloat(of_cf), kStoredOffset);
  attributes.push_back(std::move(stored));
  return note;
}

}  // namespace ndlfs::backends::hdf4
