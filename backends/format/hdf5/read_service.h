// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "backends/format/hdf5/library/input_file.h"
#include "backends/format/hdf5/message_socket.h"
#include "backends/format/hdf5/messages.h"

namespace ndlfs::backends::hdf5 {

// What a helper may read while it works on one question: the file that is
// asked about, and the files that it opens by their names. A helper that a file
// has taken over may ask for anything. For one thread.
class ReadService {
 public:
  // More than any question of a sound file takes.
  struct Limits {
    uint64_t requests = 2'000'000;
    uint64_t bytes = uint64_t{64} << 30;
    uint64_t files = 200'000;  // the sources of a virtual dataset, by two names each
  };

  // Bytes are put into `shared`; `files` and the memory must outlive this.
  ReadService(InputFiles& files, std::shared_ptr<const InputFile> asked_about, ByteSpan shared);
  ReadService(InputFiles& files, std::shared_ptr<const InputFile> asked_about, ByteSpan shared,
              const Limits& limits);

  // The reply to a kRead or kOpen; nullopt if it breaks the rules: nothing must
  // be believed of such a helper any more.
  std::optional<std::vector<std::byte>> Reply(const Message& message);

  // Puts the beginning of `file` into the memory; how many bytes that are. None
  // where it cannot be read: the helper will ask for it, and get the error.
  static uint64_t PutHead(const InputFile& file, ByteSpan shared);

  // How long such a message may be.
  static uint64_t MaxBytesOf(MessageKind kind);

 private:
  std::optional<std::vector<std::byte>> ReplyToRead(ConstByteSpan message);
  std::optional<std::vector<std::byte>> ReplyToOpen(ConstByteSpan message);
  // Whether `request` asks for bytes that there are, and room for.
  bool IsSound(const ReadRequest& request, const InputFile& file);

  InputFiles& files_;
  const ByteSpan shared_;
  const Limits limits_;
  std::map<uint64_t, std::shared_ptr<const InputFile>> open_;  // by their numbers
  uint64_t requests_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace ndlfs::backends::hdf5
