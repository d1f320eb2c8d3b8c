// SPDX-License-Identifier: MIT
//
// NDL documents of the objects in a store, for `.ndl.yaml` and
// `ndlfs describe`.
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

// Returns the reader of the array at a path name; null if the array has no data
// to read.
using ReaderOf =
    std::function<std::shared_ptr<const cache::ArrayReader>(std::string_view path)>;

// Takes the next part of a text. Its error ends the writing.
using TextSink = std::function<model::Result<void>(std::string_view text)>;

// Writes the NDL document of the object at `path` to `sink`: of the whole store at "/", of a
// group with all that is below it, or of one array. A store that is one array has that array at
// "/". If the array has no name, the document calls it `store_name` (the name of the file or
// directory) without the extension.
//
// The document has the values of scalars, and of dimension coordinates and arrays of references
// with up to 1,000 elements. It leaves out a value that cannot be read, that has more than 1
// MiB of elements, or that needs a chunk of more than 64 MiB. Calls `refused`, if given, with
// the path name of the array and the reason for each of these; after an error of the system, a
// later call may find the value. The document leaves out objects that cannot be loaded, and
// adds a line for each to `errors`, if given. kNotFound if there is no object at `path`. Keeps
// few objects in memory, however many there are.
model::Result<void> WriteDocument(const backends::Hierarchy& hierarchy,
                                  std::string_view store_name, std::string_view path,
                                  const ReaderOf& reader_of, const TextSink& sink,
                                  std::vector<std::string>* errors = nullptr,
                                  const std::function<void(const model::Error&)>& refused = {});

}  // namespace ndlfs::fs
