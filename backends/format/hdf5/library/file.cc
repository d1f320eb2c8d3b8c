// SPDX-License-Identifier: MIT
#include <array>
#include <cerrno>
#include <chrono>
#include <list>
#include <set>

#include "backends/format/hdf5/library/attributes.h"
#include "backends/format/hdf5/library/dataset.h"
#include "backends/format/hdf5/library/dimension_lengths.h"
#include "backends/format/hdf5/library/driver.h"
#include "backends/format/hdf5/library/filter_bridge.h"
#include "backends/format/hdf5/library/library.h"
#include "backends/format/hdf5/library/path_walk.h"
#include "backends/format/hdf5/library/scales.h"
#include "backends/format/hdf5/library/virtual_sources.h"
#include "model/path_name.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Result;

// Each open file may keep a few MiB of metadata.
constexpr size_t kMaxOpenFiles = 12;

void InitializeLibrary() {
  static const bool initialized = [] {
    H5dont_atexit();  // other threads may still be in it then
    H5open();
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    H5set_free_list_limits(1 << 20, 1 << 18, 1 << 20, 1 << 18, 1 << 20, 1 << 18);
    RegisterFilters();
    return true;
  }();
  (void)initialized;
}

// The version in the superblock, if that is none that any library may come to write: then it is
// no superblock. The library only says that it does not know the version.
std::optional<int> AbsurdVersion(const InputFile& file) {
  constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
  constexpr int kLatest = 3;
  constexpr int kToCome = 8;
  std::array<std::byte, kSignature.size() + 1> head;
  if (file.size() < head.size() || !file.Read(0, head)) return std::nullopt;
  if (!AsText(head).starts_with(kSignature)) return std::nullopt;
  const int version = std::to_integer<int>(head.back());
  return version > kLatest + kToCome ? std::optional(version) : std::nullopt;
}

class LibraryFile;

// The files that are open in the library, the last used first.
std::list<LibraryFile*> open_files;  // guarded by library_mutex

class LibraryFile final : public File {
 public:
  LibraryFile(std::shared_ptr<InputFiles> files, std::shared_ptr<const InputFile> file,
              const std::string& path)
      : target_{std::move(files), std::move(file), DriverName(path)} {}
  ~LibraryFile() override {
    const model::MutexLock lock(library_mutex);
    Close();
  }

  // Opens the file for the first time.
  Result<void> Open() {
    return Ask<void>([](hid_t) { return Result<void>(); });
  }

  Result<Location> Find(const std::string& path) const override {
    return Ask<Location>([&](hid_t file)
                             REQUIRES(library_mutex) { return FindIn(file, path); });
  }
  Result<std::vector<Child>> List(const std::string& path) const override {
    return Ask<std::vector<Child>>([&](hid_t file)
                                       REQUIRES(library_mutex) { return ListIn(file, path); });
  }
  Result<ObjectInfo> Describe(const std::string& path) const override {
    return Ask<ObjectInfo>([&](hid_t file)
                               REQUIRES(library_mutex) { return DescribeIn(file, path); });
  }
  Result<ObjectInfos> DescribeDatasets(const std::string& group,
                                       const std::vector<std::string>& names) const override {
    return Ask<ObjectInfos>([&](hid_t file) REQUIRES(library_mutex) {
      return DescribeDatasetsIn(file, group, names);
    });
  }
  Result<std::vector<ChunkRecord>> LocateChunks(const std::string& path, uint64_t first,
                                                uint64_t count) const override {
    return Ask<std::vector<ChunkRecord>>([&](hid_t file) -> Result<std::vector<ChunkRecord>> {
      NDLFS_TRY(const auto dataset, OpenDataset(file, path));
      return LocateDatasetChunks(dataset.get(), first, count);
    });
  }
  Result<Elements> Read(const std::string& path, const Block& block,
                        uint64_t limit) const override {
    return Ask<Elements>([&](hid_t file) REQUIRES(library_mutex) -> Result<Elements> {
      NDLFS_TRY(const auto dataset, OpenDataset(file, path));
      if (!checked_.contains(path)) {
        NDLFS_RETURN_IF_ERROR(RefuseExternalFiles(file, dataset.get()));
        checked_.insert(path);
      }
      return ReadDataset(file, dataset.get(), block, limit, index_);
    });
  }

