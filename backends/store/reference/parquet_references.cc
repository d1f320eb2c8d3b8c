// SPDX-License-Identifier: MIT
#include "backends/store/reference/parquet_references.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/base/checked.h"
#include "backends/base/json.h"
#include "backends/base/json_scan.h"
#include "backends/parquet/table.h"
#include "backends/store/chunk_table.h"
#include "backends/store/keys.h"
#include "backends/store/metadata_turn.h"
#include "backends/store/reference/reference_url.h"
#include "backends/store/store.h"
#include "backends/store/url_opener.h"
#include "model/error.h"
#include "model/mutex.h"
#include "model/number_text.h"

namespace ndlfs::backends::kerchunk {
namespace {

using parquet::Values;

// One file of references in Parquet ("t/refs.0.parq"): a row for each chunk. Immutable.
class ReferenceTable {
 public:
  // What a row says of a chunk.
  struct Row {
    // If set, the bytes themselves, which the table has. Otherwise a part of a file.
    std::optional<ConstByteSpan> bytes;
    std::string_view path;
    ByteRange range;
  };

  // Reads the columns "path", "offset", "size" and "raw" of a file, which may lack some of
  // them. kLimit for more than `max_rows` rows.
  static model::Result<ReferenceTable> Read(ConstByteSpan file, const ValueInfo& info,
                                            uint64_t max_rows);

  // The facts about the file that the table was read from.
  const ValueInfo& info() const { return info_; }
  uint64_t rows() const { return rows_; }
  uint64_t held_bytes() const;
  // nullopt for a chunk that is absent, also behind the last row. kCorrupt for numbers below 0.
  model::Result<std::optional<Row>> Find(uint64_t row) const;

 private:
  ValueInfo info_;
  uint64_t rows_ = 0;
  parquet::Values path_, offset_, size_, raw_;  // empty if the file has no such column
};

// The tables that were used last, up to a fixed number of bytes. Thread-safe.
class TableCache {
 public:
  using Pointer = std::shared_ptr<const ReferenceTable>;

  // The table of the file at `key`; null if it is not kept.
  Pointer Find(std::string_view key) const EXCLUDES(mutex_);
  // Keeps a table, and drops others, or one of another version of the same file.
  void Keep(std::string_view key, Pointer table) const EXCLUDES(mutex_);
  uint64_t held_bytes() const EXCLUDES(mutex_);

