// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "backends/codec/grib/message.h"
#include "backends/format/grib/message_index.h"
#include "model/error.h"

namespace ndlfs::backends::grib {

// Makes a MessageIndex of messages, which come in the order of the file.
class Indexer {
 public:
  // Fail with kLimit if there are too many fields, or too many bytes of different grids.
  model::Result<void> Add(const GribMessage& message);
  // A field whose headers were not read. The facts about the file are those of the messages
  // that were.
  model::Result<void> AddExpected(uint64_t offset, uint64_t size, uint32_t field,
                                  std::shared_ptr<const FieldHeader> expected);

  void AddProblem(uint64_t offset, const std::string& text);

  MessageIndex Take() && { return std::move(index_); }

 private:
  model::Result<void> AddField(uint64_t offset, uint64_t size, uint32_t field,
                               const FieldHeader& header);
  model::Result<uint32_t> NumberOf(const FieldHeader& header);
  // Keeps equal questions once, and no more of them than are asked.
  void ShareQuestion(ParameterKey& key);

  MessageIndex index_;
  bool has_message_ = false;
  std::map<std::string, uint32_t, std::less<>> numbers_;  // of grids
  uint64_t grid_bytes_ = 0;
  std::map<std::string_view, std::shared_ptr<const std::string>> questions_;
};

}  // namespace ndlfs::backends::grib
