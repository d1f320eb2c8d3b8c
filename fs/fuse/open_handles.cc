// SPDX-License-Identifier: MIT
#include "fs/fuse/open_handles.h"

namespace ndlfs::fs {

model::Result<const DirectoryEntry*> DirectoryHandle::Peek() {
  if (!pending_ && next_ < kFirst) {
    pending_ = DirectoryEntry{next_ == 0 ? "." : "..", S_IFDIR};
  } else if (!pending_) {
    NDLFS_TRY(pending_, reader_->Next());
  }
  return pending_ ? &*pending_ : nullptr;
}

void DirectoryHandle::Advance() {
  pending_.reset();
  ++next_;
}

model::Result<void> DirectoryHandle::Seek(uint64_t offset) {
  if (offset < next_) {
    reader_->Rewind();
    pending_.reset();
    next_ = 0;
  }
  while (next_ < offset) {
    NDLFS_TRY(const auto* entry, Peek());
    if (entry == nullptr) break;
    Advance();
  }
  return {};
}

}  // namespace ndlfs::fs
