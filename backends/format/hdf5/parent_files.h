// SPDX-License-Identifier: MIT
//
// The files of a helper: its parent reads them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/format/hdf5/library/input_file.h"
#include "backends/format/hdf5/messages.h"
#include "backends/format/hdf5/page_cache.h"
#include "backends/helper/message_socket.h"
#include "model/error.h"

namespace ndlfs::backends::hdf5 {

using helper::Exchange;
using helper::Message;
using helper::MessageKind;

// Asks the process at the other end of a socket for files, while that process waits for the
// answer to its question. For one thread.
class ParentFiles final : public InputFiles {
 public:
  // The parent puts requested bytes into `shared`.
  ParentFiles(int socket, ConstByteSpan shared) : socket_(socket), shared_(shared) {}

  model::Result<std::shared_ptr<const InputFile>> Open(std::string_view name) override;

  // A file that the parent has just named. The file must not outlive this object.
  std::shared_ptr<const InputFile> Told(const NamedFile& file);

  // Call it when a question comes. Until the next one, each name means the same file.
  void BeginQuestion() { by_name_.clear(); }

 private:
  friend class ParentFile;

  // Metadata are read in pieces of less than this; longer reads are not kept.
  static constexpr size_t kPages = 2048;

  // Asks the parent to put the ranges into the shared memory, where they must find room.
  model::Result<void> Fetch(const ReadRequest& request);
  model::Result<std::shared_ptr<const InputFile>> AskFor(std::string_view name);
  // The bytes of `file` from `offset` on that are in the shared memory, if the last fetch was
  // of one range; may be empty.
  ConstByteSpan Fetched(uint64_t file, uint64_t offset) const;
  // Sends a request and returns the bytes of the reply. Ends this process if
  // the parent is gone.
  std::vector<std::byte> Ask(MessageKind kind, ConstByteSpan request) const;

  const int socket_;
  const ConstByteSpan shared_;
  PageCache pages_{kPages};
  std::map<std::string, model::Result<std::shared_ptr<const InputFile>>, std::less<>> by_name_;
  uint64_t fetched_file_ = 0;
  ReadRequest::Range fetched_;
};

}  // namespace ndlfs::backends::hdf5
