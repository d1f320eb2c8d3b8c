// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "backends/format/hdf5/library/input_file.h"
#include "backends/format/hdf5/messages.h"
#include "backends/helper/message_socket.h"

namespace ndlfs::backends::hdf5 {

using helper::Message;
using helper::MessageKind;

// Gives a helper the files that it may read while it works on one question: the file of the
// question, and files that the helper opens by their names. A helper that a file has taken over
// may ask for anything. For one thread.
class ReadService {
 public:
  // More than any question of a sound file takes.
  struct Limits {
    uint64_t requests = 2'000'000;
    uint64_t bytes = uint64_t{64} << 30;
    uint64_t files = 200'000;  // the sources of a virtual dataset, by two names each
  };

  // Puts bytes into `shared`. `files` and the memory must outlive the object.
  ReadService(InputFiles& files, std::shared_ptr<const InputFile> asked_about, ByteSpan shared);
  ReadService(InputFiles& files, std::shared_ptr<const InputFile> asked_about, ByteSpan shared,
              const Limits& limits);

  // The reply to a kRead or kOpen; nullopt if the message breaks the rules: then believe
  // nothing that this helper says any more.
  std::optional<std::vector<std::byte>> Reply(const Message& message);

  // Puts the beginning of `file` into the memory, and returns the number of bytes. 0 if the
  // file cannot be read: the helper will ask for the bytes, and get the error.
  static uint64_t PutHead(const InputFile& file, ByteSpan shared);

  // How long such a message may be.
  static uint64_t MaxBytesOf(MessageKind kind);

 private:
  std::optional<std::vector<std::byte>> ReplyToRead(ConstByteSpan message);
  std::optional<std::vector<std::byte>> ReplyToOpen(ConstByteSpan message);
  // Whether `request` asks for bytes that exist, and for which there is room.
  bool IsSound(const ReadRequest& request, const InputFile& file);

  InputFiles& files_;
  const ByteSpan shared_;
  const Limits limits_;
  std::map<uint64_t, std::shared_ptr<const InputFile>> open_;  // by their numbers
  uint64_t requests_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace ndlfs::backends::hdf5
