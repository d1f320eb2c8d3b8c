// SPDX-License-Identifier: MIT
//
// Any bytes as a file of GRIB messages: each is found, its headers read, its fields decoded,
// and the coordinates of its points computed. The first byte says where the search begins.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/codec/grib/coordinates.h"
#include "backends/codec/grib/field_codec.h"
#include "backends/codec/grib/message.h"
#include "backends/codec/grib/projection.h"
#include "tests/backends/codec/grib_goldens.h"

namespace ndlfs::backends {
namespace {

constexpr uint64_t kMaxPoints = 1 << 16;

void FuzzCoordinates(const GribGrid& grid) {
  (void)MapOfGribGrid(grid);
  std::vector<double> points(grid.points);
  for (const auto coordinate : {GribCoordinate::kLatitude, GribCoordinate::kLongitude}) {
    (void)GribPoints(grid, coordinate, points);
    if (grid.ni > kMaxPoints || grid.nj > kMaxPoints) continue;
    const auto axis = GribAxis(grid, coordinate);
    if (axis && axis->size() > kMaxPoints) std::abort();
  }
}

void FuzzField(ConstByteSpan message, const GribMessage& headers, size_t number) {
  const GribField& field = headers.fields[number];
  if (field.points > kMaxPoints) return;
  if (field.grid && field.grid->points <= kMaxPoints && field.grid->parallels < 64) {
    FuzzCoordinates(*field.grid);
  }
  // Bytes that differ before are the same afterwards.
  std::vector<float> values(field.points, 1), again(field.points, 2);
  const bool is_good = DecodeGribField(message, headers, field, std::span(values)).has_value();
  if (is_good != DecodeGribField(message, headers, field, std::span(again)).has_value()) {
    std::abort();
  }
  if (is_good && !values.empty() &&
      std::memcmp(values.data(), again.data(), values.size() * sizeof(float)) != 0) {
    std::abort();
  }
  const ChunkForm form{model::Datatype::Float64(), {field.points}};
  Bytes decoded(*form.byte_size());
  GribFieldOptions options;
  options.field = number;
  options.north_up = options.adjust_longitude_range = true;
  (void)MakeGribFieldCodec(options)->Decode(message, form, decoded.span());
}

void FuzzGrib(ConstByteSpan input) {
  if (input.empty()) return;
  const auto start = std::to_integer<uint64_t>(input[0]);
  const ConstByteSpan file = input.subspan(1);
  GribReader reader(
      [file](uint64_t offset, ByteSpan out) -> model::Result<void> {
        if (offset > file.size() || out.size() > file.size() - offset) std::abort();
        if (!out.empty()) std::memcpy(out.data(), file.data() + offset, out.size());
        return {};
      },
      file.size(), start % 64 + 1);
  uint64_t at = start < 128 ? 0 : std::min<uint64_t>(start - 128, file.size());
  while (true) {
    const auto found = reader.Find(at);
    if (!found || !*found) return;
    if (**found < at) std::abort();
    const auto message = reader.Parse(**found);
    at = **found + 4;
    if (!message) continue;
    if (message->size > file.size() - message->offset || message->fields.empty()) std::abort();
    const ConstByteSpan bytes = file.subspan(message->offset, message->size);
    const size_t fields = std::min<size_t>(message->fields.size(), 8);
    for (size_t i = 0; i < fields; ++i) FuzzField(bytes, *message, i);
    at = message->offset + message->size;
  }
}

}  // namespace
}  // namespace ndlfs::backends

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ndlfs::backends::FuzzGrib(std::as_bytes(std::span(data, size)));
  return 0;
}

// Beside what libFuzzer does, a mutation that is a message someone wrote.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  using namespace ndlfs::backends;
  if (seed % 64 != 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string_view hex = kGribGoldens[seed / 64 % std::size(kGribGoldens)].message;
  if (max_size < 1 + hex.size() / 2) return LLVMFuzzerMutate(data, size, max_size);
  data[0] = 63;
  for (size_t i = 0; i < hex.size() / 2; ++i) {
    data[1 + i] = static_cast<uint8_t>(
        std::strtoul(std::string(hex.substr(2 * i, 2)).c_str(), nullptr, 16));
  }
  return 1 + hex.size() / 2;
}
