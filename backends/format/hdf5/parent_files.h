// SPDX-License-Identifier: MIT
//
// Files as a helper has them: its parent reads them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/format/hdf5/library/input_file.h"
#include "backends/format/hdf5/message_socket.h"
#include "backends/format/hdf5/messages.h"
#include "backends/format/hdf5/page_cache.h"
#include "model/error.h"

namespace ndlfs::backends::hdf5 {

// Asks the process at the other end of a socket, while that waits for the
// answer to its question. For one thread.
class ParentFiles final : public InputFiles {
 public:
  // The parent puts the bytes that it is asked for into `shared`.
  ParentFiles(int socket, ConstByteSpan shared) : socket_(socket), shared_(shared) {}

  model::Result<std::shared_ptr<const InputFile>> Open(std::string_view name) override;

  // A file that the parent has just told of, which must not outlive this object.
  std::shared_ptr<const InputFile> Told(const NamedFile& file);

  // A question comes. While it is answered, a name means one file.
  void BeginQuestion() { by_name_.clear(); }

 private:
  friend class ParentFile;

  // Metadata are read in pieces of less; what is larger is not kept.
  static constexpr size_t kPages = 2048;

  // Has the ranges put into the shared memory, where they must find room.
  model::Result<void> Fetch(const ReadRequest& request);
  model::Result<std::shared_ptr<const InputFile>> AskFor(std::string_view name);
  // What the shared memory has of `file` from `offset` on, since the last fetch
  // if that was of one range; may be empty.
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
