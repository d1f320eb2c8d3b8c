// SPDX-License-Identifier: MIT
#include "backends/detection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/format/nexus.h"
#include "backends/formats.h"
#include "backends/store/file_name.h"
#include "backends/store/keys.h"

namespace ndlfs::backends {
namespace {

constexpr size_t kHeadSize = 1024;  // as Format::ProbeContent() promises
// How many bytes to read of a file. A signature of HDF5 may stand behind a user block of 8 KiB.
constexpr size_t kBeginningSize = 8192 + 8;

// The markers that make it unnecessary to look for others: consolidated metadata, and those of
// Zarr v3.
constexpr std::array<std::string_view, 2> kAskedFirst = {"zarr.json", ".zmetadata"};
// The names to look for next in a directory without the above, and in its children.
constexpr std::array<std::string_view, 2> kAskedAlong = {".zattrs", ".nczarr"};
constexpr std::array<std::string_view, 3> kAskedBelow = {".zarray", ".zgroup", ".zattrs"};

// The beginning of a file, and the rest of it for formats that need more.
struct OpenedFile {
  std::shared_ptr<const Store> store;
  Bytes beginning;  // empty where the file cannot be read: then its name has to tell
  std::optional<Generation> version;
  std::optional<model::Error> passing = std::nullopt;  // why nobody can tell at this moment

  ConstByteSpan head() const {
    const ConstByteSpan bytes = beginning.span();
    return bytes.first(std::min(kHeadSize, bytes.size()));
  }
};

// Opens the file at `path` and reads its head: nullopt where there is none.
model::Result<std::optional<OpenedFile>> OpenAndRead(const Source& source,
                                                     std::string_view path) {
  OpenedFile file{source.OpenFile(std::string(path)), Bytes(), std::nullopt};
  const auto reserve = [&](uint64_t size) -> model::Result<ByteSpan> {
    file.beginning = Bytes(std::min<uint64_t>(kBeginningSize, size));
    return file.beginning.span();
  };
  NDLFS_TRY(const auto read, file.store->Read("", {.range = {0, kBeginningSize}}, reserve));
  if (!read) return std::nullopt;
  file.beginning.Shrink(read->count);
  file.version = read->info.generation;
  return file;
}

// Keeps the error of `look` if it is about the moment: many others (no permission, a link that
// leads out of the source) stay as they are.
template <typename T>
void NotePassing(const model::Result<T>& look, std::optional<model::Error>& kept) {
  if (look || kept) return;
  if (look.error().is_momentary() || look.error().reason() == model::SystemReason::kDevice)
    kept = look.error();
}

// The regular file at `path`; nullopt where something else is, such as a FIFO. `passing`
// becomes the error of a look that tells nothing about the file.
std::optional<OpenedFile> OpenToLook(const Source& source, std::string_view path,
                                     std::optional<model::Error>& passing) {
  // A file that is written at this moment may change during each of them.
  constexpr int kAttempts = 4;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    auto file = OpenAndRead(source, path);
    if (file) return *std::move(file);
    const bool has_changed = file.error().code() == model::ErrorCode::kStale;
    if (has_changed && attempt + 1 < kAttempts) continue;
    NotePassing(file, passing);
    // The file is shorter than the system has just said.
    if (file.error().code() == model::ErrorCode::kCorrupt) passing = file.error();
    break;
  }
  if (!source.IsFile(path)) return std::nullopt;
  return OpenedFile{source.OpenFile(std::string(path)), Bytes(), std::nullopt};
}

// Whether a file that `format` takes for one of its own is one after all. Where nobody
// can tell at this moment it is taken for none, and `file` has no version that this
// would hold for.
bool IsConfirmed(const Format& format, const Source& source, std::string_view path,
                 OpenedFile& file) {
  const auto confirmed = format.ConfirmFile(FileNameOf(path), *file.store);
  if (!confirmed && confirmed.error().is_transient()) file.version.reset();
  NotePassing(confirmed, file.passing);
  if (!confirmed || !*confirmed) return false;
  const auto described = format.StoresDescribedBy(path, *file.store);
  for (const std::string& store : described) {
    const auto found = DetectStore(source, store);
    if (found && *found == nullptr) continue;
    const auto has_data = format.SaysWhereDataAre(*file.store);
    if (has_data && *has_data) return true;
    if (!found || !has_data) file.version.reset();
    NotePassing(found, file.passing);
    NotePassing(has_data, file.passing);
    return false;
  }
  return true;
}

// Recognizes a file that no format knows by its head by a longer beginning: HDF5 may have its
// signature there.
const Format* FindFarFormat(const Source& source, std::string_view path, OpenedFile& file) {
  const ConstByteSpan beginning = file.beginning.span();
  if (beginning.size() <= kHeadSize) return nullptr;
  for (const Format* format : Formats()) {
    if (format->ProbeContent(beginning) && IsConfirmed(*format, source, path, file))
      return format;
  }
  return nullptr;
}

const Format* FindFormat(const Source& source, std::string_view path, OpenedFile& file,
                         Detection detection) {
  const std::string_view name = FileNameOf(path);
  const ConstByteSpan head = file.head();
  const bool by_content = detection == Detection::kContent && head.size() >= kSmallestStoreFile;
  const auto has_content = [&](const Format& format) {
    return by_content && format.ProbeContent(head);
  };
  for (const Format* format : Formats()) {
    if (has_content(*format) && IsConfirmed(*format, source, path, file)) return format;
  }
  for (const Format* format : Formats()) {
    // The formats that recognize content have been asked.
    if (has_content(*format) || !format->MatchesFileName(name)) continue;
    if (!format->ProbeFile(name, head)) continue;
    if (IsConfirmed(*format, source, path, file)) return format;
  }
  return by_content ? FindFarFormat(source, path, file) : nullptr;
}

// Formats that are not read, by bytes at a place of the first KiB.
struct ForeignKind {
  std::string_view magic;
  std::string_view name;
  size_t offset = 0;
};
using namespace std::string_view_literals;
constexpr std::array kForeignKinds = {
#include "backends/foreign_kinds.inc"
};

// Describes the beginning of a file that is no store; empty if a format would recognize it.
std::string DescribeContent(ConstByteSpan head) {
  if (head.empty()) return "the file is empty";
  const auto formats = Formats();
  if (std::any_of(formats.begin(), formats.end(),
                  [&](const Format* format) { return format->ProbeContent(head); })) {
    return {};
  }
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  for (const ForeignKind& kind : kForeignKinds) {
    if (text.substr(std::min(kind.offset, text.size())).starts_with(kind.magic))
      return std::string(kind.name);
  }
  constexpr size_t kShown = 20;
  return fmt::format("it begins with {}, like no array store",
                     model::Quote(text.substr(0, kShown)));
}

// The format that one of `names`, which suffice, is a marker of, if it is in the directory at
// `path`; null if none is.
const Format* FindFirstMarker(const Source& source, std::string_view path,
                              std::span<const std::string_view> names) {
  const auto found = source.OpenStore(std::string(path))->StatMany(names);
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i] || !*found[i]) continue;
    for (const Format* format : Formats()) {
      const auto markers = format->directory_markers();
      const auto& its = markers.names;
      if (std::find(its.begin(), its.end(), names[i]) == its.end()) continue;
      if (markers.suffice || format->ProbeDirectory(source, path).value_or(false)) {
        return format;
      }
    }
  }
  return nullptr;
}

