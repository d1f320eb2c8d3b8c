// SPDX-License-Identifier: MIT
//
// What libhdf5 says of a datatype, in our terms, and how to have elements of
// it read.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "backends/hdf5/library.h"
#include "backends/hdf5/library/handle.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::backends::hdf5 {

// How an element that the library has read lies in memory.
struct MemoryForm {
  enum class Kind : uint8_t {
    kBytes,            // as it is to be shown
    kVariableText,     // char*
    kVlen,             // hvl_t
    kObjectReference,  // hobj_ref_t
    kRegionReference,  // hdset_reg_ref_t
    kCompound,
    kArray,
  };
  struct Part;

  Kind kind = Kind::kBytes;
  size_t size = 0;
  std::vector<Part> parts;                 // kCompound
  std::shared_ptr<const MemoryForm> base;  // kVlen, kArray
  uint64_t count = 1;                      // kArray
};

struct MemoryForm::Part {
  size_t offset;
  MemoryForm form;
};

struct ElementType {
  // See DatasetInfo.
  model::Datatype type;
  model::Datatype stored;
  bool is_plain = true;
  std::vector<TextRun> text;
  std::optional<model::ByteOrder> stored_order;

  Handle memory;  // the type to read with
  MemoryForm form;
};

// Whether `type` has region references in it, and the same type with these
// being references to elements.
bool HasRegions(const model::Datatype& type);
model::Datatype WithElementRegions(const model::Datatype& type);

// Understands the type of a dataset or attribute. Needs library_mutex.
model::Result<ElementType> ReadElementType(hid_t file_type);

}  // namespace ndlfs::backends::hdf5
