// SPDX-License-Identifier: MIT
//
// The process in which libeccodes runs. The library is loaded when it is needed: packages of
// ndlfs then need neither it nor its 40 MB of tables, and its headers are not needed to build.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "backends/base/close_from.h"
#include "backends/format/grib/eccodes.h"
#include "backends/format/grib/local_names.h"
#include "backends/helper/message_socket.h"
#include "backends/helper/sandbox.h"
#include "backends/helper/spawn.h"
#include "model/sanitizers.h"

namespace ndlfs::backends {
namespace grib {
namespace {

// The functions of eccodes.h that are used. Handles and contexts are opaque.
class Eccodes {
 public:
  static std::optional<Eccodes> Load() {
    void* const library = ::dlopen("libeccodes.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return std::nullopt;
    Eccodes loaded;
    const bool has_all = Find(library, "codes_handle_new_from_message_copy", loaded.open_) &&
                         Find(library, "codes_handle_delete", loaded.close_) &&
                         Find(library, "codes_get_string", loaded.get_string_) &&
                         Find(library, "codes_definition_path", loaded.definition_path_);
    return has_all ? std::optional(loaded) : std::nullopt;
  }

  // Folders with definitions.
  std::vector<std::string> Folders() const {
    std::vector<std::string> folders;
    const auto add = [&](const char* list) {
      std::string_view rest = list == nullptr ? "" : list;
      while (!rest.empty()) {
        const size_t end = std::min(rest.find(':'), rest.size());
        if (end != 0) folders.emplace_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
    };
    add(definition_path_(nullptr));
    add(std::getenv("ECCODES_DEFINITION_PATH"));
    add(std::getenv("ECCODES_EXTRA_DEFINITION_PATH"));
    return folders;
  }

  // Appends the texts about one message to `answer`.
  void Describe(std::string_view message, std::string& answer) const {
    constexpr std::array<const char*, kNameTexts> kKeys = {"paramId", "shortName", "cfVarName",
                                                           "name",    "units",     "cfName"};
    void* const handle = open_(nullptr, message.data(), message.size());
    for (const char* key : kKeys) {
      std::array<char, 1024> text = {};
      size_t size = text.size() - 1;
      if (handle == nullptr || get_string_(handle, key, text.data(), &size) != 0) text[0] = 0;
      answer += text.data();
      answer.push_back('\0');
    }
    if (handle != nullptr) close_(handle);
  }

 private:
  template <typename Function>
  static bool Find(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(::dlsym(library, name));
    return function != nullptr;
  }

  void* (*open_)(void* context, const void* message, size_t size) = nullptr;
  int (*close_)(void* handle) = nullptr;
  int (*get_string_)(const void* handle, const char* key, char* text, size_t* size) = nullptr;
  char* (*definition_path_)(const void* context) = nullptr;
};

// The length of the message at the beginning of `messages`; 0 if there is none.
size_t LengthOfFirst(std::string_view messages) {
  constexpr size_t kHead1 = 8, kHead2 = 16;
  if (messages.size() < kHead2) return 0;
  const bool is_first = messages[7] == 1;
  size_t length = 0;
  for (size_t i = is_first ? 4 : 8; i < (is_first ? kHead1 - 1 : kHead2); ++i) {
    length = length << 8 | static_cast<unsigned char>(messages[i]);
  }
  return length <= messages.size() ? length : 0;
}

std::string Answer(const std::optional<Eccodes>& library, std::string_view messages) {
  if (!library) return {static_cast<char>(NamesAnswer::kNoLibrary)};
  if (!helper::EnterSandbox({library->Folders()}).is_of_files) {
    return {static_cast<char>(NamesAnswer::kNoSandbox)};
  }
  std::string answer = {static_cast<char>(NamesAnswer::kNames)};
  while (!messages.empty()) {
    const size_t length = LengthOfFirst(messages);
    if (length == 0) break;
    library->Describe(messages.substr(0, length), answer);
    messages.remove_prefix(length);
  }
  return answer;
}

void SetLimits() {
  constexpr rlim_t kMemory = rlim_t{512} << 20, kSeconds = 20;
  const rlimit memory{kMemory, kMemory}, time{kSeconds, kSeconds}, none{0, 0};
  // Sanitizers need their address space.
  if (!model::kIsSanitized) ::setrlimit(RLIMIT_AS, &memory);
  ::setrlimit(RLIMIT_CPU, &time);
  ::setrlimit(RLIMIT_CORE, &none);
}

}  // namespace
}  // namespace grib

int RunEccodesHelper() {
  if (!CloseFrom(helper::kHelperSocket + 1)) return 1;
  // The library says on standard error what it does not understand, of every message anew.
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fd != STDERR_FILENO || !model::kIsSanitized) ::dup2(nothing, fd);
  }
  if (nothing > helper::kHelperSocket) ::close(nothing);
  grib::SetLimits();
  std::vector<std::byte> question;
  const auto received =
      helper::ReceiveMessage(helper::kHelperSocket, question, grib::kMostQuestionBytes);
  if (received != helper::Exchange::kDone) return 1;
  const std::string answer = grib::Answer(grib::Eccodes::Load(), AsText(question));
  helper::SendMessage(helper::kHelperSocket, AsBytes(answer));
  // What sanitizers do at the end of a process, the sandbox forbids.
  ::_exit(0);
}

}  // namespace ndlfs::backends
