// SPDX-License-Identifier: MIT
#include "fs/tree/store/mounted_store.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <string_view>
#include <utility>

#include "backends/format/metadata_files.h"
#include "backends/store/answer_age.h"
#include "backends/store/keys.h"
#include "backends/store/request_scope.h"
#include "cache/chunk_ledger.h"
#include "cache/chunk_loader.h"
#include "fs/tree/store/store_attributes.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using backends::AnswerAge;
using backends::FileStatus;
using model::IoError;

// The least weight of a store or an entity. It limits how many small ones are kept.
constexpr uint64_t kLeastOpened = uint64_t{128} << 10;
constexpr uint64_t kLeastEntity = uint64_t{16} << 10;
constexpr uint64_t kHeavyIndex = uint64_t{1} << 20;

bool IsStale(const model::Error& error) { return error.code() == model::ErrorCode::kStale; }
bool IsCancelled(const model::Error& error) {
  return error.code() == model::ErrorCode::kCancelled;
}
bool IsDenied(const model::Error& error) { return error.code() == model::ErrorCode::kDenied; }

int64_t NowNs() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

// "store/path: message", unless the message names the store already.
std::string Located(const std::string& store, std::string_view path,
                    const std::string& message) {
  if (message.starts_with(store)) return message;
  const std::string object = path == "/" ? store : store + std::string(path);
  return model::OneLine(object) + ": " + message;
}

// Whether there is something at `path`, although it cannot be loaded.
bool IsListed(const backends::Hierarchy& hierarchy, std::string_view path) {
  if (path == "/") return true;
  const auto names = hierarchy.List(model::ParentPath(path));
  return names &&
         std::find(names->begin(), names->end(), model::BaseName(path)) != names->end();
}

// The metadata files of an object that is not loaded. kUnsupported if only Load() finds them.
model::Result<backends::MetadataFiles> FindFiles(const backends::Hierarchy& hierarchy,
                                                 std::string_view path) {
  const auto* finds = dynamic_cast<const backends::FindsMetadataFiles*>(&hierarchy);
  if (finds == nullptr) return model::Unsupported("{}", path);
  return finds->FindFiles(path);
}

// When the data have changed, by the files if they tell; a chunk that is gone
// has no time left but now.
int64_t TimeOfChange(const Entity& before) {
  const int64_t known = before.facts().data_mtime_ns;
  if (!before.ledger() || !before.ledger()->Changed()) return known;
  const int64_t changed = before.ledger()->changed_mtime_ns();
  return std::max(known, changed != 0 ? changed : NowNs());
}

}  // namespace

std::function<backends::FileLook(const std::string&, bool)> DetectIn(
    std::shared_ptr<const backends::Source> source, backends::Detection detection) {
  return [source = std::move(source), detection](const std::string& path, bool is_directory) {
    if (!is_directory) {
      backends::FileLook look = backends::LookIntoFile(*source, path, detection);
      look.error.reset();  // whoever opens the file gets it
      return look;
    }
    const auto format = backends::DetectDirectory(*source, path);
    if (format) return backends::FileLook{*format, {}};
    return backends::FileLook{nullptr, {}, format.error()};
  };
}

static StorePlace PlaceOf(const StoreServices& services, const std::string& path,
                          bool is_directory, const std::string& version) {
  const bool is_root = path == services.only_store;
  // The folder of a store at the top of the mount is called as the source is.
  const bool is_at_top = path.find('/') == std::string::npos;
  const std::string around =
      is_at_top ? services.source->name() : path.substr(0, path.rfind('/'));
  StorePlace place{.name = std::string(model::BaseName(services.source->Describe(path))),
                   .folder = is_root ? services.mount_point : services.mount_point + '/' + path,
                   .is_root = is_root,
                   .around = std::string(model::BaseName(around)),
                   .is_directory = is_directory};
  if (version.empty()) return place;
  place.folder += '/' + version;
  place.is_root = false;
  place.around = model::BaseName(model::ParentPath(version));
  return place;
}