 private:
  mutable model::Mutex mutex_;
  mutable std::list<std::pair<std::string, Pointer>> tables_
      GUARDED_BY(mutex_);  // newest first
  mutable uint64_t held_bytes_ GUARDED_BY(mutex_) = 0;
};

// What the pages of one column may take: values that are in the table itself are small.
constexpr uint64_t kMaxColumn = uint64_t{256} << 20;
constexpr uint64_t kMaxKept = uint64_t{16} << 20;

enum class Kind : uint8_t { kText, kNumber };

// The column called `name`; no values if there is none, or if all are null.
model::Result<Values> ReadColumn(const parquet::Table& table, std::string_view name, Kind kind,
                                 uint64_t max_rows) {
  const parquet::Column* column = table.Find(name);
  if (!column) return Values();
  NDLFS_TRY(Values values, table.Read(*column, max_rows, kMaxColumn));
  if (std::ranges::find(values.present, true) == values.present.end()) return Values();
  const bool is_text = column->type == parquet::Type::kByteArray;
  const bool is_number =
      column->type == parquet::Type::kInt64 || column->type == parquet::Type::kInt32;
  if (kind == Kind::kText ? is_text : is_number) return values;
  return model::Unsupported("column {} has another type", model::Quote(name));
}

bool IsPresent(const Values& values, uint64_t row) {
  return row < values.present.size() && values.present[row];
}

model::Result<uint64_t> NumberAt(const Values& values, uint64_t row, std::string_view name) {
  const int64_t number = IsPresent(values, row) ? values.numbers[row] : 0;
  if (number < 0) return model::Corrupt("row {}: {} is {}", row, name, number);
  return static_cast<uint64_t>(number);
}

model::Result<ReferenceTable> ReferenceTable::Read(ConstByteSpan file, const ValueInfo& info,
                                                   uint64_t max_rows) {
  NDLFS_TRY(const parquet::Table source, parquet::Table::Open(file));
  ReferenceTable table;
  table.info_ = info;
  table.rows_ = source.rows();
  NDLFS_TRY(table.path_, ReadColumn(source, "path", Kind::kText, max_rows));
  NDLFS_TRY(table.offset_, ReadColumn(source, "offset", Kind::kNumber, max_rows));
  NDLFS_TRY(table.size_, ReadColumn(source, "size", Kind::kNumber, max_rows));
  NDLFS_TRY(table.raw_, ReadColumn(source, "raw", Kind::kText, max_rows));
  if (!source.Find("path") && !source.Find("raw")) {
    return model::BadInput("a table without the columns \"path\" and \"raw\"");
  }
  return table;
}

uint64_t ReferenceTable::held_bytes() const {
  return sizeof(*this) + path_.held_bytes() + offset_.held_bytes() + size_.held_bytes() +
         raw_.held_bytes();
}

model::Result<std::optional<ReferenceTable::Row>> ReferenceTable::Find(uint64_t row) const {
  if (IsPresent(raw_, row)) return Row{raw_.texts[row], {}, {}};
  if (!IsPresent(path_, row)) return std::nullopt;
  Row found{std::nullopt, AsText(path_.texts[row]), {}};
  NDLFS_TRY(const uint64_t offset, NumberAt(offset_, row, "offset"));
  NDLFS_TRY(const uint64_t size, NumberAt(size_, row, "size"));
  if (offset != 0 || size != 0) found.range = {offset, size};
  return found;
}

TableCache::Pointer TableCache::Find(std::string_view key) const {
  const model::MutexLock lock(mutex_);
  const auto found =
      std::ranges::find(tables_, key, [](const auto& table) { return table.first; });
  if (found == tables_.end()) return nullptr;
  tables_.splice(tables_.begin(), tables_, found);
  return found->second;
}

void TableCache::Keep(std::string_view key, Pointer table) const {
  const model::MutexLock lock(mutex_);
  const auto drop = [this](auto entry) REQUIRES(mutex_) {
    held_bytes_ -= entry->second->held_bytes();
    tables_.erase(entry);
  };
  const auto old =
      std::ranges::find(tables_, key, [](const auto& entry) { return entry.first; });
  if (old != tables_.end()) drop(old);
  held_bytes_ += table->held_bytes();
  tables_.emplace_front(key, std::move(table));
  while (held_bytes_ > kMaxKept && tables_.size() > 1) drop(std::prev(tables_.end()));
}

uint64_t TableCache::held_bytes() const {
  const model::MutexLock lock(mutex_);
  return held_bytes_;
}

constexpr std::string_view kMetadata = ".zmetadata";
constexpr std::string_view kArrayDocument = "/.zarray";
constexpr uint64_t kMaxMetadata = uint64_t{64} << 20;
constexpr uint64_t kMaxTableFile = uint64_t{256} << 20;
// kerchunk writes 10,000 or 100,000.
constexpr uint64_t kMaxRecordSize = 1'000'000;
// Bytes of memory that a table needs while it is read, for each byte of its file.
constexpr uint64_t kBytesOfTable = 4;

// Where a chunk is. With bytes that stand in a table, also facts about the file of the table.
struct FoundChunk {
  ValuePlace place;
  ValueInfo table_info;
};

// A document of Zarr in .zmetadata: a part of its text.
struct Document {
  size_t begin;
  size_t end;
};

// The chunks of an array along each dimension; none for one of rank 0, which has one chunk.
using ChunkCounts = std::vector<uint64_t>;

model::Result<ChunkCounts> CountChunks(const Json& array) {
  NDLFS_TRY(const Json* shape, RequireMember(array, "shape"));
  NDLFS_TRY(const Json* chunks, RequireMember(array, "chunks"));
  if (!shape->is_array() || !chunks->is_array() || shape->size() != chunks->size()) {
    return model::BadInput("shape and chunks: expected lists of the same length");
  }
  ChunkCounts counts;
  for (size_t i = 0; i < shape->size(); ++i) {
    NDLFS_TRY(const uint64_t extent, JsonToSize((*shape)[i]), "shape");
    NDLFS_TRY(const uint64_t chunk, JsonToSize((*chunks)[i]), "chunks");
    if (chunk == 0) return model::BadInput("chunks: 0");
    counts.push_back(extent / chunk + (extent % chunk != 0 ? 1 : 0));
  }
  if (!CheckedProduct(counts)) return model::BadInput("too many chunks");
  return counts;
}

// The number of the chunk that `name` ("0.3") is, in C order; nullopt if there is none.
std::optional<uint64_t> ChunkNumber(std::string_view name, const ChunkCounts& counts) {
  if (counts.empty()) return name == "0" ? std::optional<uint64_t>(0) : std::nullopt;
  uint64_t number = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const std::string_view all = name;
    const auto index = model::TakeNumber<uint64_t>(name);
    // Only the usual spelling: "01" is no key.
    const bool has_zeros = all.starts_with('0') && all.size() - name.size() > 1;
    if (!index || *index >= counts[i] || has_zeros) return std::nullopt;
    number = number * counts[i] + *index;
    if (i + 1 == counts.size()) break;
    if (name.empty() || (name[0] != '.' && name[0] != '/')) return std::nullopt;
    name.remove_prefix(1);
  }
  return name.empty() ? std::optional(number) : std::nullopt;
}

class ParquetReferenceStore final : public ReferenceStore {
 public:
  static model::Result<std::shared_ptr<const ReferenceStore>> Open(
      std::shared_ptr<const Source> source, const std::string& path) {
    auto store = std::make_shared<ParquetReferenceStore>(std::move(source), path);
    NDLFS_RETURN_IF_ERROR(store->ReadMetadata(), JoinKey(path, kMetadata));
    return store;
  }

