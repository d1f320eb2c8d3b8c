// SPDX-License-Identifier: MIT
//
// The n-th fault: preloaded into a program, this library lets one call fail, the n-th of those
// that concern files below a directory, or connections. Not whichever call a test thinks of,
// but each in its turn, until nothing is left that could fail: so SQLite is tested.
//
// The file that NDLFS_NTH_FAULT names is mapped, and holds a Control: what
// tests/faults/faulty_program.py writes there while the program runs takes effect at once, and
// it reads there what has failed.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

constexpr size_t kPathSize = 512;
constexpr int kMostDescriptors = 1024;

// What a fault looks like; the number in Control.
enum Fault : int32_t {
  kErrno = 0,   // the call fails with Control::error
  kShort = 1,   // a read or write of more than one byte does half of it
  kEnd = 2,     // a read finds the end of the file
  kMemory = 3,  // an allocation of Control::least bytes or more fails
};

// In the order of the fields in faulty_program.py.
struct Control {
  std::atomic<int64_t> at;      // the number of the call that fails, from 1 on; 0: none
  std::atomic<int64_t> calls;   // that could have failed so until now
  std::atomic<int64_t> failed;  // calls that have
  std::atomic<int64_t> open;    // descriptors of files below the directory
  std::atomic<int64_t> least;
  std::atomic<int32_t> fault;
  std::atomic<int32_t> error;
  std::atomic<int32_t> lasts;  // 1: all calls after that fail as well
  std::atomic<int32_t> unused;
  char below[kPathSize];  // the directory, without a "/" at its end, or kConnections
  char what[kPathSize];   // "pread /path" of the first call that failed
};

// Stands for all sockets of the Internet protocols, also as the path of one.
constexpr const char* kConnections = "connections";

// Which errors a call can have: a fault that no system has proves nothing.
enum Trait : unsigned {
  kOpens = 1,       // a new descriptor: EMFILE
  kWaits = 2,       // a signal can interrupt it: EINTR
  kTakesSpace = 4,  // ENOSPC
  kTransfers = 8,   // bytes: a part of them
  kReads = 16,      // from a file that may end
};

Control* control = nullptr;
// The paths of descriptors below the directory; empty for all others.
char paths[kMostDescriptors][kPathSize];

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

__attribute__((constructor)) void MapControl() {
  const char* const name = std::getenv("NDLFS_NTH_FAULT");
  if (name == nullptr) return;
  const auto fd = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CLOEXEC));
  if (fd < 0) return;
  void* const memory = reinterpret_cast<void*>(
      ::syscall(SYS_mmap, nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  ::syscall(SYS_close, fd);
  // A helper that the program starts has no files of its own.
  ::unsetenv("NDLFS_NTH_FAULT");
  if (memory != MAP_FAILED) control = static_cast<Control*>(memory);
}

bool ConcernsConnections() {
  return control != nullptr && std::strcmp(control->below, kConnections) == 0;
}

bool IsBelow(const char* path) {
  const size_t size = std::strlen(control->below);
  return size != 0 && std::strncmp(path, control->below, size) == 0 &&
         (path[size] == '/' || path[size] == '\0');
}

const char* PathOf(int fd) {
  return fd >= 0 && fd < kMostDescriptors && paths[fd][0] != '\0' ? paths[fd] : nullptr;
}

// Writes the path of `name` in `directory` to `out`; false if it is not below the directory.
bool FindPath(int directory, const char* name, char* out) {
  if (control == nullptr || name == nullptr) return false;
  int fd;
  if (std::sscanf(name, "/proc/self/fd/%d", &fd) == 1) {
    if (PathOf(fd) == nullptr) return false;
    std::snprintf(out, kPathSize, "%s", PathOf(fd));
    return true;
  }
  if (name[0] == '/') {
    std::snprintf(out, kPathSize, "%s", name);
    return IsBelow(out);
  }
  if (PathOf(directory) == nullptr) return false;
  const bool itself = name[0] == '\0' || std::strcmp(name, ".") == 0;
  std::snprintf(out, kPathSize, "%s%s%s", PathOf(directory), itself ? "" : "/",
                itself ? "" : name);
  return true;
}

bool Applies(unsigned traits) {
  switch (control->fault.load()) {
    case kShort:
      return (traits & kTransfers) != 0;
    case kEnd:
      return (traits & kReads) != 0;
    case kMemory:
      return false;
    default:
      break;
  }
  switch (control->error.load()) {
    case EMFILE:
      return (traits & kOpens) != 0;
    case EINTR:
      return (traits & kWaits) != 0;
    case ENOSPC:
      return (traits & kTakesSpace) != 0;
    default:
      return true;
  }
}

// Counts the call, and says whether it is the one.
bool IsTurn(const char* call, const char* path) {
  const int64_t number = control->calls.fetch_add(1) + 1;
  const int64_t at = control->at;
  if (at == 0 || number < at || (number > at && control->lasts == 0)) return false;
  if (control->failed.fetch_add(1) == 0) {
    std::snprintf(control->what, kPathSize, "%s %s", call, path);
  }
  return true;
}

// Whether `call` on `path` (null: none of ours) fails; errno then says how.
bool Fails(const char* call, const char* path, unsigned traits) {
  if (control == nullptr || path == nullptr || control->fault != kErrno || !Applies(traits) ||
      !IsTurn(call, path)) {
    return false;
  }
  errno = control->error;
  return true;
}

bool FailsAt(const char* call, int directory, const char* name, unsigned traits) {
  char path[kPathSize];
  return FindPath(directory, name, path) && Fails(call, path, traits);
}

void Forget(int fd) {
  if (control == nullptr || PathOf(fd) == nullptr) return;
  paths[fd][0] = '\0';
  --control->open;
}

int Note(int fd, const char* path) {
  if (control == nullptr || fd < 0 || fd >= kMostDescriptors) return fd;
  Forget(fd);  // closed by a call that is not seen here
  std::snprintf(paths[fd], kPathSize, "%s", path);
  ++control->open;
  return fd;
}

int OpenAt(int directory, const char* name, int flags, mode_t mode) {
  char path[kPathSize];
  const bool ours = FindPath(directory, name, path);
  const unsigned traits = kOpens | kWaits | ((flags & O_CREAT) != 0 ? kTakesSpace + 0U : 0U);
  if (ours && Fails("open", path, traits)) return -1;
  const auto fd = static_cast<int>(::syscall(SYS_openat, directory, name, flags, mode));
  if (ours) return Note(fd, path);
  Forget(fd);
  return fd;
}

mode_t ModeOf(int flags, va_list args) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(args, mode_t) : 0;
}

