// SPDX-License-Identifier: MIT
//
// SourceFiles of the local file system: nothing else here knows of it.
#include <map>

#include "backends/format/hdf5/source_files.h"
#include "backends/store/local/paths.h"
#include "model/mutex.h"

namespace ndlfs::backends::hdf5 {
namespace {

class LocalFiles final : public SourceFiles {
 public:
  explicit LocalFiles(std::shared_ptr<const SourceRoot> root) : root_(std::move(root)) {}

  std::shared_ptr<const Store> Open(std::string_view path, bool may_be_link) const override {
    return MakeFileStore(root_, std::string(path), may_be_link);
  }

  std::optional<std::string> Resolve(std::string_view file_path,
                                     std::string_view name) const override {
    return PathBeneath(*root_, file_path, name);
  }

 private:
  const std::shared_ptr<const SourceRoot> root_;
};

}  // namespace

std::shared_ptr<const SourceFiles> FilesOf(const std::shared_ptr<const SourceRoot>& root) {
  static model::Mutex mutex;
  static std::map<const SourceRoot*, std::weak_ptr<const SourceFiles>> by_root;
  const model::MutexLock lock(mutex);
  // The files hold their root, so that no other one can have its address.
  std::erase_if(by_root, [](const auto& item) { return item.second.expired(); });
  auto& known = by_root[root.get()];
  if (auto files = known.lock()) return files;
  auto files = std::make_shared<const LocalFiles>(root);
  known = files;
  return files;
}

}  // namespace ndlfs::backends::hdf5
