// SPDX-License-Identifier: MIT
#include "backends/store/http/remote_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "backends/store/http/key_answer.h"

namespace ndlfs::backends {
namespace {

constexpr uint64_t kBlock = kRemoteBlock;
constexpr uint64_t kBlocksBytes = 16 << 20;
// Reading on costs less than another request, up to such a gap.
constexpr uint64_t kMaxGap = 1 << 20;
constexpr uint64_t kMaxJoined = 16 << 20;

bool IsWhole(const ReadOptions& options) {
  return options.range.offset == 0 && !options.from_end &&
         options.range.length == ByteRange::kToEnd;
}

// Checks that the answers to consecutive requests for one key are about one version.
void RefuseMixtures(std::span<const ReadRequest> requests,
                    std::vector<model::Result<std::optional<Value>>>& answers) {
  const std::optional<Value>* first = nullptr;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (i > 0 && requests[i].key != requests[i - 1].key) first = nullptr;
    if (!answers[i]) continue;
    const std::optional<Value>& answer = *answers[i];
    const bool is_same =
        first == nullptr || (answer.has_value() == first->has_value() &&
                             (!answer || answer->info.generation == (*first)->info.generation));
    if (!is_same) {
      answers[i] = model::Stale("changed since it was read first");
    } else if (first == nullptr) {
      first = &answer;
    }
  }
}

}  // namespace

RemoteReader::RemoteReader(std::shared_ptr<const RemoteTree> tree)
    : tree_(std::move(tree)), blocks_(kBlocksBytes) {}

model::Result<std::optional<ReadResult>> RemoteReader::ReadFile(const std::string& path,
                                                                const ReadOptions& options,
                                                                const Reserve& reserve) const {
  if (options.range.length == 0) {
    NDLFS_TRY(const Look look, tree_->LookAtFiles({&path, 1}).front());
    if (look.kind != Look::Kind::kFile) return std::nullopt;
    NDLFS_RETURN_IF_ERROR(reserve(look.info.size));
    return ReadResult{0, look.info};
  }
  if (const auto document = KnownDocument(path, options)) {
    NDLFS_TRY(const ByteSpan out, reserve(document->info.size));
    const ByteRange range = options.Clip(document->info.size);
    const size_t count = std::min<uint64_t>(out.size(), range.length);
    const auto bytes = document->bytes->span().subspan(range.offset, count);
    std::copy(bytes.begin(), bytes.end(), out.begin());
    return ReadResult{count, document->info};
  }
  // An answer without a value does not tell since when that is known. Chunks of an array that
  // is being written may have come since then, and some of them have been read already.
  if (!options.if_match && (tree_->IsDocument(path) || tree_->memory().trusts_for_ever())) {
    const auto known = tree_->memory().FindFile(path);
    if (known && known->kind == Look::Kind::kAbsent) return std::nullopt;
  }
  if (!options.from_end || tree_->service().takes_ranges_from_end()) {
    return ReadRemote(path, options, reserve);
  }
  NDLFS_TRY(const Look look, tree_->LookAgain({&path, 1}).front());
  const auto from_begin = FromBegin(options, look);
  if (!from_begin) return std::nullopt;
  if (from_begin->range.length != 0) return ReadRemote(path, *from_begin, reserve);
  NDLFS_RETURN_IF_ERROR(reserve(look.info.size));
  return ReadResult{0, look.info};
}

std::optional<ReadOptions> RemoteReader::FromBegin(const ReadOptions& options,
                                                   const Look& look) {
  if (look.kind != Look::Kind::kFile) return std::nullopt;
  ReadOptions from_begin = options;
  from_begin.range = options.Clip(look.info.size);
  from_begin.from_end = false;
  if (!from_begin.if_match) from_begin.if_match = look.info.generation;
  return from_begin;
}

// The document as far as it is known without a request.
std::optional<RemoteDocument> RemoteReader::KnownDocument(const std::string& path,
                                                          const ReadOptions& options) const {
  if (!tree_->IsDocument(path)) return std::nullopt;
  std::optional<Look> look;
  if (!options.if_match) {
    look = tree_->memory().FindFile(path);
    if (!look || look->kind != Look::Kind::kFile) return std::nullopt;
  }
  auto known = tree_->memory().FindDocument(path);
  if (!known) return std::nullopt;
  const Generation& wanted = look ? look->info.generation : *options.if_match;
  if (known->info.generation != wanted) return std::nullopt;
  if (look) known->info.told_at = look->info.told_at;
  return known;
}

