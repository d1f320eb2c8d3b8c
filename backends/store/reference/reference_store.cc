// SPDX-License-Identifier: MIT
#include "backends/store/reference/reference_store.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "backends/base/json.h"
#include "backends/base/json_scan.h"
#include "backends/format/json_attributes.h"
#include "backends/store/file_name.h"
#include "backends/store/keys.h"
#include "backends/store/metadata_turn.h"
#include "backends/store/reference/generator.h"
#include "backends/store/reference/reference_url.h"
#include "backends/store/reference/template.h"
#include "backends/store/url_opener.h"
#include "model/base64.h"

namespace ndlfs::backends::kerchunk {
namespace {

constexpr uint64_t kMaxFileSize = uint64_t{1} << 30;
constexpr uint64_t kMaxValueSize = uint64_t{256} << 20;
constexpr std::string_view kBase64Prefix = "base64:";

// The keys of generated references may take so much.
constexpr uint64_t kMaxGeneratedKeys = uint64_t{64} << 20;
// The texts that are evaluated for them may take so much.
constexpr uint64_t kMaxEvaluatedForKeys = uint64_t{256} << 20;
// About how many bytes one takes while the file is parsed.
constexpr uint64_t kBytesPerGenerated = 200;
// The text itself, and what is made of it while it is read.
constexpr uint64_t kBytesOfReferences = 3;
constexpr size_t kMaxGeneratorValues = 1'000'000;
// The size of a value that is generated: where it begins is its number.
constexpr uint32_t kGenerated = UINT32_MAX;

// Keys, and where in the JSON text the value of each is. Sorted by key; the
// keys lie one after the other in one block of memory.
class ReferenceIndex {
 public:
  struct Entry {
    uint64_t key_begin;  // in keys_
    uint32_t key_size;
    uint32_t value_size;
    uint64_t value_begin;  // in the text; if generated, its number
  };

  // Refuses keys that are no keys of a store. If a key occurs twice, the last one counts.
  static model::Result<ReferenceIndex> Make(std::vector<JsonMember> members) {
    std::stable_sort(members.begin(), members.end(),
                     [](const auto& a, const auto& b) { return a.key < b.key; });
    ReferenceIndex index;
    for (const JsonMember& member : members) {
      NDLFS_RETURN_IF_ERROR(CheckKey(member.key));
      if (!index.entries_.empty() && index.KeyOf(index.entries_.back()) == member.key) {
        index.entries_.pop_back();
      }
      const uint64_t size = member.end - member.begin;
      const bool is_large = size > kMaxValueSize && size != kGenerated;
      if (is_large || member.key.size() > UINT32_MAX) {
        return model::Limit("the reference of {} has {} bytes", model::Quote(member.key), size);
      }
      index.entries_.push_back({index.keys_.size(), static_cast<uint32_t>(member.key.size()),
                                static_cast<uint32_t>(size), member.begin});
      index.keys_ += member.key;
    }
    index.entries_.shrink_to_fit();
    index.keys_.shrink_to_fit();
    return index;
  }

  const Entry* Find(std::string_view key) const {
    const Entry* found = LowerBound(key);
    return found != End() && KeyOf(*found) == key ? found : nullptr;
  }
  // The first key that is not less than `key`.
  const Entry* LowerBound(std::string_view key) const {
    return std::lower_bound(entries_.data(), End(), key,
                            [&](const Entry& a, const auto& b) { return KeyOf(a) < b; });
  }
  const Entry* End() const { return entries_.data() + entries_.size(); }
  uint64_t held_bytes() const { return keys_.capacity() + entries_.capacity() * sizeof(Entry); }
  std::string_view KeyOf(const Entry& entry) const {
    return std::string_view(keys_).substr(entry.key_begin, entry.key_size);
  }