// How many of `size` bytes a call on `fd` shall transfer; -1 if it fails.
ssize_t Transfer(const char* call, int fd, size_t size, unsigned traits) {
  const char* const path = control != nullptr ? PathOf(fd) : nullptr;
  if (path == nullptr) return static_cast<ssize_t>(size);
  if (Fails(call, path, traits)) return -1;
  const bool is_part = control->fault == kShort && size > 1;
  const bool is_end = control->fault == kEnd && size > 0;
  if ((is_part || is_end) && Applies(traits) && IsTurn(call, path)) {
    return is_end ? 0 : static_cast<ssize_t>(size / 2);
  }
  return static_cast<ssize_t>(size);
}

constexpr unsigned kReading = kWaits | kTransfers | kReads;
constexpr unsigned kWriting = kWaits | kTransfers | kTakesSpace;

int StatAt(const char* call, int directory, const char* name, struct ::stat* status,
           int flags) {
  if (FailsAt(call, directory, name, 0)) return -1;
  return static_cast<int>(::syscall(SYS_newfstatat, directory, name, status, flags));
}

size_t SizeOf(const iovec* parts, int count) {
  size_t size = 0;
  for (int i = 0; i < count; ++i) size += parts[i].iov_len;
  return size;
}

bool LacksMemory(size_t size) {
  if (control == nullptr || control->fault != kMemory ||
      size < static_cast<size_t>(control->least.load()) || !IsTurn("malloc", "memory")) {
    return false;
  }
  errno = ENOMEM;
  return true;
}

}  // namespace

