// SPDX-License-Identifier: MIT
#include "fs/view/place/fits_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "fs/view/base/array_part.h"
#include "fs/view/base/attributes.h"
#include "fs/view/place/image_place.h"
#include "model/number_text.h"

namespace ndlfs::fs {
namespace {

// Keywords of one axis ("CRPIX2"), and of two axes, or of an axis and a number ("CD1_2").
constexpr std::array<std::string_view, 7> kOfOneAxis = {"CTYPE", "CUNIT", "CRVAL", "CDELT",
                                                        "CRPIX", "CROTA", "CNAME"};
constexpr std::array<std::string_view, 4> kOfTwo = {"CD", "PC", "PV", "PS"};
// The older names of some, which readers know, are kept.
constexpr std::string_view kOfAll[] = {
    "LONPOLE",  "LATPOLE",  "RADESYS",  "RADECSYS", "EQUINOX", "EPOCH",    "RESTFRQ",
    "RESTFREQ", "RESTWAV",  "SPECSYS",  "SSYSOBS",  "SSYSSRC", "VELOSYS",  "VELREF",
    "ZSOURCE",  "OBSGEO-X", "OBSGEO-Y", "OBSGEO-Z", "MJD-OBS", "MJDREF",   "DATEREF",
    "DATE-OBS", "TIMESYS",  "TREFPOS",  "OBJECT",   "EXPTIME", "DATE-BEG", "DATE-AVG",
    "DATE-END", "MJD-BEG",  "MJD-AVG",  "MJD-END",  "MJDREFI", "MJDREFF",  "TIMEUNIT",
    "TELESCOP", "INSTRUME", "OBSERVER", "BTYPE",    "BMAJ",    "BMIN",     "BPA",
    "VELANGL",  "WCSNAME",  "OBSGEO-L", "OBSGEO-B", "OBSGEO-H"};
// Those that are of the projection in the same header.
constexpr std::string_view kOfPlace[] = {"LONPOLE", "LATPOLE", "WCSNAME"};
// Projections of the sky (FITS 4.0, table 13, and what others have added).
constexpr std::string_view kProjections[] = {
    "AZP", "SZP", "TAN", "STG", "SIN", "ARC", "ZPN", "ZEA", "AIR", "CYP", "CEA",
    "CAR", "MER", "SFL", "PAR", "MOL", "AIT", "COP", "COE", "COD", "COO", "BON",
    "PCO", "TSC", "CSC", "QSC", "HPX", "XPH", "NCP", "GLS", "TPV"};
// Those whose parameters are in other cards, or in tables.
constexpr std::string_view kElsewhereCodes[] = {"TNX", "ZPX", "TAB"};

struct CardName {
  std::string_view root;
  size_t first = 0;
  std::optional<size_t> second;
};

// A polynomial of distortion (SIP), in pixels from the reference pixel: "A_ORDER", "AP_1_2".
bool IsOfDistortion(std::string_view name) {
  for (const std::string_view root : {"A_", "B_", "AP_", "BP_"}) {
    if (!name.starts_with(root)) continue;
    const std::string_view rest = name.substr(root.size());
    const auto is_digit = [&](size_t i) { return rest[i] >= '0' && rest[i] <= '9'; };
    if (rest == "ORDER" || rest == "DMAX") return true;
    return rest.size() == 3 && is_digit(0) && rest[1] == '_' && is_digit(2);
  }
  return false;
}

// The letters of "RA---TAN" that name what the coordinates are computed by; empty for others.
std::string_view AlgorithmOf(std::string_view type) {
  return type.size() >= 8 && type[4] == '-' ? type.substr(5, 3) : std::string_view();
}

std::optional<CardName> ParseName(std::string_view name) {
  const auto split = [&](const auto& roots, bool has_second) -> std::optional<CardName> {
    for (const std::string_view root : roots) {
      if (!name.starts_with(root)) continue;
      std::string_view rest = name.substr(root.size());
      const auto first = model::TakeNumber<size_t>(rest);
      if (!first || *first == 0) continue;
      CardName found{root, *first, std::nullopt};
      if (has_second && rest.starts_with('_')) {
        rest.remove_prefix(1);
        found.second = model::TakeNumber<size_t>(rest);
      }
      if (rest.empty() && found.second.has_value() == has_second) return found;
    }
    return std::nullopt;
  };
  auto found = split(kOfOneAxis, false);
  return found ? found : split(kOfTwo, true);
}

// Whether a card is about the place of an image, or about its extents.
bool IsCardOfPlace(std::string_view name) {
  return name.starts_with("NAXIS") || name.starts_with("ZNAXIS") || IsOfDistortion(name) ||
         ParseName(name) || std::ranges::count(kOfPlace, name) != 0;
}

bool IsFitsImage(const std::vector<model::Attribute>& attributes) {
  return model::FindAttribute(attributes, "SIMPLE") != nullptr ||
         model::FindAttribute(attributes, "XTENSION") != nullptr;
}

// How an axis of the source, counted from 1 as FITS counts them, is shown.
struct ShownAxis {
  size_t number = 0;  // 0: only one index of it is shown
  double begin = 0;
  double step = 1;
};

class WorldMover {
 public:
  explicit WorldMover(const ArrayInput& input)
      : attributes_((input.part ? input.part->whole : input).node->attributes()) {
    const size_t rank = input.part ? input.part->selection.size() : input.shape.size();
    for (size_t n = 1; n <= rank; ++n) {
      const ImageAxis axis = AxisInPart(input, rank - n);
      axes_.push_back(
          {axis.dimension ? input.shape.size() - *axis.dimension : 0, axis.first, axis.step});
    }
  }