  ParquetReferenceStore(std::shared_ptr<const Source> source, std::string path)
      : source_(std::move(source)),
        path_(std::move(path)),
        files_(source_->OpenStore(path_)),
        targets_(source_->OpenStore("")) {}

  StoreTraits traits() const override { return targets_->traits().WithKnownKeys(); }
  model::Result<std::optional<ValueInfo>> Stat(std::string_view key) const override {
    if (const Document* document = FindDocument(key)) {
      NDLFS_TRY(const auto file, files_->Stat(kMetadata));
      if (!file || file->generation != info_.generation) return file;
      NDLFS_TRY(const std::string text, TextOf(*document));
      return info_.OfPart(text.size());
    }
    NDLFS_TRY(const auto chunk, FindChunk(key));
    if (!chunk) return std::nullopt;
    const ValuePlace& place = chunk->place;
    if (place.bytes) return chunk->table_info.OfPart(place.bytes->size());
    NDLFS_TRY(auto info, place.store->Stat(place.key));
    if (info) info->size = SizeOfPart(place.range, info->size);
    return info;
  }

  model::Result<std::optional<ValuePlace>> Resolve(std::string_view key,
                                                   IndexCache*) const override {
    if (const Document* document = FindDocument(key)) {
      NDLFS_RETURN_IF_ERROR(CheckIsPresent());
      NDLFS_TRY(const std::string text, TextOf(*document));
      return InlinePlace(std::string(kMetadata), AsBytes(text));
    }
    NDLFS_TRY(auto chunk, FindChunk(key));
    if (!chunk) return std::nullopt;
    return std::move(chunk->place);
  }

  // Only tables tell which chunks there are, and these are not read before they are needed.
  bool lists_keys() const override { return false; }