// The markers of all formats, each once.
std::vector<std::string_view> MarkersOfAll() {
  std::vector<std::string_view> names;
  for (const Format* format : Formats()) {
    for (const std::string_view marker : format->directory_markers().names) {
      if (std::ranges::find(names, marker) == names.end()) names.push_back(marker);
    }
  }
  return names;
}

// Whether one of `names` exists, by `found`, the answers about `asked`. False for a name that
// nobody has asked for.
using FoundFiles = std::vector<model::Result<std::optional<ValueInfo>>>;
bool HasOneOf(std::span<const std::string_view> names,
              const std::vector<std::string_view>& asked, const FoundFiles& found) {
  return std::ranges::any_of(names, [&](std::string_view name) {
    const auto at = std::ranges::find(asked, name) - asked.begin();
    const auto i = static_cast<size_t>(at);
    return i < found.size() && found[i] && *found[i];
  });
}

// Looks into the directory at `path` of a source where each look is a request. Returns its
// format if one document there describes all objects of the store. Otherwise returns null; it
// has then sent the looks for `names`, and for the other files of a store, together.
const Format* LookForRemoteStore(const Source& source, std::string_view path,
                                 std::vector<std::string_view>& names) {
  const bool is_called_so = IsCalledLikeStore(source, path);
  // Another directory of a server is less likely to be a store: one round of questions is
  // enough.
  if (!is_called_so && !path.empty()) return nullptr;
  const Format* first = FindFirstMarker(source, path, kAskedFirst);
  if (first != nullptr || !is_called_so) return first;
  names.insert(names.end(), kAskedAlong.begin(), kAskedAlong.end());
  // A program that looks for this store alone will go into it; one that has listed the folder
  // around it looks at many, and opens none of them.
  const bool is_sought = path.empty() || !source.HasListed(FolderOf(path));
  const auto below = std::span(kAskedBelow).first(is_sought ? kAskedBelow.size() : 0);
  source.OpenStore(std::string(path))->LookAhead("", names, below);
  return nullptr;
}

}  // namespace

std::string DescribeOtherFile(const Source& source, std::string_view path) {
  const auto file = source.IsFile(path) ? OpenAndRead(source, path) : std::nullopt;
  return file && *file ? DescribeContent((*file)->head()) : "";
}

