// SPDX-License-Identifier: MIT
#include "backends/format/grib/local_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "backends/format/grib/eccodes.h"
#include "backends/helper/message_socket.h"
#include "backends/helper/spawn.h"
#include "backends/store/caller.h"
#include "backends/store/cancellation.h"
#include "model/mutex.h"
#include "model/utf8.h"

namespace ndlfs::backends {
namespace grib {
namespace {

using model::Result;
using MaybeParameter = std::optional<Parameter>;

constexpr std::array<std::string_view, 3> kVariables = {
    "ECCODES_DEFINITION_PATH", "ECCODES_EXTRA_DEFINITION_PATH", "GRIB_DEFINITION_PATH"};
constexpr std::chrono::seconds kPatience{20};

bool HasOwnDefinitions() {
  return std::ranges::any_of(kVariables, [](std::string_view name) {
    const char* value = std::getenv(std::string(name).c_str());
    return value != nullptr && *value != '\0';
  });
}

// The command of UseEccodesHelper(), and answers by caller and question.
struct Names {
  model::Mutex mutex;
  std::vector<std::string> command GUARDED_BY(mutex);  // empty: nobody is to be asked
  bool has_own GUARDED_BY(mutex) = false;              // definitions of the user
  std::map<std::pair<uint64_t, std::string>, MaybeParameter> answers GUARDED_BY(mutex);
};
Names& AllNames() {
  static Names names;
  return names;
}

// What libeccodes says, or nothing if it means that it does not know.
std::string Meant(std::string_view text) {
  // No names of files: they come from a process that is not trusted.
  const bool is_name = text != "." && text != ".." && text.find('\x7f') == text.npos;
  const bool is_known = is_name && text != "unknown" && text != "~" && model::IsUtf8(text);
  return is_known ? std::string(text) : std::string();
}

MaybeParameter MakeParameter(const std::array<std::string_view, kNameTexts>& texts) {
  Parameter made;
  std::from_chars(texts[0].data(), texts[0].data() + texts[0].size(), made.id);
  made.short_name = Meant(texts[1]);
  if (made.short_name.empty()) return std::nullopt;
  made.variable = Meant(texts[2]);
  if (made.variable.empty()) made.variable = made.short_name;
  made.name = Meant(texts[3]);
  made.units = Meant(texts[4]);
  made.cf_name = Meant(texts[5]);
  return made;
}

// nullopt if there are not `count` of them.
std::optional<std::vector<MaybeParameter>> ReadAnswer(std::string_view texts, size_t count) {
  std::vector<MaybeParameter> parameters;
  for (size_t i = 0; i < count; ++i) {
    std::array<std::string_view, kNameTexts> of_one;
    for (std::string_view& text : of_one) {
      const size_t end = texts.find('\0');
      if (end == texts.npos) return std::nullopt;
      text = texts.substr(0, end);
      texts.remove_prefix(end + 1);
    }
    parameters.push_back(MakeParameter(of_one));
  }
  return texts.empty() ? std::optional(std::move(parameters)) : std::nullopt;
}

// The answer of a new process.
Result<std::string> AskProcess(const std::vector<std::string>& command,
                               const std::string& question) {
  NDLFS_TRY(auto sockets, helper::MakeSocketPair());
  NDLFS_TRY(const int pid, helper::SpawnHelper(command, sockets.theirs.get(), kVariables));
  sockets.theirs = UniqueFd();  // or its end would not be seen
  const auto until = std::chrono::steady_clock::now() + kPatience;
  bool is_late = false;
  const auto go_on = [&] {
    is_late = std::chrono::steady_clock::now() >= until;
    return !is_late && CancellationScope::CheckWithinChunk().has_value();
  };
  constexpr uint64_t kMostAnswer = kMostNames * kNameTexts * 1024 + 1;
  const int socket = sockets.ours.get();
  std::vector<std::byte> answer;
  auto done = helper::SendMessage(socket, AsBytes(question), go_on);
  if (done == helper::Exchange::kDone) {
    done = helper::ReceiveMessage(socket, answer, kMostAnswer, go_on);
  }
  helper::KillHelper(pid);
  NDLFS_RETURN_IF_ERROR(CancellationScope::CheckWithinChunk());
  if (is_late) return model::Limit("it does not answer in {} seconds", kPatience.count());
  if (done != helper::Exchange::kDone || answer.empty()) return model::Corrupt("it crashes");
  return std::string(AsText(answer));
}

using Questions = std::vector<std::string_view>;

// Asks about the questions of one call, in few processes.
class Asking {
 public:
  explicit Asking(std::vector<std::string> command) : command_(std::move(command)) {}

  // Each question once.
  void Ask(const Questions& questions) {
    asked_ += questions.size();
    for (size_t begin = 0; begin < questions.size() && has_library_;) {
      size_t end = begin;
      for (size_t bytes = 0; end < questions.size() && end - begin < kMostNames; ++end) {
        bytes += questions[end].size();
        if (end > begin && bytes > kMostQuestionBytes) break;
      }
      AskBatch(std::span(questions).subspan(begin, end - begin));
      begin = end;
    }
  }

