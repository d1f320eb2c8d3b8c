// SPDX-License-Identifier: MIT
#include "backends/format/grib/sidecar_index.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/format/grib/header_bytes.h"
#include "backends/format/grib/indexer.h"

namespace ndlfs::backends::grib {
namespace {

using model::Result;

// The lines of one message.
struct MessageLines {
  uint64_t offset = 0, size = 0;
  std::vector<const SidecarLine*> fields;
};

// Empty if the lines do not fit a file of `size` bytes.
std::vector<MessageLines> MessagesOf(const Sidecar& sidecar, uint64_t size) {
  std::vector<MessageLines> messages;
  for (const SidecarLine& line : sidecar.lines) {
    if (line.offset >= size) return {};
    if (messages.empty() || messages.back().offset != line.offset) {
      if (!messages.empty()) messages.back().size = line.offset - messages.back().offset;
      messages.push_back({line.offset, size - line.offset, {}});
    }
    messages.back().fields.push_back(&line);
  }
  const bool fits = sidecar.lines.empty() || sidecar.lines.back().length == 0 ||
                    sidecar.lines.back().length == messages.back().size;
  return fits ? messages : std::vector<MessageLines>();
}

// Whether two lines say the same, so that only their headers can tell the fields apart.
bool HaveDuplicates(const Sidecar& sidecar) {
  std::set<std::tuple<std::string_view, int64_t, std::optional<int64_t>, std::optional<int64_t>,
                      std::optional<int32_t>>>
      seen;
  for (const SidecarLine& line : sidecar.lines) {
    if (!seen.emplace(line.kind, line.reference, line.step, line.interval, line.member)
             .second) {
      return true;
    }
  }
  return false;
}

class SidecarIndexer {
 public:
  SidecarIndexer(const Store& store, uint64_t size, const std::string& folder,
                 std::vector<MessageLines> messages)
      : bytes_(store, size), folder_(folder), messages_(std::move(messages)) {
    // Messages are read here and there, so nothing is read ahead.
    bytes_.NoteMessageSize(UINT64_MAX);
  }

  Result<std::optional<MessageIndex>> Make(HeaderMemory& memory) {
    // Whether the message at the end of the sidecar is the one at the end of the file.
    NDLFS_TRY(const bool fits, ReadHeaders({&messages_.back()}));
    if (!fits) return std::nullopt;
    const std::string family = FamilyOf(headers_.at(messages_.back().offset));
    samples_ = memory.Find(family);
    if (!LastIsAsExpected()) return std::nullopt;
    Learn(messages_.back());
    // The first turn reads one of each kind, the second those of kinds that differ.
    for (auto unknown = ChooseUnknown(); !unknown.empty(); unknown = ChooseUnknown()) {
      NDLFS_TRY(const bool are_good, ReadHeaders(unknown));
      if (!are_good) return std::nullopt;
      for (const MessageLines* message : unknown) Learn(*message);
    }
    memory.Keep(family, samples_);
    return Describe();
  }

 private:
  // Files that have headers of one kind in common: of one folder, centre and grid.
  std::string FamilyOf(const GribMessage& message) const {
    const GribGrid* grid = message.fields.front().grid.get();
    std::string family = fmt::format("{}\n{} {} {} {} {} {}\n", folder_, message.edition,
                                     message.centre, message.subcentre, message.tables_version,
                                     message.local_tables_version, message.production_status);
    if (grid != nullptr) family += AsText(*grid->section);
    return family;
  }

  bool LastIsAsExpected() const {
    const MessageLines& last = messages_.back();
    const GribMessage& message = headers_.at(last.offset);
    for (size_t i = 0; i < last.fields.size(); ++i) {
      const auto expected = samples_.Predict(*last.fields[i]);
      if (!expected) continue;
      const FieldHeader found = DescribeField(message, message.fields[i]);
      if (!DifferenceOf(*expected, found).empty()) return false;
    }
    return true;
  }

  void Learn(const MessageLines& lines) {
    const GribMessage& message = headers_.at(lines.offset);
    for (size_t i = 0; i < lines.fields.size(); ++i) {
      samples_.Learn(*lines.fields[i], DescribeField(message, message.fields[i]));
    }
  }

  // Messages whose headers have to be read, the first one of each kind that is not known.
  std::vector<const MessageLines*> ChooseUnknown() const {
    std::vector<const MessageLines*> chosen;
    std::set<std::string_view> kinds;
    for (const MessageLines& message : messages_) {
      if (headers_.contains(message.offset)) continue;
      bool is_unknown = false;
      for (const SidecarLine* line : message.fields) {
        const bool is_new_kind = samples_.Find(line->kind) == KindSamples::Knowledge::kNone;
        is_unknown |= is_new_kind ? kinds.insert(line->kind).second : !samples_.Predict(*line);
      }
      if (is_unknown) chosen.push_back(&message);
    }
    return chosen;
  }

  // False if one of the messages is not as the sidecar says.
  Result<bool> ReadHeaders(const std::vector<const MessageLines*>& messages) {
    std::vector<uint64_t> offsets;
    for (const MessageLines* message : messages) offsets.push_back(message->offset);
    bytes_.Fetch(std::move(offsets));
    GribReader reader = bytes_.MakeReader();
    for (const MessageLines* lines : messages) {
      auto message = reader.Parse(lines->offset, false);
      if (!message && message.error().is_transient()) {
        return model::Propagate(std::move(message).error());
      }
      if (!message || message->size != lines->size ||
          message->fields.size() != lines->fields.size()) {
        return false;
      }
      headers_.emplace(lines->offset, *std::move(message));
    }
    return true;
  }

  Result<std::optional<MessageIndex>> Describe() const {
    Indexer indexer;
    for (const MessageLines& message : messages_) {
      const auto read = headers_.find(message.offset);
      if (read != headers_.end()) {
        NDLFS_RETURN_IF_ERROR(indexer.Add(read->second));
        continue;
      }
      for (const SidecarLine* line : message.fields) {
        auto expected = samples_.Predict(*line);
        if (!expected) return std::nullopt;
        NDLFS_RETURN_IF_ERROR(indexer.AddExpected(message.offset, message.size, line->field,
                                                  std::move(expected)));
      }
    }
    return std::move(indexer).Take();
  }

  HeaderBytes bytes_;
  const std::string& folder_;
  const std::vector<MessageLines> messages_;
  KindSamples samples_;
  std::map<uint64_t, GribMessage> headers_;  // that were read, by their offsets
};

}  // namespace

Result<std::optional<MessageIndex>> IndexBySidecar(const Store& store, uint64_t size,
                                                   const Sidecar& sidecar,
                                                   const std::string& folder,
                                                   HeaderMemory& memory) {
  auto messages = MessagesOf(sidecar, size);
  if (messages.empty() || HaveDuplicates(sidecar)) return std::nullopt;
  return SidecarIndexer(store, size, folder, std::move(messages)).Make(memory);
}

}  // namespace ndlfs::backends::grib