  FitsWorld Make() {
    // The header of a compressed image is that of a table.
    const auto compressed = NumberOf(attributes_, "ZNAXIS");
    const auto rank = compressed ? compressed : NumberOf(attributes_, "NAXIS");
    has_place_ =
        IsFitsImage(attributes_) && rank == static_cast<double>(axes_.size()) && CanBeMoved();
    for (const model::Attribute& attribute : attributes_) Add(attribute);
    if (!has_place_) return std::move(world_);
    AddMissingDiagonal();
    AddMoved();
    return std::move(world_);
  }

 private:
  const model::Attribute* Find(std::string_view name) const {
    return model::FindAttribute(attributes_, name);
  }
  bool HasMatrix(std::string_view root) const {
    return std::ranges::any_of(attributes_, [&](const model::Attribute& attribute) {
      const auto name = ParseName(attribute.name);
      return name && name->root == root;
    });
  }

  bool CanBeMoved() const {
    for (const std::string_view name : {"CPDIS1", "CPDIS2", "CQDIS1", "D2IMDIS1", "D2IMDIS2"}) {
      if (Find(name) != nullptr) return false;
    }
    for (size_t n = 1; n <= axes_.size(); ++n) {
      const std::string type = TextOf(attributes_, fmt::format("CTYPE{}", n));
      const std::string_view algorithm = AlgorithmOf(type);
      if (std::ranges::count(kElsewhereCodes, algorithm) != 0) return false;
      const bool is_of_sky = std::ranges::count(kProjections, algorithm) != 0;
      if (is_of_sky && axes_[n - 1].number == 0) return false;
      if (axes_[n - 1].step != 1 && !CanHaveStep(type)) return false;
    }
    return !IsCoupledToDropped();
  }

  bool CanHaveStep(std::string_view type) const {
    if (type.ends_with("-SIP") || Find("A_ORDER") != nullptr) return false;
    for (size_t n = 1; n <= axes_.size(); ++n) {
      if (NumberOf(attributes_, fmt::format("CROTA{}", n)).value_or(0) != 0) return false;
    }
    return true;
  }

  // Whether a coordinate that is shown depends on the pixel of an axis that is not.
  bool IsCoupledToDropped() const {
    return std::ranges::any_of(attributes_, [&](const model::Attribute& attribute) {
      const auto name = ParseName(attribute.name);
      if (!name || (name->root != "CD" && name->root != "PC")) return false;
      const size_t second = *name->second;
      if (name->first > axes_.size() || second == 0 || second > axes_.size()) return false;
      const bool is_across =
          (axes_[name->first - 1].number == 0) != (axes_[second - 1].number == 0);
      return is_across && NumberOf(attributes_, attribute.name).value_or(0) != 0;
    });
  }

  void Add(const model::Attribute& attribute) {
    const auto name = ParseName(attribute.name);
    if (name && has_place_) return AddOfAxis(*name, attribute);
    const bool is_of_place =
        IsOfDistortion(attribute.name) || std::ranges::count(kOfPlace, attribute.name) != 0;
    const bool is_of_all = std::ranges::count(kOfAll, attribute.name) != 0;
    if (is_of_place ? has_place_ : is_of_all) AddCard(attribute.name, attribute, 1, 0);
  }

