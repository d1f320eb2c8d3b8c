// SPDX-License-Identifier: MIT
#include "model/datatype.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>
#include <utility>

namespace ndlfs::model {
namespace {

constexpr size_t kMaxSwapRuns = 1'000'000;

struct Keyword {
  std::string_view name;
  size_t bytes;
};

// The floats of the language, then those of the extensions.
constexpr std::array kFloatKeywords = {
    Keyword{"float32", 4},        Keyword{"float64", 8},
    Keyword{"float16", 2},        Keyword{"bfloat16", 2},
    Keyword{"float96", 12},       Keyword{"float128", 16},
    Keyword{"float4_e2m1fn", 1},  Keyword{"float6_e2m3fn", 1},
    Keyword{"float6_e3m2fn", 1},  Keyword{"float8_e3m4", 1},
    Keyword{"float8_e4m3", 1},    Keyword{"float8_e4m3b11fnuz", 1},
    Keyword{"float8_e4m3fn", 1},  Keyword{"float8_e4m3fnuz", 1},
    Keyword{"float8_e5m2", 1},    Keyword{"float8_e5m2fnuz", 1},
    Keyword{"float8_e8m0fnu", 1},
};
constexpr std::array kIntegerKeywords = {
    Keyword{"int8", 1},  Keyword{"int16", 2},  Keyword{"int32", 4},  Keyword{"int64", 8},
    Keyword{"uint8", 1}, Keyword{"uint16", 2}, Keyword{"uint32", 4}, Keyword{"uint64", 8},
};

// Positions of the constants, sorted by `key`. Constants with equal keys keep
// their order.
template <typename Key>
std::vector<uint32_t> SortedBy(const std::vector<Datatype::Constant>& constants,
                               Key Datatype::Constant::*key) {
  std::vector<uint32_t> order(constants.size());
  std::iota(order.begin(), order.end(), uint32_t{0});
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return constants[a].*key < constants[b].*key;
  });
  return order;
}

template <typename Key, typename Wanted>
const Datatype::Constant* FindBy(const std::vector<Datatype::Constant>& constants,
                                 const std::vector<uint32_t>& order,
                                 Key Datatype::Constant::*key, const Wanted& wanted) {
  const auto found =
      std::lower_bound(order.begin(), order.end(), wanted,
                       [&](uint32_t i, const Wanted& w) { return constants[i].*key < w; });
  if (found == order.end() || constants[*found].*key != wanted) return nullptr;
  return &constants[*found];
}

// Appends a run; joins it to the last one if both have the same width and
// touch. False if there are too many runs.
bool AppendRun(std::vector<SwapRun>& runs, const SwapRun& run) {
  if (!runs.empty()) {
    SwapRun& last = runs.back();
    if (last.width == run.width && last.offset + last.width * last.count == run.offset) {
      last.count += run.count;
      return true;
    }
  }
  if (runs.size() == kMaxSwapRuns) return false;
  runs.push_back(run);
  return true;
}

// Width in bytes of the numbers that a leaf consists of; 1 if the byte order
// has no meaning.
size_t NumberWidth(const Datatype& leaf) {
  switch (leaf.kind()) {
    case Datatype::Kind::kInteger:
    case Datatype::Kind::kFloat:
      return leaf.size();
    case Datatype::Kind::kString:
      return leaf.charset() == Charset::kUtf32 ? 4 : 1;
    default:
      return 1;
  }
}