extern "C" {

int open(const char* name, int flags, ...) {
  va_list args;
  va_start(args, flags);
  const mode_t mode = ModeOf(flags, args);
  va_end(args);
  return OpenAt(AT_FDCWD, name, flags, mode);
}

int openat(int directory, const char* name, int flags, ...) {
  va_list args;
  va_start(args, flags);
  const mode_t mode = ModeOf(flags, args);
  va_end(args);
  return OpenAt(directory, name, flags, mode);
}

// ndlfs calls openat2 by its number.
long syscall(long number, ...) noexcept {
  static auto* const next = Next<long(long, ...)>("syscall");
  va_list args;
  va_start(args, number);
  long a[6];
  for (long& argument : a) argument = va_arg(args, long);
  va_end(args);
  char path[kPathSize];
  const bool ours = number == SYS_openat2 &&
                    FindPath(static_cast<int>(a[0]), reinterpret_cast<const char*>(a[1]), path);
  if (ours && Fails("open", path, kOpens | kWaits)) return -1;
  const long result = next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  return ours ? Note(static_cast<int>(result), path) : result;
}

int close(int fd) {
  Forget(fd);
  return static_cast<int>(::syscall(SYS_close, fd));
}

int closedir(DIR* directory) {
  static auto* const next = Next<int(DIR*)>("closedir");
  Forget(::dirfd(directory));
  return next(directory);
}

ssize_t read(int fd, void* out, size_t size) {
  const ssize_t count = Transfer("read", fd, size, kReading);
  return count < 0 ? -1 : ::syscall(SYS_read, fd, out, count);
}

ssize_t pread(int fd, void* out, size_t size, off_t offset) {
  const ssize_t count = Transfer("pread", fd, size, kReading);
  return count < 0 ? -1 : ::syscall(SYS_pread64, fd, out, count, offset);
}

ssize_t preadv(int fd, const iovec* parts, int count, off_t offset) {
  static auto* const next = Next<ssize_t(int, const iovec*, int, off_t)>("preadv");
  const size_t size = SizeOf(parts, count);
  const ssize_t some = Transfer("preadv", fd, size, kReading);
  if (some < 0) return -1;
  if (static_cast<size_t>(some) == size) return next(fd, parts, count, offset);
  const size_t first = std::min<size_t>(parts[0].iov_len, static_cast<size_t>(some));
  return ::syscall(SYS_pread64, fd, parts[0].iov_base, first, offset);
}

ssize_t write(int fd, const void* data, size_t size) {
  const ssize_t count = Transfer("write", fd, size, kWriting);
  return count < 0 ? -1 : ::syscall(SYS_write, fd, data, count);
}

ssize_t writev(int fd, const iovec* parts, int count) {
  static auto* const next = Next<ssize_t(int, const iovec*, int)>("writev");
  const size_t size = SizeOf(parts, count);
  const ssize_t some = Transfer("writev", fd, size, kWriting);
  if (some < 0) return -1;
  if (static_cast<size_t>(some) == size) return next(fd, parts, count);
  const size_t first = std::min<size_t>(parts[0].iov_len, static_cast<size_t>(some));
  return ::syscall(SYS_write, fd, parts[0].iov_base, first);
}

ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
  const ssize_t count = Transfer("pwrite", fd, size, kWriting);
  return count < 0 ? -1 : ::syscall(SYS_pwrite64, fd, data, count, offset);
}