  // The documents alone.
  model::Result<std::vector<StoreEntry>> List(std::string_view prefix) const override {
    const std::string begin = prefix.empty() ? "" : std::string(prefix) + "/";
    std::map<std::string, bool> children;  // whether they have children
    for (auto it = documents_.lower_bound(begin);
         it != documents_.end() && it->first.starts_with(begin); ++it) {
      const std::string_view rest = std::string_view(it->first).substr(begin.size());
      const size_t slash = rest.find('/');
      children[std::string(rest.substr(0, slash))] |= slash != rest.npos;
    }
    std::vector<StoreEntry> entries;
    for (const auto& [name, is_prefix] : children) entries.push_back({name, is_prefix});
    return entries;
  }

  uint64_t held_bytes() const override { return metadata_bytes_ + tables_.held_bytes(); }
  std::string Describe(std::string_view key) const override { return JoinKey(path_, key); }
  std::optional<int64_t> ClockNs() const override { return files_->ClockNs(); }

  model::Result<void> CheckReachable(std::string_view) const override { return {}; }

 private:
  model::Result<std::optional<ReadResult>> DoRead(std::string_view key,
                                                  const ReadOptions& options,
                                                  const Reserve& reserve) const override {
    if (const Document* document = FindDocument(key)) {
      NDLFS_RETURN_IF_ERROR(CheckIsPresent());
      NDLFS_TRY(const std::string text, TextOf(*document));
      return Deliver(AsBytes(text), info_, options, reserve);
    }
    NDLFS_TRY(const auto chunk, FindChunk(key));
    if (!chunk) return std::nullopt;
    if (!chunk->place.bytes) return ReadPlace(chunk->place, options, reserve);
    return Deliver(chunk->place.bytes->span(), chunk->table_info, options, reserve);
  }

  ValuePlace InlinePlace(std::string key, ConstByteSpan bytes) const {
    ValuePlace place{files_, std::move(key)};
    place.bytes = std::make_shared<const Bytes>(Bytes::Copy(bytes));
    return place;
  }

  static model::Result<std::optional<ReadResult>> Deliver(ConstByteSpan value,
                                                          const ValueInfo& info,
                                                          const ReadOptions& options,
                                                          const Reserve& reserve) {
    NDLFS_TRY(const ByteSpan out, reserve(value.size()));
    const ByteRange range = options.Clip(value.size());
    const size_t count = std::min<uint64_t>(out.size(), range.length);
    std::copy_n(value.begin() + static_cast<ptrdiff_t>(range.offset), count, out.begin());
    return ReadResult{count, info.OfPart(value.size())};
  }

  model::Result<void> ReadMetadata() {
    NDLFS_TRY(auto value, files_->Get(kMetadata, kMaxMetadata));
    if (!value) return model::NotFound("no such file");
    text_ = std::move(value->bytes);
    info_ = value->info;
    const std::string_view text = AsText(std::as_const(text_).span());
    const auto turn = MetadataTurn::Take(kBytesOfTable * text.size());
    if (!turn) return model::Propagate(turn.error());
    NDLFS_TRY(const auto members, ScanJsonObject(text));
    const JsonMember* metadata = nullptr;
    for (const JsonMember& member : members) {
      if (member.key == "metadata") metadata = &member;
      if (member.key != "record_size") continue;
      NDLFS_TRY(const Json size,
                ParseJson(text.substr(member.begin, member.end - member.begin)));
      NDLFS_TRY(record_size_, JsonToSize(size), "record_size");
    }
    if (record_size_ == 0 || record_size_ > kMaxRecordSize) {
      return model::BadInput("record_size: expected a number from 1 to {}, found {}",
                             kMaxRecordSize, record_size_);
    }
    if (!metadata) return model::BadInput("\"metadata\" is missing");
    return ReadDocuments(text.substr(0, metadata->end), metadata->begin);
  }

