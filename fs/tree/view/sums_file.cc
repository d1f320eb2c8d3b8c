// SPDX-License-Identifier: MIT
#include "fs/tree/view/sums_file.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "backends/store/cancellation.h"
#include "fs/compare/sha256.h"
#include "model/mutex.h"

namespace ndlfs::fs {
namespace {

using model::Result;

using SummedFiles = std::shared_ptr<const std::vector<SummedFile>>;
using Handles = std::vector<std::shared_ptr<const FileHandle>>;

// 64 digits, two blanks, the name, a line break.
uint64_t LineSize(const SummedFile& file) {
  return 2 * Sha256Digest().size() + 3 + file.name.size();
}

Result<std::string> HashFile(const FileHandle& file) {
  constexpr size_t kPiece = size_t{1} << 20;
  backends::Bytes buffer(kPiece);
  Sha256 sum;
  for (uint64_t offset = 0;;) {
    NDLFS_RETURN_IF_ERROR(backends::CancellationScope::Check());
    NDLFS_TRY(const size_t count, file.Read(offset, buffer.span()));
    sum.Add(buffer.span().first(count));
    offset += count;
    if (count < kPiece) return HexOf(sum.Finish());
  }
}

class SumsHandle final : public FileHandle {
 public:
  // `handles` are those of `files`.
  SumsHandle(SummedFiles files, Handles handles)
      : files_(std::move(files)), handles_(std::move(handles)), lines_(files_->size()) {}

  KeptObjects kept() const override {
    KeptObjects kept;
    for (const auto& handle : handles_) {
      const KeptObjects more = handle->kept();
      kept.insert(kept.end(), more.begin(), more.end());
    }
    return kept;
  }

  Result<size_t> Read(uint64_t offset, backends::ByteSpan out) const override EXCLUDES(mutex_) {
    size_t done = 0;
    uint64_t begin = 0;  // of a line
    for (size_t i = 0; i < files_->size() && done < out.size(); ++i) {
      const uint64_t size = LineSize((*files_)[i]);
      const uint64_t at = offset + done;
      if (at < begin + size) {
        NDLFS_TRY(const std::string line, LineOf(i), (*files_)[i].name);
        const auto rest = backends::AsBytes(line).subspan(at - begin);
        const size_t count = std::min(rest.size(), out.size() - done);
        std::copy_n(rest.begin(), count, out.begin() + static_cast<ptrdiff_t>(done));
        done += count;
      }
      begin += size;
    }
    return done;
  }

 private:
  // Readers of a line that is being made wait for it.
  Result<std::string> LineOf(size_t i) const EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    const SummedFile& file = (*files_)[i];
    if (!lines_[i]) {
      NDLFS_TRY(const std::string digest, HashFile(*handles_[i]));
      lines_[i] = digest + "  " + file.name + "\n";
    }
    return *lines_[i];
  }

  const SummedFiles files_;
  const Handles handles_;
  mutable model::Mutex mutex_;
  mutable std::vector<std::optional<std::string>> lines_ GUARDED_BY(mutex_);
};

class SumsFile final : public TreeNode {
 public:
  SumsFile(std::vector<SummedFile> files, const Attributes& attributes)
      : files_(std::make_shared<const std::vector<SummedFile>>(std::move(files))),
        attributes_(attributes) {
    uint64_t size = 0;
    for (const SummedFile& file : *files_) size += LineSize(file);
    attributes_.size = size;
  }

  Relation Compare(const TreeNode& fresh) const override {
    const auto* other = dynamic_cast<const SumsFile*>(&fresh);
    const bool same = other != nullptr && std::ranges::equal(*files_, *other->files_, &AreSame);
    return same ? Relation::kUpdated : Relation::kDifferent;
  }
  Result<Attributes> Stat() const override { return attributes_; }
  // All digests are those of the files as they are now. The kernel keeps no pages: a chunk may
  // have changed that nobody has read yet.
  Result<OpenedFile> Open() override {
    Handles handles;
    for (const SummedFile& file : *files_) {
      NDLFS_TRY(OpenedFile opened, file.node->Open());
      handles.push_back(std::move(opened.handle));
    }
    return OpenedFile{std::make_shared<const SumsHandle>(files_, std::move(handles)),
                      /*size_unknown=*/true};
  }

 private:
  static bool AreSame(const SummedFile& a, const SummedFile& b) {
    return a.name == b.name && a.node->Compare(*b.node) != Relation::kDifferent;
  }

  const SummedFiles files_;
  Attributes attributes_;
};

}  // namespace

TreeNodePtr MakeSumsFile(std::vector<SummedFile> files, Attributes attributes) {
  return std::make_shared<SumsFile>(std::move(files), attributes);
}

}  // namespace ndlfs::fs