  // Those that no later try would find out otherwise; nullopt: it is not known.
  const std::map<std::string_view, MaybeParameter>& answers() const { return answers_; }
  bool has_library() const { return has_library_; }
  // Why some names are not known, in one line; empty if there is no problem.
  std::string problem() const {
    if (unknown_ == 0) return no_sandbox_;
    return fmt::format(
        "libeccodes could not be asked for the names of {} of {} parameters: {}; they have the "
        "names that ndlfs knows itself",
        unknown_, asked_, reason_);
  }

 private:
  using Batch = std::span<const std::string_view>;

  // If the process crashes, one message is to blame: the others are asked about without it.
  void AskBatch(Batch batch) {
    if (processes_ == kMostProcesses) {
      return GiveUp(batch, fmt::format("it ended badly in {} processes, and is not asked again",
                                       kMostProcesses));
    }
    ++processes_;
    std::string all;
    for (const std::string_view question : batch) all += question;
    const auto answer = AskProcess(command_, all);
    if (answer) return Note(batch, *answer);
    const model::ErrorCode code = answer.error().code();
    if (code == model::ErrorCode::kCorrupt && batch.size() > 1) {
      AskBatch(batch.first(batch.size() / 2));
      return AskBatch(batch.subspan(batch.size() / 2));
    }
    const bool is_final =
        code == model::ErrorCode::kCorrupt || code == model::ErrorCode::kLimit;
    GiveUp(batch, answer.error().message(), is_final);
  }
  // `is_final`: no later try asks about these.
  void GiveUp(Batch batch, std::string reason, bool is_final = true) {
    unknown_ += batch.size();
    reason_ = std::move(reason);
    if (!is_final) return;
    for (const std::string_view question : batch) answers_[question] = std::nullopt;
  }
  void Note(Batch batch, const std::string& answer) {
    const auto kind = static_cast<NamesAnswer>(answer.front());
    has_library_ = kind != NamesAnswer::kNoLibrary && kind != NamesAnswer::kNoSandbox;
    if (kind == NamesAnswer::kNoSandbox) {
      no_sandbox_ =
          "libeccodes is not asked for names: the kernel cannot keep it from other files";
    }
    if (kind != NamesAnswer::kNames) return;
    auto parameters = ReadAnswer(std::string_view(answer).substr(1), batch.size());
    if (!parameters) return GiveUp(batch, "its process broke the rules");
    for (size_t i = 0; i < batch.size(); ++i) answers_[batch[i]] = std::move((*parameters)[i]);
  }

  static constexpr int kMostProcesses = 32;
  const std::vector<std::string> command_;
  int processes_ = 0;
  std::map<std::string_view, MaybeParameter> answers_;
  bool has_library_ = true;
  size_t asked_ = 0;    // questions
  size_t unknown_ = 0;  // of these, without an answer
  std::string reason_;  // why there was none, the last time
  std::string no_sandbox_;
};

}  // namespace

bool AsksForName(const ParameterKey& key) {
  Names& names = AllNames();
  const model::MutexLock lock(names.mutex);
  return !names.command.empty() && (names.has_own || !IsKnownParameter(key));
}

LocalNames AskForNames(const std::vector<std::string_view>& questions) {
  constexpr size_t kMostAnswers = 4 * kMostNames;
  const uint64_t caller = CallerScope::CurrentId();
  Names& names = AllNames();
  std::vector<std::string> command;
  std::map<std::string_view, MaybeParameter> known;
  std::set<std::string_view> unknown;
  {
    const model::MutexLock lock(names.mutex);
    command = names.command;
    for (const std::string_view question : questions) {
      const auto kept = names.answers.find({caller, std::string(question)});
      if (kept != names.answers.end()) known[question] = kept->second;
      if (kept == names.answers.end()) unknown.insert(question);
    }
  }
  Asking asking(command);
  if (!command.empty()) asking.Ask({unknown.begin(), unknown.end()});
  LocalNames found;
  found.problem = asking.problem();
  const model::MutexLock lock(names.mutex);
  if (!asking.has_library()) names.command.clear();
  if (names.answers.size() + asking.answers().size() > kMostAnswers) names.answers.clear();
  for (const auto& [question, parameter] : asking.answers()) {
    known[question] = parameter;
    if (names.answers.size() < kMostAnswers) {
      names.answers[{caller, std::string(question)}] = parameter;
    }
  }
  for (const std::string_view question : questions) {
    const auto answer = known.find(question);
    found.parameters.push_back(answer != known.end() ? answer->second : std::nullopt);
  }
  return found;
}

}  // namespace grib

void UseEccodesHelper(std::vector<std::string> command) {
  auto& names = grib::AllNames();
  const model::MutexLock lock(names.mutex);
  names.command = std::move(command);
  names.has_own = grib::HasOwnDefinitions();
  names.answers.clear();
}

}  // namespace ndlfs::backends
