// SPDX-License-Identifier: MIT
//
// bin/ndlfs of the archive. It starts lib/ndlfs/ndlfs with the C library that is next to it,
// whatever the system has: it maps the carried dynamic loader into its own process and jumps to
// it, as if the kernel had been asked for
//
//   lib/ndlfs/ld-linux-*.so --argv0 ARGV0 lib/ndlfs/ndlfs ARGUMENT...
//
// Starting that command instead would work less well: /proc/self/exe would be the loader, and
// ndlfs starts itself again by that name; the process would have the loader's name in ps.
//
// It is a static program without a C library, so that it runs on every Linux.
#include <elf.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#ifndef NDLFS_LOADER
#error "NDLFS_LOADER is the name of the dynamic loader: ld-linux-x86-64.so.2"
#endif

// What the compiler makes of loops.
extern "C" void* memcpy(void* to, const void* from, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    static_cast<volatile char*>(to)[i] = static_cast<const char*>(from)[i];
  }
  return to;
}
extern "C" void* memset(void* to, int value, size_t size) {
  for (size_t i = 0; i < size; ++i)
    static_cast<volatile char*>(to)[i] = static_cast<char>(value);
  return to;
}

namespace {

using Word = uintptr_t;

constexpr size_t kMostPath = 4096;
constexpr int kMostHeaders = 32;
constexpr int kCannotStart = 127;

// The error is -4095 to -1.
long Call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
#if defined(__x86_64__)
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  long result = number;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc 0"
               : "+r"(x0)
               : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
               : "memory");
  return x0;
#else
#error "the launcher is for x86-64 and aarch64"
#endif
}

bool IsError(long result) { return result < 0 && result >= -4095; }
long Pointer(const void* pointer) { return reinterpret_cast<long>(pointer); }

// A short text without an allocator; what does not fit is left out, and then is_whole() is
// false.
class Text {
 public:
  Text& Add(const char* text) {
    for (; *text != '\0'; ++text) Put(*text);
    return *this;
  }
  Text& Add(long number) {
    if (number >= 10) Add(number / 10);
    Put(static_cast<char>('0' + number % 10));
    return *this;
  }
  void Cut(size_t size) { bytes_[size_ = size] = '\0'; }
  const char* c_str() const { return bytes_; }
  size_t size() const { return size_; }
  bool is_whole() const { return !is_cut_; }
  char* room() { return bytes_; }

 private:
  void Put(char c) {
    is_cut_ = is_cut_ || size_ + 1 >= kMostPath;
    if (is_cut_) return;
    bytes_[size_++] = c;
    bytes_[size_] = '\0';
  }

  char bytes_[kMostPath] = {};
  size_t size_ = 0;
  bool is_cut_ = false;
};

// These have static storage, because the loader needs the stack below the arguments.
Text library_path;
Text loader_path;
Text program_path;
Text message;

constexpr const char* kBadArchive = "; the archive is not complete, or not for this machine";

[[noreturn]] void Fail(const char* what, const char* path, long error,
                       const char* cure = kBadArchive) {
  message.Add("ndlfs: ").Add(what).Add(path);
  if (error != 0) message.Add(": error ").Add(-error);
  message.Add(cure).Add("\n");
  Call(SYS_write, 2, Pointer(message.c_str()), static_cast<long>(message.size()));
  for (;;) Call(SYS_exit_group, kCannotStart);
}

constexpr const char* kItself = "/proc/self/exe";

bool IsSameFile(const char* path, const char* other) {
  struct statx one;
  struct statx two;
  const auto look = [](const char* at, struct statx& status) {
    return Call(SYS_statx, AT_FDCWD, Pointer(at), 0, STATX_INO, Pointer(&status)) == 0;
  };
  return look(path, one) && look(other, two) && one.stx_ino == two.stx_ino &&
         one.stx_dev_major == two.stx_dev_major && one.stx_dev_minor == two.stx_dev_minor;
}

// The path of this program, as it is for this process. In a chroot, a process that has got a
// mount namespace of its own is told the path from the real root: the first parts of that are
// no part of it.
const char* FindItself(Text& room) {
  const long size =
      Call(SYS_readlinkat, AT_FDCWD, Pointer(kItself), Pointer(room.room()), kMostPath - 1);
  if (IsError(size)) Fail("cannot read ", kItself, size, "; is /proc mounted?");
  room.Cut(static_cast<size_t>(size));
  for (const char* path = room.c_str(); *path != '\0'; ++path) {
    if (*path == '/' && IsSameFile(path, kItself)) return path;
  }
  return room.c_str();  // removed or replaced meanwhile, or qemu-user stands between
}

