// SPDX-License-Identifier: MIT
//
// What goes between ndlfs and the process of libhdf4. Decoding checks that all is there and
// nothing else; it does not check what the values mean.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backends/format/hdf4/description.h"
#include "model/error.h"

namespace ndlfs::backends::hdf4 {

std::string EncodeQuestion(const Question& question);
// nullopt for bytes that no EncodeQuestion() made.
std::optional<Question> DecodeQuestion(std::string_view text);

// An answer begins with one of these.
enum class Answer : char {
  kDone = 'd',     // a FileInfo, or elements
  kRefused = 'r',  // what libhdf4 says, as text
  kNoLibrary = 'l',
  kNoSandbox = 's',  // the kernel cannot keep the process from other files
};

std::string Encode(const FileInfo& file);
// nullopt for bytes that no Encode() made.
std::optional<FileInfo> DecodeFileInfo(std::string_view text);

}  // namespace ndlfs::backends::hdf4
