// SPDX-License-Identifier: MIT
#include "backends/format/chunk_encoding.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace ndlfs::backends {
namespace {

using model::Datatype;

// Codecs of bytes that every numcodecs has, and those of its filters that give back elements of
// the type that they were given. All programs that read Zarr v2 with numcodecs know them.
constexpr std::array<std::string_view, 8> kBytesCodecs = {"blosc", "bz2",     "gzip", "lz4",
                                                          "lzma",  "shuffle", "zlib", "zstd"};
constexpr std::array<std::string_view, 6> kArrayFilters = {
    "astype", "bitround", "delta", "fixedscaleoffset", "packbits", "quantize"};
constexpr std::array<std::string_view, 2> kVariableCodecs = {"vlen-bytes", "vlen-utf8"};
constexpr std::string_view kNumcodecs = "numcodecs.";

bool IsOneOf(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

std::string TextOf(const Json& object, const char* key) {
  const auto member = object.is_object() ? object.find(key) : object.end();
  return member != object.end() && member->is_string() ? member->get<std::string>() : "";
}

int64_t NumberOf(const Json& object, const char* key, int64_t low, int64_t high,
                 int64_t otherwise) {
  const auto member = object.find(key);
  if (member == object.end() || !member->is_number_integer()) return otherwise;
  const auto value = member->get<int64_t>();
  return value < low || value > high ? otherwise : value;
}

// The number in an element that is made of numbers of one kind.
Datatype ItemOf(const Datatype& type) {
  Datatype item = type;
  while (item.kind() == Datatype::Kind::kArray) item = Datatype(item.base());
  return item;
}

// Zarr v2 names the byte order of each number, v3 one for all. Of other elements than numbers,
// only little-endian ones are described.
bool HasOrderInWords(const Datatype& stored) {
  if (!stored.is_fixed_size()) return true;
  if (stored.SameLayout(stored.WithOrder(model::ByteOrder::kLittle))) return true;
  const Datatype item = ItemOf(stored);
  return item.kind() == Datatype::Kind::kInteger || item.kind() == Datatype::Kind::kFloat ||
         item.kind() == Datatype::Kind::kEnum || item.is_complex();
}

Json BytesCodec(const Datatype& stored) {
  Json codec = {{"name", "bytes"}};
  const auto order = ItemOf(stored).uniform_order();
  if (order) {
    codec["configuration"] = {{"endian", *order == model::ByteOrder::kBig ? "big" : "little"}};
  }
  return codec;
}

size_t NumberBytes(const Datatype& stored) {
  return stored.is_fixed_size() ? std::max<size_t>(1, ItemOf(stored).size()) : 1;
}

// The words of numcodecs for shuffles of Blosc, and those of v3.
constexpr std::array<std::string_view, 3> kShuffles = {"noshuffle", "shuffle", "bitshuffle"};

Json BloscV3(const Json& codec, const Datatype& stored) {
  const size_t bytes = NumberBytes(stored);
  int64_t shuffle = NumberOf(codec, "shuffle", -1, 2, 1);
  if (shuffle < 0) shuffle = bytes == 1 ? 2 : 1;
  const std::string compressor = TextOf(codec, "cname");
  return {{"cname", compressor.empty() ? "lz4" : compressor},
          {"clevel", NumberOf(codec, "clevel", 0, 9, 5)},
          {"shuffle", kShuffles[static_cast<size_t>(shuffle)]},
          {"typesize", std::min<size_t>(bytes, 255)},
          {"blocksize", NumberOf(codec, "blocksize", 0, INT32_MAX, 0)}};
}

// A codec of numcodecs in the words of v3, with the parameters that decoding needs; those of
// compressing are as the source has them where they make sense.
std::optional<Json> ToZarr3(const Json& codec, const Datatype& stored) {
  const std::string id = TextOf(codec, "id");
  const auto named = [](std::string name, Json configuration) {
    return Json{{"name", std::move(name)}, {"configuration", std::move(configuration)}};
  };
  if (id == "gzip") return named(id, {{"level", NumberOf(codec, "level", 0, 9, 1)}});
  if (id == "zstd") {
    return named(id,
                 {{"level", NumberOf(codec, "level", -131072, 22, 0)}, {"checksum", false}});
  }
  if (id == "blosc") return named(id, BloscV3(codec, stored));
  if (id == "lzma" && NumberOf(codec, "format", 0, 3, 1) > 2) return std::nullopt;
  if (!IsOneOf(id, kBytesCodecs)) return std::nullopt;
  Json configuration = codec;
  configuration.erase("id");
  return named(std::string(kNumcodecs) + id, std::move(configuration));
}

std::optional<Json> BloscV2(const Json& configuration) {
  Json codec = {{"id", "blosc"}};
  const std::string shuffle = TextOf(configuration, "shuffle");
  const auto found = std::ranges::find(kShuffles, shuffle);
  if (found == kShuffles.end()) return std::nullopt;
  const std::string compressor = TextOf(configuration, "cname");
  codec["cname"] = compressor.empty() ? "lz4" : compressor;
  codec["clevel"] = NumberOf(configuration, "clevel", 0, 9, 5);
  codec["shuffle"] = found - kShuffles.begin();
  codec["blocksize"] = NumberOf(configuration, "blocksize", 0, INT32_MAX, 0);
  return codec;
}

// A codec of bytes of v3 in the words of numcodecs.
std::optional<Json> ToNumcodecs(const std::string& name, const Json& configuration) {
  if (name == "blosc") return BloscV2(configuration);
  if (name == "gzip") {
    return Json{{"id", name}, {"level", NumberOf(configuration, "level", 0, 9, 1)}};
  }
  if (name == "zstd") {
    return Json{{"id", name}, {"level", NumberOf(configuration, "level", -131072, 22, 0)}};
  }
  if (!name.starts_with(kNumcodecs)) return std::nullopt;
  const std::string id = name.substr(kNumcodecs.size());
  if (!IsOneOf(id, kBytesCodecs)) return std::nullopt;
  Json codec = configuration;
  codec["id"] = id;
  return codec;
}

// The members of a .zarray for these codecs, the last of which is the compressor.
Json WordsV2(std::string_view order, Json filters) {
  Json compressor;
  const std::string last = filters.empty() ? "" : TextOf(filters.back(), "id");
  if (IsOneOf(last, kBytesCodecs) && last != "shuffle") {
    compressor = filters.back();
    filters.erase(filters.size() - 1);
  }
  return {{"order", order},
          {"filters", filters.empty() ? Json() : std::move(filters)},
          {"compressor", std::move(compressor)}};
}

Json TransposeToC(size_t rank) {
  Json order = Json::array();
  for (size_t d = rank; d-- > 0;) order.push_back(d);
  return {{"name", "transpose"}, {"configuration", {{"order", std::move(order)}}}};
}

// Of a codec of v3: {"name": ..., "configuration": ...}, or the name alone.
std::pair<std::string, Json> SplitCodec(const Json& codec) {
  if (codec.is_string()) return {codec.get<std::string>(), Json::object()};
  const auto configuration = codec.is_object() ? codec.find("configuration") : codec.end();
  const bool has_one = configuration != codec.end() && configuration->is_object();
  return {TextOf(codec, "name"), has_one ? *configuration : Json::object()};
}

// What is known of `codecs` of v3 while they are gone through.
struct ReadV3 {
  Json words = Json::array();
  std::optional<Json> numcodecs = Json::array();
  std::string_view order = "C";
  bool has_bytes = false;
};

// Nothing of elements that are arrays is transposed.
bool AddTranspose(const Json& configuration, const Datatype& stored, size_t rank,
                  ReadV3& read) {
  const auto order = configuration.find("order");
  const bool is_list = order != configuration.end() && order->is_array();
  if (!is_list || stored.kind() == Datatype::Kind::kArray) return false;
  const bool is_reversed =
      *order == TransposeToC(rank)["configuration"]["order"] && read.words.empty();
  read.words.push_back({{"name", "transpose"}, {"configuration", {{"order", *order}}}});
  read.order = "F";
  if (!is_reversed) read.numcodecs = std::nullopt;
  return true;
}

bool AddV3(const Json& codec, const Datatype& stored, size_t rank, ReadV3& read) {
  const auto [name, configuration] = SplitCodec(codec);
  if (name == "transpose" && !read.has_bytes) {
    return AddTranspose(configuration, stored, rank, read);
  }
  if (name == "bytes" || IsOneOf(name, kVariableCodecs)) {
    if (std::exchange(read.has_bytes, true) || (name == "bytes") != stored.is_fixed_size()) {
      return false;
    }
    read.words.push_back(name == "bytes" ? BytesCodec(stored) : Json{{"name", name}});
    if (name != "bytes" && read.numcodecs) read.numcodecs->push_back({{"id", name}});
    return true;
  }
  if (!read.has_bytes) return false;
  const auto numcodecs = ToNumcodecs(name, configuration);
  if (!numcodecs && name != "crc32c") return false;
  read.words.push_back({{"name", name}, {"configuration", configuration}});
  if (name == "crc32c") {
    read.words.back().erase("configuration");
    read.numcodecs = std::nullopt;
  }
  if (read.numcodecs) read.numcodecs->push_back(*numcodecs);
  return true;
}

bool IsKnownV2(const Json& codec, bool is_fixed, bool is_first) {
  const std::string id = TextOf(codec, "id");
  if (!is_fixed && is_first) return IsOneOf(id, kVariableCodecs);
  return IsOneOf(id, kBytesCodecs) || (is_fixed && IsOneOf(id, kArrayFilters));
}

// v3 words for codecs of v2; nullopt if one is more than a codec of bytes.
std::optional<Json> WordsV3(const Datatype& stored, const Json& numcodecs, bool is_fortran,
                            size_t rank) {
  Json words = Json::array();
  if (is_fortran && rank > 1) words.push_back(TransposeToC(rank));
  size_t first = 0;
  if (stored.is_fixed_size()) {
    words.push_back(BytesCodec(stored));
  } else {
    words.push_back({{"name", TextOf(numcodecs[first++], "id")}});
  }
  for (size_t i = first; i < numcodecs.size(); ++i) {
    auto word = ToZarr3(numcodecs[i], stored);
    if (!word) return std::nullopt;
    words.push_back(*std::move(word));
  }
  return words;
}

bool HasOnlyBytesCodecs(const Json& numcodecs) {
  return std::ranges::all_of(
      numcodecs, [](const Json& codec) { return IsOneOf(TextOf(codec, "id"), kBytesCodecs); });
}

}  // namespace

std::optional<ChunkEncoding> DescribeEncoding(const Datatype& stored, Json codecs) {
  if (!stored.is_fixed_size() || !HasOrderInWords(stored) || !HasOnlyBytesCodecs(codecs)) {
    return std::nullopt;
  }
  ChunkEncoding encoding{.stored = stored};
  encoding.zarr3 = WordsV3(stored, codecs, false, 0);
  encoding.zarr2 = WordsV2("C", codecs);
  encoding.bytes_codecs = std::move(codecs);
  return encoding;
}

std::optional<ChunkEncoding> DescribeZarr2Encoding(const Datatype& stored, const Json& filters,
                                                   const Json& compressor, bool is_fortran,
                                                   size_t rank) {
  Json codecs = filters.is_array() ? filters : Json::array();
  if (!compressor.is_null()) codecs.push_back(compressor);
  const bool is_fixed = stored.is_fixed_size();
  const bool turns_arrays = is_fortran && stored.kind() == Datatype::Kind::kArray;
  if (!HasOrderInWords(stored) || turns_arrays || (!is_fixed && codecs.empty())) {
    return std::nullopt;
  }
  for (size_t i = 0; i < codecs.size(); ++i) {
    if (!IsKnownV2(codecs[i], is_fixed, i == 0)) return std::nullopt;
  }
  ChunkEncoding encoding{.stored = stored};
  encoding.is_fortran = is_fortran && rank > 1;
  encoding.zarr2 = Json{{"order", is_fortran ? "F" : "C"},
                        {"filters", filters.empty() ? Json() : filters},
                        {"compressor", compressor}};
  // Old readers do not know this parameter of compressing.
  Json& own = (*encoding.zarr2)["compressor"];
  if (TextOf(own, "id") == "zstd") own.erase("checksum");
  encoding.zarr3 = WordsV3(stored, codecs, is_fortran, rank);
  if (is_fixed && HasOnlyBytesCodecs(codecs)) encoding.bytes_codecs = std::move(codecs);
  return encoding;
}

std::optional<ChunkEncoding> DescribeZarr3Encoding(const Datatype& stored, const Json& codecs,
                                                   size_t rank) {
  if (!codecs.is_array() || !HasOrderInWords(stored)) return std::nullopt;
  ReadV3 read;
  for (const Json& codec : codecs) {
    if (!AddV3(codec, stored, rank, read)) return std::nullopt;
  }
  if (!read.has_bytes) return std::nullopt;
  ChunkEncoding encoding{.stored = stored};
  encoding.zarr3 = std::move(read.words);
  encoding.is_fortran = read.order == "F" && rank > 1;
  if (read.numcodecs) {
    encoding.zarr2 = WordsV2(read.order, *read.numcodecs);
    if (stored.is_fixed_size()) encoding.bytes_codecs = *std::move(read.numcodecs);
  }
  return encoding;
}

}  // namespace ndlfs::backends