bool IsCalledLikeStore(const Source& source, std::string_view path) {
  if (!path.empty()) return HasExtension(path, kMarkedExtension);
  const std::string_view top = source.name();
  return HasExtension(top, kMarkedExtension) ||
         top.find(std::string(kMarkedExtension) + '/') != top.npos;
}

model::Result<std::shared_ptr<const Hierarchy>> OpenAnyStore(
    const std::shared_ptr<const Source>& source, const std::string& path,
    const OpenOptions& options) {
  NDLFS_TRY(const Format* format, DetectStore(*source, path), source->Describe(path));
  if (format == nullptr) {
    const bool is_there = source->Stat(path, Follow::kYes).value_or(std::nullopt).has_value();
    if (!is_there) return model::NotFound("{}: no such file", source->Describe(path));
    return model::Unsupported("{}: not a store", source->Describe(path));
  }
  return OpenDetected(*format, source, path, options);
}

model::Result<std::shared_ptr<const Hierarchy>> OpenDetected(
    const Format& format, const std::shared_ptr<const Source>& source, const std::string& path,
    const OpenOptions& options) {
  OpenOptions with_opener = options;
  with_opener.open_store = OpenAnyStore;
  if (!options.ref.empty() && !format.has_versions()) {
    return model::BadInput("{}: a store of {} has no versions, and --ref names one",
                           source->Describe(path), format.name());
  }
  auto opened = format.Open(source, path, with_opener);
  if (opened) return WithNexus(*std::move(opened));
  if (opened.error().is_transient()) return opened;
  // Where the content has told the format, or is a text whose reader names the wrong place, the
  // format's own reason says it all.
  const std::string_view name = FileNameOf(path);
  const bool is_told_by_name = format.MatchesFileName(name) && format.ProbeFile(name, {});
  if (!source->IsFile(path) || !is_told_by_name || format.describes_others()) return opened;
  const auto file = OpenAndRead(*source, path);
  if (!file || !*file) return opened;
  const std::string content = DescribeContent((*file)->head());
  if (content.empty()) return opened;
  const model::Error& error = opened.error();
  return model::Propagate(error.WithMessage(fmt::format("{} ({})", error.message(), content)));
}

bool MayBeStoreFile(std::string_view file_name) {
  const auto formats = Formats();
  return std::any_of(formats.begin(), formats.end(),
                     [&](const Format* format) { return format->MatchesFileName(file_name); });
}

// Looks into the directory once, for the files of all formats. Files that cannot be looked at
// matter only if no other file decides. If each look is a request, documents that describe all
// objects decide.
model::Result<const Format*> DetectDirectory(const Source& source, std::string_view path) {
  std::vector<std::string_view> names = MarkersOfAll();
  if (source.looks_are_requests()) {
    const Format* first = LookForRemoteStore(source, path, names);
    if (first != nullptr) return first;
  }
  const auto found = source.OpenStore(std::string(path))->StatMany(names);
  if (found.size() != names.size()) return nullptr;
  std::optional<model::Error> passing;
  for (const auto& file : found) NotePassing(file, passing);
  for (const Format* format : Formats()) {
    const auto markers = format->directory_markers();
    if (!HasOneOf(markers.names, names, found)) continue;
    if (markers.suffice) return format;
    if (HasOneOf(markers.of_others, names, found)) continue;
    const auto is_store = format->ProbeDirectory(source, path);
    if (is_store && *is_store) return format;
    NotePassing(is_store, passing);
  }
  if (passing) return model::Propagate(*std::move(passing));
  return nullptr;
}

void LookForStores(const Source& source, const std::string& path, std::string_view name) {
  if (!source.looks_are_requests() || IsCalledLikeStore(source, path)) return;
  std::vector<std::string> documents;
  for (const std::string_view marker : MarkersOfAll()) {
    documents.push_back(JoinKey(path, marker));
  }
  source.LookTogether(JoinKey(path, name), documents);
}

std::span<const std::string_view> MarkersAskedFirst() { return kAskedFirst; }

model::Result<const Format*> DetectStore(const Source& source, std::string_view path) {
  const auto status = source.Stat(path, Follow::kYes);
  std::optional<model::Error> passing;
  NotePassing(status, passing);
  if (passing) return model::Propagate(*std::move(passing));
  if (!status || !*status) return nullptr;
  if ((*status)->is_directory()) return DetectDirectory(source, path);
  FileLook look = LookIntoFile(source, path, Detection::kContent);
  if (look.error) return model::Propagate(*std::move(look.error));
  return look.format;
}

FileLook LookIntoFile(const Source& source, std::string_view path, Detection detection) {
  if (detection == Detection::kName && !MayBeStoreFile(FileNameOf(path))) return {};
  FileLook look;
  auto file = OpenToLook(source, path, look.error);
  if (!file) return look;
  look.format = FindFormat(source, path, *file, detection);
  look.version = file->version;
  if (!look.error) look.error = std::move(file->passing);
  return look;
}

}  // namespace ndlfs::backends
