// SPDX-License-Identifier: MIT
//
// NDL documents of what a store holds: `.ndl.yaml`, and `ndlfs describe`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/format/hierarchy.h"
#include "cache/array_reader.h"
#include "model/error.h"

namespace ndlfs::fs {

// The reader of the array at a path name; null where it has no data to read.
using ReaderOf =
    std::function<std::shared_ptr<const cache::ArrayReader>(std::string_view path)>;

// The NDL of the object at `path`: of the whole store at "/", of a group and
// all that is below it, or of one array. A store that is one array has it at
// "/"; where that has no name of its own it is called as `store_name` (the name
// of the file or directory) without extension.
//
// Values are read for dimension coordinates and arrays of references of up to
// 1,000 elements, and for scalars; they are left out where reading fails, or
// would take more than a document should (1 MiB of elements, chunks of 64 MiB).
// Objects that cannot be loaded are left out; `errors`, if given, gets a line
// for each. kNotFound where there is no object at `path`. `refused`, if given,
// is called with each error for which a value is left out: if it was the
// system's (kIo), the value may be there at another time.
model::Result<std::string> WriteDocument(
    const backends::Hierarchy& hierarchy, std::string_view store_name, std::string_view path,
    const ReaderOf& reader_of, std::vector<std::string>* errors = nullptr,
    const std::function<void(const model::Error&)>& refused = {});

}  // namespace ndlfs::fs
