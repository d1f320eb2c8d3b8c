// SPDX-License-Identifier: MIT
//
// parquet.thrift of apache/parquet-format: the structs from FileMetaData down. Numbers of
// fields are those of that file.
#include "backends/parquet/footer.h"

#include <optional>
#include <string_view>
#include <utility>

#include "backends/base/checked.h"
#include "backends/codec/little_endian.h"
#include "backends/parquet/thrift.h"

namespace ndlfs::backends::parquet {
namespace {

using Thrift = ThriftReader::Type;

constexpr std::string_view kMagic = "PAR1";
constexpr std::string_view kEncryptedMagic = "PARE";
constexpr size_t kTail = 8;  // the size of the footer, and the magic text
constexpr size_t kMaxSchemaElements = 10'000;
constexpr size_t kMaxChunks = 100'000;

struct SchemaElement {
  std::optional<uint64_t> type;
  uint64_t fixed_size = 0;
  uint64_t repetition = 0;
  uint64_t children = 0;
  std::string_view name;
};
constexpr uint64_t kOptional = 1, kRepeated = 2;

SchemaElement ReadSchemaElement(ThriftReader& from) {
  SchemaElement element;
  from.ReadStruct([&](int id, Thrift type) {
    switch (id) {
      case 1:
        element.type = from.ReadSize(type);
        return true;
      case 2:
        element.fixed_size = from.ReadSize(type);
        return true;
      case 3:
        element.repetition = from.ReadSize(type);
        return true;
      case 4:
        element.name = from.ReadText(type);
        return true;
      case 5:
        element.children = from.ReadSize(type);
        return true;
      default:
        return false;
    }
  });
  return element;
}

// A column chunk, and what makes it unreadable.
struct ReadChunk {
  ColumnChunk chunk;
  bool is_elsewhere = false;
  bool is_encrypted = false;
};

void ReadColumnMetaData(ThriftReader& from, ColumnChunk& chunk) {
  uint64_t data = 0;
  std::optional<uint64_t> dictionary;
  from.ReadStruct([&](int id, Thrift type) {
    switch (id) {
      case 4:
        chunk.compression = from.ReadSize(type);
        return true;
      case 5:
        chunk.values = from.ReadSize(type);
        return true;
      case 7:
        chunk.size = from.ReadSize(type);
        return true;
      case 9:
        data = from.ReadSize(type);
        return true;
      case 11:
        dictionary = from.ReadSize(type);
        return true;
      default:
        return false;
    }
  });
  // Some writers have 0 for "no dictionary".
  chunk.begin = dictionary && *dictionary != 0 && *dictionary < data ? *dictionary : data;
}

ReadChunk ReadColumnChunk(ThriftReader& from) {
  ReadChunk read;
  from.ReadStruct([&](int id, Thrift type) {
    switch (id) {
      case 1:
        read.is_elsewhere = !from.ReadText(type).empty();
        return true;
      case 3:
        if (type != Thrift::kStruct) from.Fail();
        ReadColumnMetaData(from, read.chunk);
        return true;
      case 8:
      case 9:
        read.is_encrypted = true;
        return false;
      default:
        return false;
    }
  });
  return read;
}

// The parts of FileMetaData as they are read.
class FooterReader {
 public:
  explicit FooterReader(ConstByteSpan bytes) : from_(bytes) {}

  model::Result<Footer> Read(uint64_t pages_end) {
    from_.ReadStruct([this](int id, Thrift type) { return ReadField(id, type); });
    if (is_encrypted_) return model::Unsupported("an encrypted table");
    if (is_elsewhere_) return model::Unsupported("columns in other files");
    if (!from_.ok()) return model::Corrupt("invalid metadata");
    NDLFS_RETURN_IF_ERROR(MakeColumns());
    NDLFS_RETURN_IF_ERROR(CheckGroups(pages_end));
    return std::move(footer_);
  }

 private:
  bool ReadField(int id, Thrift type) {
    switch (id) {
      case 2:
        if (type != Thrift::kList) from_.Fail();
        from_.ReadList(Thrift::kStruct, [this] {
          if (schema_.size() == kMaxSchemaElements) from_.Fail();
          schema_.push_back(ReadSchemaElement(from_));
        });
        return true;
      case 3:
        footer_.rows = from_.ReadSize(type);
        return true;
      case 4:
        if (type != Thrift::kList) from_.Fail();
        from_.ReadList(Thrift::kStruct, [this] { ReadGroup(); });
        return true;
      case 8:
        is_encrypted_ = true;
        return false;
      default:
        return false;
    }
  }

