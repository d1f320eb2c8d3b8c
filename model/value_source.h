// SPDX-License-Identifier: MIT
//
// The extension key `x-source` of NDL documents: where the values of an array, or the contents
// of a group, come from if they are not in the document.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ndlfs::model {

// The parts of a join by their names. Names are relative to the folder of the document.
struct FileSet {
  enum class Form : uint8_t {
    kGlob,     // names[0] has wildcards; in the order of the names
    kList,     // `names`, in this order
    kNumbers,  // names[0] has a %d, for `from`, `from + step` ... up to `to`
    kDates,    // names[0] has %Y, %m ..., for the dates from `first` to `last`
  };
  Form form = Form::kGlob;
  std::vector<std::string> names;
  int64_t from = 0;
  int64_t to = 0;
  // For kNumbers; for kDates it counts `unit`s. Never 0, and positive for dates.
  int64_t step = 1;
  std::string first;
  std::string last;
  std::string unit;  // s, min, h, d, mon, y
  bool operator==(const FileSet&) const = default;
};

// How the elements of a flat file lie in it.
struct FlatFile {
  uint64_t offset = 0;
  std::optional<uint64_t> trailer;
  bool fortran_order = false;
  bool has_records = false;  // Fortran's, with markers
  enum class Bits : uint8_t { kNone, kLowestFirst, kHighestFirst };
  Bits bits = Bits::kNone;
  bool operator==(const FlatFile&) const = default;
};

struct ValueSource {
  enum class Kind : uint8_t {
    kFile,   // an array in a flat file
    kStore,  // an object of another store
    kJoin,   // many files or stores, one after the other along a dimension
    kUnion,  // of a group: the objects of several stores
  };
  Kind kind = Kind::kFile;
  // kFile: the file; kStore: the store.
  std::string name;
  // kStore, kJoin: the object in the stores; empty: the one with the path name of this entity.
  std::string path;
  // kFile; kJoin of flat files.
  std::optional<FlatFile> flat;
  // kJoin
  FileSet files;
  // The dimension by its name or number.
  std::variant<uint64_t, std::string> along = uint64_t{0};
  // The sizes of the parts along it; one number for all; empty: not known.
  std::vector<uint64_t> sizes;
  bool unpack = false;
  bool fills_missing = false;  // a part that is absent is fill values
  // How far coordinates of parts may differ. 0: not at all.
  double tolerance = 0;
  // kUnion
  std::vector<std::string> stores;
  // For an array: whether the document has its type and its shape. If not, they are those of
  // the source.
  bool has_type = true;
  bool has_shape = true;

  bool operator==(const ValueSource&) const = default;
};

// An optional ValueSource that takes little memory if it is empty.
class ValueSourcePtr {
 public:
  ValueSourcePtr() = default;
  ValueSourcePtr(ValueSource source)  // NOLINT: implicit, like std::optional
      : source_(std::make_shared<const ValueSource>(std::move(source))) {}
  explicit operator bool() const { return source_ != nullptr; }
  const ValueSource& operator*() const { return *source_; }
  const ValueSource* operator->() const { return source_.get(); }
  friend bool operator==(const ValueSourcePtr& a, const ValueSourcePtr& b) {
    return a.source_ == b.source_ || (a.source_ && b.source_ && *a.source_ == *b.source_);
  }

 private:
  std::shared_ptr<const ValueSource> source_;
};

}  // namespace ndlfs::model
