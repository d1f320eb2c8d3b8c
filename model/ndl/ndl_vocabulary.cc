// SPDX-License-Identifier: MIT
#include "model/ndl/ndl_vocabulary.h"

#include <algorithm>
#include <array>
#include <span>

namespace ndlfs::model {
namespace {

struct Word {
  std::string_view theirs;
  std::string_view ours;
};

constexpr std::array kKeys = {
    Word{"dimensions", "dimcoords"}, Word{"coordinates", "dimcoords"},
    Word{"coords", "dimcoords"},     Word{"variables", "ndarrays"},
    Word{"data_vars", "ndarrays"},   Word{"arrays", "ndarrays"},
    Word{"datasets", "ndarrays"},    Word{"attrs", "attributes"},
    Word{"metadata", "attributes"},  Word{"dims", "shape"},
    Word{"data", "value"},           Word{"datatype", "type"},
    Word{"compressor", "filter"},    Word{"compression", "filter"},
    Word{"codecs", "filter"},        Word{"byteorder", "endian"},
    Word{"byte_order", "endian"},    Word{"encoding", "charset"},
    Word{"length", "size"},
};

constexpr std::string_view kBool = R"({enum: {base: int8, members: {"FALSE": 0, "TRUE": 1}}})";
constexpr std::string_view kComplex64 = "{compound: [{r: float32}, {i: float32}]}";
constexpr std::string_view kComplex128 = "{compound: [{r: float64}, {i: float64}]}";
constexpr std::string_view kDatetime = "int64, with x-datetime: {unit: s} next to the type";
constexpr std::string_view kTimedelta = "int64, with x-timedelta: {unit: s} next to the type";

constexpr std::array kDatatypes = {
#include "model/ndl/datatype_words.inc"
};

// NumPy's type strings without their byte order.
constexpr std::array kNumPyCodes = {
    Word{"i1", "int8"},     Word{"i2", "int16"},      Word{"i4", "int32"},
    Word{"i8", "int64"},    Word{"u1", "uint8"},      Word{"u2", "uint16"},
    Word{"u4", "uint32"},   Word{"u8", "uint64"},     Word{"f2", "float16"},
    Word{"f4", "float32"},  Word{"f8", "float64"},    Word{"b1", kBool},
    Word{"c8", kComplex64}, Word{"c16", kComplex128}, Word{"M8", kDatetime},
    Word{"m8", kTimedelta},
};

std::string_view Find(std::span<const Word> words, std::string_view theirs) {
  const auto found = std::find_if(words.begin(), words.end(),
                                  [&](const Word& word) { return word.theirs == theirs; });
  return found == words.end() ? std::string_view() : found->ours;
}

}  // namespace

std::string_view NdlKeyFor(std::string_view word) { return Find(kKeys, word); }

std::string_view NdlDatatypeFor(std::string_view word) {
  if (const std::string_view ours = Find(kDatatypes, word); !ours.empty()) return ours;
  std::string_view code = word.substr(0, word.find('['));  // "<M8[ns]", "datetime64[ns]"
  if (const std::string_view ours = Find(kDatatypes, code); !ours.empty()) return ours;
  if (!code.empty() && std::string_view("<>=|").find(code.front()) != std::string_view::npos) {
    code.remove_prefix(1);
  }
  if (code.starts_with('S') || code.starts_with('U')) {
    const bool is_sized = code.find_first_not_of("0123456789", 1) == std::string_view::npos;
    return is_sized ? "string" : "";
  }
  return Find(kNumPyCodes, code);
}

}  // namespace ndlfs::model
