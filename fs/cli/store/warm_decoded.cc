// SPDX-License-Identifier: MIT
#include "fs/cli/store/warm_decoded.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "backends/base/interrupted.h"
#include "backends/base/unique_fd.h"
#include "fs/cli/base/standard_output.h"
#include "fs/cli/store/part_queue.h"
#include "fs/cli/store/progress.h"
#include "fs/tree/xattr.h"
#include "fs/view/base/html_text.h"
#include "model/mutex.h"

namespace ndlfs::fs {
namespace {

namespace files = std::filesystem;
using backends::UniqueFd;
using model::Quote;
using model::Result;

// Exit statuses, as those of `ndlfs check`. If several apply, the first one counts.
constexpr int kDamaged = 1;
constexpr int kUnreadable = 3;
constexpr int kNotKept = 4;

// One read. O_DIRECT wants aligned memory.
constexpr size_t kPiece = size_t{1} << 20;
constexpr size_t kAlignment = 4096;
// How often to look whether a file is kept by now, and how long the mount may take to begin.
constexpr std::chrono::milliseconds kLookEvery{20};
constexpr std::chrono::seconds kBeginsWithin{2};

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};

// What the mount says about a file; empty if it says nothing.
std::string KeptState(int fd) {
  std::array<char, 32> text;
  const ssize_t size =
      ::fgetxattr(fd, std::string(kKeptName).c_str(), text.data(), text.size());
  return size > 0 ? std::string(text.data(), static_cast<size_t>(size)) : "";
}

// Whether the mount that `path` is in keeps files.
Result<void> CheckMount(const std::string& path) {
  std::error_code error;
  files::path place = files::canonical(path, error);
  if (error) return model::BadInput("{}: {}", Quote(path), error.message());
  for (;; place = place.parent_path()) {
    std::ifstream file(place / ".ndlfs" / "config.yaml");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    constexpr std::string_view kOption = "\ndecoded-cache: ";
    const size_t found = text.find(kOption);
    if (found != text.npos) {
      if (text.substr(found + kOption.size(), 2) != "\"\"") return {};
      return model::BadInput(
          "{}: the mount at {} keeps no files; mount it with "
          "--decoded-cache DIR",
          Quote(path), Quote(place.string()));
    }
    if (place == place.root_path()) break;
  }
  return model::BadInput("{}: not in a mount of ndlfs", Quote(path));
}

class Warming {
 public:
  explicit Warming(unsigned threads) : queue_(threads) {}

  Result<int> Run(const std::vector<std::string>& paths) {
    const StopOnSignal stop(queue_);
    queue_.Run(
        [&] {
          for (const std::string& path : paths) Find(path);
          all_found_ = true;
        },
        [&] { ShowProgress(); });
    return End();
  }

  // Reads the file, and waits until it is kept.
  void Warm(const std::string& path, uint64_t size) {
    const UniqueFd file = Open(path);
    if (!file) return NoteFailure(path, errno);
    std::string state = KeptState(file.get());
    if (state.empty() || state == kKeptNot || state == kKeptSoon) {
      if (state.empty()) return Note(needless_, size);
      if (state == kKeptNot && !ReadAll(path, file.get())) return;
      state = AwaitKeeping(file.get());
      if (state == kKeptYes) return Note(kept_, 0);
      if (!queue_.stopped())
        Tell(path, "not kept; see FILES THAT NEED NO DECODING in ndlfs(1)");
      return Note(not_kept_, 0);
    }
    Note(state == kKeptYes ? kept_before_ : needless_, size);
  }

 private:
  class File final : public PartedWork {
   public:
    File(Warming& warming, std::string path, uint64_t size)
        : warming_(warming), path_(std::move(path)), size_(size) {}
    uint64_t part_count() const override { return 1; }
    uint64_t part_cost() const override { return size_ + 1; }
    uint64_t Run(uint64_t, uint64_t count, const std::atomic<bool>&) override {
      warming_.Warm(path_, size_);
      return count;
    }

   private:
    Warming& warming_;
    const std::string path_;
    const uint64_t size_;
  };

  // Reads past the kernel's pages: the mount keeps only what it is asked for.
  static UniqueFd Open(const std::string& path) {
    return UniqueFd(backends::Uninterrupted(
        [&] { return ::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC | O_NOFOLLOW); }));
  }