// Sets the paths of the files in lib/ndlfs, which is where bin/ is.
void FindFiles() {
  static Text own_path;
  library_path.Add(FindItself(own_path));
  size_t end = library_path.size();
  for (int parts = 0; parts < 2; ++parts) {
    while (end > 0 && library_path.c_str()[end - 1] != '/') --end;
    if (end > 0) --end;
  }
  library_path.Cut(end);
  library_path.Add("/lib/ndlfs/");
  loader_path.Add(library_path.c_str()).Add(NDLFS_LOADER);
  program_path.Add(library_path.c_str()).Add("ndlfs");
  if (!loader_path.is_whole() || !program_path.is_whole()) {
    Fail("too long a path: ", library_path.c_str(), 0);
  }
}

struct Loader {
  Word base = 0;
  Word entry = 0;
  Word headers = 0;
  Word header_count = 0;
};

int Protection(uint32_t flags) {
  return ((flags & PF_R) ? PROT_READ : 0) | ((flags & PF_W) ? PROT_WRITE : 0) |
         ((flags & PF_X) ? PROT_EXEC : 0);
}

// Maps one segment. What is behind the part of it that is in the file is zero up to the end of
// the page, as the kernel does it: the loader takes memory from there.
void MapSegment(int fd, const Elf64_Phdr& segment, Word base, Word page) {
  const Word begin = base + segment.p_vaddr;
  const Word file_end = begin + segment.p_filesz;
  const Word end = begin + segment.p_memsz;
  const Word first_page = begin & ~(page - 1);
  const Word lead = begin - first_page;
  const int protection = Protection(segment.p_flags);
  const long mapped =
      Call(SYS_mmap, static_cast<long>(first_page), static_cast<long>(segment.p_filesz + lead),
           protection, MAP_PRIVATE | MAP_FIXED, fd, static_cast<long>(segment.p_offset - lead));
  if (IsError(mapped)) Fail("cannot map ", loader_path.c_str(), mapped);
  if (end == file_end) return;
  const Word file_pages_end = (file_end + page - 1) & ~(page - 1);
  memset(reinterpret_cast<void*>(file_end), 0, file_pages_end - file_end);
  if (end <= file_pages_end) return;
  const long more =
      Call(SYS_mmap, static_cast<long>(file_pages_end), static_cast<long>(end - file_pages_end),
           protection, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0);
  if (IsError(more)) Fail("no memory for ", loader_path.c_str(), more);
}