 private:
  // A group, and all groups from the root to it.
  struct OpenedGroup {
    Handle object;
    std::string path;
    std::vector<haddr_t> around;  // its own address comes last
  };

  // If a read has failed, that is the error, whatever the library answers: it may have taken
  // bytes that it could not read for something that does not exist.
  template <typename T, typename Answer>
  Result<T> Ask(const Answer& answer) const {
    const model::MutexLock lock(library_mutex);
    InitializeLibrary();
    ClearReadError();
    auto answered = TryAsk<T>(answer);
    if (auto error = ReadError()) {
      Close();  // with all that the library believes to know
      return model::Propagate(*std::move(error));
    }
    return answered;
  }

  template <typename T, typename Answer>
  Result<T> TryAsk(const Answer& answer) const REQUIRES(library_mutex) {
    NDLFS_TRY(const hid_t file, Use());
    return answer(file);
  }

  Result<Location> FindIn(hid_t file, const std::string& path) const REQUIRES(library_mutex) {
    if (path == "/") return Location();
    NDLFS_TRY(const auto group, OpenGroup(file, std::string(model::ParentPath(path))));
    const std::string name(model::BaseName(path));
    const auto nothing = [&] { return model::NotFound("no object {}", model::Quote(path)); };
    if (!IsLinkName(name)) return nothing();
    const htri_t exists = H5Lexists(group.object.get(), name.c_str(), H5P_DEFAULT);
    NDLFS_RETURN_IF_ERROR(CheckStatus(exists, "cannot look up a name"));
    if (!exists) return nothing();
    return FindLink(file, group, name);
  }

  Result<std::vector<Child>> ListIn(hid_t file, const std::string& path) const
      REQUIRES(library_mutex) {
    NDLFS_TRY(const auto group, OpenGroup(file, path));
    NDLFS_TRY(const auto links, ListLinks(group.object.get()));
    std::vector<Child> children;
    ObjectPrefetcher prefetcher(file, links);
    for (size_t i = 0; i < links.size(); ++i) {
      const LinkEntry& link = links[i];
      if (!IsLinkName(link.name)) continue;
      prefetcher.Reach(i);
      children.push_back(LookAtChild(file, group, link));
    }
    H5Eclear2(H5E_DEFAULT);
    return children;
  }

  // An object is opened once, by its address, for all that is asked of it: to find it by its
  // name takes longer than to open it.
  Child LookAtChild(hid_t file, const OpenedGroup& group, const LinkEntry& link) const
      REQUIRES(library_mutex) {
    Child child{link.name, {ObjectKind::kOther, {}, {}}, false};
    const bool is_hard = link.type == H5L_TYPE_HARD;
    const Handle object(is_hard ? H5Oopen_by_addr(file, link.address) : H5I_INVALID_HID);
    H5O_info_t info;
    if (!object || H5Oget_info2(object.get(), &info, H5O_INFO_BASIC) < 0) {
      if (auto location = FindLink(file, group, link.name)) child.location = *location;
      return child;
    }
    child.location = LocationOf(file, group, link.name, info);
    if (child.location.kind == ObjectKind::kDataset) {
      child.is_dimension_only = IsDimensionOnly(object.get());
    }
    return child;
  }