  void ReadGroup() {
    RowGroup group;
    from_.ReadStruct([&](int id, Thrift type) {
      if (id == 3) {
        group.rows = from_.ReadSize(type);
        return true;
      }
      if (id != 1) return false;
      if (type != Thrift::kList) from_.Fail();
      from_.ReadList(Thrift::kStruct, [&] {
        const ReadChunk read = ReadColumnChunk(from_);
        is_elsewhere_ = is_elsewhere_ || read.is_elsewhere;
        is_encrypted_ = is_encrypted_ || read.is_encrypted;
        group.chunks.push_back(read.chunk);
        if (++chunks_ > kMaxChunks) from_.Fail();
      });
      return true;
    });
    if (++chunks_ > kMaxChunks) from_.Fail();  // a group without columns counts, too
    footer_.groups.push_back(std::move(group));
  }

  // The schema is a tree in depth-first order. Columns directly below its root are kept.
  model::Result<void> MakeColumns() {
    if (schema_.empty()) return model::Corrupt("no schema");
    size_t at = 1;
    for (uint64_t i = 0; i < schema_[0].children; ++i) {
      if (at >= schema_.size()) return model::Corrupt("the schema ends early");
      const SchemaElement& element = schema_[at];
      if (element.children != 0 || element.repetition == kRepeated || !element.type) {
        NDLFS_RETURN_IF_ERROR(SkipTree(at));
        continue;
      }
      ++at;
      if (*element.type > static_cast<uint64_t>(Type::kFixedByteArray)) {
        return model::Unsupported("column {} of the unknown type {}",
                                  model::Quote(element.name), *element.type);
      }
      footer_.columns.push_back({std::string(element.name), static_cast<Type>(*element.type),
                                 static_cast<uint32_t>(element.fixed_size),
                                 element.repetition == kOptional, leaves_++});
    }
    if (at != schema_.size()) return model::Corrupt("the schema has more than its root says");
    return {};
  }

  // Moves `at` behind the element there and those in it, and counts their columns.
  model::Result<void> SkipTree(size_t& at) {
    for (uint64_t left = 1; left != 0; --left, ++at) {
      if (at >= schema_.size() || schema_[at].children > kMaxSchemaElements) {
        return model::Corrupt("the schema ends early");
      }
      if (schema_[at].children == 0) ++leaves_;
      left += schema_[at].children;
    }
    return {};
  }

  model::Result<void> CheckGroups(uint64_t pages_end) const {
    uint64_t rows = 0;
    for (const RowGroup& group : footer_.groups) {
      if (group.chunks.size() != leaves_) {
        return model::Corrupt("{} columns in a group of rows, the schema has {}",
                              group.chunks.size(), leaves_);
      }
      const auto sum = CheckedAdd(rows, group.rows);
      if (!sum) return model::Corrupt("too many rows");
      rows = *sum;
      for (const ColumnChunk& chunk : group.chunks) {
        if (chunk.begin > pages_end || chunk.size > pages_end - chunk.begin) {
          return model::Corrupt("a column of {} bytes at byte {} of {}", chunk.size,
                                chunk.begin, pages_end);
        }
      }
    }
    if (rows == footer_.rows) return {};
    return model::Corrupt("{} rows in groups, {} in all", rows, footer_.rows);
  }

  ThriftReader from_;
  std::vector<SchemaElement> schema_;
  Footer footer_;
  size_t leaves_ = 0;
  size_t chunks_ = 0;
  bool is_encrypted_ = false;
  bool is_elsewhere_ = false;
};

}  // namespace

model::Result<Footer> ReadFooter(ConstByteSpan file) {
  if (file.size() < kMagic.size() + kTail) {
    return model::Corrupt("{} bytes are no table", file.size());
  }
  const std::string_view last = AsText(file.last(kMagic.size()));
  if (last == kEncryptedMagic) return model::Unsupported("an encrypted table");
  if (last != kMagic || AsText(file.first(kMagic.size())) != kMagic) {
    return model::Corrupt("not a table of Parquet, or cut short");
  }
  const auto size = LoadLittle<uint32_t>(file.last(kTail).data());
  const uint64_t before = file.size() - kTail;
  if (size > before - kMagic.size()) {
    return model::Corrupt("metadata of {} bytes in {}", size, file.size());
  }
  return FooterReader(file.subspan(before - size, size)).Read(before - size);
}

}  // namespace ndlfs::backends::parquet
