// SPDX-License-Identifier: MIT
#include "backends/format/npy/npy_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "backends/base/checked.h"
#include "backends/base/load_number.h"
#include "backends/base/numpy_dtype.h"
#include "backends/format/npy/literal.h"
#include "model/utf8.h"

namespace ndlfs::backends {
namespace {

using model::BadInput;
using model::Quote;

constexpr size_t kPrologueSize = 12;                    // magic, version, the longer length
constexpr size_t kMaxHeaderLength = size_t{256} << 10;  // some 12,000 fields
constexpr size_t kMaxRank = 64;                         // NumPy 2's; 32 before

struct Prologue {
  int version;  // 1, 2 or 3
  uint64_t header_offset;
  uint64_t header_length;
};

model::Result<Prologue> ParsePrologue(ConstByteSpan bytes) {
  const std::string_view magic = AsText(bytes).substr(0, kNpyMagic.size());
  if (magic != kNpyMagic) return BadInput("not an NPY file: begins with {}", Quote(magic));
  if (bytes.size() < 8) return BadInput("ends before its version");
  const int major = static_cast<uint8_t>(bytes[6]);
  const int minor = static_cast<uint8_t>(bytes[7]);
  if (major < 1 || major > 3 || minor != 0) {
    return model::Unsupported("NPY version {}.{}", major, minor);
  }
  const size_t width = major == 1 ? 2 : 4;
  if (bytes.size() < 8 + width) return BadInput("ends before the length of its header");
  return Prologue{major, 8 + width,
                  LoadNumber(bytes.subspan(8, width), model::ByteOrder::kLittle)};
}

// The text of the header, as UTF-8.
model::Result<std::string> ReadHeaderText(const Store& store, std::string_view key,
                                          const Prologue& prologue) {
  if (prologue.header_length > kMaxHeaderLength) {
    return model::Limit("a header of {} bytes, more than {}", prologue.header_length,
                        kMaxHeaderLength);
  }
  std::string text(prologue.header_length, '\0');
  NDLFS_TRY(const auto count, store.ReadInto(key, prologue.header_offset,
                                             std::as_writable_bytes(std::span(text))));
  if (count.value_or(0) < text.size()) {
    return BadInput("ends after {} of the {} bytes of its header", count.value_or(0),
                    text.size());
  }
  if (prologue.version < 3) return model::Latin1ToUtf8(text);
  if (!model::IsUtf8(text)) return BadInput("the header is not UTF-8");
  return text;
}

model::Result<std::vector<uint64_t>> ParseShape(const Literal& literal) {
  if (literal.kind != Literal::Kind::kTuple) {
    return BadInput("expected a tuple, found {}", literal.Describe());
  }
  if (literal.items.size() > kMaxRank) {
    return model::Limit("{} dimensions, more than {}", literal.items.size(), kMaxRank);
  }
  std::vector<uint64_t> shape;
  for (const Literal& item : literal.items) {
    if (item.kind != Literal::Kind::kInteger || item.integer < 0) {
      return BadInput("expected a size, found {}", item.Describe());
    }
    shape.push_back(static_cast<uint64_t>(item.integer));
  }
  return shape;
}

// The shape of a subarray; of one dimension it may be a number alone, and the
// number 1 means none at all.
model::Result<std::vector<uint64_t>> ParseFieldShape(const Literal& literal) {
  if (literal.kind != Literal::Kind::kInteger || literal.integer < 0) {
    return ParseShape(literal);
  }
  if (literal.integer == 1) return std::vector<uint64_t>();
  return std::vector<uint64_t>{static_cast<uint64_t>(literal.integer)};
}

model::Result<NumpyDescr> ParseDescr(const Literal& literal);

// (name, type) or (name, type, shape); a name may be (title, name).
model::Result<NumpyField> ParseField(const Literal& literal) {
  const auto& items = literal.items;
  if (literal.kind != Literal::Kind::kTuple || items.size() < 2 || items.size() > 3) {
    return BadInput("expected (name, type) or (name, type, shape), found {}",
                    literal.Describe());
  }
  const Literal* name = &items[0];
  if (name->kind == Literal::Kind::kTuple && name->items.size() == 2) name = &name->items[1];
  if (name->kind != Literal::Kind::kString) {
    return BadInput("expected the name of a field, found {}", name->Describe());
  }
  NDLFS_TRY(NumpyDescr type, ParseDescr(items[1]), "field " + Quote(name->text));
  if (items.size() == 3) {
    NDLFS_TRY(auto shape, ParseFieldShape(items[2]), "field " + Quote(name->text));
    type = NumpySubarray(std::move(type), std::move(shape));
  }
  return NumpyField{name->text, std::move(type)};
}

model::Result<NumpyDescr> ParseDescr(const Literal& literal) {
  NumpyDescr descr;
  if (literal.kind == Literal::Kind::kString) {
    descr.typestr = literal.text;
    return descr;
  }
  if (literal.kind == Literal::Kind::kTuple && literal.items.size() == 2) {
    NDLFS_TRY(descr, ParseDescr(literal.items[0]));
    NDLFS_TRY(auto shape, ParseFieldShape(literal.items[1]));
    return NumpySubarray(std::move(descr), std::move(shape));
  }
  if (literal.kind != Literal::Kind::kList) {
    return BadInput("expected a NumPy type, found {}", literal.Describe());
  }
  descr.kind = NumpyDescr::Kind::kFields;
  for (const Literal& item : literal.items) {
    NDLFS_TRY(auto field, ParseField(item));
    descr.fields.push_back(std::move(field));
  }
  return descr;
}

// The type; why a valid one cannot be shown is an answer as well.
model::Result<model::Result<model::Datatype>> ParseDtype(const Literal& literal) {
  NDLFS_TRY(const NumpyDescr descr, ParseDescr(literal));
  auto dtype = NumpyDtype(descr);
  if (!dtype && dtype.error().code() != model::ErrorCode::kUnsupported) {
    return model::Propagate(std::move(dtype).error());
  }
  return dtype;
}

model::Result<const Literal*> Require(const Literal& dict, std::string_view key) {
  if (const Literal* value = dict.Find(key)) return value;
  return BadInput("no {}", Quote(key));
}

// NumPy, too, takes these three keys and no others.
model::Result<void> CheckKeys(const Literal& dict) {
  for (size_t i = 0; i < dict.items.size(); i += 2) {
    const Literal& key = dict.items[i];
    const bool known =
        key.kind == Literal::Kind::kString &&
        (key.text == "descr" || key.text == "fortran_order" || key.text == "shape");
    if (!known) return BadInput("unknown key: {}", key.Describe());
  }
  return {};
}

model::Result<void> MeasureData(NpyHeader& header) {
  const auto count = CheckedProduct(header.shape);
  const auto size = CheckedProduct(header.shape, header.dtype ? header.dtype->size() : 0);
  if (!count || !size || *count > kMaxViewSize || *size > kMaxViewSize) {
    return model::Limit("shape ({}) is more than can be addressed",
                        fmt::join(header.shape, ", "));
  }
  header.element_count = *count;
  header.data_size = *size;
  return {};
}

model::Result<NpyHeader> ParseHeader(const std::string& text) {
  NDLFS_TRY(const Literal dict, ParseLiteral(text));
  if (dict.kind != Literal::Kind::kDict) {
    return BadInput("expected a dict, found {}", dict.Describe());
  }
  NDLFS_RETURN_IF_ERROR(CheckKeys(dict));
  NDLFS_TRY(const Literal* descr, Require(dict, "descr"));
  NDLFS_TRY(const Literal* fortran_order, Require(dict, "fortran_order"));
  NDLFS_TRY(const Literal* shape, Require(dict, "shape"));

  NpyHeader header;
  NDLFS_TRY(header.dtype, ParseDtype(*descr), "descr");
  if (fortran_order->kind != Literal::Kind::kBool) {
    return BadInput("fortran_order: expected True or False, found {}",
                    fortran_order->Describe());
  }
  header.fortran_order = fortran_order->boolean;
  NDLFS_TRY(header.shape, ParseShape(*shape), "shape");
  NDLFS_RETURN_IF_ERROR(MeasureData(header));
  return header;
}

}  // namespace

model::Result<NpyHeader> ReadNpyHeader(const Store& store, std::string_view key) {
  std::array<std::byte, kPrologueSize> buffer;
  NDLFS_TRY(const auto count, store.ReadInto(key, 0, buffer));
  if (!count) return model::NotFound("there is no such file");
  NDLFS_TRY(const Prologue prologue, ParsePrologue(ConstByteSpan(buffer).first(*count)));
  NDLFS_TRY(const std::string text, ReadHeaderText(store, key, prologue));
  NDLFS_TRY(NpyHeader header, ParseHeader(text), "header");
  header.data_offset = prologue.header_offset + prologue.header_length;
  return header;
}

}  // namespace ndlfs::backends