  void Find(const std::string& path) {
    struct ::stat status;
    if (::stat(path.c_str(), &status) != 0) return NoteFailure(path, errno);
    if (auto checked = CheckMount(path); !checked) {
      const model::MutexLock lock(mutex_);
      line_.Tell(checked.error().message());
      is_refused_ = true;
      return;
    }
    if (!S_ISDIR(status.st_mode)) return Add(files::canonical(path), status);
    std::error_code error;
    auto entry = files::recursive_directory_iterator(path, error);
    for (; !error && entry != files::recursive_directory_iterator() && !queue_.stopped();
         entry.increment(error)) {
      if (entry->path().filename() == ".ndlfs") {
        entry.disable_recursion_pending();
      } else if (::lstat(entry->path().c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
        Add(entry->path(), status);
      }
    }
    if (error) NoteFailure(path, error.value());
  }
  void Add(const std::string& path, const struct ::stat& status) {
    const auto size = static_cast<uint64_t>(status.st_size);
    found_bytes_ += size;
    queue_.Add(std::make_shared<File>(*this, path, size));
  }

  bool ReadAll(const std::string& path, int fd) {
    const std::unique_ptr<void, FreeMemory> memory(std::aligned_alloc(kAlignment, kPiece));
    if (memory == nullptr) return NoteFailure(path, ENOMEM), false;
    for (off_t offset = 0; !queue_.stopped();) {
      const ssize_t count =
          backends::Uninterrupted([&] { return ::pread(fd, memory.get(), kPiece, offset); });
      if (count < 0) return NoteFailure(path, errno), false;
      if (count == 0) return true;
      offset += count;
      read_bytes_ += static_cast<uint64_t>(count);
      done_bytes_ += static_cast<uint64_t>(count);
    }
    return false;
  }

  std::string AwaitKeeping(int fd) const {
    const auto end = std::chrono::steady_clock::now() + kBeginsWithin;
    for (;;) {
      std::string state = KeptState(fd);
      const bool may_begin = state == kKeptNot && std::chrono::steady_clock::now() < end;
      if (queue_.stopped() || (state != kKeptSoon && !may_begin)) return state;
      std::this_thread::sleep_for(kLookEvery);
    }
  }

  void Note(std::atomic<uint64_t>& count, uint64_t bytes) {
    ++count;
    done_bytes_ += bytes;
  }
  void NoteFailure(const std::string& path, int error) {
    Tell(path, std::strerror(error));
    ++(error == EIO ? damaged_ : unreadable_);
  }
  void Tell(const std::string& path, std::string_view what) EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    line_.Tell(fmt::format("{}: {}", path, what));
  }

  void ShowProgress() EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    if (!line_.IsDue()) return;
    line_.Show(FormatProgress({.done = static_cast<double>(done_bytes_),
                               .total = static_cast<double>(found_bytes_),
                               .all_found = all_found_},
                              fmt::format("{} files kept", kept_.load()), read_bytes_,
                              line_.Seconds()));
  }

  Result<int> End() EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    line_.Erase();
    std::string text = fmt::format("{} files kept, {} kept before, {} need no decoding",
                                   kept_.load(), kept_before_.load(), needless_.load());
    if (not_kept_ != 0) text += fmt::format(", {} not kept", not_kept_.load());
    if (damaged_ + unreadable_ != 0) {
      text += fmt::format(", {} could not be read", damaged_ + unreadable_);
    }
    text += fmt::format("; {} in {}\n", FormatBytes(static_cast<double>(read_bytes_)),
                        FormatDuration(line_.Seconds()));
    NDLFS_RETURN_IF_ERROR(WriteStandardOutput(backends::AsBytes(text)));
    if (damaged_ != 0 || is_refused_) return kDamaged;
    if (queue_.stopped()) return kInterruptedStatus;
    if (unreadable_ != 0) return kUnreadable;
    return not_kept_ != 0 ? kNotKept : 0;
  }

  PartQueue queue_;
  std::atomic<uint64_t> kept_ = 0, kept_before_ = 0, needless_ = 0, not_kept_ = 0;
  std::atomic<uint64_t> damaged_ = 0, unreadable_ = 0;
  std::atomic<uint64_t> found_bytes_ = 0, done_bytes_ = 0, read_bytes_ = 0;
  std::atomic<bool> all_found_ = false;
  model::Mutex mutex_;
  ProgressDisplay line_ GUARDED_BY(mutex_){"warm"};
  bool is_refused_ GUARDED_BY(mutex_) = false;
};

}  // namespace

Result<int> WarmDecoded(const std::vector<std::string>& paths, unsigned threads) {
  return Warming(threads).Run(paths);
}

}  // namespace ndlfs::fs