bool CollectRuns(const Datatype& type, ByteOrder order, size_t offset,
                 std::vector<SwapRun>& runs) {
  switch (type.kind()) {
    case Datatype::Kind::kEnum:
      return CollectRuns(type.base(), order, offset, runs);
    case Datatype::Kind::kCompound:
      return std::all_of(type.members().begin(), type.members().end(), [&](const auto& m) {
        return CollectRuns(m.type, order, offset + m.offset, runs);
      });
    case Datatype::Kind::kArray: {
      std::vector<SwapRun> inner;
      if (!CollectRuns(type.base(), order, 0, inner)) return false;
      if (inner.empty()) return true;
      // An array of numbers without gaps is a single run.
      const SwapRun& first = inner.front();
      if (inner.size() == 1 && first.width * first.count == type.base().size()) {
        return AppendRun(runs, {offset, first.width, first.count * type.array_length()});
      }
      for (uint64_t i = 0; i < type.array_length(); ++i) {
        for (SwapRun run : inner) {
          run.offset += offset + i * type.base().size();
          if (!AppendRun(runs, run)) return false;
        }
      }
      return true;
    }
    default: {
      const size_t width = NumberWidth(type);
      if (width == 1 || type.order() == order || !type.is_fixed_size()) return true;
      return AppendRun(runs, {offset, width, type.size() / width});
    }
  }
}

// Whether all parts that have a byte order have the same one. Stores that order
// in `found`.
bool CollectOrder(const Datatype& type, std::optional<ByteOrder>& found) {
  switch (type.kind()) {
    case Datatype::Kind::kEnum:
    case Datatype::Kind::kArray:
    case Datatype::Kind::kVlen:
      return CollectOrder(type.base(), found);
    case Datatype::Kind::kCompound:
      return std::all_of(type.members().begin(), type.members().end(),
                         [&](const auto& m) { return CollectOrder(m.type, found); });
    default:
      if (NumberWidth(type) == 1) return true;
      if (found && *found != type.order()) return false;
      found = type.order();
      return true;
  }
}

}  // namespace

Datatype::Datatype() : Datatype(Rep{}) {}

// Many attributes and arrays have few types: types without parts are shared with the last ones
// of the thread.
Datatype::Datatype(Rep rep) {
  constexpr size_t kMost = 8;
  constexpr size_t kLongText = 32;
  thread_local std::array<std::shared_ptr<const Rep>, kMost> last;
  thread_local size_t next = 0;
  const auto key = [](const Rep& r) {
    return std::tie(r.kind, r.fixed, r.is_signed, r.order, r.charset, r.padding, r.selection,
                    r.size, r.text);
  };
  const bool has_parts = rep.base || rep.time || !rep.members.empty() || !rep.constants.empty();
  if (has_parts || rep.text.size() > kLongText) {
    rep_ = std::make_shared<const Rep>(std::move(rep));
    return;
  }
  const auto found = std::ranges::find_if(
      last, [&](const auto& known) { return known && key(*known) == key(rep); });
  rep_ = found != last.end() ? *found : std::make_shared<const Rep>(std::move(rep));
  if (found == last.end()) last[next++ % kMost] = rep_;
}

Datatype Datatype::Integer(size_t bytes, bool is_signed, ByteOrder order) {
  Rep rep;
  rep.kind = Kind::kInteger;
  rep.size = bytes;
  rep.is_signed = is_signed;
  rep.order = order;
  return Datatype(std::move(rep));
}

Datatype Datatype::Time(TimeUnit unit, ByteOrder order) {
  Rep rep = *Integer(8, true, order).rep_;
  rep.time = std::move(unit);
  return Datatype(std::move(rep));
}

Datatype Datatype::Float(std::string_view name, size_t bytes, ByteOrder order) {
  Rep rep;
  rep.kind = Kind::kFloat;
  rep.size = bytes;
  rep.text = name;
  rep.order = order;
  return Datatype(std::move(rep));
}

Datatype Datatype::Float32(ByteOrder order) { return Float("float32", 4, order); }
Datatype Datatype::Float64(ByteOrder order) { return Float("float64", 8, order); }

std::optional<Datatype> Datatype::FromKeyword(std::string_view keyword) {
  for (const Keyword& known : kIntegerKeywords) {
    if (known.name == keyword) return Integer(known.bytes, keyword.front() == 'i');
  }
  for (const Keyword& known : kFloatKeywords) {
    if (known.name == keyword) return Float(known.name, known.bytes);
  }
  return std::nullopt;
}

Datatype Datatype::String(Charset charset) {
  Rep rep;
  rep.kind = Kind::kString;
  rep.fixed = false;
  rep.charset = charset;
  return Datatype(std::move(rep));
}