HttpRequest RemoteReader::ReadRequestFor(const std::string& path,
                                         const ReadOptions& options) const {
  HttpRequest request = tree_->FileRequest(path);
  if (!IsWhole(options)) {
    request.range = options.range;
    request.from_end = options.from_end;
  }
  if (options.if_match && !names_no_version_) {
    tree_->service().AskForVersion(request, *options.if_match);
  }
  return request;
}

// Whether the server says that the file has changed, and still has the version that was asked
// for: it does so for all versions. The versions of its answers are compared then. A server
// that has answered for a version once is not suspected.
bool RemoteReader::RefusesItsVersion(const std::string& path, const ReadOptions& options,
                                     const HttpRequest& request,
                                     const HttpResponse& response) const {
  if (!options.if_match || names_no_version_ || takes_versions_) return false;
  if (response.is_success()) takes_versions_ = true;
  if (tree_->service().StateOf(request, response) != KeyState::kOtherVersion) return false;
  const auto look = tree_->LookAgain({&path, 1}).front();
  const bool has_it =
      look && look->kind == Look::Kind::kFile && look->info.generation == *options.if_match;
  if (has_it) names_no_version_ = true;
  return has_it;
}

// Reads of one value that are close to each other, as one request.
class RemoteReader::JoinedRead {
 public:
  explicit JoinedRead(const ReadRequest& first)
      : options_(first.options), limit_(first.limit) {}

  // False if `next` has to be a request of its own.
  bool Add(const ReadRequest& next) {
    const ByteRange& a = options_.range;
    const ByteRange& b = next.options.range;
    const bool are_plain = !options_.from_end && !next.options.from_end &&
                           a.length <= kMaxJoined && b.length <= kMaxJoined &&
                           options_.if_match == next.options.if_match;
    if (!are_plain || b.offset < a.offset || b.offset - a.offset > a.length + kMaxGap) {
      return false;
    }
    const uint64_t length = std::max(a.length, b.offset - a.offset + b.length);
    if (length > kMaxJoined) return false;
    options_.range.length = length;
    limit_ = kMaxJoined;
    return true;
  }

  // Must not move afterwards.
  HttpRequest ToRequest(const RemoteReader& reader, const std::string& path) {
    HttpRequest request = reader.ReadRequestFor(path, options_);
    request.reserve = [this](uint64_t total_size) -> model::Result<ByteSpan> {
      whole_ = options_.Clip(total_size);
      if (whole_.length > limit_) return BeyondLimit(whole_.length, limit_);
      bytes_ = Bytes(whole_.length);
      return bytes_.span();
    };
    return request;
  }

  // The part for `request` of an answer about a value with the facts `info`.
  model::Result<std::optional<Value>> Part(const ReadRequest& request,
                                           const ValueInfo& info) const {
    if (request.options.if_match && *request.options.if_match != info.generation) {
      return model::Stale("changed since it was read first");
    }
    const ByteRange part = request.options.Clip(info.size);
    if (part.length > request.limit) return BeyondLimit(part.length, request.limit);
    if (part.length == 0) return Value{Bytes(), info};
    if (part.offset + part.length > whole_.offset + bytes_.size()) {
      return model::Corrupt("it was cut short while being read");
    }
    return Value{Bytes::Copy(bytes_.span().subspan(part.offset - whole_.offset, part.length)),
                 info};
  }

 private:
  static model::Failure BeyondLimit(uint64_t size, uint64_t limit) {
    return model::Limit("{} bytes, more than the limit of {}", size, limit);
  }

  ReadOptions options_;
  uint64_t limit_;
  ByteRange whole_;
  Bytes bytes_;
};

// Looks at all files together, and then reads from all of them together.
std::vector<model::Result<std::optional<Value>>> RemoteReader::ReadFromEnd(
    const Store& store, std::span<const ReadRequest> requests,
    const std::function<std::string(const std::string& key)>& path_of) const {
  std::vector<std::string> paths;
  for (const ReadRequest& request : requests) {
    if (request.options.from_end) paths.push_back(path_of(request.key));
  }
  const auto looks = tree_->LookAgain(paths);
  std::vector<model::Result<std::optional<Value>>> answers;
  std::vector<ReadRequest> from_begin;
  std::vector<size_t> of;  // their numbers
  size_t next = 0;
  for (const ReadRequest& request : requests) {
    answers.emplace_back(std::nullopt);
    ReadRequest read = request;
    if (request.options.from_end) {
      const auto& look = looks[next++];
      if (!look) answers.back() = model::Propagate(look.error());
      const auto options = look ? FromBegin(request.options, *look) : std::nullopt;
      const bool is_empty = options && options->range.length == 0;
      if (is_empty) answers.back() = store.Get(request.key, request.limit, request.options);
      if (!options || is_empty) continue;
      read.options = *options;
    }
    from_begin.push_back(std::move(read));
    of.push_back(answers.size() - 1);
  }
  auto values = ReadTogether(store, from_begin, path_of);
  for (size_t i = 0; i < values.size(); ++i) answers[of[i]] = std::move(values[i]);
  return answers;
}

