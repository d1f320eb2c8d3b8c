// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/file.h"

#include <algorithm>

#include "backends/format/hdf5/describe.h"
#include "backends/format/hdf5/references.h"
#include "model/path_name.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Result;

ObjectKind KindOf(const Object& object) {
  switch (object.kind()) {
    case Object::Kind::kGroup:
      return ObjectKind::kGroup;
    case Object::Kind::kDataset:
      return ObjectKind::kDataset;
    case Object::Kind::kNamedDatatype:
      return ObjectKind::kNamedDatatype;
    case Object::Kind::kOther:
      break;
  }
  return ObjectKind::kOther;
}

}  // namespace

Result<std::shared_ptr<const File>> File::Open(std::shared_ptr<const Store> store,
                                               const std::string& path) {
  NDLFS_TRY(auto input, Input::Open(std::move(store), path));
  NDLFS_TRY(auto metadata, Metadata::Open(std::move(input)));
  NDLFS_RETURN_IF_ERROR(metadata->Header(metadata->root()), "not a readable HDF5 file");
  return std::shared_ptr<const File>(new File(std::move(metadata)));
}

// If a read has failed, that is the error, whatever was found: bytes that cannot be read may
// have been taken for something that does not exist. Then nothing is believed any more.
template <typename T, typename Answer>
Result<T> File::Ask(const Answer& answer) const {
  NDLFS_RETURN_IF_ERROR(CheckUnchanged());
  const ReadFailures failures;
  Result<T> answered = answer();
  if (auto read = failures.Check(); !read) {
    index_.Clear();
    known_scales_.Clear();
    return model::Propagate(std::move(read).error());
  }
  return answered;
}

Result<File::Walked> File::WalkTo(std::string_view path) const {
  std::vector<uint64_t> ancestors;
  NDLFS_TRY(const auto header, HeaderAt(*metadata_, path, &ancestors));
  NDLFS_TRY(auto object, Object::Open(*metadata_, header->address()));
  return Walked{std::move(object), std::move(ancestors)};
}

Result<File::Walked> File::OpenGroup(const std::string& path) const {
  NDLFS_TRY(auto walked, WalkTo(path));
  if (walked.object.kind() != Object::Kind::kGroup) return model::NotFound("not a group");
  walked.ancestors.push_back(walked.object.address());
  return walked;
}

std::string ResolveInGroup(std::string_view group, std::string_view target) {
  std::string path(target.starts_with('/') ? "/" : group);
  while (!target.empty()) {
    const size_t slash = std::min(target.find('/'), target.size());
    const std::string_view name = target.substr(0, slash);
    if (!name.empty() && name != ".") path = model::JoinPath(path, name);
    target.remove_prefix(std::min(slash + 1, target.size()));
  }
  return path;
}

Result<Location> File::Find(const std::string& path) const {
  if (path == "/") return Location();
  return Ask<Location>([&]() -> Result<Location> {
    const std::string group(model::ParentPath(path));
    NDLFS_TRY(const Walked opened, OpenGroup(group));
    const std::string name(model::BaseName(path));
    const auto nothing = [&] { return model::NotFound("no object {}", model::Quote(path)); };
    if (!IsLinkName(name)) return nothing();
    NDLFS_TRY(const auto link, FindLink(*metadata_, opened.object.header(), name));
    if (!link) return nothing();
    return LocationOf(group, opened, *link);
  });
}

Result<std::vector<Child>> File::List(const std::string& path) const {
  return Ask<std::vector<Child>>([&]() -> Result<std::vector<Child>> {
    NDLFS_TRY(const Walked opened, OpenGroup(path));
    NDLFS_TRY(auto links, ListLinks(*metadata_, opened.object.header()));
    // In the order of the file: what is near each other is read together.
    std::ranges::sort(links, {}, &LinkEntry::address);
    constexpr size_t kTogether = 256;
    constexpr uint64_t kHeaderBytes = 1024;
    std::vector<Child> children;
    for (size_t i = 0; i < links.size(); ++i) {
      if (i % kTogether == 0) {
        std::vector<uint64_t> addresses;
        for (size_t next = i; next < std::min(links.size(), i + kTogether); ++next) {
          addresses.push_back(links[next].address);
        }
        metadata_->Prefetch(std::move(addresses), kHeaderBytes);
      }
      if (IsLinkName(links[i].name)) children.push_back(LookAtChild(path, opened, links[i]));
    }
    return children;
  });
}