 private:
  std::string keys_;
  std::vector<Entry> entries_;
};

// A value in the reference file itself, or a part of another file.
struct Reference {
  std::optional<std::string> inline_value = {};
  StoreKey target = {};
  ByteRange range = {};
};

// About how many bytes of memory templates take.
uint64_t SizeOf(const Templates& templates) {
  constexpr uint64_t kPerTemplate = 100;
  uint64_t bytes = 0;
  for (const auto& [name, text] : templates) {
    bytes += kPerTemplate + name.capacity() + text.capacity();
  }
  return bytes;
}

class JsonReferenceStore final : public ReferenceStore {
 public:
  JsonReferenceStore(std::shared_ptr<const Source> source, std::string path,
                     std::shared_ptr<const Store> file, ValueInfo file_info,
                     ReferenceIndex index, Generator generator, Templates templates)
      : source_(std::move(source)),
        path_(std::move(path)),
        file_info_(std::move(file_info)),
        index_(std::move(index)),
        generator_(std::move(generator)),
        templates_(std::move(templates)),
        templates_size_(SizeOf(templates_)),
        file_(std::move(file)),
        targets_(source_->OpenStore("")) {}

  StoreTraits traits() const override { return targets_->traits().WithKnownKeys(); }
  // A value in this file has the version of this file; a value in another file has that file's.
  model::Result<std::optional<ValueInfo>> Stat(std::string_view key) const override {
    if (!index_.Find(key)) return std::nullopt;
    NDLFS_TRY(const auto file, file_->Stat(""));
    if (!file || file->generation != file_info_.generation) return file;
    const auto reference = Find(key);
    if (!reference || !*reference) return file;
    if ((*reference)->inline_value) return InlineInfo(**reference);
    const StoreKey& place = (*reference)->target;
    NDLFS_TRY(auto target, place.store->Stat(place.key));
    if (target) target->size = SizeOfPart((*reference)->range, target->size);
    return target;
  }

  model::Result<std::vector<StoreEntry>> List(std::string_view prefix) const override {
    const std::string begin = prefix.empty() ? "" : std::string(prefix) + "/";
    std::map<std::string, bool> children;  // whether they have children
    const ReferenceIndex::Entry* it = index_.LowerBound(begin);
    while (it != index_.End() && index_.KeyOf(*it).starts_with(begin)) {
      const std::string_view rest = index_.KeyOf(*it).substr(begin.size());
      const size_t slash = rest.find('/');
      const std::string name(rest.substr(0, slash));
      children[name] |= slash != rest.npos;
      // Goes on with the first key that is not below it: '0' comes after '/'.
      it = slash == rest.npos ? it + 1 : index_.LowerBound(begin + name + '0');
    }
    std::vector<StoreEntry> entries;
    for (const auto& [name, is_prefix] : children) entries.push_back({name, is_prefix});
    return entries;
  }

  uint64_t held_bytes() const override {
    return index_.held_bytes() + generator_.held_bytes() + templates_size_;
  }

  std::string Describe(std::string_view key) const override { return JoinKey(path_, key); }
  std::optional<int64_t> ClockNs() const override { return file_->ClockNs(); }

  // Bytes in the file itself have its version.
  model::Result<std::optional<ValuePlace>> Resolve(std::string_view key,
                                                   IndexCache*) const override {
    NDLFS_TRY(const auto reference, FindNow(key));
    if (!reference) return std::nullopt;
    if (!reference->inline_value) return PlaceOf(*reference);
    ValuePlace place{file_, ""};
    place.bytes = std::make_shared<const Bytes>(Bytes::Copy(AsBytes(*reference->inline_value)));
    return place;
  }

  model::Result<void> CheckReachable(std::string_view prefix) const override {
    for (const auto* it = index_.LowerBound(prefix);
         it != index_.End() && index_.KeyOf(*it).starts_with(prefix); ++it) {
      const std::string_view name = FileNameOf(index_.KeyOf(*it));
      if (name.starts_with(".z") || name == "zarr.json") continue;
      const auto reference = FindNow(index_.KeyOf(*it));
      if (reference || reference.error().is_transient()) return {};
      return model::Propagate(reference.error());
    }
    return {};
  }

 private:
  model::Result<std::optional<ReadResult>> DoRead(std::string_view key,
                                                  const ReadOptions& options,
                                                  const Reserve& reserve) const override {
    NDLFS_TRY(const auto reference, FindNow(key));
    if (!reference) return std::nullopt;
    if (!reference->inline_value) return ReadPlace(PlaceOf(*reference), options, reserve);
    const std::string_view value = *reference->inline_value;
    NDLFS_TRY(const ByteSpan out, reserve(value.size()));
    const ByteRange range = options.Clip(value.size());
    const size_t count = std::min<uint64_t>(out.size(), range.length);
    std::copy_n(AsBytes(value).data() + range.offset, count, out.begin());
    return ReadResult{count, InlineInfo(*reference)};
  }

