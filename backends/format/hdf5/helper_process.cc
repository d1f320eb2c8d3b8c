// SPDX-License-Identifier: MIT
//
// What the process of libhdf5 does: it answers questions until its parent is
// gone.
#include <unistd.h>

#include <cstdlib>
#include <map>

#include "backends/base/close_from.h"
#include "backends/format/hdf5/hdf5.h"
#include "backends/format/hdf5/helper.h"
#include "backends/format/hdf5/parent_files.h"
#include "backends/format/hdf5/shared_memory.h"
#include "backends/helper/message_socket.h"
#include "backends/helper/sandbox.h"

namespace ndlfs::backends {
namespace hdf5 {
namespace {

using model::Result;

// The files that have been asked about lately. Their numbers tell versions
// apart, so that what is known of one never has to be dropped.
class KnownFiles {
 public:
  explicit KnownFiles(std::shared_ptr<ParentFiles> parent) : parent_(std::move(parent)) {}

  Result<std::shared_ptr<const File>> Find(const Request& request) {
    parent_->BeginQuestion();
    const auto told = parent_->Told({request.file, request.file_size, request.head_bytes});
    const auto found = files_.find(request.file);
    if (found != files_.end()) return found->second;
    NDLFS_TRY(auto file, OpenFileInProcess(parent_, told, request.file_path));
    if (files_.size() >= kMaxFiles) files_.clear();
    files_[request.file] = file;
    return file;
  }

 private:
  static constexpr size_t kMaxFiles = 256;
  const std::shared_ptr<ParentFiles> parent_;
  std::map<uint64_t, std::shared_ptr<const File>> files_;
};

std::vector<std::byte> Answer(const File& file, const Request& request) {
  switch (request.what) {
    case Request::What::kOpen:
      return EncodeAnswer(Result<Done>(Done()));
    case Request::What::kFind:
      return EncodeAnswer(file.Find(request.path));
    case Request::What::kList:
      return EncodeAnswer(file.List(request.path));
    case Request::What::kDescribe:
      return EncodeAnswer(file.Describe(request.path));
    case Request::What::kDescribeDatasets:
      return EncodeAnswer(file.DescribeDatasets(request.path, request.names));
    case Request::What::kLocateChunks:
      return EncodeAnswer(file.LocateChunks(request.path, request.first, request.count));
    case Request::What::kRead:
      return EncodeAnswer(file.Read(request.path, request.block, request.limit));
    case Request::What::kWrite:
      break;  // asks about no file
  }
  return EncodeAnswer(Result<Done>(model::Internal("an unknown question")));
}

std::vector<std::byte> AnswerToWrite(const Request& request) {
  if (!request.new_file) {
    return EncodeAnswer(Result<WrittenFile>(model::Internal("no file to write")));
  }
  return EncodeAnswer(WriteNewFile(*request.new_file));
}

std::vector<std::byte> AnswerTo(ConstByteSpan question, KnownFiles& files) {
  // All answers say an error in the same way.
  using AnyAnswer = Result<Done>;
  try {
    const auto request = DecodeRequest(question);
    if (!request) return EncodeAnswer(AnyAnswer(model::Propagate(request.error())));
    if (request->what == Request::What::kWrite) return AnswerToWrite(*request);
    const auto file = files.Find(*request);
    if (!file) return EncodeAnswer(AnyAnswer(model::Propagate(file.error())));
    return Answer(**file, *request);
  } catch (const std::bad_alloc&) {
    return EncodeAnswer(AnyAnswer(model::Limit("libhdf5 needs too much memory for this")));
  }
}

}  // namespace

void AnswerQuestions(int socket, ConstByteSpan shared) {
  KnownFiles files(std::make_shared<ParentFiles>(socket, shared));
  const auto limit = [](MessageKind) -> uint64_t { return kMaxMessageBytes; };
  Message question;
  while (ReceiveMessage(socket, question, limit) == Exchange::kDone) {
    const auto answer = AnswerTo(question.bytes, files);
    if (SendMessage(socket, MessageKind::kAnswer, answer) != Exchange::kDone) return;
  }
}

}  // namespace hdf5

int RunHdf5Helper() {
  const ConstByteSpan shared = hdf5::SharedMemory::Map(hdf5::kHelperMemory);
  if (shared.empty()) return 1;
  // The socket and standard error are all that is left.
  if (!CloseFrom(helper::kHelperSocket + 1)) return 1;
  ::close(STDIN_FILENO);
  ::close(STDOUT_FILENO);
  // Variables that are meant for other programs must not change names of files.
  ::unsetenv("HDF5_VDS_PREFIX");
  ::unsetenv("HDF5_EXTFILE_PREFIX");
  helper::EnterSandbox();
  hdf5::AnswerQuestions(helper::kHelperSocket, shared);
  // At once: what sanitizers do at the end of a process, the sandbox forbids,
  // and they would say so.
  ::_exit(0);
}

}  // namespace ndlfs::backends