Child File::LookAtChild(const std::string& group, const Walked& opened,
                        const LinkEntry& link) const {
  Child child{link.name, {ObjectKind::kOther, {}, {}}, false};
  if (link.kind != LinkEntry::Kind::kHard) {
    if (auto location = LocationOf(group, opened, link)) child.location = *std::move(location);
    return child;
  }
  const auto object = Object::Open(*metadata_, link.address);
  if (!object) return child;
  if (auto location = LocationOf(group, opened, link.name, *object)) {
    child.location = *std::move(location);
  }
  if (child.location.kind == ObjectKind::kDataset) {
    child.is_dimension_only = IsDimensionOnly(*object);
  }
  return child;
}

Result<Location> File::LocationOf(const std::string& group, const Walked& opened,
                                  const LinkEntry& link) const {
  switch (link.kind) {
    case LinkEntry::Kind::kHard:
      break;
    case LinkEntry::Kind::kSoft:
      return Location{ObjectKind::kSoftLink, link.target, {}};
    case LinkEntry::Kind::kExternal:
      return Location{ObjectKind::kExternalLink, link.target, link.target_file};
    case LinkEntry::Kind::kOther:
      return Location{ObjectKind::kOther, {}, {}};
  }
  NDLFS_TRY(const auto object, Object::Open(*metadata_, link.address),
            "cannot open the object");
  return LocationOf(group, opened, link.name, object);
}

// An object with several names has one of them; the others are aliases. So
// is, whatever the object says of the number of its names, one that leads
// back to a group around it.
Result<Location> File::LocationOf(const std::string& group, const Walked& opened,
                                  const std::string& name, const Object& object) const {
  const auto parts = model::SplitPath(group);
  for (size_t depth = 0; depth < opened.ancestors.size(); ++depth) {
    if (opened.ancestors[depth] != object.address()) continue;
    std::string target = "/";
    for (size_t i = 0; i < depth; ++i) target = model::JoinPath(target, parts[i]);
    return Location{ObjectKind::kAlias, target, {}};
  }
  if (object.header().links() > 1 && object.kind() != Object::Kind::kNamedDatatype) {
    const auto known = index_.PathOf(*metadata_, object.address());
    if (known && *known != model::JoinPath(group, name)) {
      return Location{ObjectKind::kAlias, *known, {}};
    }
  }
  return Location{KindOf(object), {}, {}};
}

Result<ObjectInfo> File::Describe(const std::string& path,
                                  std::optional<MetadataTurn>* turn) const {
  return Ask<ObjectInfo>([&]() -> Result<ObjectInfo> {
    NDLFS_TRY(const Walked walked, WalkTo(path));
    const Object& object = walked.object;
    if (turn != nullptr && !*turn && object.MayHaveLargeAttributes()) {
      NDLFS_TRY(*turn, MetadataTurn::Take(MetadataTurn::kMost / 2));
    }
    ObjectInfo info;
    info.kind = KindOf(object);
    // A dataset describes its dimensions in attributes, too.
    std::vector<std::string> told;
    if (info.kind == ObjectKind::kGroup) {
      // Behind a server all links may take many requests, which a way through the group does
      // not need.
      if (!metadata_->input().is_remote()) {
        if (auto links = ListLinks(*metadata_, object.header()); !links) {
          info.error = std::move(links).error();
        }
      }
      info.dimensions = ReadDimensions(object, path);
    } else if (info.kind == ObjectKind::kDataset) {
      NDLFS_TRY(info.dataset, DescribeDataset(metadata_, object, index_, info.notes));
      told = ReadScales(object, path, index_, known_scales_, *info.dataset);
      NDLFS_RETURN_IF_ERROR(lengths_.Complete(object, path, info));
    }
    ReadAttributes(object, told, index_, info);
    return info;
  });
}

Result<Elements> File::Convert(const DatasetInfo& info, ConstByteSpan stored, uint64_t count,
                               bool regions_as_elements, uint64_t limit) const {
  return Ask<Elements>([&]() -> Result<Elements> {
    References references(*metadata_, index_, regions_as_elements);
    ElementReader reader(*metadata_, references, limit);
    std::vector<uint64_t> offsets;
    ByteVector elements;
    const bool is_fixed = info.type.is_fixed_size();
    NDLFS_RETURN_IF_ERROR(
        reader.Append(info.form, stored, count, elements, is_fixed ? nullptr : &offsets));
    return Elements{is_fixed ? Bytes::Copy(elements) : MakeElementStream(offsets, elements),
                    references.met_dangling(), references.met_elements()};
  });
}

}  // namespace ndlfs::backends::hdf5