  Result<ObjectInfos> DescribeDatasetsIn(hid_t file, const std::string& path,
                                         const std::vector<std::string>& names) const
      REQUIRES(library_mutex) {
    // A short answer lets the parent give up between two questions, or ask for the rest.
    constexpr auto kLongest = std::chrono::milliseconds(200);
    constexpr size_t kMostBytes = size_t{4} << 20;
    NDLFS_TRY(const auto group, OpenGroup(file, path));
    std::vector<haddr_t> addresses;
    for (const std::string& name : names) {
      addresses.push_back(AddressOfChild(group.object.get(), name));
    }
    PrefetchObjects(file, addresses);
    ObjectInfos infos;
    size_t bytes = 0;
    const auto end = std::chrono::steady_clock::now() + kLongest;
    for (size_t i = 0; i < names.size(); ++i) {
      infos.push_back(
          DescribeDatasetAt(file, addresses[i], model::JoinPath(group.path, names[i])));
      if (infos.back()) bytes += BytesOf(*infos.back());
      if (bytes > kMostBytes || std::chrono::steady_clock::now() > end) break;
    }
    H5Eclear2(H5E_DEFAULT);
    return infos;
  }

  // The address of the object that a hard link leads to; HADDR_UNDEF if `name` is no hard link.
  static haddr_t AddressOfChild(hid_t group, const std::string& name) {
    H5L_info_t link;
    const bool is_hard = IsLinkName(name) &&
                         H5Lget_info(group, name.c_str(), &link, H5P_DEFAULT) >= 0 &&
                         link.type == H5L_TYPE_HARD;
    return is_hard ? link.u.address : HADDR_UNDEF;
  }

  std::optional<ObjectInfo> DescribeDatasetAt(hid_t file, haddr_t address,
                                              const std::string& path) const
      REQUIRES(library_mutex) {
    if (address == HADDR_UNDEF) return std::nullopt;
    const Handle object(H5Oopen_by_addr(file, address));
    H5O_info_t object_info;
    const bool is_dataset = object && H5Iget_type(object.get()) == H5I_DATASET &&
                            H5Oget_info2(object.get(), &object_info, H5O_INFO_BASIC) >= 0;
    if (!is_dataset || object_info.rc != 1) return std::nullopt;
    auto info = DescribeObject(file, object.get(), path);
    if (!info) return std::nullopt;
    return *std::move(info);
  }

  // Those that the object was created with. A datatype has none.
  static Result<Handle> PropertiesOf(hid_t object, ObjectKind kind) {
    constexpr std::string_view kFailed = "cannot read the properties";
    if (kind == ObjectKind::kDataset) return Checked(H5Dget_create_plist(object), kFailed);
    if (kind == ObjectKind::kGroup) return Checked(H5Gget_create_plist(object), kFailed);
    return Handle();
  }

  // The memory of the parts of a description that vary in size.
  static size_t BytesOf(const ObjectInfo& info) {
    size_t bytes = 0;
    for (const AttributeInfo& attribute : info.attributes) bytes += attribute.data.size();
    return bytes;
  }

  Result<ObjectInfo> DescribeIn(hid_t file, const std::string& path) const
      REQUIRES(library_mutex) {
    NDLFS_TRY(const auto object, OpenObject(file, path));
    return DescribeObject(file, object.get(), path);
  }

  Result<ObjectInfo> DescribeObject(hid_t file, hid_t object, const std::string& path) const
      REQUIRES(library_mutex) {
    ObjectInfo info;
    info.kind = KindOf(object);
    const auto properties = PropertiesOf(object, info.kind);
    const hid_t known_properties = properties ? properties->get() : H5I_INVALID_HID;
    // A dataset describes its dimensions in attributes, too.
    const auto names = ListAttributes(object, known_properties);
    std::vector<std::string> told;
    if (info.kind == ObjectKind::kGroup) {
      if (auto links = CheckLinks(object); !links) info.error = links.error();
      info.dimensions = ReadDimensions(object, path);
    } else if (info.kind == ObjectKind::kDataset) {
      if (!properties) return model::Propagate(properties.error());
      NDLFS_TRY(info.dataset, DescribeDataset(file, object, known_properties, index_));
      told = ReadScales(file, object, path, names, index_, known_scales_, *info.dataset);
      NDLFS_RETURN_IF_ERROR(lengths_.Complete(file, object, path, info));
    }
    if (names) {
      ReadAttributes(file, object, *names, told, index_, info);
    } else {
      info.error = names.error();
    }
    H5Eclear2(H5E_DEFAULT);
    return info;
  }