  static ValuePlace PlaceOf(const Reference& reference) {
    return {reference.target.store, reference.target.key, reference.range};
  }

  ValueInfo InlineInfo(const Reference& reference) const {
    return file_info_.OfPart(reference.inline_value->size());
  }

  // nullopt where there is no such key.
  model::Result<std::optional<Reference>> FindNow(std::string_view key) const {
    if (!index_.Find(key)) return std::nullopt;
    // The index is about one version of the text, and keys are asked for as of now.
    NDLFS_TRY(const auto now, file_->Stat(""));
    if (!now || now->generation != file_info_.generation)
      return model::HasChanged(Describe(""));
    return Find(key);
  }

  // The same, by the text that was indexed.
  model::Result<std::optional<Reference>> Find(std::string_view key) const {
    const ReferenceIndex::Entry* entry = index_.Find(key);
    if (!entry) return std::nullopt;
    if (entry->value_size == kGenerated) {
      NDLFS_TRY(Reference generated, Generate(entry->value_begin));
      return generated;
    }
    NDLFS_TRY(const auto text, file_->Get("", kMaxValueSize,
                                          {.range = {entry->value_begin, entry->value_size},
                                           .if_match = file_info_.generation}));
    if (!text) return model::HasChanged(Describe(""));
    NDLFS_TRY(const Json json, ParseJson(AsText(text->bytes.span())));
    NDLFS_TRY(Reference reference, ParseReference(json));
    return reference;
  }

  model::Result<Reference> Generate(uint64_t number) const {
    NDLFS_TRY(const auto generated, generator_.Reference(number, templates_));
    Reference reference;
    NDLFS_TRY(reference.target, FindTarget(generated.url));
    if (generated.part) {
      reference.range = {generated.part->offset, generated.part->length};
    }
    return reference;
  }

  model::Result<Reference> ParseReference(const Json& json) const {
    if (json.is_object()) return Reference{CompactJson(json)};
    if (json.is_string()) return ParseInline(json.get_ref<const std::string&>());
    if (!json.is_array() || json.empty() || json.size() > 3 || !json[0].is_string()) {
      return model::BadInput("expected a value or [url, offset, size], found {}",
                             DescribeJson(json));
    }
    NDLFS_TRY(const std::string url,
              Render(json[0].get_ref<const std::string&>(), templates_, {}));
    Reference reference;
    NDLFS_TRY(reference.target, FindTarget(url));
    if (json.size() > 1) {
      NDLFS_TRY(reference.range.offset, JsonToSize(json[1]), "offset");
    }
    if (json.size() > 2) {
      NDLFS_TRY(reference.range.length, JsonToSize(json[2]), "size");
    }
    return reference;
  }

  static model::Result<Reference> ParseInline(std::string_view text) {
    if (!text.starts_with(kBase64Prefix)) return Reference{std::string(text)};
    const auto bytes = model::DecodeBase64(text.substr(kBase64Prefix.size()));
    if (!bytes) return model::BadInput("a value that is not in base64");
    return Reference{std::string(AsText(*bytes))};
  }

  model::Result<StoreKey> FindTarget(std::string_view url) const {
    if (IsRemote(url)) return FindRemote(*source_, url);
    auto path = ResolveLocalUrl(*source_, path_, url);
    if (path) return StoreKey{targets_, *std::move(path)};
    return FindOutside(*source_, url, std::move(path).error());
  }

