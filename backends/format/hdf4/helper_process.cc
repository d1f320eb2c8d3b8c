// SPDX-License-Identifier: MIT
//
// The process in which libhdf4 runs: it answers one question about one file.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <new>
#include <optional>
#include <string>

#include "backends/base/close_from.h"
#include "backends/format/hdf4/hdf4.h"
#include "backends/format/hdf4/helper.h"
#include "backends/format/hdf4/library.h"
#include "backends/format/hdf4/messages.h"
#include "backends/helper/message_socket.h"
#include "backends/helper/sandbox.h"
#include "backends/helper/spawn.h"
#include "model/sanitizers.h"

namespace ndlfs::backends {
namespace hdf4 {
namespace {

std::string Only(Answer answer) { return std::string(1, static_cast<char>(answer)); }

std::string AnswerTo(const Functions& library, const std::optional<BlockRequest>& block,
                     const std::string& path) {
  try {
    model::Result<std::string> made =
        block ? ReadElements(library, path, *block) : model::Result<std::string>("");
    if (!block) {
      const auto file = DescribeFile(library, path, kHelperFile);
      if (file) {
        made = Encode(*file);
      } else {
        made = model::Propagate(file.error());
      }
    }
    if (!made) return Only(Answer::kRefused) + made.error().message();
    return Only(Answer::kDone) + *made;
  } catch (const std::bad_alloc&) {
    return Only(Answer::kRefused) + "libhdf4 needs too much memory for it";
  }
}

std::string Respond(std::string_view text) {
  const auto question = DecodeQuestion(text);
  if (!question) return Only(Answer::kRefused) + "an unknown question";
  const auto library = LoadFunctions();
  if (!library) return Only(Answer::kNoLibrary);
  // The only name that a file has here.
  const std::string path = fmt::format("/proc/self/fd/{}", kHelperFile);
  if (!helper::EnterSandbox({{path}})) return Only(Answer::kNoSandbox);
  return AnswerTo(*library, *question, path);
}

// Enough for any sensible file. The elements are in memory several times.
void SetLimits(uint64_t elements) {
  constexpr rlim_t kSeconds = 10;
  const rlim_t bytes = (rlim_t{1} << 30) + 4 * elements;
  const rlimit memory{bytes, bytes}, time{kSeconds, kSeconds + 5}, none{0, 0};
  // Sanitizers need their address space.
  if (!model::kIsSanitized) ::setrlimit(RLIMIT_AS, &memory);
  ::setrlimit(RLIMIT_CPU, &time);
  ::setrlimit(RLIMIT_CORE, &none);
}

}  // namespace
}  // namespace hdf4

int RunHdf4Helper() {
  if (!CloseFrom(hdf4::kHelperFile + 1)) return 1;
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // libhdf4 says things on standard error.
    if (fd != STDERR_FILENO || !model::kIsSanitized) ::dup2(nothing, fd);
  }
  if (nothing > hdf4::kHelperFile) ::close(nothing);
  constexpr uint64_t kMostQuestion = 4096;
  const auto limit = [](helper::MessageKind) { return kMostQuestion; };
  helper::Message question;
  const auto received = helper::ReceiveMessage(helper::kHelperSocket, question, limit);
  if (received != helper::Exchange::kDone) return 1;
  const auto decoded = hdf4::DecodeQuestion(AsText(question.bytes));
  const bool has_block = decoded && *decoded;
  hdf4::SetLimits(has_block ? (*decoded)->bytes : 0);
  const std::string answer = hdf4::Respond(AsText(question.bytes));
  helper::SendMessage(helper::kHelperSocket, helper::MessageKind::kAnswer, AsBytes(answer));
  // What libraries and sanitizers do at the end of a process, the sandbox forbids.
  ::_exit(0);
}

}  // namespace ndlfs::backends