MountedStore::MountedStore(StoreServices& services, std::string path, const FileStatus& status,
                           StoreVersion version)
    : services_(services),
      path_(std::move(path)),
      is_directory_(status.is_directory()),
      version_(std::move(version)),
      place_(std::make_shared<const StorePlace>(
          PlaceOf(services, path_, is_directory_, version_.folder))),
      status_(status) {}

std::string MountedStore::Describe() const {
  std::string text = services_.source->Describe(path_);
  if (!version_.folder.empty()) text += '/' + version_.folder;
  return text;
}

// On a mount for others, the caller may have lost the permission.
bool MountedStore::IsSettled() const {
  if (!version_.is_fixed || is_shared()) return false;
  model::MutexLock lock(mutex_);
  return hierarchy_ != nullptr;
}

bool MountedStore::IsStillThere() {
  auto answer = Fresh();
  if (!answer) answer = LookWhetherUnchanged();
  return answer && *answer;
}

std::shared_ptr<const backends::VersionNames> MountedStore::KnownVersions() const {
  model::MutexLock lock(mutex_);
  return services_.freshness.Holds(names_asked_at_) ? version_names_ : nullptr;
}

model::Result<std::shared_ptr<const backends::VersionNames>> MountedStore::Versions() {
  if (auto known = KnownVersions()) return known;
  NDLFS_TRY(const HierarchyPtr hierarchy, Hierarchy());
  const auto* versioned = dynamic_cast<const backends::Versioned*>(hierarchy.get());
  if (versioned == nullptr) return model::NotFound("{}: versions", Describe());
  const AnswerAge age(services_.freshness.Now());
  NDLFS_TRY(backends::VersionNames found, versioned->Names(), Describe());
  auto names = std::make_shared<const backends::VersionNames>(std::move(found));
  model::MutexLock lock(mutex_);
  version_names_ = names;
  names_asked_at_ = age.since();
  return names;
}

FileStatus MountedStore::status() const {
  model::MutexLock lock(mutex_);
  return status_;
}

Freshness::Time MountedStore::looked_at() const {
  model::MutexLock lock(mutex_);
  return looked_at_;
}

Freshness::Time MountedStore::LookedAt(std::string_view path) const {
  model::MutexLock lock(mutex_);
  const auto* known = known_.Find(path);
  return known == nullptr ? Freshness::Time() : known->note;
}

void MountedStore::NoteStatus(const FileStatus& status) {
  model::MutexLock lock(mutex_);
  status_ = status;
}

std::string MountedStore::format() const {
  HierarchyPtr hierarchy;
  {
    model::MutexLock lock(mutex_);
    hierarchy = hierarchy_;
  }
  return hierarchy ? std::string(hierarchy->format()) : "";
}

void MountedStore::Close() {
  HierarchyPtr closed;
  std::vector<EntityPtr> entities;
  {
    model::MutexLock lock(mutex_);
    closed = std::move(hierarchy_);
    hierarchy_ = nullptr;
    known_.ForEach([&](EntityPtr entity) { entities.push_back(std::move(entity)); });
  }
  // An index lives as long as an array that is found by it. Entities of hierarchies without
  // such an index stay, because the pages that the kernel keeps of them are worth more.
  if (!closed || closed->held_bytes() < kHeavyIndex) return;
  for (const EntityPtr& entity : entities) services_.entities.Drop(entity.get());
}

uint64_t MountedStore::held_bytes() const {
  HierarchyPtr hierarchy;
  {
    model::MutexLock lock(mutex_);
    hierarchy = hierarchy_;
  }
  return kLeastOpened + (hierarchy ? hierarchy->held_bytes() : 0);
}

void MountedStore::Touch(const EntityPtr& entity) const {
  services_.entities.Touch(entity, entity->facts().held_bytes + entity->views().held_bytes());
}

