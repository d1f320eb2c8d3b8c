// SPDX-License-Identifier: MIT
//
// The process in which libhdf4 runs: it answers questions about one file.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <new>
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

std::string AnswerTo(const Functions& library, const Question& question,
                     const std::string& path) {
  try {
    model::Result<std::string> made = "";
    if (question.block) {
      made = ReadElements(library, path, *question.block);
    } else {
      const auto file = DescribeFile(library, path, kHelperFile, question.leaves_headers);
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

// The parent sets the limits of memory and processor time for each question.
void ForbidCoreDumps() {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
}

// Waits for the next question; false if the parent is gone.
bool Receive(helper::Message& question) {
  constexpr uint64_t kMostQuestion = 4096;
  const auto limit = [](helper::MessageKind) { return kMostQuestion; };
  return helper::ReceiveMessage(helper::kHelperSocket, question, limit) ==
         helper::Exchange::kDone;
}

bool Send(const std::string& answer) {
  return helper::SendMessage(helper::kHelperSocket, helper::MessageKind::kAnswer,
                             AsBytes(answer)) == helper::Exchange::kDone;
}

// libhdf4 trusts what files say: one that takes it over must be kept from all that it could do,
// and not only from files. Sanitizers make calls of their own.
bool IsConfined(const std::string& path) {
  const helper::Confinement confinement = helper::EnterSandbox({{path}});
  return confinement.is_of_files && (confinement.is_of_calls || model::kIsSanitized);
}

void AnswerQuestions() {
  helper::Message question;
  const auto library = LoadFunctions();
  // The only name that a file has here.
  const std::string path = fmt::format("/proc/self/fd/{}", kHelperFile);
  const bool is_safe = library && IsConfined(path);
  while (Receive(question)) {
    const auto decoded = DecodeQuestion(AsText(question.bytes));
    std::string answer = Only(Answer::kRefused) + "an unknown question";
    if (!library) {
      answer = Only(Answer::kNoLibrary);
    } else if (!is_safe) {
      answer = Only(Answer::kNoSandbox);
    } else if (decoded) {
      answer = AnswerTo(*library, *decoded, path);
    }
    if (!Send(answer)) return;
  }
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
  hdf4::ForbidCoreDumps();
  hdf4::AnswerQuestions();
  // What libraries and sanitizers do at the end of a process, the sandbox forbids.
  ::_exit(0);
}

}  // namespace ndlfs::backends
