// SPDX-License-Identifier: MIT
#include "backends/format/grib/sidecar.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "backends/base/json.h"
#include "model/cf_time.h"
#include "model/number_text.h"

namespace ndlfs::backends::grib {
namespace {

constexpr size_t kMostOffsets = 1'000'000;
constexpr int64_t kSecondsOfHour = 3600, kSecondsOfDay = 86400;

// All of `text` as a number without a sign.
std::optional<int64_t> WholeNumber(std::string_view text) {
  const auto number = model::ParseNumber<int64_t>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

std::vector<std::string_view> SplitAt(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// YYYYMMDD and HH, HHMM or HHMMSS, as seconds since 1970.
std::optional<int64_t> MomentOf(std::string_view date, std::string_view time) {
  const bool has_length =
      date.size() == 8 && (time.size() == 2 || time.size() == 4 || time.size() == 6);
  if (!has_length || !WholeNumber(date) || !WholeNumber(time)) return std::nullopt;
  const auto part = [](std::string_view text, size_t at, size_t size) {
    return at < text.size() ? *WholeNumber(text.substr(at, size)) : 0;
  };
  const auto month = static_cast<unsigned>(part(date, 4, 2));
  const auto day = static_cast<unsigned>(part(date, 6, 2));
  if (month < 1 || month > 12 || day < 1 || day > 31) return std::nullopt;
  const int64_t days =
      model::DaysOf(model::Calendar::kProlepticGregorian, {part(date, 0, 4), month, 1}) + day -
      1;
  return days * kSecondsOfDay + part(time, 0, 2) * kSecondsOfHour + part(time, 2, 2) * 60 +
         part(time, 4, 2);
}

std::optional<int64_t> SecondsOfUnit(std::string_view unit) {
  if (unit == "min") return 60;
  if (unit == "hour") return kSecondsOfHour;
  if (unit == "day") return kSecondsOfDay;
  return std::nullopt;
}

// "8" or "0-8": where an interval begins, and the end.
struct StepRange {
  std::optional<int64_t> begin;
  int64_t end = 0;
};
std::optional<StepRange> RangeOf(std::string_view text) {
  constexpr int64_t kMost = 1'000'000;
  const auto parts = SplitAt(text, '-');
  const auto end = WholeNumber(parts.back());
  if (parts.size() > 2 || !end || *end > kMost) return std::nullopt;
  if (parts.size() == 1) return StepRange{std::nullopt, *end};
  const auto begin = WholeNumber(parts.front());
  if (!begin || *begin > *end) return std::nullopt;
  return StepRange{*begin, *end};
}

// "anl", "8 hour fcst", "0-8 hour acc fcst": the step, and what else it says.
void ReadForecast(std::string_view text, SidecarLine& line) {
  const auto words = SplitAt(text, ' ');
  line.kind += ':';
  if (text == "anl") {
    line.step = line.interval = 0;
    line.kind += text;
    return;
  }
  const auto range = RangeOf(words.front());
  const auto unit = words.size() > 1 ? SecondsOfUnit(words[1]) : std::nullopt;
  if (!range || !unit || words.back() != "fcst") {
    line.kind += text;
    return;
  }
  line.step = range->end * *unit;
  line.interval = range->begin ? (range->end - *range->begin) * *unit : 0;
  line.kind += range->begin ? "interval" : "moment";
  for (size_t i = 2; i < words.size(); ++i) {
    line.kind += ' ';
    line.kind += words[i];
  }
}

std::optional<SidecarLine> ReadIdxLine(std::string_view text) {
  constexpr size_t kFewest = 6;
  const auto fields = SplitAt(text, ':');
  if (fields.size() < kFewest || !fields[2].starts_with("d=")) return std::nullopt;
  const auto offset = WholeNumber(fields[1]);
  const auto number = SplitAt(fields[0], '.');
  const auto field = number.size() == 2 ? WholeNumber(number[1]) : std::optional<int64_t>(1);
  const std::string_view time = fields[2].substr(2);
  const auto reference =
      time.size() < 8 ? std::nullopt : MomentOf(time.substr(0, 8), time.substr(8));
  constexpr int64_t kMostFields = 65536;
  if (!offset || !field || *field < 1 || *field > kMostFields || !reference)
    return std::nullopt;
  SidecarLine line;
  line.offset = static_cast<uint64_t>(*offset);
  line.field = static_cast<uint32_t>(*field - 1);
  line.reference = *reference;
  line.kind.append(fields[3]).append(":").append(fields[4]);
  ReadForecast(fields[5], line);
  for (size_t i = kFewest; i < fields.size(); ++i) line.kind.append(":").append(fields[i]);
  return line;
}

std::string TextOfMember(const Json& value) {
  return value.is_string() ? value.get<std::string>() : CompactJson(value);
}

std::optional<SidecarLine> ReadIndexLine(std::string_view text) {
  constexpr size_t kMostValues = 100;
  const auto parsed = ParseJson(text, kMostValues);
  if (!parsed || !parsed->is_object()) return std::nullopt;
  std::map<std::string, std::string> members;
  for (const auto& [key, value] : parsed->items()) members[key] = TextOfMember(value);
  const auto take = [&](const char* key) {
    const auto node = members.extract(key);
    return node ? node.mapped() : std::string();
  };
  const auto offset = WholeNumber(take("_offset")), length = WholeNumber(take("_length"));
  const std::string date = take("date"), time = take("time");
  const auto reference = MomentOf(date, time);
  if (!offset || !length || *length == 0 || !reference) return std::nullopt;
  SidecarLine line;
  line.offset = static_cast<uint64_t>(*offset);
  line.length = static_cast<uint64_t>(*length);
  line.reference = *reference;
  const std::string step = take("step"), number = take("number");
  if (const auto range = RangeOf(step)) {
    line.step = range->end * kSecondsOfHour;
    if (range->begin) line.interval = (range->end - *range->begin) * kSecondsOfHour;
    line.kind = range->begin ? "interval" : "moment";
  } else {
    line.kind = step;
  }
  if (const auto member = WholeNumber(number); member && *member <= INT32_MAX) {
    line.member = static_cast<int32_t>(*member);
    line.kind += " of a member";
  } else if (!number.empty()) {
    return std::nullopt;
  }
  for (const auto& [key, value] : members) {
    line.kind.append("\n").append(key).append("=").append(value);
  }
  return line;
}

std::optional<uint64_t> LeadingNumber(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == text.npos) return std::nullopt;
  text.remove_prefix(begin);
  return model::TakeNumber<uint64_t>(text);
}

std::optional<uint64_t> OffsetOf(std::string_view line) {
  if (line.starts_with('{')) {
    constexpr std::string_view kKey = "\"_offset\":";
    const size_t at = line.find(kKey);
    return at == line.npos ? std::nullopt : LeadingNumber(line.substr(at + kKey.size()));
  }
  const size_t colon = line.find(':');
  if (colon == line.npos || !LeadingNumber(line)) return std::nullopt;
  return LeadingNumber(line.substr(colon + 1));
}

// Whether `line` is about the field that follows that of `before` (null: the first one of the
// file).
bool Follows(const SidecarLine* before, const SidecarLine& line) {
  if (before == nullptr) return line.offset == 0 && line.field == 0;
  if (line.offset == before->offset) return line.field == before->field + 1;
  const bool adjoins = before->length == 0 || line.offset - before->offset == before->length;
  return line.offset > before->offset && line.field == 0 && adjoins;
}

}  // namespace

Sidecar ReadSidecar(std::string_view text) {
  Sidecar sidecar;
  bool is_understood = true;
  for (const std::string_view raw : SplitAt(text, '\n')) {
    const std::string_view line = raw.substr(0, raw.find('\r'));
    if (line.empty() || sidecar.offsets.size() == kMostOffsets) continue;
    if (const auto offset = OffsetOf(line)) sidecar.offsets.push_back(*offset);
    if (!is_understood) continue;
    auto read = line.starts_with('{') ? ReadIndexLine(line) : ReadIdxLine(line);
    const SidecarLine* before = sidecar.lines.empty() ? nullptr : &sidecar.lines.back();
    is_understood = read && Follows(before, *read);
    if (is_understood) sidecar.lines.push_back(*std::move(read));
  }
  // A text that does not end with a line was cut.
  if (!is_understood || !text.ends_with('\n') || sidecar.offsets.size() == kMostOffsets) {
    sidecar.lines.clear();
  }
  std::ranges::sort(sidecar.offsets);
  sidecar.offsets.erase(std::unique(sidecar.offsets.begin(), sidecar.offsets.end()),
                        sidecar.offsets.end());
  return sidecar;
}

std::optional<Product> PredictProduct(const Product& sample, const SidecarLine& line) {
  if (!line.step || (line.member && !sample.member)) return std::nullopt;
  Product product = sample;
  product.reference = line.reference;
  product.step = *line.step;
  if (line.interval) {
    product.interval = *line.interval;
  } else if (sample.interval != 0) {
    // A step alone: the end of an interval since the beginning.
    if (sample.interval != sample.step) return std::nullopt;
    product.interval = *line.step;
  }
  if (line.member) product.member = line.member;
  return product;
}

}  // namespace ndlfs::backends::grib
