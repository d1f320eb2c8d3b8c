// SPDX-License-Identifier: MIT
#include "fs/check_report.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "fs/json_text.h"
#include "model/error.h"

namespace ndlfs::fs {
namespace {

// An estimate from less would jump about.
constexpr double kSecondsUntilEstimate = 1;

std::string Count(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string_view StateOf(const StoreReport& report) {
  if (report.damaged != 0) return "damaged";
  return report.complete ? "ok" : "incomplete";
}

void AppendFindings(const std::vector<Finding>& findings, uint64_t count, std::string_view what,
                    std::string& out) {
  for (const Finding& finding : findings) {
    out += fmt::format("  {}{}: {}\n", what, model::OneLine(finding.path),
                       model::OneLine(finding.reason));
  }
  if (count > findings.size())
    out += fmt::format("  ... and {} more\n", count - findings.size());
}

// A store that cannot even be opened has nothing to count.
std::string StoreAsText(const StoreReport& report) {
  std::string out = fmt::format("{}: {}", model::OneLine(report.location), StateOf(report));
  if (report.arrays != 0 || report.damaged == 0) {
    out += fmt::format(", {}, {}, {}", Count(report.arrays, "array"),
                       Count(report.chunks, "chunk"),
                       FormatBytes(static_cast<double>(report.bytes)));
  }
  if (report.damaged != 0) out += fmt::format(", {} damaged", report.damaged);
  if (report.unsupported != 0) out += fmt::format(", {} not checked", report.unsupported);
  if (!report.complete && report.damaged != 0) out += ", incomplete";
  out += '\n';
  AppendFindings(report.damage, report.damaged, "", out);
  AppendFindings(report.not_checked, report.unsupported, "not checked: ", out);
  AppendFindings(report.notes, report.notes.size(), "note: ", out);
  return out;
}

std::string FindingsAsJson(const std::vector<Finding>& findings) {
  std::string out = "[";
  for (const Finding& finding : findings) {
    out += fmt::format(R"({}{{"path": {}, "reason": {}}})", out.size() > 1 ? ", " : "",
                       JsonString(finding.path), JsonString(finding.reason));
  }
  return out + "]";
}

std::string StoreAsJson(const StoreReport& report) {
  return fmt::format(
      R"({{"store": {}, "format": {}, "state": "{}", "complete": {}, "arrays": {}, )"
      R"("chunks": {}, "absent_chunks": {}, "bytes": {}, "damaged": {}, "damage": {}, )"
      R"("unsupported": {}, "not_checked": {}, "notes": {}}})",
      JsonString(report.location), JsonString(report.format), StateOf(report), report.complete,
      report.arrays, report.chunks, report.absent, report.bytes, report.damaged,
      FindingsAsJson(report.damage), report.unsupported, FindingsAsJson(report.not_checked),
      FindingsAsJson(report.notes));
}

double RateOf(double bytes, double seconds) { return seconds > 0 ? bytes / seconds : 0; }

std::string SummaryAsText(const CheckSummary& summary) {
  const auto bytes = static_cast<double>(summary.bytes);
  std::string out =
      fmt::format("{}{}, {}, {}, {} in {} ({}/s): ", summary.complete ? "" : "interrupted: ",
                  Count(summary.stores, "store"), Count(summary.arrays, "array"),
                  Count(summary.chunks, "chunk"), FormatBytes(bytes),
                  FormatDuration(summary.seconds), FormatBytes(RateOf(bytes, summary.seconds)));
  out += summary.damaged == 0 ? "no damage"
                              : fmt::format("{} damaged in {}", summary.damaged,
                                            Count(summary.damaged_stores, "store"));
  if (summary.unsupported != 0) out += fmt::format(", {} not checked", summary.unsupported);
  out += '\n';
  if (!summary.resume_at.empty()) {
    out += fmt::format("to go on: --from {}\n", model::Quote(summary.resume_at));
  }
  return out;
}

std::string SummaryAsJson(const CheckSummary& summary) {
  return fmt::format(
      R"({{"stores": {}, "arrays": {}, "chunks": {}, "absent_chunks": {}, "bytes": {}, )"
      R"("seconds": {:.3f}, "damaged": {}, "damaged_stores": {}, "unsupported": {}, )"
      R"("complete": {}, "resume_at": {}}})",
      summary.stores, summary.arrays, summary.chunks, summary.absent, summary.bytes,
      summary.seconds, summary.damaged, summary.damaged_stores, summary.unsupported,
      summary.complete, summary.resume_at.empty() ? "null" : JsonString(summary.resume_at));
}

}  // namespace

void CheckSummary::Add(const StoreReport& report) {
  // What has no format is a directory that cannot be read.
  stores += !report.format.empty();
  arrays += report.arrays;
  chunks += report.chunks;
  absent += report.absent;
  bytes += report.bytes;
  damaged += report.damaged;
  damaged_stores += report.damaged != 0;
  unsupported += report.unsupported;
  if (report.complete) return;
  complete = false;
  if (resume_at.empty()) resume_at = report.location;
}

std::string FormatBytes(double bytes) {
  constexpr std::array<std::string_view, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return unit == 0 || bytes >= 99.95 ? fmt::format("{:.0f} {}", bytes, kUnits[unit])
                                     : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string FormatDuration(double seconds) {
  constexpr double kLongest = 1e9;
  const auto whole = static_cast<uint64_t>(std::lround(std::fmin(seconds, kLongest)));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string CheckBegin(CheckFormat format) {
  return format == CheckFormat::kJson ? "{\"stores\": [" : "";
}

std::string CheckStore(CheckFormat format, const StoreReport& report, bool is_first) {
  if (format == CheckFormat::kText) return StoreAsText(report);
  return (is_first ? "\n  " : ",\n  ") + StoreAsJson(report);
}

std::string CheckEnd(CheckFormat format, const CheckSummary& summary) {
  if (format == CheckFormat::kText) return SummaryAsText(summary);
  return "],\n \"summary\": " + SummaryAsJson(summary) + "}\n";
}

std::string CheckProgress(const Checker::Progress& progress, double seconds) {
  const double part = progress.total > 0 ? progress.done / progress.total : 0;
  std::string out;
  if (progress.all_found) out += fmt::format("{:.0f}%, ", std::floor(100 * part));
  out += fmt::format("{}, {}, {}/s", Count(progress.chunks, "chunk"),
                     Count(progress.stores, "store"),
                     FormatBytes(RateOf(static_cast<double>(progress.bytes), seconds)));
  if (progress.damaged != 0) out += fmt::format(", {} damaged", progress.damaged);
  if (!progress.all_found) return out + ", looking for more";
  if (seconds >= kSecondsUntilEstimate && part > 0) {
    out += fmt::format(", {} left", FormatDuration(seconds / part - seconds));
  }
  return out;
}

}  // namespace ndlfs::fs
