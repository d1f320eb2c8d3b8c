// SPDX-License-Identifier: MIT
//
// Chunks that are messages of GRIB: "gribberish" of Zarr v3, "grib" of kerchunk (a filter of
// Zarr v2, and Zarr v3), and the codec of stores of GRIB files.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "backends/codec/factories.h"
#include "backends/codec/grib/field_codec.h"
#include "backends/codec/grib/order.h"

namespace ndlfs::backends {
namespace {

constexpr NumberType kGribDouble{NumberType::Kind::kFloat, sizeof(double)};

bool HasRows(const GribGrid* grid) {
  return grid && !grid->is_reduced() && grid->ni != 0 && grid->nj != 0;
}

// The column that becomes the first one when longitudes are to rise from -180; nullopt for
// grids that do not go around the earth once, with longitudes that rise.
std::optional<uint64_t> FirstWrappedColumn(const std::vector<double>& longitudes) {
  if (longitudes.size() < 2) return std::nullopt;
  const double step = longitudes[1] - longitudes[0];
  const double span = step * static_cast<double>(longitudes.size());
  if (step <= 0 || std::abs(span - 360) >= step / 4) return std::nullopt;
  const auto wrapped = [](double longitude) {
    return longitude >= 180 ? longitude - 360 : longitude;
  };
  const auto first =
      std::min_element(longitudes.begin(), longitudes.end(),
                       [&](double a, double b) { return wrapped(a) < wrapped(b); });
  return static_cast<uint64_t>(first - longitudes.begin());
}

// As gribberish has them: longitudes in [0, 360), but if the grid begins below 0.
void NormalizeLongitudes(const GribGrid& grid, std::vector<double>& longitudes) {
  for (double& longitude : longitudes) {
    if (longitude < 0 && grid.first_longitude >= 0) longitude += 360;
    if (longitude >= 360) longitude -= 360;
  }
}

class GribFieldCodec final : public ArrayToBytesCodec {
 public:
  GribFieldCodec(std::string_view name, const GribFieldOptions& options)
      : name_(name), options_(options) {}

  std::string_view name() const override { return name_; }
  std::optional<uint64_t> EncodedSize(const ChunkForm&) const override { return std::nullopt; }
  // A message may have many fields, and values of more bits than the elements.
  uint64_t MaxEncodedSize(const ChunkForm& form) const override {
    const uint64_t size = form.byte_size().value_or(kMaxViewSize);
    return size > kMaxViewSize / 128 ? kMaxViewSize : 64 * size + (uint64_t{64} << 20);
  }

  model::Result<void> Decode(ConstByteSpan encoded, const ChunkForm& form,
                             ByteSpan decoded) const override {
    const auto type = NumberTypeOf(form.dtype);
    if (!type) return model::Unsupported("elements of {}", form.dtype.keyword());
    NDLFS_TRY(const GribMessage headers, ParseGribMessage(encoded));
    if (options_.field >= headers.fields.size()) {
      return model::Corrupt("a message of {} fields, without field {}", headers.fields.size(),
                            options_.field);
    }
    const GribField& field = headers.fields[options_.field];
    const auto make = [&](auto out) { return Make(encoded, headers, field, out); };
    const bool is_plain = type->is_float() && !type->format && !type->swapped &&
                          (!options_.through || options_.through->size == type->size);
    const auto address = reinterpret_cast<uintptr_t>(decoded.data());
    if (is_plain && type->size == sizeof(float) && address % alignof(float) == 0) {
      return make(std::span(reinterpret_cast<float*>(decoded.data()), decoded.size() / 4));
    }
    if (is_plain && type->size == sizeof(double) && address % alignof(double) == 0) {
      return make(std::span(reinterpret_cast<double*>(decoded.data()), decoded.size() / 8));
    }
    Bytes doubles(decoded.size() / type->size * sizeof(double));
    NDLFS_RETURN_IF_ERROR(make(
        std::span(reinterpret_cast<double*>(doubles.data()), doubles.size() / sizeof(double))));
    Convert(doubles, *type, decoded);
    return {};
  }