  model::Result<void> ReadDocuments(std::string_view text, size_t begin) {
    constexpr uint64_t kPerDocument = 150;
    NDLFS_TRY(const auto members, ScanJsonObject(text.substr(begin)), "metadata");
    for (const JsonMember& member : members) {
      NDLFS_RETURN_IF_ERROR(CheckKey(member.key), "metadata");
      documents_[member.key] = {begin + member.begin, begin + member.end};
      metadata_bytes_ += kPerDocument + member.key.size();
    }
    metadata_bytes_ += text_.size();
    for (const auto& [key, document] : documents_) {
      const std::string slashed = "/" + key;
      if (!slashed.ends_with(kArrayDocument)) continue;
      NDLFS_TRY(const std::string array, TextOf(document), key);
      NDLFS_TRY(const Json json, ParseJson(array), key);
      NDLFS_TRY(ChunkCounts counts, CountChunks(json), key);
      const size_t size = slashed.size() - kArrayDocument.size();
      arrays_[size == 0 ? "" : slashed.substr(1, size - 1)] = std::move(counts);
    }
    return {};
  }

  const Document* FindDocument(std::string_view key) const {
    const auto found = documents_.find(key);
    return found == documents_.end() ? nullptr : &found->second;
  }

  // Documents are objects; some writers have their text instead.
  model::Result<std::string> TextOf(const Document& document) const {
    const std::string_view text =
        AsText(text_.span()).substr(document.begin, document.end - document.begin);
    if (!text.starts_with('"')) return std::string(text);
    NDLFS_TRY(const Json json, ParseJson(text));
    return json.get<std::string>();
  }

  // Keys are asked for as of now.
  model::Result<void> CheckIsPresent() const {
    NDLFS_TRY(const auto now, files_->Stat(kMetadata));
    if (now && now->generation == info_.generation) return {};
    return model::HasChanged(Describe(""));
  }

  // Where the chunk at `key` is; nullopt if it is absent, or no key of a chunk.
  model::Result<std::optional<FoundChunk>> FindChunk(std::string_view key) const {
    const auto array = ArrayOf(key);
    if (array == arrays_.end()) return std::nullopt;
    const size_t before = array->first.empty() ? 0 : array->first.size() + 1;
    const auto number = ChunkNumber(key.substr(before), array->second);
    if (!number) return std::nullopt;
    NDLFS_RETURN_IF_ERROR(CheckIsPresent());
    const std::string file = TableKey(array->first, *number / record_size_);
    NDLFS_TRY(const auto table, GetTable(file));
    if (!table) return std::nullopt;
    NDLFS_TRY(const auto row, table->Find(*number % record_size_), file);
    if (!row) return std::nullopt;
    if (row->bytes) return FoundChunk{InlinePlace(file, *row->bytes), table->info()};
    NDLFS_TRY(StoreKey target, FindTarget(row->path, file));
    return FoundChunk{{std::move(target.store), std::move(target.key), row->range}, {}};
  }

  // The array below whose path `key` is.
  std::map<std::string, ChunkCounts, std::less<>>::const_iterator ArrayOf(
      std::string_view key) const {
    for (size_t slash = key.rfind('/'); slash != key.npos && slash != 0;
         slash = key.rfind('/', slash - 1)) {
      const auto found = arrays_.find(key.substr(0, slash));
      if (found != arrays_.end()) return found;
    }
    return arrays_.find("");
  }

  static std::string TableKey(std::string_view array, uint64_t number) {
    return JoinKey(array, "refs." + std::to_string(number) + ".parq");
  }

  // The table in the file at `key`; null if there is no such file.
  model::Result<std::shared_ptr<const ReferenceTable>> GetTable(const std::string& key) const {
    if (const auto kept = tables_.Find(key)) {
      NDLFS_TRY(const auto now, files_->Stat(key));
      if (now && kept->info().generation == now->generation) return kept;
    }
    // Several threads that want the same table read it once.
    const model::MutexLock lock(reading_[std::hash<std::string>()(key) % reading_.size()]);
    return ReadTable(key);
  }