  // The file, opened again if it had to make room for others.
  Result<hid_t> Use() const REQUIRES(library_mutex) {
    H5Eclear2(H5E_DEFAULT);
    if (auto unchanged = target_.file->CheckUnchanged(); !unchanged) {
      Close();
      return model::Propagate(std::move(unchanged).error());
    }
    if (!file_) NDLFS_RETURN_IF_ERROR(OpenInLibrary());
    open_files.splice(open_files.begin(), open_files, place_);
    return file_.get();
  }

  Result<void> OpenInLibrary() const REQUIRES(library_mutex) {
    if (open_files.size() >= kMaxOpenFiles) open_files.back()->Close();
    NDLFS_TRY(const auto properties, MakeAccessProperties(target_));
    const char* name = target_.name.c_str();
    Handle file(H5Fopen(name, H5F_ACC_RDONLY, properties.get()));
    if (!file) {
      auto error = LibraryError("not a readable HDF5 file").value();
      if (const auto version = AbsurdVersion(*target_.file)) {
        return model::Corrupt("not a readable HDF5 file: a superblock of version {}", *version);
      }
      if (error.message().find("already open for") == std::string::npos) {
        return model::Propagate(std::move(error));
      }
      // A file that is being written for readers to follow needs another flag.
      file = Handle(H5Fopen(name, H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, properties.get()));
      H5Eclear2(H5E_DEFAULT);
      if (!file) return model::Propagate(std::move(error));
    }
    file_ = std::move(file);
    open_files.push_front(const_cast<LibraryFile*>(this));
    place_ = open_files.begin();
    return {};
  }

  void Close() const REQUIRES(library_mutex) {
    if (!file_) return;
    ForgetWalks(file_.get());
    file_ = Handle();
    index_.Clear();
    known_scales_ = KnownScales();
    checked_.clear();
    open_files.erase(place_);
    H5Eclear2(H5E_DEFAULT);
  }

  static Result<Handle> OpenDataset(hid_t file, const std::string& path) {
    NDLFS_TRY(auto object, OpenObject(file, path));
    if (H5Iget_type(object.get()) != H5I_DATASET) return model::NotFound("not a dataset");
    return object;
  }

  static Result<OpenedGroup> OpenGroup(hid_t file, const std::string& path) {
    NDLFS_TRY(auto walked, WalkTo(file, path));
    if (H5Iget_type(walked.object.get()) != H5I_GROUP) return model::NotFound("not a group");
    H5O_info_t info;
    NDLFS_RETURN_IF_ERROR(CheckStatus(H5Oget_info2(walked.object.get(), &info, H5O_INFO_BASIC),
                                      "cannot read the group"));
    walked.ancestors.push_back(info.addr);
    return OpenedGroup{std::move(walked.object), path, std::move(walked.ancestors)};
  }

  Result<Location> FindLink(hid_t file, const OpenedGroup& group, const std::string& name) const
      REQUIRES(library_mutex) {
    H5L_info_t link;
    NDLFS_RETURN_IF_ERROR(
        CheckStatus(H5Lget_info(group.object.get(), name.c_str(), &link, H5P_DEFAULT),
                    "cannot read a link"));
    switch (link.type) {
      case H5L_TYPE_HARD:
        return FindObject(file, group, name);
      case H5L_TYPE_SOFT:
      case H5L_TYPE_EXTERNAL:
        return ReadLink(group.object.get(), name, link);
      default:
        return Location{ObjectKind::kOther, {}, {}};
    }
  }

