// SPDX-License-Identifier: MIT
//
// A library with the name and the functions of libeccodes that ndlfs uses, for tests on
// machines without it. The parameter number of a message of edition 2 says how it behaves.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace {

struct Handle {
  unsigned discipline, category, number, level;
};

const char* DefinitionPath() {
  const char* path = std::getenv("ECCODES_DEFINITION_PATH");
  return path != nullptr ? path : "/nowhere";
}

// The first line of a file; what has happened if there is none.
std::string FirstLine(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "closed";
  char text[100] = {};
  const ssize_t count = ::read(fd, text, sizeof(text) - 1);
  ::close(fd);
  if (count < 0) return "unreadable";
  return std::string(text, std::strcspn(text, "\n"));
}

std::string ValueOf(const Handle& handle, const std::string& key) {
  constexpr unsigned kCrashes = 221, kHangs = 222, kSpies = 223, kWrites = 224, kUnknown = 225;
  if (handle.number == kCrashes) std::abort();
  while (handle.number == kHangs) {
  }
  if (handle.number == kUnknown) return key == "paramId" ? "0" : "unknown";
  if (key == "paramId") return std::to_string(900000 + handle.number);
  if (key == "shortName") return "local" + std::to_string(handle.number);
  if (key == "cfVarName") return "unknown";
  if (key == "units") return "~";
  if (key == "cfName") return "unknown";
  if (handle.number == kSpies) return FirstLine("/etc/passwd");
  if (handle.number == kWrites) {
    return ::creat((DefinitionPath() + std::string("/made")).c_str(), 0644) < 0 ? "closed"
                                                                                : "made";
  }
  return "defined in " + FirstLine(DefinitionPath() + std::string("/names.def")) + ", level " +
         std::to_string(handle.level);
}

}  // namespace

extern "C" {

void* codes_handle_new_from_message_copy(void*, const void* message, size_t size) {
  const auto* octets = static_cast<const unsigned char*>(message);
  size_t at = 16;
  while (at + 9 < size && octets[at + 4] != 4) at += octets[at + 3];
  if (at + 28 >= size) return nullptr;
  const unsigned char* product = octets + at;
  return new Handle{octets[6], product[9], product[10], product[27]};
}

int codes_handle_delete(void* handle) {
  delete static_cast<Handle*>(handle);
  return 0;
}

int codes_get_string(const void* handle, const char* key, char* text, size_t* size) {
  const std::string value = ValueOf(*static_cast<const Handle*>(handle), key);
  if (value.size() + 1 > *size) return -3;
  std::memcpy(text, value.c_str(), value.size() + 1);
  *size = value.size() + 1;
  return 0;
}

char* codes_definition_path(const void*) { return const_cast<char*>(DefinitionPath()); }

}  // extern "C"