  model::Result<std::shared_ptr<const ReferenceTable>> ReadTable(const std::string& key) const {
    NDLFS_TRY(const auto now, files_->Stat(key));
    if (!now) return nullptr;
    if (auto kept = tables_.Find(key); kept && kept->info().generation == now->generation) {
      return kept;
    }
    NDLFS_TRY(const auto value, files_->Get(key, kMaxTableFile, {.if_match = now->generation}));
    if (!value) return nullptr;
    const auto turn = MetadataTurn::Take(kBytesOfTable * value->bytes.size());
    if (!turn) return model::Propagate(turn.error());
    NDLFS_TRY(auto read, ReferenceTable::Read(value->bytes.span(), value->info, record_size_),
              key);
    auto table = std::make_shared<const ReferenceTable>(std::move(read));
    tables_.Keep(key, table);
    return table;
  }

  model::Result<StoreKey> FindTarget(std::string_view url, std::string_view table) const {
    if (IsRemote(url)) return FindRemote(*source_, url);
    auto in_directory = ResolveLocalUrl(*source_, JoinKey(path_, kMetadata), url);
    if (url.starts_with("/") || url.starts_with("file://")) {
      if (in_directory) return StoreKey{targets_, *std::move(in_directory)};
      return FindOutside(*source_, url, std::move(in_directory).error());
    }
    // kerchunk writes whole paths. GDAL takes others relative to the table.
    const auto beside_table = ResolveLocalUrl(*source_, JoinKey(path_, table), url);
    NDLFS_TRY(const bool is_beside, IsThere(beside_table));
    NDLFS_TRY(const bool is_inside, IsThere(in_directory));
    if (is_beside && is_inside && *beside_table != *in_directory) {
      return model::BadInput("{} may be {} or {}", model::Quote(url),
                             model::Quote(*beside_table), model::Quote(*in_directory));
    }
    if (is_beside) return StoreKey{targets_, *beside_table};
    if (!in_directory) return model::Propagate(in_directory.error());
    return StoreKey{targets_, *std::move(in_directory)};
  }

  model::Result<bool> IsThere(const model::Result<std::string>& path) const {
    if (!path) return false;
    NDLFS_TRY(const auto info, targets_->Stat(*path));
    return info.has_value();
  }

  const std::shared_ptr<const Source> source_;
  const std::string path_;
  const std::shared_ptr<const Store> files_;    // of the directory
  const std::shared_ptr<const Store> targets_;  // of the source
  ValueInfo info_;                              // of .zmetadata, which `text_` is
  Bytes text_;
  uint64_t record_size_ = 0;
  uint64_t metadata_bytes_ = 0;
  std::map<std::string, Document, std::less<>> documents_;
  std::map<std::string, ChunkCounts, std::less<>> arrays_;
  const TableCache tables_;
  mutable std::array<model::Mutex, 61> reading_;  // of tables, by the hash of the key
};

}  // namespace

model::Result<bool> HasParquetReferences(const Source& source, std::string_view path) {
  constexpr uint64_t kEnd = 4096;
  constexpr std::string_view kMark = "\"record_size\"";
  const auto store = source.OpenStore(std::string(path));
  // kerchunk writes the number last.
  for (const bool from_end : {true, false}) {
    NDLFS_TRY(const auto end,
              store->Get(kMetadata, kEnd,
                         {.range = {from_end ? kEnd : 0, kEnd}, .from_end = from_end}));
    if (!end) return false;
    if (AsText(end->bytes.span()).find(kMark) == std::string_view::npos) {
      if (end->info.size <= kEnd) return false;
      continue;
    }
    NDLFS_TRY(const auto whole, store->Get(kMetadata, kMaxMetadata));
    if (!whole) return false;
    const auto members = ScanJsonObject(AsText(whole->bytes.span()));
    if (!members) return false;
    const auto has = [&](std::string_view name) {
      return std::ranges::any_of(*members, [&](const auto& m) { return m.key == name; });
    };
    return has("record_size") && has("metadata") && !has("zarr_consolidated_format");
  }
  return false;
}

model::Result<std::shared_ptr<const ReferenceStore>> OpenParquetReferences(
    std::shared_ptr<const Source> source, const std::string& path) {
  return ParquetReferenceStore::Open(std::move(source), path);
}

}  // namespace ndlfs::backends::kerchunk