std::vector<model::Result<std::optional<Value>>> RemoteReader::ReadTogether(
    const Store& store, std::span<const ReadRequest> requests,
    const std::function<std::string(const std::string& key)>& path_of) const {
  if (!tree_->service().takes_ranges_from_end() &&
      std::ranges::any_of(requests, [](const auto& each) { return each.options.from_end; })) {
    return ReadFromEnd(store, requests, path_of);
  }
  std::deque<JoinedRead> joined;
  std::vector<size_t> of;  // the number of the joined read, by request
  std::vector<HttpRequest> sent;
  for (size_t i = 0; i < requests.size(); ++i) {
    const bool joins = i > 0 && requests[i].key == requests[i - 1].key &&
                       requests[i].options.range.length != 0 && joined.back().Add(requests[i]);
    if (!joins) joined.emplace_back(requests[i]);
    of.push_back(joined.size() - 1);
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    if (of[i] == sent.size())
      sent.push_back(joined[of[i]].ToRequest(*this, path_of(requests[i].key)));
  }
  const auto responses = tree_->client().SendMany(sent);
  std::vector<model::Result<std::optional<Value>>> answers;
  for (const auto& response : responses) {
    if (response) tree_->NoteClock(*response);
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto& response = responses[of[i]];
    if (!response) {
      answers.push_back(model::Propagate(response.error()));
    } else if (response->status == 416 ||  // one of several may be beyond the end
               RefusesItsVersion(path_of(requests[i].key), requests[i].options, sent[of[i]],
                                 *response)) {
      answers.push_back(store.Get(requests[i].key, requests[i].limit, requests[i].options));
    } else if (const auto is_absent =
                   tree_->IsAbsent(path_of(requests[i].key), sent[of[i]], *response);
               !is_absent) {
      answers.push_back(model::Propagate(is_absent.error()));
    } else if (*is_absent) {
      answers.push_back(std::nullopt);
    } else {
      answers.push_back(
          joined[of[i]].Part(requests[i], tree_->InfoOf(path_of(requests[i].key), *response)));
    }
  }
  RefuseMixtures(requests, answers);
  return answers;
}

std::optional<ValueInfo> RemoteReader::KnownFirstBlock(const std::string& path) const {
  const auto look = tree_->memory().FindFile(path);
  if (!look || look->kind != Look::Kind::kFile) return std::nullopt;
  const model::MutexLock lock(mutex_);
  if (blocks_.Find(BlockKey(path, look->info, 0)) == nullptr) return std::nullopt;
  return look->info;
}

model::Result<std::optional<ValueInfo>> RemoteReader::ReadFirstBlock(
    const std::string& path, const std::optional<Generation>& version) const {
  const auto begun = tree_->memory().Now();
  NDLFS_TRY(auto value, ReadBlock(path, 0, version));
  if (!value) return std::nullopt;
  tree_->memory().NoteFile(path, {Look::Kind::kFile, value->info}, begun);
  auto block = std::make_shared<const Bytes>(std::move(value->bytes));
  const model::MutexLock lock(mutex_);
  blocks_.Put(BlockKey(path, value->info, 0), block, block->size() + 256);
  return value->info;
}

std::string RemoteReader::BlockKey(const std::string& path, const ValueInfo& info, uint64_t i) {
  return fmt::format("{}\n{}\n{}\n{}", path, info.generation.tag(), info.size, i);
}

// The block with number `i` of the file, or of that version of it.
model::Result<std::optional<Value>> RemoteReader::ReadBlock(
    const std::string& path, uint64_t i, const std::optional<Generation>& version) const {
  Bytes bytes;
  const auto reserve = [&](uint64_t total_size) -> model::Result<ByteSpan> {
    bytes = Bytes(ReadOptions{{i * kBlock, kBlock}, false, {}}.Clip(total_size).length);
    return bytes.span();
  };
  NDLFS_TRY(const auto result,
            ReadFile(path, {.range = {i * kBlock, kBlock}, .if_match = version}, reserve));
  if (!result) return std::nullopt;
  if (version && result->info.generation != *version) {
    return model::Stale("changed since it was read first");
  }
  if (result->count != bytes.size()) return model::Corrupt("it was cut short while being read");
  return Value{std::move(bytes), result->info};
}

