// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/library/virtual_sources.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace ndlfs::backends::hdf5 {
namespace {

using model::Result;

constexpr int kMaxVirtualDepth = 8;
constexpr size_t kMaxSources = 100'000;

// A name with `block` in the place of %b, as the library writes it; nullopt
// where there is no such place.
std::optional<std::string> Expand(const std::string& name, uint64_t block) {
  std::string expanded;
  bool has_place = false;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '%') {
      expanded += name[i];
      continue;
    }
    size_t end = i + 1;
    while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end]))) ++end;
    if (end < name.size() && name[end] == 'b') {
      // Wider than any number of a block would be no name of a file.
      const std::string digits = name.substr(i + 1, std::min<size_t>(end - i - 1, 3));
      const size_t width = digits.empty() ? 0 : std::stoul(digits);
      std::string number = std::to_string(block);
      if (number.size() < width) number.insert(0, width - number.size(), '0');
      expanded += number;
      has_place = true;
      i = end;
    } else if (end < name.size() && name[end] == '%') {
      expanded += '%';
      i = end;
    } else {
      expanded += '%';
    }
  }
  if (!has_place) return std::nullopt;
  return expanded;
}

class SourceChecker {
 public:
  Result<void> Check(hid_t file, hid_t dataset, int depth) {
    if (depth > kMaxVirtualDepth) return model::Limit("virtual datasets of virtual datasets");
    NDLFS_TRY(const auto properties,
              Checked(H5Dget_create_plist(dataset), "cannot read the properties"));
    const H5D_layout_t layout = H5Pget_layout(properties.get());
    if (layout == H5D_CONTIGUOUS) return CheckContiguous(properties.get());
    if (layout == H5D_VIRTUAL) return CheckVirtual(file, properties.get(), depth);
    return {};
  }

 private:
  static Result<void> CheckContiguous(hid_t properties) {
    const int count = H5Pget_external_count(properties);
    NDLFS_RETURN_IF_ERROR(CheckStatus(count, "cannot read the external files"));
    if (count > 0) return model::Unsupported("external files, read by libhdf5");
    return {};
  }

  Result<void> CheckVirtual(hid_t file, hid_t properties, int depth) {
    size_t count = 0;
    NDLFS_RETURN_IF_ERROR(
        CheckStatus(H5Pget_virtual_count(properties, &count), "cannot read the sources"));
    std::set<std::pair<std::string, std::string>> sources;
    for (size_t i = 0; i < count; ++i) {
      std::array<char, 4096> name = {};
      std::array<char, 4096> dataset = {};
      if (H5Pget_virtual_filename(properties, i, name.data(), name.size() - 1) < 0 ||
          H5Pget_virtual_dsetname(properties, i, dataset.data(), dataset.size() - 1) < 0) {
        return LibraryError("cannot read a source");
      }
      sources.emplace(name.data(), dataset.data());
    }
    for (const auto& [name, dataset] : sources) {
      NDLFS_RETURN_IF_ERROR(CheckSources(file, name, dataset, depth));
    }
    return {};
  }

  // All the files and datasets that a pair of names stands for.
  Result<void> CheckSources(hid_t file, const std::string& name, const std::string& dataset,
                            int depth) {
    const bool is_pattern = Expand(name, 0) || Expand(dataset, 0);
    for (uint64_t block = 0;; ++block) {
      if (++sources_ > kMaxSources) return model::Limit("more than {} sources", kMaxSources);
      NDLFS_TRY(const bool exists,
                CheckSource(file, Expand(name, block).value_or(name),
                            Expand(dataset, block).value_or(dataset), depth));
      if (!exists || !is_pattern) return {};
    }
  }

  // Whether there is such a source.
  Result<bool> CheckSource(hid_t file, const std::string& name, const std::string& dataset,
                           int depth) {
    if (name == ".") return CheckDataset(file, dataset, depth);
    bool exists = false;
    // The library looks in the folder of the file first, then takes the name as it is.
    for (const std::string& candidate : {FolderOf(file) + name, name}) {
      const Handle access(H5Fget_access_plist(file));
      const Handle source(H5Fopen(candidate.c_str(), H5F_ACC_RDONLY, access.get()));
      if (!source) continue;
      NDLFS_TRY(const bool has_dataset, CheckDataset(source.get(), dataset, depth));
      exists = exists || has_dataset;
    }
    return exists;
  }

  Result<bool> CheckDataset(hid_t file, const std::string& name, int depth) {
    const Handle dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT));
    if (!dataset) return false;
    const Handle owner(H5Iget_file_id(dataset.get()));
    NDLFS_RETURN_IF_ERROR(Check(owner ? owner.get() : file, dataset.get(), depth + 1));
    return true;
  }

  static std::string FolderOf(hid_t file) {
    std::array<char, 4096> name = {};
    if (H5Fget_name(file, name.data(), name.size() - 1) < 0) return "/";
    const std::string path = name.data();
    return path.substr(0, path.rfind('/') + 1);
  }

  size_t sources_ = 0;
};

}  // namespace

model::Result<void> RefuseExternalFiles(hid_t file, hid_t dataset) {
  auto checked = SourceChecker().Check(file, dataset, 0);
  H5Eclear2(H5E_DEFAULT);
  return checked;
}

}  // namespace ndlfs::backends::hdf5
