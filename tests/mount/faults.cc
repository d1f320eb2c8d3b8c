// SPDX-License-Identifier: MIT
//
// A source that fails: preloaded into the daemon, this library stands between
// it and the system, and does to the files of the source what a control file
// says. A test may write that file anew at any time. Each line is
//
//   CALL WHAT SUBSTRING
//
// for the files whose path contains SUBSTRING ("*": all):
//
//   find ERRNO      opening with O_PATH fails, and so does fstatat: what stat() does, too
//   open ERRNO      opening for reading fails
//   stat ERRNO      fstat fails
//   read ERRNO      pread fails
//   short BYTES     pread gives so many bytes at most
//   end OFFSET      the file ends there, for pread
//   list ERRNO      readdir fails
//   wait MS         pread first sleeps for so many milliseconds, or until the
//                   rule is gone
//   look MS         opening in any way does, and so does stat()
//   memory BYTES *  malloc and new of that many and more fail
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

namespace {

constexpr int kMaxRules = 32;

struct Rule {
  char call[16];
  long what;
  char substring[128];
};

struct Rules {
  std::mutex mutex;
  timespec read_at = {};
  Rule rules[kMaxRules];
  int count = 0;
};

// Never destroyed: the daemon reads until its very end.
Rules& All() {
  static Rules* const rules = new Rules;
  return *rules;
}

std::atomic<size_t> memory_limit{SIZE_MAX};

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

void ReadRules(Rules& all, const char* path) {
  all.count = 0;
  size_t limit = SIZE_MAX;
  if (std::FILE* file = std::fopen(path, "re")) {
    Rule rule;
    while (all.count < kMaxRules &&
           std::fscanf(file, "%15s %ld %127s", rule.call, &rule.what, rule.substring) == 3) {
      if (std::strcmp(rule.call, "memory") == 0) limit = static_cast<size_t>(rule.what);
      all.rules[all.count++] = rule;
    }
    std::fclose(file);
  }
  memory_limit = limit;
}

// What `call` shall do to `path`; -1 for what it always does.
long RuleFor(const char* call, const char* path) {
  static const char* const control = std::getenv("NDLFS_FAULTS");
  struct ::stat status;
  if (control == nullptr || ::syscall(SYS_newfstatat, AT_FDCWD, control, &status, 0) != 0) {
    return -1;
  }
  Rules& all = All();
  const std::lock_guard lock(all.mutex);
  if (std::memcmp(&all.read_at, &status.st_mtim, sizeof(timespec)) != 0) {
    ReadRules(all, control);
    all.read_at = status.st_mtim;
  }
  for (int i = 0; i < all.count; ++i) {
    const Rule& rule = all.rules[i];
    if (std::strcmp(rule.call, call) != 0) continue;
    if (std::strcmp(rule.substring, "*") == 0 || std::strstr(path, rule.substring)) {
      return rule.what;
    }
  }
  return -1;
}

// The same for `fd`, or for `name` in it.
long RuleFor(const char* call, int fd, const char* name = nullptr) {
  char link[64];
  char path[4096];
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  const ssize_t size = ::readlink(link, path, sizeof(path) - 1);
  if (size <= 0 || path[0] != '/' || std::strncmp(path, "/dev/", 5) == 0) return -1;
  std::snprintf(path + size, sizeof(path) - static_cast<size_t>(size), "%s%s", name ? "/" : "",
                name ? name : "");
  return RuleFor(call, path);
}

// As long as `call` shall wait for `file`.
template <typename File>
void Sleep(const char* call, File file) {
  constexpr timespec kStep = {0, 5'000'000};
  for (long slept = 0; slept < RuleFor(call, file); slept += 5) {
    ::nanosleep(&kStep, nullptr);
  }
}

bool Fails(long rule) {
  if (rule < 0) return false;
  errno = static_cast<int>(rule);
  return true;
}

ssize_t Pread(int fd, void* out, size_t size, off_t offset) {
  Sleep("wait", fd);
  if (Fails(RuleFor("read", fd))) return -1;
  if (const long most = RuleFor("short", fd); most > 0) {
    size = std::min(size, static_cast<size_t>(most));
  }
  if (const long end = RuleFor("end", fd); end >= 0) {
    if (offset >= end) return 0;
    size = std::min(size, static_cast<size_t>(end - offset));
  }
  return ::syscall(SYS_pread64, fd, out, size, offset);
}

}  // namespace

extern "C" {

ssize_t pread(int fd, void* out, size_t size, off_t offset) {
  return Pread(fd, out, size, offset);
}
ssize_t pread64(int fd, void* out, size_t size, off_t offset) {
  return Pread(fd, out, size, offset);
}

int fstat(int fd, struct ::stat* status) {
  if (Fails(RuleFor("stat", fd))) return -1;
  return static_cast<int>(::syscall(SYS_fstat, fd, status));
}

int fstatat(int directory, const char* name, struct ::stat* status, int flags) {
  if (Fails(RuleFor("find", directory, name))) return -1;
  return static_cast<int>(::syscall(SYS_newfstatat, directory, name, status, flags));
}

struct dirent64* readdir64(DIR* directory) {
  static auto* const next = Next<struct dirent64*(DIR*)>("readdir64");
  if (Fails(RuleFor("list", ::dirfd(directory)))) return nullptr;
  return next(directory);
}

void* malloc(size_t size) {
  static auto* const next = Next<void*(size_t)>("malloc");
  if (size >= memory_limit.load(std::memory_order_relaxed)) {
    errno = ENOMEM;
    return nullptr;
  }
  return next(size);
}

// The daemon calls openat2 by its number.
long syscall(long number, ...) noexcept {
  static auto* const next = Next<long(long, ...)>("syscall");
  va_list args;
  va_start(args, number);
  long a[6];
  for (long& argument : a) argument = va_arg(args, long);
  va_end(args);
  if (number == SYS_openat2) {
    const auto* how = reinterpret_cast<const open_how*>(a[2]);
    const char* call = (how->flags & O_PATH) != 0 ? "find" : "open";
    Sleep("look", reinterpret_cast<const char*>(a[1]));
    if (Fails(RuleFor(call, reinterpret_cast<const char*>(a[1])))) return -1;
  }
  return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

}  // extern "C"

// An allocator may have a `new` of its own, which does not ask its malloc.
void* operator new(size_t size) {
  static auto* const next = Next<void*(size_t)>("_Znwm");
  if (size >= memory_limit.load(std::memory_order_relaxed)) throw std::bad_alloc();
  return next(size);
}

void* operator new[](size_t size) {
  static auto* const next = Next<void*(size_t)>("_Znam");
  if (size >= memory_limit.load(std::memory_order_relaxed)) throw std::bad_alloc();
  return next(size);
}