model::Result<HierarchyPtr> MountedStore::Hierarchy() {
  auto answer = Fresh();
  if (!answer) answer = LookWhetherUnchanged();
  if (!answer) {
    model::MutexLock opening(open_mutex_);
    answer = Fresh();  // while we waited for it
    if (!answer) answer = LookAgain();
  }
  const uint64_t held = *answer ? kLeastOpened + (**answer)->held_bytes() : held_bytes();
  for (const auto& idle : services_.opened.Touch(shared_from_this(), held)) idle->Close();
  return *std::move(answer);
}

std::optional<model::Result<HierarchyPtr>> MountedStore::Fresh() const {
  const bool is_settled = IsSettled();
  model::MutexLock lock(mutex_);
  if (hierarchy_) {
    if (is_settled || services_.freshness.MayUse(looked_at_)) return hierarchy_;
  } else if (open_error_) {
    const bool is_transient = open_error_->is_transient();
    if (is_transient ? services_.freshness.HoldsFailure(looked_at_)
                     : services_.freshness.Holds(looked_at_)) {
      return model::Propagate(*open_error_);
    }
  }
  return std::nullopt;
}

// Most looks find nothing new. They go on at the same time, however long the source takes.
std::optional<model::Result<HierarchyPtr>> MountedStore::LookWhetherUnchanged() {
  const AnswerAge age(services_.freshness.Now());
  HierarchyPtr hierarchy;
  {
    model::MutexLock lock(mutex_);
    hierarchy = hierarchy_;
  }
  if (hierarchy == nullptr) return std::nullopt;
  const auto status = CurrentStatus();
  if (!status || !IsUnchanged(hierarchy.get(), *status)) return std::nullopt;
  model::MutexLock lock(mutex_);
  if (hierarchy_ != hierarchy) return std::nullopt;
  looked_at_ = std::max(looked_at_, age.since());
  return hierarchy;
}

model::Result<HierarchyPtr> MountedStore::LookAgain() {
  const AnswerAge age(services_.freshness.Now());
  NDLFS_TRY(const FileStatus status, CurrentStatus());

  HierarchyPtr hierarchy;
  std::optional<model::Error> error;
  {
    model::MutexLock lock(mutex_);
    hierarchy = hierarchy_;
    error = open_error_;
  }
  if (!hierarchy && !error) return Open(status, age);
  if (error && error->is_transient()) return Open(status, age);
  if (!IsUnchanged(hierarchy.get(), status)) return Open(status, age);

  model::MutexLock lock(mutex_);
  looked_at_ = age.since();
  if (error) return model::Propagate(*std::move(error));
  return hierarchy;
}

// A directory that could not be opened has no version: its metadata may have been put right in
// place.
bool MountedStore::IsUnchanged(const backends::Hierarchy* hierarchy,
                               const FileStatus& status) const {
  const uint64_t version =
      is_directory_ && hierarchy != nullptr ? VersionOf(*hierarchy, "/") : 0;
  model::MutexLock lock(mutex_);
  if (!is_directory_) return opened_generation_ == status.version;
  return hierarchy != nullptr && version == opened_version_;
}

uint64_t MountedStore::Opening(const backends::Hierarchy& hierarchy) const {
  if (is_directory_) return 0;
  model::MutexLock lock(mutex_);
  return hierarchy_.get() == &hierarchy ? opening_ : 0;
}

void MountedStore::NoteFormat(const backends::Format* format,
                              const backends::Generation& version) {
  model::MutexLock lock(mutex_);
  detected_ = {format, version, services_.freshness.Now()};
}

model::Result<const backends::Format*> MountedStore::FindFormat(const FileStatus& status) {
  Detected detected;
  {
    model::MutexLock lock(mutex_);
    std::swap(detected, detected_);
  }
  const bool holds = detected.format != nullptr && services_.freshness.Holds(detected.when) &&
                     (is_directory_ || detected.version == status.version);
  if (holds) return detected.format;
  auto look = services_.detect(path_, is_directory_);
  if (look.error) return model::Propagate(*std::move(look.error));
  return look.format;
}