  static Result<Location> ReadLink(hid_t group, const std::string& name,
                                   const H5L_info_t& link) {
    std::string value(link.u.val_size + 1, '\0');
    NDLFS_RETURN_IF_ERROR(
        CheckStatus(H5Lget_val(group, name.c_str(), value.data(), link.u.val_size, H5P_DEFAULT),
                    "cannot read a link"));
    if (link.type == H5L_TYPE_SOFT) return Location{ObjectKind::kSoftLink, value.c_str(), {}};
    const char* target_file = nullptr;
    const char* target = nullptr;
    unsigned flags;
    NDLFS_RETURN_IF_ERROR(CheckStatus(
        H5Lunpack_elink_val(value.data(), link.u.val_size, &flags, &target_file, &target),
        "cannot read an external link"));
    return Location{ObjectKind::kExternalLink, target, target_file};
  }

  Result<Location> FindObject(hid_t file, const OpenedGroup& group,
                              const std::string& name) const REQUIRES(library_mutex) {
    H5O_info_t info;
    NDLFS_RETURN_IF_ERROR(CheckStatus(H5Oget_info_by_name2(group.object.get(), name.c_str(),
                                                           &info, H5O_INFO_BASIC, H5P_DEFAULT),
                                      "cannot open the object"));
    return LocationOf(file, group, name, info);
  }

  // An object with several names has one of them; the others are aliases. So
  // is, whatever the object says of the number of its names, one that leads
  // back to a group around it.
  Location LocationOf(hid_t file, const OpenedGroup& group, const std::string& name,
                      const H5O_info_t& info) const REQUIRES(library_mutex) {
    const auto parts = model::SplitPath(group.path);
    for (size_t depth = 0; depth < group.around.size(); ++depth) {
      if (group.around[depth] != info.addr) continue;
      std::string target = "/";
      for (size_t i = 0; i < depth; ++i) target = model::JoinPath(target, parts[i]);
      return Location{ObjectKind::kAlias, target, {}};
    }
    if (info.rc > 1 && info.type != H5O_TYPE_NAMED_DATATYPE) {
      const auto known = index_.PathOf(file, info.addr);
      if (known && *known != model::JoinPath(group.path, name)) {
        return Location{ObjectKind::kAlias, *known, {}};
      }
    }
    return Location{KindOf(info), {}, {}};
  }

  static ObjectKind KindOf(hid_t object) {
    const H5I_type_t type = H5Iget_type(object);
    if (type == H5I_GROUP) return ObjectKind::kGroup;
    return type == H5I_DATASET ? ObjectKind::kDataset : ObjectKind::kNamedDatatype;
  }

  static ObjectKind KindOf(const H5O_info_t& info) {
    switch (info.type) {
      case H5O_TYPE_GROUP:
        return ObjectKind::kGroup;
      case H5O_TYPE_DATASET:
        return ObjectKind::kDataset;
      case H5O_TYPE_NAMED_DATATYPE:
        return ObjectKind::kNamedDatatype;
      default:
        return ObjectKind::kOther;
    }
  }

  const DriverTarget target_;
  mutable Handle file_;  // guarded by library_mutex, as all below
  mutable ObjectIndex index_;
  mutable KnownScales known_scales_;
  mutable DimensionLengths lengths_;                 // of this version: kept when closed
  mutable std::set<std::string> checked_;            // datasets that Read() may read
  mutable std::list<LibraryFile*>::iterator place_;  // in open_files, while open
};

}  // namespace

model::Result<std::shared_ptr<const File>> OpenFileInProcess(
    std::shared_ptr<InputFiles> files, std::shared_ptr<const InputFile> file,
    const std::string& path) {
  auto opened = std::make_shared<LibraryFile>(std::move(files), std::move(file), path);
  NDLFS_RETURN_IF_ERROR(opened->Open());
  return opened;
}

std::string LibraryVersion() {
  const model::MutexLock lock(library_mutex);
  InitializeLibrary();
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format("{}.{}.{}", major, minor, release);
}

}  // namespace ndlfs::backends::hdf5