model::Result<std::shared_ptr<const Bytes>> RemoteReader::Block(const std::string& path,
                                                                const ValueInfo& info,
                                                                uint64_t i) const {
  const std::string key = BlockKey(path, info, i);
  {
    const model::MutexLock lock(mutex_);
    for (;;) {
      if (const auto* known = blocks_.Find(key)) return *known;
      if (loading_.insert(key).second) break;
      loaded_.Wait(mutex_);  // somebody else reads it
    }
  }
  // Waiting threads have to be woken, even if there is no memory.
  struct Turn {
    const RemoteReader& reader;
    const std::string& key;
    ~Turn() {
      const model::MutexLock lock(reader.mutex_);
      reader.loading_.erase(key);
      reader.loaded_.NotifyAll();
    }
  } const turn{*this, key};
  auto value = ReadBlock(path, i, info.generation);
  if (!value) return model::Propagate(value.error());
  if (!*value) return model::Stale("gone since it was read first");
  auto block = std::make_shared<const Bytes>(std::move((*value)->bytes));
  const model::MutexLock lock(mutex_);
  blocks_.Put(key, block, block->size() + 256);
  return block;
}

model::Result<std::optional<ReadResult>> RemoteReader::ReadBlocks(
    const std::string& path, const ValueInfo& info, ByteRange range,
    const Reserve& reserve) const {
  std::vector<std::shared_ptr<const Bytes>> blocks;
  const uint64_t first = range.offset / kBlock;
  for (uint64_t i = first; i <= (range.offset + range.length - 1) / kBlock; ++i) {
    NDLFS_TRY(auto block, Block(path, info, i));
    blocks.push_back(std::move(block));
  }
  NDLFS_TRY(const ByteSpan out, reserve(info.size));
  const size_t count = std::min<uint64_t>(out.size(), range.length);
  for (size_t done = 0; done < count;) {
    const uint64_t at = range.offset + done;
    const auto block = blocks[at / kBlock - first]->span();
    const uint64_t within = at % kBlock;
    if (within >= block.size()) return model::Corrupt("it was cut short while being read");
    const auto part =
        block.subspan(within, std::min<uint64_t>(count - done, block.size() - within));
    std::copy(part.begin(), part.end(), out.subspan(done).begin());
    done += part.size();
  }
  return ReadResult{count, info};
}

model::Result<std::optional<ReadResult>> RemoteReader::ReadRemote(
    const std::string& path, const ReadOptions& options, const Reserve& reserve) const {
  HttpRequest request = ReadRequestFor(path, options);
  ByteSpan memory;
  request.reserve = [&](uint64_t total_size) -> model::Result<ByteSpan> {
    NDLFS_TRY(memory, reserve(total_size));
    return memory;
  };
  const auto begun = tree_->memory().Now();
  NDLFS_TRY(HttpResponse response, tree_->client().Send(request));
  if (RefusesItsVersion(path, options, request, response)) {
    return ReadRemote(path, options, reserve);
  }
  if (response.status == 416) return ReadNothing(path, reserve);
  tree_->NoteClock(response);
  NDLFS_TRY(const bool is_absent, tree_->IsAbsent(path, request, response));
  if (is_absent) {
    tree_->memory().NoteFile(path, {}, begun);
    return std::nullopt;
  }
  const ReadResult result{response.count, tree_->InfoOf(path, response)};
  if (IsWhole(options) && tree_->IsDocument(path) && result.count == result.info.size &&
      result.count <= kMaxDocument) {
    tree_->memory().NoteDocument(
        path,
        {std::make_shared<const Bytes>(Bytes::Copy(memory.first(result.count))), result.info});
  }
  return result;
}

// The answer to a read beyond the end does not tell the version.
model::Result<std::optional<ReadResult>> RemoteReader::ReadNothing(
    const std::string& path, const Reserve& reserve) const {
  NDLFS_TRY(const Look look, tree_->LookAgain({&path, 1}).front());
  if (look.kind != Look::Kind::kFile) return std::nullopt;
  NDLFS_RETURN_IF_ERROR(reserve(look.info.size));
  return ReadResult{0, look.info};
}

}  // namespace ndlfs::backends