// `status` is from before the store is read, so that a change while that goes
// on is seen by the next look.
model::Result<HierarchyPtr> MountedStore::Open(const FileStatus& status, const AnswerAge& age) {
  const auto now = services_.freshness.Now();
  const uint64_t denials = backends::CallerScope::denials();
  NDLFS_TRY(const backends::Format* format, FindFormat(status), path_);
  if (format == nullptr) {
    const bool is_denied = is_shared() && backends::CallerScope::denials() != denials;
    return is_denied ? IoError(EACCES, path_) : model::HasChanged(path_);
  }
  backends::OpenOptions options = services_.open_options;
  if (!version_.ref.empty()) options.ref = version_.ref;
  auto opened = backends::OpenDetected(*format, services_.source, path_, options);
  // The version is gone. A lookup of its name says so.
  const bool has_gone =
      !opened && !version_.ref.empty() && opened.error().code() == model::ErrorCode::kNotFound;
  if (has_gone) return model::HasChanged(Describe());
  // Neither is about the store.
  if (!opened && (IsStale(opened.error()) || IsCancelled(opened.error()))) {
    return model::Propagate(opened.error());
  }
  if (!opened) {
    const auto located = Located(Describe(), "/", opened.error().message());
    opened = model::Propagate(opened.error().WithMessage(located));
    services_.problems.Report(located);
  }
  const uint64_t version = opened ? VersionOf(**opened, "/") : 0;
  const bool may_be_outdated = opened && MayBeOutdated(status);

  HierarchyPtr closed;  // destroyed after the lock is given back
  model::MutexLock lock(mutex_);
  closed = std::move(hierarchy_);
  hierarchy_ = opened.value_or(nullptr);
  open_error_.reset();
  if (!opened) open_error_ = opened.error();
  const auto generation = may_be_outdated ? backends::Generation() : status.version;
  if (may_be_outdated || generation != opened_generation_) ++opening_;
  opened_generation_ = generation;
  opened_version_ = version;
  looked_at_ = opened ? age.since() : now;
  return opened;
}

// Where the source keeps answers, the file may have been read in the version of an older
// answer. A second look tells whether that is possible; mostly it is answered out of a memory,
// too.
bool MountedStore::MayBeOutdated(const FileStatus& status) {
  const bool keeps_answers = services_.source->looks_are_requests() &&
                             services_.freshness.interval() > std::chrono::nanoseconds(0);
  if (is_directory_ || !keeps_answers || services_.freshness.immutable()) return false;
  const auto after = CurrentStatus();
  return !after || after->version != status.version;
}

model::Result<HierarchyPtr> MountedStore::Reopen(const HierarchyPtr& outdated) {
  model::MutexLock opening(open_mutex_);
  {
    model::MutexLock lock(mutex_);
    if (hierarchy_ && hierarchy_ != outdated) return hierarchy_;  // somebody has
  }
  const AnswerAge age(services_.freshness.Now());
  NDLFS_TRY(const FileStatus status, CurrentStatus());
  return Open(status, age);
}

model::Result<FileStatus> MountedStore::CurrentStatus() {
  const auto found = services_.source->Stat(path_, backends::Follow::kNo);
  // If a server does not answer, nobody can tell what has changed.
  if (!found && services_.source->looks_are_requests()) {
    return model::Propagate(found.error());
  }
  const auto status = found.value_or(std::nullopt);
  if (!status || status->is_symlink()) return model::HasChanged(path_);
  if (status->is_directory() != is_directory_) return model::HasChanged(path_);
  NoteStatus(*status);
  return *status;
}

uint64_t MountedStore::VersionOf(const backends::Hierarchy& hierarchy, std::string_view path) {
  return hierarchy.Version(path).value_or(0);
}

// What the error of a look at metadata says about a change of them. What a caller may not read
// any more counts as it was.
static model::Result<bool> ChangeIn(const model::Error& error) {
  if (IsStale(error)) return true;
  if (error.is_of_system() && !IsDenied(error)) return model::Propagate(error);
  return false;
}

