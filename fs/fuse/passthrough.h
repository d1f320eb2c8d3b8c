// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "model/mutex.h"

namespace ndlfs::fs {

// Files that the kernel reads itself, from a file of this machine that has the same bytes
// ("passthrough", Linux 6.9): such an open file makes no more requests, and programs read it as
// fast as the file below. The kernel allows this to a process with CAP_SYS_ADMIN. Elsewhere all
// files are opened in the ordinary way.
//
// The kernel fails to open a node that is already open in another way, or from another file. So
// the first open of a node decides for all that come before the last one is released.
// Thread-safe.
class Passthrough {
 public:
  // The way in which one open file is read, until it is released. Move-only.
  class Way {
   public:
    Way() = default;
    Way(Way&& other) noexcept
        : owner_(std::exchange(other.owner_, nullptr)),
          nodeid_(other.nodeid_),
          backing_id_(other.backing_id_) {}
    Way& operator=(Way&&) = delete;
    ~Way() {
      if (owner_ != nullptr) owner_->Leave(nodeid_);
    }

    // The number by which the kernel knows the file below; 0 in the ordinary way.
    int32_t backing_id() const { return backing_id_; }

   private:
    friend class Passthrough;
    Way(Passthrough* owner, uint64_t nodeid, int32_t backing_id)
        : owner_(owner), nodeid_(nodeid), backing_id_(backing_id) {}
    Passthrough* owner_ = nullptr;
    uint64_t nodeid_ = 0;
    int32_t backing_id_ = 0;
  };

  // `device` is the open /dev/fuse of the mount, whose kernel offers passthrough. Call it
  // before the first file is opened; without it, all files are opened in the ordinary way.
  void Begin(int device) { device_ = device; }

  // Chooses the way for a new open of `nodeid`. The bytes of the node are those of the file
  // that is open as `descriptor`; -1 if there is no such file. The kernel keeps the file, and
  // reads it with the rights of this process: whoever opens the node must have been able to
  // open the file.
  Way Enter(uint64_t nodeid, int descriptor) EXCLUDES(mutex_);

 private:
  struct Node {
    uint64_t opens = 0;
    int32_t backing_id = 0;
  };

  void Leave(uint64_t nodeid) EXCLUDES(mutex_);
  // 0 if the kernel refuses, or should not be asked.
  int32_t OpenBacking(int descriptor);
  void CloseBacking(int32_t backing_id);

  std::atomic<int> device_ = -1;
  std::atomic<bool> is_refused_ = false;
  model::Mutex mutex_;
  std::unordered_map<uint64_t, Node> nodes_ GUARDED_BY(mutex_);  // those that are open
};

}  // namespace ndlfs::fs