  void AddOfAxis(const CardName& name, const model::Attribute& attribute) {
    if (name.first > axes_.size() || axes_[name.first - 1].number == 0) return;
    world_.has_place = true;
    const ShownAxis& axis = axes_[name.first - 1];
    const bool is_matrix = name.root == "CD" || name.root == "PC";
    if (!name.second) {
      const std::string keyword = fmt::format("{}{}", name.root, axis.number);
      if (name.root == "CRPIX") {
        return AddCard(keyword, attribute, 1 / axis.step, 1 - (1 + axis.begin) / axis.step);
      }
      const bool is_scaled = name.root == "CDELT" && !HasMatrix("PC") && !HasMatrix("CD");
      return AddCard(keyword, attribute, is_scaled ? axis.step : 1, 0);
    }
    if (!is_matrix) {
      return AddCard(fmt::format("{}{}_{}", name.root, axis.number, *name.second), attribute, 1,
                     0);
    }
    if (*name.second == 0 || *name.second > axes_.size()) return;
    const ShownAxis& pixels = axes_[*name.second - 1];
    if (pixels.number == 0) return;
    AddCard(fmt::format("{}{}_{}", name.root, axis.number, pixels.number), attribute,
            pixels.step, 0);
  }

  // Elements of PC that are not there are those of the unit matrix.
  void AddMissingDiagonal() {
    if (!HasMatrix("PC")) return;
    for (size_t n = 1; n <= axes_.size(); ++n) {
      const ShownAxis& axis = axes_[n - 1];
      if (axis.number == 0 || axis.step == 1 || Find(fmt::format("PC{}_{}", n, n))) continue;
      world_.cards.push_back({fmt::format("PC{}_{}", axis.number, axis.number),
                              RealOfFits(fmt::format("{}", axis.step))});
    }
  }

  bool HasPlace(size_t n) const {
    return std::ranges::any_of(kOfOneAxis, [&](std::string_view root) {
      return Find(fmt::format("{}{}", root, n)) != nullptr;
    });
  }

  // A reference pixel that is not there is 0, and an increment is 1.
  void AddMoved() {
    const bool has_matrix = HasMatrix("PC") || HasMatrix("CD");
    for (size_t n = 1; n <= axes_.size(); ++n) {
      const ShownAxis& axis = axes_[n - 1];
      if (axis.number == 0 || !HasPlace(n)) continue;
      const double first = 1 - (1 + axis.begin) / axis.step;
      if (first != 0 && !Find(fmt::format("CRPIX{}", n))) {
        world_.cards.push_back(
            {fmt::format("CRPIX{}", axis.number), RealOfFits(fmt::format("{}", first))});
      }
      if (axis.step != 1 && !has_matrix && !Find(fmt::format("CDELT{}", n))) {
        world_.cards.push_back(
            {fmt::format("CDELT{}", axis.number), RealOfFits(fmt::format("{}", axis.step))});
      }
    }
  }

  // A number becomes factor * number + summand.
  void AddCard(std::string keyword, const model::Attribute& attribute, double factor,
               double summand) {
    constexpr size_t kMostText = 60;
    constexpr size_t kMostKeyword = 8;
    if (keyword.size() > kMostKeyword) return;
    if (const std::string* text = attribute.value.text()) {
      std::string plain = PrintableAscii(*text);
      if (plain.size() <= kMostText) {
        world_.cards.push_back({std::move(keyword), std::move(plain), true});
      }
      return;
    }
    const auto* integer = attribute.value.integer();
    if (integer != nullptr && factor == 1 && summand == 0) {
      world_.cards.push_back({std::move(keyword), model::FormatInteger(*integer)});
    } else if (const auto number = NumberOf(attributes_, attribute.name)) {
      const double moved = *number * factor + summand;
      if (!std::isfinite(moved)) return;
      world_.cards.push_back({std::move(keyword), RealOfFits(fmt::format("{}", moved))});
    }
  }

  const std::vector<model::Attribute>& attributes_;
  std::vector<ShownAxis> axes_;
  bool has_place_ = false;  // the cards of axes say where the shown elements are
  FitsWorld world_;
};

}  // namespace

std::string RealOfFits(std::string text) {
  std::ranges::replace(text, 'e', 'E');
  if (text.find_first_of(".E") == std::string::npos) text += '.';
  return text;
}

FitsWorld WorldOf(const ArrayInput& input) { return WorldMover(input).Make(); }

void MoveCards(const ArrayInput& part, std::vector<model::Attribute>& attributes) {
  if (!IsFitsImage(attributes)) return;
  std::erase_if(attributes,
                [](const auto& attribute) { return IsCardOfPlace(attribute.name); });
  const auto add = [&](std::string name, model::Value value) {
    attributes.push_back(
        {std::move(name), model::Datatype::Float64(), {}, std::move(value), {}});
  };
  add("NAXIS", static_cast<double>(part.shape.size()));
  for (FitsCard& card : WorldOf(part).cards) {
    if (!IsCardOfPlace(card.keyword)) continue;
    const auto number = model::ParseNumber<double>(card.value);
    if (card.is_text) {
      attributes.push_back(model::MakeTextAttribute(std::move(card.keyword), card.value));
    } else if (number) {
      add(std::move(card.keyword), *number);
    }
  }
}

}  // namespace ndlfs::fs