 private:
  void Convert(const Bytes& doubles, const NumberType& type, ByteSpan out) const {
    const size_t count = doubles.size() / sizeof(double);
    if (!options_.through) {
      return ConvertNumbers(kGribDouble, doubles.data(), type, out.data(), count);
    }
    Bytes between(count * options_.through->size);
    ConvertNumbers(kGribDouble, doubles.data(), *options_.through, between.data(), count);
    ConvertNumbers(*options_.through, between.data(), type, out.data(), count);
  }

  template <typename T>
  model::Result<void> Make(ConstByteSpan encoded, const GribMessage& headers,
                           const GribField& field, std::span<T> out) const {
    const GribGrid* grid = field.grid.get();
    if (options_.coordinate) {
      if (!grid) return model::Unsupported("coordinates of a grid that is only numbered");
      const bool is_axis = options_.axes && HasGribAxes(*grid);
      return is_axis ? MakeAxis(*grid, out) : MakePoints(*grid, out);
    }
    NDLFS_RETURN_IF_ERROR(DecodeGribField(encoded, headers, field, out));
    if (options_.order == GribOrder::kStored) return {};
    if (grid && !IsGribInRows(*grid)) {
      if (!HasRows(grid) && !(grid->is_reduced() && !grid->j_consecutive())) {
        return model::Unsupported("scan mode {} of a grid without rows", grid->scan_mode);
      }
      OrderGribRows(*grid, out);
    }
    return Adjust(grid, out);
  }

  template <typename T>
  model::Result<void> Adjust(const GribGrid* grid, std::span<T> rows) const {
    if (!HasRows(grid)) return {};
    if (options_.adjust_longitude_range && HasGribAxes(*grid)) {
      NDLFS_TRY(auto longitudes, GribAxis(*grid, GribCoordinate::kLongitude));
      NormalizeLongitudes(*grid, longitudes);
      const auto first = FirstWrappedColumn(longitudes);
      if (first) RollGribRows(grid->ni, *first, rows);
    }
    if (options_.north_up && grid->j_positive()) FlipGribRows(grid->ni, rows);
    return {};
  }

  template <typename T>
  model::Result<void> MakeAxis(const GribGrid& grid, std::span<T> out) const {
    NDLFS_TRY(std::vector<double> axis, GribAxis(grid, *options_.coordinate));
    if (axis.size() != out.size()) {
      return model::Corrupt("an axis of {} points, expected {}", axis.size(), out.size());
    }
    if (*options_.coordinate == GribCoordinate::kLatitude) {
      if (options_.north_up && grid.j_positive()) std::reverse(axis.begin(), axis.end());
    } else {
      NormalizeLongitudes(grid, axis);
      if (options_.adjust_longitude_range) Wrap(axis);
    }
    std::transform(axis.begin(), axis.end(), out.begin(),
                   [](double value) { return static_cast<T>(value); });
    return {};
  }

  static void Wrap(std::vector<double>& longitudes) {
    const auto first = FirstWrappedColumn(longitudes);
    if (!first) return;
    for (double& longitude : longitudes) {
      if (longitude >= 180) longitude -= 360;
    }
    RollGribRows(longitudes.size(), *first, std::span(longitudes));
  }

  template <typename T>
  model::Result<void> MakePoints(const GribGrid& grid, std::span<T> out) const {
    if (grid.points != out.size()) {
      return model::Corrupt("a field of {} points, expected {}", grid.points, out.size());
    }
    std::vector<double> points(out.size());
    NDLFS_RETURN_IF_ERROR(GribPoints(grid, *options_.coordinate, points));
    if (options_.order == GribOrder::kRows) {
      if (options_.north_up && HasRows(&grid) && grid.j_positive()) {
        FlipGribRows(grid.ni, std::span(points));
      }
    } else if (!IsGribInRows(grid)) {
      if (grid.is_reduced() && grid.j_consecutive()) {
        return model::Unsupported("scan mode {} of a reduced grid", grid.scan_mode);
      }
      OrderGribAsStored(grid, std::span(points));
    }
    std::transform(points.begin(), points.end(), out.begin(),
                   [](double value) { return static_cast<T>(value); });
    return {};
  }

