// SPDX-License-Identifier: MIT
//
// Asks libhdf4, in a process that has one file. The file can make the library crash, come to no
// end or take any memory; that is an error of this question, and the next one has a new
// process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/base/unique_fd.h"
#include "backends/format/hdf4/description.h"
#include "backends/format/hdf4/skeleton.h"
#include "model/error.h"

namespace ndlfs::backends::hdf4 {

// Where the process finds the file.
inline constexpr int kHelperFile = 4;

// kUnsupported if there is no library, or if the kernel cannot keep it from other files;
// kCorrupt for what the library says, and if it crashes.
model::Result<FileInfo> AskForDescription(const Skeleton& skeleton);

// A process that has one file. It ends with this object.
class Process {
 public:
  static model::Result<Process> Start(const Skeleton& skeleton);
  Process(Process&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), socket_(std::move(other.socket_)) {}
  Process& operator=(Process&& other) noexcept;
  ~Process();

  // What an answer may take.
  struct Limits {
    uint64_t bytes = 0;   // of the answer itself
    uint64_t memory = 0;  // of the process
  };
  // The bytes of an answer; not empty. After an error there is no process any more.
  model::Result<std::vector<std::byte>> Ask(const std::string& question, const Limits& limits,
                                            const Skeleton& skeleton);

 private:
  Process(int pid, UniqueFd socket) : pid_(pid), socket_(std::move(socket)) {}
  model::Failure HasCrashed(const Skeleton& skeleton);
  void Stop();

  int pid_;
  UniqueFd socket_;
};

// Asks for elements of one file. The process stays for the next question, which often follows,
// until one of another file or another caller needs its place: at most one process waits.
// Not thread-safe.
class ElementAsker {
 public:
  ElementAsker();
  ElementAsker(const ElementAsker&) = delete;
  ElementAsker& operator=(const ElementAsker&) = delete;
  ~ElementAsker();

  // The elements in C order, little-endian. The skeleton has what the library needs to read
  // them.
  model::Result<Bytes> Ask(const Skeleton& skeleton, const BlockRequest& block);

 private:
  const uint64_t id_;
};

}  // namespace ndlfs::backends::hdf4