Datatype Datatype::FixedString(size_t bytes, Charset charset, TextPadding padding,
                               ByteOrder order) {
  Rep rep;
  rep.kind = Kind::kString;
  rep.size = bytes;
  rep.charset = charset;
  rep.padding = padding;
  rep.order = order;
  return Datatype(std::move(rep));
}

Datatype Datatype::Opaque(size_t bytes, std::string tag) {
  Rep rep;
  rep.kind = Kind::kOpaque;
  rep.size = bytes;
  rep.text = std::move(tag);
  return Datatype(std::move(rep));
}

Datatype Datatype::Enum(const Datatype& base, std::vector<Constant> constants) {
  Rep rep;
  rep.kind = Kind::kEnum;
  rep.size = base.size();
  rep.order = base.order();
  rep.depth = base.depth() + 1;
  rep.base = std::make_shared<const Datatype>(base);
  rep.constants = std::move(constants);
  rep.by_name = SortedBy(rep.constants, &Constant::name);
  rep.by_value = SortedBy(rep.constants, &Constant::value);
  return Datatype(std::move(rep));
}

const Datatype::Constant* Datatype::FindConstant(std::string_view name) const {
  return FindBy(rep_->constants, rep_->by_name, &Constant::name, name);
}

const Datatype::Constant* Datatype::FindConstant(WideInt value) const {
  return FindBy(rep_->constants, rep_->by_value, &Constant::value, value);
}

Datatype Datatype::Bool() { return Enum(Integer(1, true), {{"FALSE", 0}, {"TRUE", 1}}); }

Datatype Datatype::ObjectRef() {
  Rep rep;
  rep.kind = Kind::kObjectRef;
  rep.fixed = false;
  return Datatype(std::move(rep));
}

Datatype Datatype::RegionRef(Selection selection) {
  Rep rep;
  rep.kind = Kind::kRegionRef;
  rep.fixed = false;
  rep.selection = selection;
  return Datatype(std::move(rep));
}

Datatype Datatype::Compound(std::vector<Member> members, size_t bytes) {
  Rep rep;
  rep.kind = Kind::kCompound;
  int depth = 0;
  for (const Member& member : members) {
    rep.fixed = rep.fixed && member.type.is_fixed_size();
    depth = std::max(depth, member.type.depth());
  }
  rep.depth = depth + 1;
  rep.size = rep.fixed ? bytes : 0;
  rep.members = std::move(members);
  return Datatype(std::move(rep));
}

Datatype Datatype::PackedCompound(std::vector<Member> members) {
  size_t bytes = 0;
  for (Member& member : members) {
    member.offset = bytes;
    bytes += member.type.size();
  }
  return Compound(std::move(members), bytes);
}

Datatype Datatype::Complex(size_t bytes, ByteOrder order) {
  const Datatype part = bytes == 8 ? Float32(order) : Float64(order);
  return PackedCompound({{"r", part}, {"i", part}});
}

Datatype Datatype::Vlen(const Datatype& base) {
  Rep rep;
  rep.kind = Kind::kVlen;
  rep.fixed = false;
  rep.depth = base.depth() + 1;
  rep.base = std::make_shared<const Datatype>(base);
  return Datatype(std::move(rep));
}

Datatype Datatype::Array(const Datatype& base, std::vector<uint64_t> shape) {
  Rep rep;
  rep.kind = Kind::kArray;
  rep.fixed = base.is_fixed_size();
  rep.depth = base.depth() + 1;
  rep.size = base.size();
  for (const uint64_t extent : shape) rep.size *= extent;
  rep.base = std::make_shared<const Datatype>(base);
  rep.shape = std::move(shape);
  return Datatype(std::move(rep));
}

uint64_t Datatype::array_length() const {
  uint64_t length = 1;
  for (const uint64_t extent : shape()) length *= extent;
  return length;
}

bool Datatype::is_bool() const {
  static const std::vector<Constant> kBool = {{"FALSE", 0}, {"TRUE", 1}};
  return kind() == Kind::kEnum && size() == 1 && constants() == kBool;
}

