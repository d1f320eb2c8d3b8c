// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/library/element_writer.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace ndlfs::backends::hdf5 {
namespace {

template <typename T>
T Load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

class ElementWriter {
 public:
  ElementWriter(uint64_t limit, References& references, std::vector<std::byte>& out)
      : limit_(limit), references_(references), out_(out) {}

  // Whether a number had to be rounded.
  bool rounded() const { return rounded_; }

  model::Result<void> Append(const MemoryForm& form, const std::byte* element) {
    switch (form.kind) {
      case MemoryForm::Kind::kBytes:
      case MemoryForm::Kind::kReversed:
        return AppendBytes(element, form.size);
      case MemoryForm::Kind::kWideFloat: {
        const auto nearest = ToFloat64(form.fields, {element, form.size});
        rounded_ |= !nearest.is_exact;
        return AppendBytes(&nearest.value, sizeof(nearest.value));
      }
      case MemoryForm::Kind::kVariableText: {
        const char* text = Load<const char*>(element);
        return AppendText(text ? text : "");
      }
      case MemoryForm::Kind::kVlen:
        return AppendVlen(*form.base, Load<hvl_t>(element));
      case MemoryForm::Kind::kObjectReference:
        return AppendText(references_.ObjectPath(Load<hobj_ref_t>(element)));
      case MemoryForm::Kind::kRegionReference: {
        hdset_reg_ref_t reference;
        std::memcpy(&reference, element, sizeof(reference));
        NDLFS_TRY(const auto text, references_.RegionText(reference));
        return AppendText(text);
      }
      case MemoryForm::Kind::kCompound:
        for (const MemoryForm::Part& part : form.parts) {
          NDLFS_RETURN_IF_ERROR(Append(part.form, element + part.offset));
        }
        return {};
      case MemoryForm::Kind::kArray:
        return AppendSequence(*form.base, element, form.count);
    }
    return model::Internal("unknown form of an element");
  }

  model::Result<void> AppendSequence(const MemoryForm& form, const std::byte* elements,
                                     uint64_t count) {
    if (form.kind == MemoryForm::Kind::kBytes) return AppendBytes(elements, form.size * count);
    for (uint64_t i = 0; i < count; ++i) {
      NDLFS_RETURN_IF_ERROR(Append(form, elements + i * form.size));
    }
    return {};
  }

 private:
  model::Result<void> AppendBytes(const void* bytes, uint64_t size) {
    if (size > limit_ - std::min<uint64_t>(limit_, out_.size())) {
      return model::Limit("elements of more than {} bytes", limit_);
    }
    const auto* begin = static_cast<const std::byte*>(bytes);
    out_.insert(out_.end(), begin, begin + size);
    return {};
  }

  model::Result<void> AppendCount(uint64_t count) {
    if (count > UINT32_MAX) return model::Limit("{} parts in one element", count);
    const auto small = static_cast<uint32_t>(count);
    return AppendBytes(&small, sizeof(small));
  }

  model::Result<void> AppendText(std::string_view text) {
    NDLFS_RETURN_IF_ERROR(AppendCount(text.size()));
    return AppendBytes(text.data(), text.size());
  }

  model::Result<void> AppendVlen(const MemoryForm& base, const hvl_t& vlen) {
    if (vlen.p == nullptr) return AppendCount(0);
    NDLFS_RETURN_IF_ERROR(AppendCount(vlen.len));
    return AppendSequence(base, static_cast<const std::byte*>(vlen.p), vlen.len);
  }

  const uint64_t limit_;
  References& references_;
  std::vector<std::byte>& out_;
  bool rounded_ = false;
};

// Whether there is anything for ReverseNumbers() to do.
bool HasReversed(const MemoryForm& form) {
  return form.kind == MemoryForm::Kind::kReversed || (form.base && HasReversed(*form.base)) ||
         std::any_of(form.parts.begin(), form.parts.end(),
                     [](const MemoryForm::Part& part) { return HasReversed(part.form); });
}

void ReverseElement(const MemoryForm& form, std::byte* element) {
  switch (form.kind) {
    case MemoryForm::Kind::kReversed:
      return std::reverse(element, element + form.size);
    case MemoryForm::Kind::kCompound:
      for (const MemoryForm::Part& part : form.parts) {
        ReverseElement(part.form, element + part.offset);
      }
      return;
    case MemoryForm::Kind::kArray:
      for (uint64_t i = 0; i < form.count; ++i) {
        ReverseElement(*form.base, element + i * form.base->size);
      }
      return;
    case MemoryForm::Kind::kVlen: {
      const auto vlen = Load<hvl_t>(element);
      if (vlen.p != nullptr)
        ReverseNumbers(*form.base, static_cast<std::byte*>(vlen.p), vlen.len);
      return;
    }
    default:
      return;
  }
}

}  // namespace

void ReverseNumbers(const MemoryForm& form, std::byte* elements, uint64_t count) {
  if (!HasReversed(form)) return;
  for (uint64_t i = 0; i < count; ++i) ReverseElement(form, elements + i * form.size);
}

model::Result<bool> AppendElements(const MemoryForm& form, const std::byte* elements,
                                   uint64_t count, uint64_t limit, References& references,
                                   std::vector<std::byte>& out,
                                   std::vector<uint64_t>* offsets) {
  ElementWriter writer(limit, references, out);
  if (offsets == nullptr) {
    NDLFS_RETURN_IF_ERROR(writer.AppendSequence(form, elements, count));
    return writer.rounded();
  }
  for (uint64_t i = 0; i < count; ++i) {
    offsets->push_back(out.size());
    NDLFS_RETURN_IF_ERROR(writer.Append(form, elements + i * form.size));
  }
  return writer.rounded();
}

Bytes MakeElementStream(const std::vector<uint64_t>& offsets,
                        const std::vector<std::byte>& elements) {
  const uint64_t end = elements.size();
  const size_t table = offsets.size() * sizeof(uint64_t);
  Bytes stream(table + sizeof(end) + elements.size());
  if (table != 0) std::memcpy(stream.data(), offsets.data(), table);
  std::memcpy(stream.data() + table, &end, sizeof(end));
  if (end != 0) std::memcpy(stream.data() + table + sizeof(end), elements.data(), end);
  return stream;
}

}  // namespace ndlfs::backends::hdf5
