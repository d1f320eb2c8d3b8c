// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/read_service.h"

#include <algorithm>
#include <utility>

namespace ndlfs::backends::hdf5 {
namespace {

using model::Result;

Result<Done> ReadRanges(const InputFile& file, const ReadRequest& request, ByteSpan out) {
  for (const ReadRequest::Range& range : request.ranges) {
    NDLFS_RETURN_IF_ERROR(file.Read(range.offset, out.first(range.bytes)));
    out = out.subspan(range.bytes);
  }
  return Done();
}

}  // namespace

ReadService::ReadService(InputFiles& files, std::shared_ptr<const InputFile> asked_about,
                         ByteSpan shared)
    : ReadService(files, std::move(asked_about), shared, Limits()) {}

ReadService::ReadService(InputFiles& files, std::shared_ptr<const InputFile> asked_about,
                         ByteSpan shared, const Limits& limits)
    : files_(files), shared_(shared), limits_(limits) {
  const uint64_t id = asked_about->id();
  open_.emplace(id, std::move(asked_about));
}

uint64_t ReadService::PutHead(const InputFile& file, ByteSpan shared) {
  const ByteSpan head =
      shared.first(std::min({kMaxHeadBytes, file.size(), uint64_t{shared.size()}}));
  return file.Read(0, head) ? head.size() : 0;
}

uint64_t ReadService::MaxBytesOf(MessageKind kind) {
  constexpr uint64_t kOtherFields = 64;
  if (kind == MessageKind::kOpen) return OpenRequest::kMaxName + kOtherFields;
  return ReadRequest::kMaxRanges * sizeof(ReadRequest::Range) + kOtherFields;
}

std::optional<std::vector<std::byte>> ReadService::Reply(const Message& message) {
  if (++requests_ > limits_.requests) return std::nullopt;
  if (message.kind == MessageKind::kRead) return ReplyToRead(message.bytes);
  if (message.kind == MessageKind::kOpen) return ReplyToOpen(message.bytes);
  return std::nullopt;
}

std::optional<std::vector<std::byte>> ReadService::ReplyToRead(ConstByteSpan message) {
  const auto request = DecodeReadRequest(message);
  if (!request) return std::nullopt;
  const auto file = open_.find(request->file);
  if (file == open_.end() || !IsSound(*request, *file->second)) return std::nullopt;
  return EncodeAnswer(ReadRanges(*file->second, *request, shared_));
}

bool ReadService::IsSound(const ReadRequest& request, const InputFile& file) {
  uint64_t room = shared_.size();
  for (const ReadRequest::Range& range : request.ranges) {
    if (range.offset > file.size() || range.bytes > file.size() - range.offset) return false;
    if (range.bytes > room) return false;
    room -= range.bytes;
  }
  bytes_ += shared_.size() - room;
  return bytes_ <= limits_.bytes;
}

std::optional<std::vector<std::byte>> ReadService::ReplyToOpen(ConstByteSpan message) {
  const auto request = DecodeOpenRequest(message);
  if (!request || open_.size() >= limits_.files) return std::nullopt;
  bytes_ += kMaxHeadBytes;
  if (bytes_ > limits_.bytes) return std::nullopt;
  auto file = files_.Open(request->name);
  if (!file) return EncodeAnswer(Result<NamedFile>(model::Propagate(std::move(file).error())));
  const NamedFile named = {(*file)->id(), (*file)->size(), PutHead(**file, shared_)};
  open_.emplace(named.id, *std::move(file));
  return EncodeAnswer(Result<NamedFile>(named));
}

}  // namespace ndlfs::backends::hdf5
