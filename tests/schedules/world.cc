// SPDX-License-Identifier: MIT
#include "tests/schedules/world.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <thread>

#include "backends/store/request_context.h"
#include "fs/tree/source_tree.h"
#include "fs/tree/store/document.h"
#include "model/path_name.h"
#include "tests/schedules/run_together.h"

namespace ndlfs::test {
namespace {

using backends::RequestContext;
using model::MutexLock;
using model::Result;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Files = std::map<std::string, std::string>;
using Names = std::set<std::string>;

constexpr uint64_t kChunk = 4;
constexpr uint64_t kBudget = 64;  // of the chunk cache: not all chunks have room

constexpr std::array<const char*, 4> kArrays = {"s.zarr/a", "s.zarr/b", "s.zarr/g/c",
                                                "t.zarr/d"};
constexpr std::array<const char*, 2> kGroups = {"s.zarr/g", "t.zarr"};
constexpr std::array<const char*, 4> kFolders = {"", "s.zarr", "s.zarr/g", "t.zarr"};
constexpr const char* kFile = "n.npy";
constexpr const char* kZarray = "/.zarray";
constexpr const char* kZgroup = "/.zgroup";

std::string PickArray(uint64_t number) { return kArrays[number % kArrays.size()]; }
// One of the arrays, or of those that are read most.
std::string PickPlace(uint64_t number) {
  constexpr std::array<const char*, 6> kPlaces = {"s.zarr/a",   "s.zarr/a", "s.zarr/b",
                                                  "s.zarr/g/c", "t.zarr/d", kFile};
  return kPlaces[number % kPlaces.size()];
}
std::string PickFolder(uint64_t number) { return kFolders[number % kFolders.size()]; }
std::string PickGroup(uint64_t number) { return kGroups[number % kGroups.size()]; }
uint64_t PickSize(uint64_t number) { return kChunk * (1 + number / 8 % 4); }

struct Range {
  uint64_t offset = 0;
  uint64_t size = 0;
};
Range PickRange(uint64_t number) {
  if (number / 2 % 3 == 0) return {0, 100};
  return {number / 6 % 13, 1 + number / 100 % 9};
}

std::string ArrayMetadata(uint64_t size) {
  return fmt::format(
      R"({{"zarr_format": 2, "shape": [{}], "chunks": [{}], "dtype": "|u1", )"
      R"("compressor": null, "filters": null, "order": "C", "fill_value": 46}})",  // '.'
      size, kChunk);
}

std::string NpyFile(const std::string& elements) {
  std::string header = fmt::format("{{'descr': '|u1', 'fortran_order': False, 'shape': ({},)}}",
                                   elements.size());
  header.resize(117, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' +
         header + elements;
}
constexpr size_t kNpyHeader = 128;

// The elements of the array at `path` in a state of the source; nullopt if there is none.
std::optional<std::string> ElementsIn(const Files& files, const std::string& path) {
  if (path == kFile) {
    const auto file = files.find(path);
    if (file == files.end()) return std::nullopt;
    return file->second.substr(kNpyHeader);
  }
  const auto metadata = files.find(path + kZarray);
  if (metadata == files.end()) return std::nullopt;
  const size_t begin = metadata->second.find('[') + 1;
  const uint64_t size = std::strtoull(metadata->second.c_str() + begin, nullptr, 10);
  std::string elements;
  for (uint64_t at = 0; at < size; at += kChunk) {
    const auto chunk = files.find(fmt::format("{}/{}", path, at / kChunk));
    elements += chunk == files.end() ? std::string(kChunk, '.') : chunk->second;
  }
  return elements.substr(0, size);
}

// What is in the folder at `path`: all folders, or only those that are shown. A store shows
// those that have metadata.
Names FoldersIn(const Files& files, const std::string& path, bool shown) {
  const std::string begin = path.empty() ? "" : path + "/";
  const bool is_plain = !files.contains(path + kZgroup);
  Names names;
  for (const auto& [file, text] : files) {
    if (!file.starts_with(begin)) continue;
    const size_t end = file.find('/', begin.size());
    if (end == file.npos && !path.empty()) continue;
    const std::string child = file.substr(0, end);
    const bool has_metadata =
        is_plain || files.contains(child + kZarray) || files.contains(child + kZgroup);
    if (has_metadata || !shown) names.insert(child.substr(begin.size()));
  }
  return names;
}

bool IsWithin(const Names& some, const Names& all) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

Result<void> WriteDocument1(const backends::Hierarchy& hierarchy, std::string_view store,
                            std::string_view path, const fs::ReaderOf& reader_of,
                            const fs::TextSink& sink,
                            const std::function<void(const model::Error&)>& refused) {
  return fs::WriteDocument(hierarchy, store, path, reader_of, sink, nullptr, refused);
}

}  // namespace

std::string Step::ToText() const {
  const auto user = fmt::format("user {}", actor);
  switch (kind) {
    case Kind::kOpen:
      return fmt::format("{} opens {} as {}", user, PickPlace(number / 2), number % 2);
    case Kind::kRead: {
      const Range range = PickRange(number);
      return fmt::format("{} reads {} bytes of {}, or the other one, from {}", user, range.size,
                         number % 2, range.offset);
    }
    case Kind::kClose:
      return fmt::format("{} closes {}", user, number % 2);
    case Kind::kList:
      return fmt::format("{} lists \"{}\"", user, PickFolder(number));
    case Kind::kWriteArray:
      return fmt::format("{} is written with {} elements", PickArray(number), PickSize(number));
    case Kind::kWriteChunk:
      return fmt::format("{}/{} is written", PickArray(number), number / 8 % 2);
    case Kind::kRemoveArray:
      return fmt::format("{} is removed", PickArray(number));
    case Kind::kWriteFile:
      return fmt::format("{} is {}", kFile, number % 4 == 0 ? "removed" : "written");
    case Kind::kRemoveGroup:
      return fmt::format("{} is removed", PickGroup(number));
    case Kind::kWait:
      return fmt::format("{} waits for {} ms", user, number % 3000);
    case Kind::kInterrupt:
      return fmt::format("user {} is interrupted", number % kUsers);
  }
  return "";
}

Plan MakePlan(uint64_t seed) {
  using Kind = Step::Kind;
  std::mt19937_64 random(seed);
  Plan plan;
  const auto add = [&](size_t actor, std::initializer_list<Kind> kinds) {
    const Kind kind = kinds.begin()[random() % kinds.size()];
    plan.push_back({actor, kind, random() % 100'000});
  };
  for (size_t user = 0; user < kUsers; ++user) {
    for (int i = 0; i < 4; ++i) {
      add(user, {Kind::kOpen, Kind::kOpen, Kind::kOpen, Kind::kList});
      add(user, {Kind::kRead, Kind::kRead, Kind::kRead, Kind::kWait});
      add(user, {Kind::kRead, Kind::kRead, Kind::kList, Kind::kWait});
      add(user, {Kind::kRead, Kind::kClose, Kind::kOpen, Kind::kWait});
    }
  }
  for (int i = 0; i < 10; ++i) {
    add(kUsers,
        {Kind::kWriteArray, Kind::kWriteArray, Kind::kWriteChunk, Kind::kWriteChunk,
         Kind::kRemoveArray, Kind::kWriteFile, Kind::kRemoveGroup, Kind::kWait, Kind::kWait});
  }
  if (random() % 2 == 0) return plan;
  for (int i = 0; i < 4; ++i) add(kUsers + 1, {Kind::kWait, Kind::kInterrupt});
  return plan;
}

MountedWorld::MountedWorld(const WorldOptions& options, uint64_t seed)
    : options_(options),
      source_(WorldSource::Make(options.place, options.calm, seed, options.revalidate)) {
  for (size_t i = 0; i < users_.size(); ++i) {
    const auto id = static_cast<uid_t>(1000 + i);
    users_[i].caller = backends::FindCaller(id, id, {});
  }
  states_.push_back({Clock::now(), {}});
  Put(std::string("s.zarr") + kZgroup, R"({"zarr_format": 2})");
  WriteArray("s.zarr/a", 8);
  WriteArray("s.zarr/g/c", 4);
  Put(kFile, NpyFile(NewChunk() + NewChunk()));
  source_->set_watch([this] { ExpectBudget(); });
  context_.emplace(
      source_->source(), kBudget,
      cache::LoadPace::Limits{
          .decoders = 1, .fetches = 4, .is_remote = options.place != WorldPlace::kLocal},
      fs::Freshness(options.revalidate), backends::OpenOptions{}, &WriteDocument1,
      [](std::string_view) {});
}

Seen MountedWorld::Live(const Plan& plan) {
  std::vector<std::function<void()>> lives;
  for (size_t actor = 0; actor < kActors; ++actor) {
    lives.emplace_back([this, actor, &plan] {
      for (const Step& step : plan) {
        if (step.actor == actor) Do(step);
      }
    });
  }
  RunTogether(std::move(lives));
  ExpectAllIsSeen();
  return seen_;
}

void MountedWorld::Do(const Step& step) {
  User& user = users_[std::min(step.actor, kUsers)];
  switch (step.kind) {
    case Step::Kind::kOpen:
      return OpenFile(user, step.number);
    case Step::Kind::kRead:
      return ReadFile(user, step.number);
    case Step::Kind::kClose:
      return user.open[step.number % 2].reset();
    case Step::Kind::kList:
      return ListFolder(user, step.number);
    case Step::Kind::kWait:
      return std::this_thread::sleep_for(milliseconds(step.number % 3000));
    case Step::Kind::kInterrupt: {
      const MutexLock lock(mutex_);
      const auto& request = users_[step.number % kUsers].request;
      if (request) request->Cancel();
      return;
    }
    default:
      return WriteSomething(step);
  }
}

template <typename Request>
auto MountedWorld::Ask(User& user, const Request& request) {
  const auto cancellation = std::make_shared<backends::Cancellation>();
  {
    const MutexLock lock(mutex_);
    user.request = cancellation;
  }
  const RequestContext::Scope scope({.caller = user.caller, .cancellation = cancellation});
  auto answer = request();
  if (!answer && answer.error().code() == model::ErrorCode::kInternal) {
    Fail("a defect: " + answer.error().message());
  }
  return answer;
}

void MountedWorld::OpenFile(User& user, uint64_t number) {
  auto& open = user.open[number % 2];
  open.reset();
  const std::string path = PickPlace(number / 2);
  const size_t begin = OldestState();
  const auto node = Find(user, path + "/data.raw");
  if (!node) return;
  auto file = Ask(user, [&] { return (*node)->Open(); });
  if (file) open = Open{path, *std::move(file), begin, {}};
}

void MountedWorld::ReadFile(User& user, uint64_t number) {
  auto& open = user.open[number % 2] ? user.open[number % 2] : user.open[1 - number % 2];
  if (!open) return;
  const Range range = PickRange(number);
  std::string piece(range.size, '?');
  const auto count = Ask(user, [&] {
    return open->file.handle->Read(range.offset, std::as_writable_bytes(std::span(piece)));
  });
  if (!count) return;
  {
    const MutexLock lock(mutex_);
    ++seen_.reads;
  }
  open->pieces.emplace_back(range.offset, piece.substr(0, *count));
  std::string what = open->path;
  for (const auto& [offset, text] : open->pieces) {
    what += fmt::format(" \"{}\" from {}", text, offset);
  }
  // All that was read of one open file is of one moment. But a chunk that is removed under it
  // may be shown as fill values for a while, as SEMANTICS.md says.
  const bool may_be_filled = WasRemoved(open->begin, open->path);
  ExpectState(open->begin, what, [&](const Files& files) {
    const auto elements = ElementsIn(files, open->path);
    if (!elements) return false;
    return std::all_of(open->pieces.begin(), open->pieces.end(), [&](const auto& read) {
      const auto& [offset, text] = read;
      const std::string there = elements->substr(std::min(offset, elements->size()));
      const bool is_last = &read == &open->pieces.back();
      const bool ends = text.size() == range.size || text.size() == there.size();
      return text.size() <= there.size() && (!is_last || ends) &&
             std::equal(text.begin(), text.end(), there.begin(), [&](char seen, char stored) {
               return seen == stored || (may_be_filled && seen == '.');
             });
    });
  });
}

bool MountedWorld::WasRemoved(size_t begin, const std::string& path) const {
  const MutexLock lock(mutex_);
  return std::any_of(
      states_.begin() + static_cast<std::ptrdiff_t>(begin), states_.end(),
      [&](const State& state) { return !ElementsIn(state.files, path).has_value(); });
}

void MountedWorld::ListFolder(User& user, uint64_t number) {
  const std::string path = PickFolder(number);
  const size_t begin = OldestState();
  const auto names = List(user, path);
  if (!names) return;
  {
    const MutexLock lock(mutex_);
    ++seen_.lists;
  }
  std::string what = "the list of \"" + path + "\":";
  for (const std::string& name : *names) what += " " + name;
  ExpectEntries(begin, what, path, *names);
}

void MountedWorld::ExpectEntries(size_t begin, const std::string& what, const std::string& path,
                                 const Names& names) {
  const std::string wrong = [&]() -> std::string {
    const MutexLock lock(mutex_);
    Names ever;
    Names always = FoldersIn(states_[begin].files, path, true);
    for (size_t i = begin; i < states_.size(); ++i) {
      const Names shown = FoldersIn(states_[i].files, path, true);
      // Where the source fails, there are folders whose files could not be looked at, too.
      ever.merge(FoldersIn(states_[i].files, path, options_.calm == 0));
      std::erase_if(always, [&](const std::string& name) { return !shown.contains(name); });
    }
    // A file whose contents could not be looked at is a plain file.
    if (options_.calm != 0) always.erase(kFile);
    if (!IsWithin(names, ever)) return "has what was never there";
    if (!IsWithin(always, names)) return "lacks what always was there";
    return "";
  }();
  if (!wrong.empty()) Fail(fmt::format("{} {} from state {} on", what, wrong, begin));
}

void MountedWorld::WriteSomething(const Step& step) {
  const std::string array = PickArray(step.number);
  switch (step.kind) {
    case Step::Kind::kWriteArray:
      return WriteArray(array, PickSize(step.number));
    case Step::Kind::kWriteChunk:
      return Put(fmt::format("{}/{}", array, step.number / 8 % 2), NewChunk());
    case Step::Kind::kRemoveArray:
      return RemoveArray(array);
    case Step::Kind::kWriteFile: {
      if (step.number % 4 == 0) return Remove(kFile);
      std::string elements;
      for (uint64_t i = 0; i < PickSize(step.number); i += kChunk) elements += NewChunk();
      return Put(kFile, NpyFile(elements));
    }
    case Step::Kind::kRemoveGroup: {
      const std::string group = PickGroup(step.number);
      for (const char* one : kArrays) {
        if (std::string_view(one).starts_with(group)) RemoveArray(one);
      }
      return Remove(group + kZgroup);
    }
    default:
      return;
  }
}

void MountedWorld::ExpectAllIsSeen() {
  source_->CalmDown();
  std::this_thread::sleep_for(seconds(10) + options_.revalidate);
  const Files files = states_.back().files;
  for (const char* folder : kFolders) ExpectFolder(folder, files);
  for (const char* array : kArrays) ExpectFile(array);
  ExpectFile(kFile);
}

void MountedWorld::ExpectFolder(const std::string& path, const Files& files) {
  if (!path.empty() && !files.contains(path + kZgroup)) return;
  const auto names = List(users_[kUsers], path);
  if (!names) return Fail("in the end: " + names.error().message());
  if (*names == FoldersIn(files, path, true)) return;
  std::string text;
  for (const std::string& name : *names) text += " " + name;
  Fail(fmt::format("in the end the list of \"{}\" is:{}", path, text));
}

void MountedWorld::ExpectFile(const std::string& path) {
  const auto elements = ElementsIn(states_.back().files, path);
  User& user = users_[kUsers];
  const auto node = Find(user, path + "/data.raw");
  if (!elements && node) return Fail("in the end there still is " + path);
  if (!elements) return;
  if (!node) return Fail("in the end: " + node.error().message());
  const auto file = Ask(user, [&] { return (*node)->Open(); });
  if (!file) return Fail("in the end: " + file.error().message());
  std::string read(100, '?');
  const auto count =
      Ask(user, [&] { return file->handle->Read(0, std::as_writable_bytes(std::span(read))); });
  if (!count) return Fail("in the end: " + count.error().message());
  read.resize(*count);
  if (read != *elements) {
    Fail(fmt::format("in the end {} is \"{}\", and not \"{}\"", path, read, *elements));
  }
}

void MountedWorld::Change(const std::function<void()>& change) {
  {
    const MutexLock lock(mutex_);
    change();
  }
  std::this_thread::sleep_for(microseconds(10));
}

void MountedWorld::Put(const std::string& path, const std::string& text) {
  Change([&] {
    source_->Put(path, text);
    Files files = states_.back().files;
    files[path] = text;
    states_.push_back({Clock::now(), std::move(files)});
  });
}

// Slowly enough for readers: that a chunk is absent is no reason to look at all others each
// time (ChunkLedger::LookInterval()).
void MountedWorld::Remove(const std::string& path) {
  Change([&] {
    Files files = states_.back().files;
    if (files.erase(path) == 0) return;
    source_->Remove(path);
    states_.push_back({Clock::now(), std::move(files)});
  });
  std::this_thread::sleep_for(seconds(1));
}

void MountedWorld::WriteArray(const std::string& array, uint64_t size) {
  const std::string group = array.substr(0, array.rfind('/'));
  if (!states_.back().files.contains(group + kZgroup)) {
    Put(group + kZgroup, R"({"zarr_format": 2})");
  }
  Put(array + kZarray, ArrayMetadata(size));
  for (uint64_t at = 0; at < size; at += kChunk) {
    Put(fmt::format("{}/{}", array, at / kChunk), NewChunk());
  }
}

void MountedWorld::RemoveArray(const std::string& array) {
  for (const char* name : {kZarray, "/0", "/1", "/2", "/3"}) Remove(array + name);
}

// Unlike all others.
std::string MountedWorld::NewChunk() { return fmt::format("{:04}", ++last_chunk_); }

size_t MountedWorld::OldestState() const {
  const MutexLock lock(mutex_);
  const auto oldest = Clock::now() - options_.revalidate;
  size_t state = states_.size() - 1;
  while (state != 0 && states_[state].since > oldest) --state;
  return state;
}

void MountedWorld::ExpectState(size_t begin, const std::string& what,
                               const std::function<bool(const Files&)>& test) {
  const auto missing = [&]() -> std::optional<std::string> {
    const MutexLock lock(mutex_);
    std::string when;
    for (size_t i = 0; i < states_.size(); ++i) {
      if (!test(states_[i].files)) continue;
      if (i >= begin) return std::nullopt;
      when = fmt::format(", but in state {}", i);
    }
    return fmt::format("{} was not so between states {} and {}{}", what, begin,
                       states_.size() - 1, when);
  }();
  if (missing) Fail(*missing);
  ExpectBudget();
}

void MountedWorld::ExpectBudget() {
  if (!context_) return;
  const uint64_t used = context_->cache.stats().used_bytes;
  if (used > kBudget) Fail(fmt::format("{} bytes are in the cache", used));
}

void MountedWorld::Fail(std::string what) {
  const MutexLock lock(mutex_);
  seen_.failures.push_back(std::move(what));
}

Result<fs::TreeNodePtr> MountedWorld::Find(User& user, const std::string& path) {
  NDLFS_TRY(fs::TreeNodePtr node, fs::FindSourceNode(*context_, ""));
  const std::string absolute = "/" + path;
  for (const auto part : model::SplitPath(absolute)) {
    if (part.empty()) continue;
    NDLFS_TRY(node, Ask(user, [&] { return node->Lookup(part); }));
  }
  return node;
}

Result<MountedWorld::Names> MountedWorld::List(User& user, const std::string& path) {
  NDLFS_TRY(const auto node, Find(user, path));
  Names unknown;
  NDLFS_TRY(auto names, Ask(user, [&]() -> Result<Names> {
              NDLFS_TRY(const auto reader, node->OpenDirectory());
              Names folders;
              for (;;) {
                NDLFS_TRY(const auto entry, reader->Next());
                if (!entry) return folders;
                if (entry->name == "error.txt") {
                  return model::Corrupt("the store cannot be opened");
                }
                if (entry->name.starts_with(".")) continue;
                if (S_ISDIR(entry->type)) folders.insert(entry->name);
                if (entry->type == 0) unknown.insert(entry->name);
              }
            }));
  // As programs do that need the type.
  for (const std::string& name : unknown) {
    const auto found = Ask(user, [&] { return node->Lookup(name); });
    if (!found && found.error().code() == model::ErrorCode::kNotFound) continue;
    if (!found) return model::Propagate(found.error());
    NDLFS_TRY(const auto attributes, Ask(user, [&] { return (*found)->Stat(); }));
    if (S_ISDIR(attributes.mode)) names.insert(name);
  }
  return names;
}

}  // namespace ndlfs::test
