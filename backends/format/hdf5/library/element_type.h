// SPDX-License-Identifier: MIT
//
// The datatypes of libhdf5 as datatypes of NDL, and how the library has to read elements of
// them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "backends/format/hdf5/library/handle.h"
#include "backends/format/hdf5/library/library.h"
#include "backends/format/hdf5/library/wide_float.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::backends::hdf5 {

// How an element that the library has read lies in memory.
struct MemoryForm {
  enum class Kind : uint8_t {
    kBytes,            // as it is to be shown
    kReversed,         // a number, to be shown with its bytes in reverse
    kWideFloat,        // a number of the format `fields`, to be shown as a float64
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
  FloatFields fields = {};                 // kWideFloat
};

struct MemoryForm::Part {
  size_t offset;
  MemoryForm form;
};

struct ElementType {
  // See DatasetInfo. `stored` has the size of an element in the file, even if is_plain is false
  // and `stored` says nothing else.
  model::Datatype type;
  model::Datatype stored;
  bool is_plain = true;
  std::vector<TextRun> text;
  std::optional<model::ByteOrder> stored_order;

  Handle memory;  // the type to read with
  MemoryForm form;
};

// Whether `type` contains region references; and the same type with references to elements
// instead.
bool HasRegions(const model::Datatype& type);
model::Datatype WithElementRegions(const model::Datatype& type);

// How floats are read that have no exact float64.
enum class WideFloats : uint8_t {
  kStored,   // NumPy's long double, or opaque bytes
  kNearest,  // the float64 that is nearest
};

// Translates the type of a dataset or attribute. Needs library_mutex.
model::Result<ElementType> ReadElementType(hid_t file_type,
                                           WideFloats wide_floats = WideFloats::kStored);

}  // namespace ndlfs::backends::hdf5