  const std::string_view name_;
  const GribFieldOptions options_;
};

model::Result<bool> FlagMember(const CodecConfig& config, const char* key) {
  const Json* member = FindMember(config, key);
  if (!member) return false;
  if (!member->is_boolean()) {
    return model::BadInput("{}: expected true or false, found {}", key, DescribeJson(*member));
  }
  return member->get<bool>();
}

model::Result<std::optional<GribCoordinate>> CoordinateMember(const CodecConfig& config) {
  NDLFS_TRY(const auto var, TextMember(config, "var"));
  if (var == "latitude") return GribCoordinate::kLatitude;
  if (var == "longitude") return GribCoordinate::kLongitude;
  return std::nullopt;
}

model::Result<NumberType> ElementType(const CodecConfig& config) {
  const auto type = NumberTypeOf(config.form->dtype);
  if (type) return *type;
  return model::Unsupported("elements of {}", config.form->dtype.keyword());
}

model::Result<AnyCodec> ParseGribberish(const CodecConfig& config) {
  NDLFS_RETURN_IF_ERROR(
      RefuseOtherMembers(config, {"var", "adjust_longitude_range", "north_up"}));
  NDLFS_RETURN_IF_ERROR(ElementType(config));
  GribFieldOptions options;
  NDLFS_TRY(options.coordinate, CoordinateMember(config));
  NDLFS_TRY(options.adjust_longitude_range, FlagMember(config, "adjust_longitude_range"));
  NDLFS_TRY(options.north_up, FlagMember(config, "north_up"));
  options.axes = true;
  return NewCodec<GribFieldCodec>("gribberish", options);
}

model::Result<model::Datatype> ParseGribDtype(const CodecConfig& config, bool is_coordinate) {
  if (const Json* member = FindMember(config, "dtype")) return ParseNumberDtype(*member);
  return is_coordinate ? model::Datatype::Float64() : model::Datatype::Float32();
}

model::Result<AnyCodec> ParseGrib(const CodecConfig& config) {
  const bool is_numcodecs =
      config.dialect == CodecDialect::kNumcodecs || config.name.starts_with("numcodecs.");
  NDLFS_RETURN_IF_ERROR(RefuseOtherMembers(
      config, {"var", "dtype", config.dialect == CodecDialect::kNumcodecs ? "id" : "var"}));
  GribFieldOptions options;
  options.order = GribOrder::kStored;
  NDLFS_TRY(options.coordinate, CoordinateMember(config));
  NDLFS_TRY(const NumberType elements, ElementType(config));
  NDLFS_TRY(const model::Datatype dtype, ParseGribDtype(config, options.coordinate.has_value()),
            "dtype");
  const NumberType made = *NumberTypeOf(dtype);
  if (is_numcodecs) {
    // The bytes that the filter makes are the elements.
    if (made.kind != elements.kind || made.size != elements.size ||
        made.swapped != elements.swapped || made.format != elements.format) {
      return model::BadInput("dtype {}, but elements of {}", dtype.keyword(),
                             config.form->dtype.keyword());
    }
  } else {
    options.through = made;
  }
  return NewCodec<GribFieldCodec>("grib", options);
}

}  // namespace

std::shared_ptr<const ArrayToBytesCodec> MakeGribFieldCodec(const GribFieldOptions& options) {
  return std::make_shared<const GribFieldCodec>("grib", options);
}

static CodecResult MakeGrib(const CodecConfig& config) {
  auto codec = ParseGrib(config);
  if (!codec) return model::Propagate(std::move(codec).error(), "grib");
  return codec;
}

static CodecResult MakeGribberish(const CodecConfig& config) {
  auto codec = ParseGribberish(config);
  if (!codec) return model::Propagate(std::move(codec).error(), "gribberish");
  return codec;
}

const CodecEntry kGribEntry = {"grib", "grib", "", MakeGrib};
const CodecEntry kGribberishEntry = {"gribberish", "", "", MakeGribberish};

}  // namespace ndlfs::backends
