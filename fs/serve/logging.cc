// SPDX-License-Identifier: MIT
#include "fs/serve/logging.h"

#include <fmt/format.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/sinks/syslog_sink.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

#include "fs/serve/service.h"

namespace ndlfs::fs {
namespace {

constexpr const char* kName = "ndlfs";

model::Result<spdlog::level::level_enum> ParseLevel(const std::string& level) {
  const auto parsed = spdlog::level::from_str(level);  // "off" for unknown words
  if (parsed == spdlog::level::off && level != "off") {
    return model::BadInput(
        "log level {}: not one of trace, debug, info, warn, error, critical, off",
        model::Quote(level));
  }
  return parsed;
}

// spdlog would make the directories; one that is not there is a slip of the pen.
model::Result<void> CheckLogFile(const std::string& file) {
  std::error_code error;
  const std::filesystem::path directory = std::filesystem::absolute(file, error).parent_path();
  if (std::filesystem::is_directory(directory, error)) return {};
  return model::BadInput("log file {}: there is no directory {}", model::Quote(file),
                         model::Quote(directory.string()));
}

int PriorityOf(spdlog::level::level_enum level) {
  if (level <= spdlog::level::debug) return LOG_DEBUG;
  if (level == spdlog::level::info) return LOG_INFO;
  if (level == spdlog::level::warn) return LOG_WARNING;
  return level == spdlog::level::err ? LOG_ERR : LOG_CRIT;
}

class JournalSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit JournalSink(Journal journal) : journal_(std::move(journal)) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    journal_.Send(PriorityOf(message.level),
                  std::string_view(message.payload.data(), message.payload.size()));
  }
  void flush_() override {}

 private:
  const Journal journal_;
};

spdlog::sink_ptr MakeSink(LogTarget target, const LogContext& context) {
  if (target == LogTarget::kSystemLog || StandardErrorIsJournal()) {
    auto journal = Journal::Open(
        {{"NDLFS_SOURCE", context.source}, {"NDLFS_MOUNTPOINT", context.mountpoint}});
    if (journal) return std::make_shared<JournalSink>(*std::move(journal));
  }
  if (target == LogTarget::kSystemLog) {
    return std::make_shared<spdlog::sinks::syslog_sink_mt>(kName, 0, LOG_DAEMON, false);
  }
  return std::make_shared<spdlog::sinks::stderr_sink_mt>();
}

// Warnings look like the errors of a command. The logger that spdlog has from the begin writes
// to standard output, which is for data.
std::shared_ptr<spdlog::logger> MakeCommandLogger() {
  auto logger = std::make_shared<spdlog::logger>(
      kName, std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_level(spdlog::level::warn);
  logger->set_pattern("ndlfs: %v");
  return logger;
}

// Never destroyed: a thread may log when the process ends (last_resort.h).
std::shared_ptr<spdlog::logger>& CurrentLogger() {
  static auto* const logger = new std::shared_ptr<spdlog::logger>(MakeCommandLogger());
  return *logger;
}

}  // namespace

model::Result<void> StartLog(const std::string& file, LogTarget target,
                             const std::string& level, const LogContext& context) {
  NDLFS_TRY(const auto parsed, ParseLevel(level));
  if (!file.empty()) NDLFS_RETURN_IF_ERROR(CheckLogFile(file));
  try {
    const auto sink = file.empty()
                          ? MakeSink(target, context)
                          : std::make_shared<spdlog::sinks::basic_file_sink_mt>(file, false);
    auto logger = std::make_shared<spdlog::logger>(kName, sink);
    logger->set_level(parsed);
    logger->flush_on(spdlog::level::info);
    logger->set_error_handler([](const std::string& problem) {
      static std::once_flag told;  // a disk stays full
      std::call_once(told, [&] {
        fmt::print(stderr, "ndlfs: the log cannot be written: {}\n", model::OneLine(problem));
      });
    });
    CurrentLogger() = std::move(logger);
  } catch (const spdlog::spdlog_ex& exception) {
    return model::BadInput("log file {}: {}", model::Quote(file), exception.what());
  }
  return {};
}

void LogInfo(std::string_view line) { CurrentLogger()->info("{}", line); }
void LogWarning(std::string_view line) { CurrentLogger()->warn("{}", line); }

}  // namespace ndlfs::fs
