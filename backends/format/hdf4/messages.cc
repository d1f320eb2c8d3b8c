// SPDX-License-Identifier: MIT
#include "backends/format/hdf4/messages.h"

#include <concepts>
#include <cstring>
#include <type_traits>
#include <vector>

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

template <typename T>
concept PlainNumber = std::integral<T> || std::is_enum_v<T>;

class Writer {
 public:
  template <typename... T>
  void operator()(const T&... values) {
    (Put(values), ...);
  }
  std::string Take() && { return std::move(out_); }

 private:
  template <PlainNumber T>
  void Put(T value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void Put(const std::string& text) {
    Put(uint64_t{text.size()});
    out_ += text;
  }
  template <typename T>
  void Put(const std::vector<T>& values) {
    Put(uint64_t{values.size()});
    for (const T& value : values) Put(value);
  }
  template <typename T>
  requires std::is_class_v<T>
  void Put(const T& value) { Fields(*this, value); }

  std::string out_;
};

// After a field that is not there, everything is empty.
class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}

  template <typename... T>
  void operator()(T&... values) {
    (Get(values), ...);
  }
  // All was there, and nothing else.
  bool is_done() const { return is_ok_ && in_.empty(); }

 private:
  std::string_view Take(uint64_t size) {
    if (size > in_.size()) {
      is_ok_ = false;
      in_ = {};
      return {};
    }
    const std::string_view taken = in_.substr(0, size);
    in_.remove_prefix(size);
    return taken;
  }
  uint64_t Count() {
    uint64_t count;
    Get(count);
    return count;
  }
  template <PlainNumber T>
  void Get(T& value) {
    value = T();
    const std::string_view bytes = Take(sizeof(value));
    if (is_ok_) std::memcpy(&value, bytes.data(), sizeof(value));
  }
  void Get(bool& value) {
    uint8_t byte;
    Get(byte);
    if (byte > 1) is_ok_ = false;
    value = byte == 1;
  }
  void Get(ArrayInfo::Kind& kind) {
    uint8_t byte;
    Get(byte);
    if (byte > static_cast<uint8_t>(ArrayInfo::Kind::kImage)) is_ok_ = false;
    kind = is_ok_ ? static_cast<ArrayInfo::Kind>(byte) : ArrayInfo::Kind();
  }
  void Get(ArrayInfo::Coding& coding) {
    uint8_t byte;
    Get(byte);
    if (byte > static_cast<uint8_t>(ArrayInfo::Coding::kByLibrary)) is_ok_ = false;
    coding = is_ok_ ? static_cast<ArrayInfo::Coding>(byte) : ArrayInfo::Coding();
  }
  void Get(std::string& text) { text = Take(Count()); }
  template <typename T>
  void Get(std::vector<T>& values) {
    values.clear();
    // Nothing is reserved: a count is believed item by item.
    for (uint64_t left = Count(); left > 0 && is_ok_; --left) Get(values.emplace_back());
  }
  template <typename T>
  requires std::is_class_v<T>
  void Get(T& value) { Fields(*this, value); }

  std::string_view in_;
  bool is_ok_ = true;
};

}  // namespace

std::string EncodeQuestion(const Question& question) {
  Writer writer;
  writer(question.leaves_headers, question.block.has_value());
  if (question.block) writer(*question.block);
  return std::move(writer).Take();
}

std::optional<Question> DecodeQuestion(std::string_view text) {
  Reader reader(text);
  Question question;
  bool has_block;
  reader(question.leaves_headers, has_block);
  if (has_block) reader(question.block.emplace());
  if (!reader.is_done()) return std::nullopt;
  return question;
}

std::string Encode(const FileInfo& file) {
  Writer writer;
  writer(file);
  return std::move(writer).Take();
}

std::optional<FileInfo> DecodeFileInfo(std::string_view text) {
  Reader reader(text);
  std::optional<FileInfo> file(std::in_place);
  reader(*file);
  if (!reader.is_done()) file.reset();
  return file;
}

}  // namespace ndlfs::backends::hdf4
