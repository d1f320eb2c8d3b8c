// SPDX-License-Identifier: MIT
#include "backends/format/hdf4/messages.h"

#include <concepts>
#include <type_traits>
#include <utility>

#include "backends/helper/message_archive.h"

namespace ndlfs::backends::hdf4 {
namespace {

// The fields of each structure, in the order in which they are sent; `Archive` is a Writer with
// const structures, or a Reader.
template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, AttributeInfo>
void Fields(Archive& archive, T& v) { archive(v.name, v.number_type, v.count, v.values); }
template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, Piece>
void Fields(Archive& archive, T& v) { archive(v.offset, v.bytes); }
template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, StoredChunk>
void Fields(Archive& archive, T& v) { archive(v.number, v.pieces, v.header); }
template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, ArrayInfo>
void Fields(Archive& archive, T& v) {
  archive(v.kind, v.index, v.name, v.number_type, v.shape, v.is_unlimited, v.is_coordinate,
          v.dimensions, v.chunk, v.coding, v.coding_name, v.chunks, v.fill, v.attributes,
          v.problem);
}
template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, GroupInfo>
void Fields(Archive& archive, T& v) {
  archive(v.name, v.class_name, v.attributes, v.groups, v.arrays);
}
template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, FileInfo>
void Fields(Archive& archive, T& v) { archive(v.attributes, v.arrays, v.groups, v.tables); }
template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, BlockRequest>
void Fields(Archive& archive, T& v) { archive(v.kind, v.index, v.start, v.count, v.bytes); }

class Writer : public helper::MessageWriter<Writer> {
 public:
  std::string TakeText() && { return std::string(AsText(std::move(*this).Take())); }
};

class Reader : public helper::MessageReader<Reader> {
 public:
  explicit Reader(std::string_view in) : MessageReader(AsBytes(in)) {}

  using MessageReader::Get;
  void Get(ArrayInfo::Kind& kind) { GetUpTo(ArrayInfo::Kind::kImage, kind); }
  void Get(ArrayInfo::Coding& coding) { GetUpTo(ArrayInfo::Coding::kByLibrary, coding); }
};

}  // namespace

std::string EncodeQuestion(const Question& question) {
  Writer writer;
  writer(question.leaves_headers, question.block.has_value());
  if (question.block) writer(*question.block);
  return std::move(writer).TakeText();
}

std::optional<Question> DecodeQuestion(std::string_view text) {
  Reader reader(text);
  Question question;
  bool has_block;
  reader(question.leaves_headers, has_block);
  if (has_block) reader(question.block.emplace());
  if (!reader.done()) return std::nullopt;
  return question;
}

std::string Encode(const FileInfo& file) {
  Writer writer;
  writer(file);
  return std::move(writer).TakeText();
}

std::optional<FileInfo> DecodeFileInfo(std::string_view text) {
  Reader reader(text);
  std::optional<FileInfo> file(std::in_place);
  reader(*file);
  if (!reader.done()) file.reset();
  return file;
}

}  // namespace ndlfs::backends::hdf4