Loader MapLoader(Word page) {
  const char* const path = loader_path.c_str();
  const long fd = Call(SYS_openat, AT_FDCWD, Pointer(path), O_RDONLY | O_CLOEXEC);
  if (IsError(fd)) Fail("cannot open ", path, fd);
  Elf64_Ehdr head;
  Elf64_Phdr segments[kMostHeaders];
  const auto read = [&](void* to, size_t size, Word offset) {
    return Call(SYS_pread64, fd, Pointer(to), static_cast<long>(size),
                static_cast<long>(offset)) == static_cast<long>(size);
  };
  if (!read(&head, sizeof head, 0) || head.e_type != ET_DYN || head.e_phnum > kMostHeaders ||
      head.e_phentsize != sizeof(Elf64_Phdr) ||
      !read(segments, head.e_phnum * sizeof(Elf64_Phdr), head.e_phoff)) {
    Fail("no dynamic loader: ", path, 0);
  }
  Word end = 0;  // of all segments; the first one begins at 0
  Word headers = head.e_phoff;
  for (int i = 0; i < head.e_phnum; ++i) {
    if (segments[i].p_type == PT_LOAD) end = segments[i].p_vaddr + segments[i].p_memsz;
    if (segments[i].p_type == PT_PHDR) headers = segments[i].p_vaddr;
  }
  const long base =
      Call(SYS_mmap, 0, static_cast<long>(end), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (IsError(base)) Fail("no address space for ", path, base);
  for (int i = 0; i < head.e_phnum; ++i) {
    if (segments[i].p_type != PT_LOAD) continue;
    MapSegment(static_cast<int>(fd), segments[i], static_cast<Word>(base), page);
  }
  Call(SYS_close, fd);
  const Word at = static_cast<Word>(base);
  return {at, at + head.e_entry, at + headers, head.e_phnum};
}

Word FindAux(const Elf64_auxv_t* aux, Word type, Word otherwise) {
  for (; aux->a_type != AT_NULL; ++aux) {
    if (aux->a_type == type) return aux->a_un.a_val;
  }
  return otherwise;
}

// What the kernel puts on the stack of a new process: a number of arguments, they, the
// environment and facts about the process.
struct Start {
  Word count;
  char** arguments;
  char** environment;
  Elf64_auxv_t* aux;
};

Start Read(Word* stack) {
  Start start = {stack[0], reinterpret_cast<char**>(stack + 1), nullptr, nullptr};
  start.environment = start.arguments + start.count + 1;
  char** end = start.environment;
  while (*end != nullptr) ++end;
  start.aux = reinterpret_cast<Elf64_auxv_t*>(end + 1);
  return start;
}

// The kernel tells a program of its own headers; the loader shall take itself for it.
Elf64_auxv_t ForLoader(Elf64_auxv_t fact, const Loader& loader) {
  switch (fact.a_type) {
    case AT_PHDR:
      fact.a_un.a_val = loader.headers;
      break;
    case AT_PHNUM:
      fact.a_un.a_val = loader.header_count;
      break;
    case AT_PHENT:
      fact.a_un.a_val = sizeof(Elf64_Phdr);
      break;
    case AT_BASE:
      fact.a_un.a_val = 0;
      break;
    case AT_ENTRY:
      fact.a_un.a_val = loader.entry;
      break;
    default:
      break;
  }
  return fact;
}

constexpr Word kMoreArguments = 3;  // loader, --argv0, ARGV0; the program stands for ARGV0

Word WordsOf(const Start& start) {
  Word environment = 1;
  while (start.environment[environment - 1] != nullptr) ++environment;
  Word facts = 1;
  while (start.aux[facts - 1].a_type != AT_NULL) ++facts;
  return 1 + start.count + kMoreArguments + 2 + environment + 2 * facts;
}

// Writes the same for the loader to `out`.
void Write(const Start& start, const Loader& loader, Word* out) {
  static char argv0_option[] = "--argv0";
  static char no_name[] = "ndlfs";
  const auto put = [&out](const void* pointer) { *out++ = reinterpret_cast<Word>(pointer); };
  const Word others = start.count > 0 ? start.count - 1 : 0;
  *out++ = others + 1 + kMoreArguments;
  put(loader_path.c_str());
  put(argv0_option);
  put(start.count > 0 ? start.arguments[0] : no_name);
  put(program_path.c_str());
  for (Word i = 0; i < others; ++i) put(start.arguments[i + 1]);
  put(nullptr);
  for (char** text = start.environment;; ++text) {
    put(*text);
    if (*text == nullptr) break;
  }
  for (const Elf64_auxv_t* fact = start.aux;; ++fact) {
    const Elf64_auxv_t changed = ForLoader(*fact, loader);
    *out++ = changed.a_type;
    *out++ = changed.a_un.a_val;
    if (fact->a_type == AT_NULL) break;
  }
}

[[noreturn]] void Jump(Word entry, Word* stack) {
#if defined(__x86_64__)
  // %rdx is a function to call at the end: none.
  asm volatile("mov %%rsi, %%rsp; xor %%edx, %%edx; xor %%ebp, %%ebp; jmp *%%rax"
               :
               : "a"(entry), "S"(stack)
               : "memory");
#else
  register Word target asm("x16") = entry;
  register Word* top asm("x17") = stack;
  asm volatile("mov sp, x17; mov x0, #0; mov x29, #0; mov x30, #0; br x16"
               :
               : "r"(target), "r"(top)
               : "memory");
#endif
  __builtin_unreachable();
}

}  // namespace

// Called with the stack as the kernel has left it.
extern "C" [[noreturn]] __attribute__((used)) void Launch(Word* stack) {
  const Start start = Read(stack);
  FindFiles();
  const Loader loader = MapLoader(FindAux(start.aux, AT_PAGESZ, 4096));
  // Below the frame of this function nothing is needed any more.
  const Word size = (WordsOf(start) * sizeof(Word) + 15) & ~Word{15};
  auto* const copy = static_cast<Word*>(__builtin_alloca_with_align(size, 128));
  Write(start, loader, copy);
  Jump(loader.entry, copy);
}

#if defined(__x86_64__)
asm(".text\n.globl _start\n.type _start, @function\n_start:\n"
    "  xor %ebp, %ebp\n  mov %rsp, %rdi\n  and $-16, %rsp\n  call Launch\n  hlt\n");
#else
asm(".text\n.globl _start\n.type _start, %function\n_start:\n"
    "  mov x29, #0\n  mov x30, #0\n  mov x0, sp\n  bl Launch\n  brk #1\n");
#endif