bool MountedStore::HasOtherMetadata(const std::weak_ptr<const backends::Hierarchy>& hierarchy,
                                    std::string_view path, uint64_t version) {
  return FindWhetherChanged(hierarchy, path, version).value_or(false);
}

model::Result<bool> MountedStore::FindWhetherChanged(
    const std::weak_ptr<const backends::Hierarchy>& hierarchy, std::string_view path,
    uint64_t version) {
  const backends::RequestScope scope;
  backends::RequestScope::ForgetAll();
  model::Result<HierarchyPtr> opened = hierarchy.lock();
  if (*opened == nullptr) opened = Hierarchy();
  if (!opened) return ChangeIn(opened.error());
  const auto now = (*opened)->Version(path);
  if (now) return *now != version;
  if (now.error().code() == model::ErrorCode::kNotFound) return true;
  return ChangeIn(now.error());
}

bool MountedStore::StillHas(const Entity& entity) {
  const HierarchyPtr hierarchy = entity.facts().loaded_from.lock();
  if (hierarchy == nullptr || entity.node() == nullptr) return false;
  const auto node = hierarchy->Load(entity.path());
  return node && *node == entity.node();
}

model::Result<EntityPtr> MountedStore::Get(std::string_view path) {
  const AnswerAge age(services_.freshness.Now());
  NDLFS_TRY(auto hierarchy, Hierarchy());
  const Seen seen = Find(path);
  if (seen.fresh) {
    services_.freshness.NoteUse(seen.looked_at);
    Touch(seen.entity);
    return seen.entity;
  }
  if (seen.entity) {
    const bool changed = seen.entity->facts().is_transient ||
                         seen.entity->facts().opening != Opening(*hierarchy) ||
                         seen.entity->version() != VersionOf(*hierarchy, path) ||
                         (seen.entity->ledger() && seen.entity->ledger()->Changed());
    if (!changed) {
      Confirm(path, *seen.entity, age);
      Touch(seen.entity);
      return seen.entity;
    }
    // The opened store knows this array by the source that it had: chunks of
    // that are in the cache.
    if (seen.entity->facts().loaded_from.lock() == hierarchy) {
      NDLFS_TRY(hierarchy, Reopen(hierarchy));
    }
    services_.entities.Drop(seen.entity.get());
  }
  NDLFS_TRY(auto entity, Load(hierarchy, path, seen.entity.get()));
  return Keep(std::move(entity), seen.entity.get(), age);
}

// An entity in use knows which of its chunks have changed. On a mount for others, what a caller
// may not read is an entity without the files.
model::Result<MountedStore::FolderLook> MountedStore::LookAtFolder(std::string_view path) {
  NDLFS_TRY(const auto hierarchy, Hierarchy());
  const bool is_in_use = Find(path).entity != nullptr;
  if (!is_in_use && !is_shared()) {
    const auto found = FindFiles(*hierarchy, path);
    if (found) return FolderLook{found->mtime_ns, PermissionsOfFiles(found->files)};
    if (found.error().code() == model::ErrorCode::kNotFound) {
      return model::Propagate(found.error());
    }
  }
  NDLFS_TRY(const auto entity, Get(path));
  return FolderLook{entity->facts().mtime_ns, entity->facts().permissions};
}

MountedStore::Seen MountedStore::Find(std::string_view path) {
  const bool is_settled = IsSettled();
  model::MutexLock lock(mutex_);
  const auto* known = known_.Find(path);
  if (known == nullptr) return {};
  EntityPtr entity = known->object.lock();
  const auto looked_at = known->note;
  const bool holds = entity && entity->facts().is_transient
                         ? services_.freshness.HoldsFailure(looked_at)
                         : is_settled || services_.freshness.Holds(looked_at);
  const bool fresh = entity && holds &&
                     (is_directory_ || entity->facts().opening == opening_) &&
                     !(entity->ledger() && entity->ledger()->has_changed());
  return {std::move(entity), fresh, looked_at};
}