int fsync(int fd) {
  if (Fails("fsync", PathOf(fd), kTakesSpace)) return -1;
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

int fdatasync(int fd) {
  if (Fails("fdatasync", PathOf(fd), kTakesSpace)) return -1;
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}

int fstat(int fd, struct ::stat* status) {
  if (Fails("fstat", PathOf(fd), 0)) return -1;
  return static_cast<int>(::syscall(SYS_fstat, fd, status));
}

int stat(const char* name, struct ::stat* status) {
  return StatAt("stat", AT_FDCWD, name, status, 0);
}

int lstat(const char* name, struct ::stat* status) {
  return StatAt("lstat", AT_FDCWD, name, status, AT_SYMLINK_NOFOLLOW);
}

int fstatat(int directory, const char* name, struct ::stat* status, int flags) {
  return StatAt("fstatat", directory, name, status, flags);
}

struct dirent64* readdir64(DIR* directory) {
  static auto* const next = Next<struct dirent64*(DIR*)>("readdir64");
  if (Fails("readdir", PathOf(::dirfd(directory)), 0)) return nullptr;
  return next(directory);
}

ssize_t readlinkat(int directory, const char* name, char* out, size_t size) {
  if (FailsAt("readlink", directory, name, 0)) return -1;
  return ::syscall(SYS_readlinkat, directory, name, out, size);
}

// What makes, moves and removes names, and what is done to an open file besides its bytes.
int renameat(int from, const char* old_name, int to, const char* name) {
  if (FailsAt("rename", to, name, kTakesSpace)) return -1;
  return static_cast<int>(::syscall(SYS_renameat, from, old_name, to, name));
}

int linkat(int from, const char* old_name, int to, const char* name, int flags) noexcept {
  if (FailsAt("link", to, name, kTakesSpace)) return -1;
  return static_cast<int>(::syscall(SYS_linkat, from, old_name, to, name, flags));
}

int mkdirat(int directory, const char* name, mode_t mode) noexcept {
  if (FailsAt("mkdir", directory, name, kTakesSpace)) return -1;
  return static_cast<int>(::syscall(SYS_mkdirat, directory, name, mode));
}

int mkdir(const char* name, mode_t mode) noexcept { return mkdirat(AT_FDCWD, name, mode); }

int unlinkat(int directory, const char* name, int flags) noexcept {
  if (FailsAt("unlink", directory, name, 0)) return -1;
  return static_cast<int>(::syscall(SYS_unlinkat, directory, name, flags));
}

int ftruncate(int fd, off_t size) noexcept {
  if (Fails("ftruncate", PathOf(fd), kWaits | kTakesSpace)) return -1;
  return static_cast<int>(::syscall(SYS_ftruncate, fd, size));
}

int fchmod(int fd, mode_t mode) noexcept {
  if (Fails("fchmod", PathOf(fd), 0)) return -1;
  return static_cast<int>(::syscall(SYS_fchmod, fd, mode));
}

int flock(int fd, int operation) noexcept {
  if (Fails("flock", PathOf(fd), kWaits)) return -1;
  return static_cast<int>(::syscall(SYS_flock, fd, operation));
}

int futimens(int fd, const struct timespec times[2]) noexcept {
  if (Fails("futimens", PathOf(fd), kTakesSpace)) return -1;
  return static_cast<int>(::syscall(SYS_utimensat, fd, nullptr, times, 0));
}

int rename(const char* old_name, const char* name) {
  return renameat(AT_FDCWD, old_name, AT_FDCWD, name);
}

// Memory that is shared with a helper, or is a file.
void* mmap(void* place, size_t size, int protection, int flags, int fd, off_t offset) {
  const char* path = nullptr;
  if (control != nullptr)
    path = PathOf(fd) ? PathOf(fd) : (flags & MAP_SHARED) ? "shared" : nullptr;
  const bool is_plausible = control != nullptr && (control->error == ENOMEM);
  if (is_plausible && Fails("mmap", path, 0)) return MAP_FAILED;
  return reinterpret_cast<void*>(
      ::syscall(SYS_mmap, place, size, protection, flags, fd, offset));
}

// Connections. Reading and writing them with read() and write() fails above.
int socket(int domain, int type, int protocol) noexcept {
  const bool ours = ConcernsConnections() && (domain == AF_INET || domain == AF_INET6);
  if (ours && Fails("socket", kConnections, kOpens)) return -1;
  const auto fd = static_cast<int>(::syscall(SYS_socket, domain, type, protocol));
  return ours ? Note(fd, kConnections) : fd;
}

int connect(int fd, const sockaddr* address, socklen_t size) {
  if (Fails("connect", PathOf(fd), kWaits)) return -1;
  return static_cast<int>(::syscall(SYS_connect, fd, address, size));
}

int accept4(int fd, sockaddr* address, socklen_t* size, int flags) {
  const bool ours = control != nullptr && PathOf(fd) != nullptr;
  if (ours && Fails("accept", PathOf(fd), kOpens | kWaits)) return -1;
  const auto found = static_cast<int>(::syscall(SYS_accept4, fd, address, size, flags));
  return ours ? Note(found, kConnections) : found;
}

int accept(int fd, sockaddr* address, socklen_t* size) { return accept4(fd, address, size, 0); }

ssize_t sendto(int fd, const void* data, size_t size, int flags, const sockaddr* address,
               socklen_t address_size) {
  const ssize_t count = Transfer("send", fd, size, kWaits | kTransfers);
  return count < 0 ? -1 : ::syscall(SYS_sendto, fd, data, count, flags, address, address_size);
}

ssize_t send(int fd, const void* data, size_t size, int flags) {
  return sendto(fd, data, size, flags, nullptr, 0);
}

ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  if (Fails("sendmsg", PathOf(fd), kWaits)) return -1;
  return ::syscall(SYS_sendmsg, fd, message, flags);
}

ssize_t recvfrom(int fd, void* out, size_t size, int flags, sockaddr* address,
                 socklen_t* address_size) {
  const ssize_t count = Transfer("recv", fd, size, kReading);
  return count < 0 ? -1 : ::syscall(SYS_recvfrom, fd, out, count, flags, address, address_size);
}

ssize_t recv(int fd, void* out, size_t size, int flags) {
  return recvfrom(fd, out, size, flags, nullptr, nullptr);
}

int open64(const char*, int, ...) __attribute__((alias("open")));
int openat64(int, const char*, int, ...) __attribute__((alias("openat")));
ssize_t pread64(int, void*, size_t, off_t) __attribute__((alias("pread")));
ssize_t pwrite64(int, const void*, size_t, off_t) __attribute__((alias("pwrite")));
ssize_t preadv64(int, const iovec*, int, off_t) __attribute__((alias("preadv")));

void* malloc(size_t size) {
  static auto* const next = Next<void*(size_t)>("malloc");
  return LacksMemory(size) ? nullptr : next(size);
}

}  // extern "C"

// An allocator may have a `new` of its own, which does not ask its malloc.
void* operator new(size_t size) {
  static auto* const next = Next<void*(size_t)>("_Znwm");
  if (LacksMemory(size)) throw std::bad_alloc();
  return next(size);
}

void* operator new[](size_t size) {
  static auto* const next = Next<void*(size_t)>("_Znam");
  if (LacksMemory(size)) throw std::bad_alloc();
  return next(size);
}