bool Datatype::is_complex() const {
  if (kind() != Kind::kCompound || members().size() != 2) return false;
  const Member& r = members()[0];
  const Member& i = members()[1];
  return r.name == "r" && i.name == "i" && r.type.kind() == Kind::kFloat &&
         (r.type.keyword() == "float32" || r.type.keyword() == "float64") &&
         r.type.SameLayout(i.type) && r.offset == 0 && i.offset == r.type.size() &&
         size() == 2 * r.type.size();
}

std::string Datatype::keyword() const {
  switch (kind()) {
    case Kind::kInteger:
      return fmt::format("{}int{}", is_signed() ? "" : "u", 8 * size());
    case Kind::kFloat:
      return rep_->text;
    case Kind::kString:
      return "string";
    case Kind::kOpaque:
      return "opaque";
    case Kind::kEnum:
      return "enum";
    case Kind::kObjectRef:
      return "objref";
    case Kind::kRegionRef:
      return "regref";
    case Kind::kCompound:
      return "compound";
    case Kind::kVlen:
      return "vlen";
    case Kind::kArray:
      return "array";
  }
  return {};
}

Datatype Datatype::WithOrder(ByteOrder order) const {
  Rep rep = *rep_;
  rep.order = order;
  if (rep.base) rep.base = std::make_shared<const Datatype>(rep.base->WithOrder(order));
  for (Member& member : rep.members) member.type = member.type.WithOrder(order);
  return Datatype(std::move(rep));
}

std::optional<ByteOrder> Datatype::uniform_order() const {
  std::optional<ByteOrder> found;
  return CollectOrder(*this, found) ? found : std::nullopt;
}

bool operator==(const Datatype& a, const Datatype& b) {
  using Kind = Datatype::Kind;
  if (a.rep_ == b.rep_) return true;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kString:
    case Kind::kObjectRef:
      return true;
    case Kind::kInteger:
      return a.size() == b.size() && a.is_signed() == b.is_signed() && a.time() == b.time();
    case Kind::kFloat:
      return a.keyword() == b.keyword();
    case Kind::kOpaque:
      return a.size() == b.size() && a.tag() == b.tag();
    case Kind::kRegionRef:
      return a.selection() == b.selection();
    case Kind::kEnum:
      return a.base() == b.base() && a.constants() == b.constants();
    case Kind::kVlen:
      return a.base() == b.base();
    case Kind::kArray:
      return a.base() == b.base() && a.shape() == b.shape();
    case Kind::kCompound:
      return std::equal(
          a.members().begin(), a.members().end(), b.members().begin(), b.members().end(),
          [](const auto& x, const auto& y) { return x.name == y.name && x.type == y.type; });
  }
  return false;
}

bool Datatype::SameLayout(const Datatype& other) const {
  if (rep_ == other.rep_) return true;
  if (!(*this == other) || size() != other.size() || order() != other.order() ||
      charset() != other.charset() || padding() != other.padding() ||
      is_fixed_size() != other.is_fixed_size()) {
    return false;
  }
  if (rep_->base && !base().SameLayout(other.base())) return false;
  return std::equal(members().begin(), members().end(), other.members().begin(),
                    [](const Member& x, const Member& y) {
                      return x.offset == y.offset && x.type.SameLayout(y.type);
                    });
}

Result<std::vector<SwapRun>> PlanByteSwap(const Datatype& type, ByteOrder order) {
  std::vector<SwapRun> runs;
  if (!CollectRuns(type, order, 0, runs)) {
    return Limit("a type with more than {} runs of numbers to be byte-swapped", kMaxSwapRuns);
  }
  // Members that overlap would be reversed twice.
  std::sort(runs.begin(), runs.end(),
            [](const SwapRun& a, const SwapRun& b) { return a.offset < b.offset; });
  for (size_t i = 1; i < runs.size(); ++i) {
    if (runs[i - 1].offset + runs[i - 1].width * runs[i - 1].count > runs[i].offset) {
      return Unsupported("overlapping members that have to be byte-swapped");
    }
  }
  return runs;
}

}  // namespace ndlfs::model
