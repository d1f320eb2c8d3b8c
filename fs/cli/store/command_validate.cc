// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "backends/base/interrupted.h"
#include "fs/cli/base/command.h"
#include "fs/cli/base/standard_output.h"
#include "model/ndl/diagnostic.h"
#include "model/ndl/ndl_reader.h"

namespace ndlfs::fs {
namespace {

constexpr size_t kReadPiece = size_t{1} << 20;

struct ValidateArguments {
  std::vector<std::string> files;
  std::string format = "text";
};

struct Closer {
  int fd;
  ~Closer() {
    if (fd > STDIN_FILENO) ::close(fd);
  }
};

// Reads a file, but no more than it takes to see that it is too long.
model::Result<std::string> ReadDocument(const std::string& file) {
  const int fd = file == "-" ? STDIN_FILENO : backends::Uninterrupted([&] {
    return ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  });
  if (fd < 0) return model::IoError(errno, file);
  const Closer closer{fd};
  std::string text;
  while (text.size() <= model::kMaxNdlBytes) {
    const size_t size = text.size();
    text.resize(size + kReadPiece);
    const ssize_t count = ::read(fd, text.data() + size, kReadPiece);
    if (count < 0 && errno != EINTR) return model::IoError(errno, file);
    text.resize(size + (count > 0 ? static_cast<size_t>(count) : 0));
    if (count == 0) break;
  }
  return text;
}

std::string ShownName(const std::string& file) { return file == "-" ? "<stdin>" : file; }

// Appends the errors of one document to a report.
class Report {
 public:
  explicit Report(bool as_json) : as_json_(as_json) {}

  void Add(const std::string& file, const model::Diagnostic& error) {
    if (as_json_) {
      text_ += text_.empty() ? "[\n  " : ",\n  ";
      text_ += model::DiagnosticToJson(ShownName(file), error);
    } else {
      text_ += model::FormatDiagnostic(ShownName(file), error) + "\n";
    }
  }

  model::Result<void> Print() {
    if (as_json_) text_ += text_.empty() ? "[]\n" : "\n]\n";
    return WriteStandardOutput(backends::AsBytes(text_));
  }

 private:
  const bool as_json_;
  std::string text_;
};

model::Result<int> Validate(const ValidateArguments& arguments) {
  Report report(arguments.format == "json");
  bool valid = true;
  for (const std::string& file : arguments.files) {
    const auto text = ReadDocument(file);
    if (!text) {
      fmt::print(stderr, "ndlfs: {}\n", text.error().message());
      valid = false;
      continue;
    }
    for (const model::Diagnostic& error : model::ReadNdl(*text, file).errors) {
      report.Add(file, error);
      valid = false;
    }
  }
  NDLFS_RETURN_IF_ERROR(report.Print());
  return valid ? 0 : 1;
}

Command::Body PrepareValidate(CLI::App& app) {
  const auto arguments = std::make_shared<ValidateArguments>();
  app.add_option("FILE", arguments->files, "NDL documents; - is standard input")
      ->required()
      ->option_text("...");
  app.add_option("--format", arguments->format, "Format of the errors: text or json")
      ->option_text("FORMAT")
      ->check([](const std::string& format) {
        return format == "text" || format == "json"
                   ? std::string()
                   : fmt::format("expected text or json, found {}", model::Quote(format));
      });
  app.footer(
      "Exit status: 0 no errors, 1 a document has errors.\n"
      "`ndlfs mount FILE MOUNTPOINT` shows a document that names its data: see ndl(5).");
  return [arguments] { return Validate(*arguments); };
}

}  // namespace

const Command kValidateCommand = {"validate", "Check NDL documents", PrepareValidate};

}  // namespace ndlfs::fs