// A format may go by what it knew of the store at the last look. A failure is tried again after
// a time of its own.
Freshness::Time MountedStore::TimeOfLook(const Entity& entity, const AnswerAge& age) const {
  return entity.facts().is_transient ? services_.freshness.Now() : age.since();
}

void MountedStore::Confirm(std::string_view path, const Entity& entity, const AnswerAge& age) {
  model::MutexLock lock(mutex_);
  auto* known = known_.Find(path);
  if (known != nullptr) known->note = TimeOfLook(entity, age);
}

// Such an error is about the request, and not about the object.
static bool IsAboutRequest(const model::Result<std::shared_ptr<const backends::Node>>& node) {
  if (!node) return IsCancelled(node.error());
  return (*node)->error && IsCancelled(*(*node)->error);
}

model::Result<EntityPtr> MountedStore::Load(const HierarchyPtr& hierarchy,
                                            std::string_view path, const Entity* before) {
  Entity::Facts facts = {
      .path = std::string(path), .loaded_from = hierarchy, .opening = Opening(*hierarchy)};
  Entity::Data data;
  NotedFailures failures;
  const auto asked_at = services_.freshness.Now();
  const auto version = hierarchy->Version(path);
  // To find out that there is nothing may take a search: once is enough.
  if (!version && version.error().code() == model::ErrorCode::kNotFound) {
    return model::NotFound("{}", path);
  }
  facts.version = version.value_or(0);
  facts.generation = ++services_.last_generation;
  auto node = hierarchy->Load(path);
  if (IsAboutRequest(node)) {
    return model::Propagate(node ? *(*node)->error : std::move(node).error());
  }
  if (!node) {
    NDLFS_RETURN_IF_ERROR(AddFailedLoad(facts, *hierarchy, node.error()));
  } else {
    facts.node = *std::move(node);
    facts.mtime_ns = facts.node->mtime_ns;
    facts.permissions = PermissionsOfFiles(facts.node->files);
    facts.is_transient = facts.node->is_partial;
    if (facts.node->error) AddProblem(facts, *facts.node->error);
    data = DataOf(facts, failures, before == nullptr, asked_at);
  }
  if (before != nullptr) facts.data_mtime_ns = TimeOfChange(*before);
  facts.mtime_ns = std::max(facts.mtime_ns, facts.data_mtime_ns);
  facts.held_bytes = kLeastEntity + (facts.node ? facts.node->held_bytes() : 0);
  return std::make_shared<const Entity>(services_.cache, std::move(facts), std::move(data),
                                        std::move(failures));
}

model::Result<void> MountedStore::AddFailedLoad(Entity::Facts& facts,
                                                const backends::Hierarchy& hierarchy,
                                                const model::Error& error) const {
  if (error.code() == model::ErrorCode::kNotFound || IsStale(error)) {
    return model::Propagate(error);
  }
  // A path that is no object of this store needs no reason why it is not shown.
  if (!IsListed(hierarchy, facts.path)) {
    if (is_shared() && IsDenied(error)) return model::Propagate(error);
    return model::NotFound("{}", facts.path);
  }
  facts.is_denied = is_shared() && IsDenied(error);
  std::vector<std::string> files;
  if (const auto found = FindFiles(hierarchy, facts.path); found && !is_shared()) {
    facts.mtime_ns = found->mtime_ns;
    files = found->files;
  }
  facts.permissions = PermissionsOfFiles(files);
  AddProblem(facts, error);
  return {};
}

backends::Permissions MountedStore::PermissionsOfFiles(
    const std::vector<std::string>& files) const {
  const auto permissions_of = [&](const std::string& path) {
    const auto status = services_.source->Stat(path, backends::Follow::kYes);
    return status && *status ? PermissionsOf(**status) : backends::Permissions{};
  };
  const backends::Permissions store = PermissionsOf(status());
  if (!is_directory_ || files.empty()) return store;
  backends::Permissions permissions = permissions_of(backends::JoinKey(path_, files.front()));
  for (size_t i = 1; i < files.size(); ++i) {
    permissions =
        CommonPermissions(permissions, permissions_of(backends::JoinKey(path_, files[i])));
  }
  return CommonPermissions(permissions, store);
}