  const std::shared_ptr<const Source> source_;
  const std::string path_;
  const ValueInfo file_info_;  // of the version that was indexed
  const ReferenceIndex index_;
  const Generator generator_;
  const Templates templates_;
  const uint64_t templates_size_;
  const std::shared_ptr<const Store> file_;
  const std::shared_ptr<const Store> targets_;
};

const JsonMember* FindMember(const std::vector<JsonMember>& members, std::string_view key) {
  const auto found = std::find_if(members.rbegin(), members.rend(),
                                  [&](const auto& member) { return member.key == key; });
  return found == members.rend() ? nullptr : &*found;
}

std::string_view TextOf(std::string_view text, const JsonMember& member) {
  return text.substr(member.begin, member.end - member.begin);
}

model::Result<Templates> ParseTemplates(std::string_view text,
                                        const std::vector<JsonMember>& members) {
  Templates templates;
  const JsonMember* member = FindMember(members, "templates");
  if (!member) return templates;
  NDLFS_TRY(const Json json, ParseJson(TextOf(text, *member)), "templates");
  if (!json.is_object()) {
    return model::BadInput("templates: expected an object, found {}", DescribeJson(json));
  }
  for (const auto& [name, value] : json.items()) {
    if (value.is_string()) templates.emplace(name, value.get<std::string>());
  }
  return templates;
}

// The members of `refs`, at their places in the whole text; of version 0, all
// members.
model::Result<std::vector<JsonMember>> FindReferences(std::string_view text,
                                                      std::vector<JsonMember> members) {
  const JsonMember* version = FindMember(members, "version");
  if (!version) return members;
  if (TextOf(text, *version) != "1") {
    return model::Unsupported("version {} of references", TextOf(text, *version));
  }
  const JsonMember* refs = FindMember(members, "refs");
  if (!refs && FindMember(members, "gen")) return std::vector<JsonMember>();
  if (!refs) return model::BadInput("\"refs\" is missing");
  NDLFS_TRY(auto references, ScanJsonObject(TextOf(text, *refs)), "refs");
  for (JsonMember& reference : references) {
    reference.begin += refs->begin;
    reference.end += refs->begin;
  }
  return references;
}

model::Result<Generator> ParseGenerator(std::string_view text,
                                        const std::vector<JsonMember>& members) {
  const JsonMember* member = FindMember(members, "gen");
  if (!member || !FindMember(members, "version")) return Generator();
  NDLFS_TRY(const Json json, ParseJson(TextOf(text, *member), kMaxGeneratorValues));
  return Generator::Parse(json);
}

// The keys of all generated references, after those that stand in the file:
// they count where both have the same.
model::Result<void> AddGenerated(const Generator& generator, const Templates& templates,
                                 std::vector<JsonMember>& references) {
  uint64_t bytes = 0;
  uint64_t budget = kMaxEvaluatedForKeys;
  for (uint64_t i = 0; i < generator.count(); ++i) {
    NDLFS_TRY(std::string key, generator.Key(i, templates, budget), "key");
    bytes += key.size();
    if (bytes > kMaxGeneratedKeys) {
      return model::Limit("generated keys of more than {} bytes", kMaxGeneratedKeys);
    }
    references.push_back({std::move(key), i, i + kGenerated});
  }
  return {};
}

}  // namespace

model::Result<std::shared_ptr<const ReferenceStore>> OpenReferences(
    std::shared_ptr<const Source> source, const std::string& path) {
  const auto file = source->OpenFile(path);
  NDLFS_TRY(const auto size, file->Size(""), path);
  const uint64_t bytes = kBytesOfReferences * size.value_or(0);
  std::optional<MetadataTurn> turn;
  NDLFS_TRY(turn, MetadataTurn::Take(MetadataTurn::ForReading(bytes)));
  NDLFS_TRY(const auto value, file->Get("", kMaxFileSize), path);
  if (MetadataTurn::ForReading(bytes) == 0) {
    turn.reset();
    NDLFS_TRY(turn, MetadataTurn::Take(bytes));
  }
  if (!value) return model::NotFound("no file {}", model::Quote(path));
  const std::string_view text = AsText(value->bytes.span());
  NDLFS_TRY(auto members, ScanJsonObject(text), path);
  NDLFS_TRY(auto templates, ParseTemplates(text, members), path);
  NDLFS_TRY(auto generator, ParseGenerator(text, members), path + ": gen");
  NDLFS_TRY(auto references, FindReferences(text, std::move(members)), path);
  turn.reset();  // a short document may generate much
  NDLFS_TRY(turn, MetadataTurn::Take(bytes + generator.count() * kBytesPerGenerated));
  NDLFS_RETURN_IF_ERROR(AddGenerated(generator, templates, references), path + ": gen");
  NDLFS_TRY(auto index, ReferenceIndex::Make(std::move(references)), path);
  return std::make_shared<const JsonReferenceStore>(std::move(source), path, file, value->info,
                                                    std::move(index), std::move(generator),
                                                    std::move(templates));
}

}  // namespace ndlfs::backends::kerchunk