void MountedStore::AddProblem(Entity::Facts& facts, const model::Error& error) const {
  const std::string line = Located(Describe(), facts.path, error.message());
  facts.problems += line + "\n";
  facts.is_transient = facts.is_transient || error.is_transient();
  services_.problems.Report(line);
}

Entity::Data MountedStore::DataOf(Entity::Facts& facts, NotedFailures& failures, bool continues,
                                  Freshness::Time asked_at) {
  const auto& source = facts.node->source;
  if (facts.node->is_group() || source == nullptr) return {};
  const backends::ArraySpec& spec = source->spec();
  if (!cache::MayReadInPlace(spec) && !source->contiguous() && !source->joined()) {
    const auto fits = cache::CheckFits(spec, spec.grid.max_chunk_shape());
    if (!fits) return AddProblem(facts, fits.error()), Entity::Data();
  }
  auto ledger = BeginLedger(facts, failures, continues, asked_at);
  auto reader = std::make_shared<const cache::ArrayReader>(source, services_.cache, ledger);
  const ArrayInput input = MakeArrayInput(facts.node, reader, services_.scan);
  for (const ViewName& file : services_.array_views->Listed(input, services_.listed_views)) {
    if (!file.refusal) continue;
    AddProblem(facts, model::Error(*file.refusal).In(file.name));
  }
  return {std::move(ledger), std::move(reader)};
}

// An array that has changed has failed with other bytes: its ledger does not continue.
std::shared_ptr<cache::ChunkLedger> MountedStore::BeginLedger(const Entity::Facts& facts,
                                                              NotedFailures& failures,
                                                              bool continues,
                                                              Freshness::Time asked_at) {
  failures.kept = &services_.failures;
  failures.name =
      path_ + '\0' + version_.ref + '\0' + std::to_string(caller_id()) + '\0' + facts.path;
  const auto kept =
      continues ? failures.kept->Find(failures.name, facts.version) : std::nullopt;
  if (kept) failures.failures = kept->failures;
  auto ledger = kept ? kept->ledger : std::make_shared<cache::ChunkLedger>();
  if (facts.version == 0 || services_.freshness.immutable()) return ledger;
  ledger->Watch(
      [store = weak_from_this(), hierarchy = facts.loaded_from, path = facts.path,
       version = facts.version]() -> model::Result<bool> {
        const auto here = store.lock();
        return here != nullptr ? here->FindWhetherChanged(hierarchy, path, version) : false;
      },
      services_.freshness.interval() + (services_.freshness.Now() - asked_at));
  return ledger;
}

// Another thread may have loaded the object in the meantime, or later than this one.
static bool IsAsGood(const Entity& other, Freshness::Time other_looked_at, const Entity& entity,
                     Freshness::Time looked_at) {
  const bool is_same =
      other.version() == entity.version() && other.facts().opening == entity.facts().opening;
  return is_same || (other_looked_at > looked_at && !other.facts().is_transient);
}

EntityPtr MountedStore::Keep(EntityPtr entity, const Entity* before, const AnswerAge& age) {
  const auto looked_at = TimeOfLook(*entity, age);
  EntityPtr other;  // destroyed after the lock is given back
  {
    model::MutexLock lock(mutex_);
    const auto* known = known_.Find(entity->path());
    if (known != nullptr) other = known->object.lock();
    if (other && other.get() != before && IsAsGood(*other, known->note, *entity, looked_at)) {
      std::swap(entity, other);
    } else {
      known_.Put(entity->path(), entity, looked_at);
    }
  }
  Touch(entity);
  return entity;
}

}  // namespace ndlfs::fs
