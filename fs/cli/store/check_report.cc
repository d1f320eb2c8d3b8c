// SPDX-License-Identifier: MIT
#include "fs/cli/store/check_report.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <vector>

#include "fs/cli/store/progress.h"
#include "fs/view/array/json_text.h"
#include "fs/view/base/html_text.h"
#include "model/error.h"

namespace ndlfs::fs {
namespace {

std::string Count(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string_view StateOf(const StoreReport& report) {
  if (report.damage.count != 0) return "damaged";
  if (report.unreadable.count != 0) return "unreadable";
  if (!report.complete) return "incomplete";
  if (report.not_checked.count == 0) return "ok";
  return report.arrays == 0 ? "not checked" : "partly checked";
}

// A store that cannot even be opened has nothing to count.
bool HasCounts(const StoreReport& report) {
  const uint64_t problems =
      report.damage.count + report.unreadable.count + report.not_checked.count;
  return report.arrays != 0 || problems == 0;
}

// ", 1 damaged, 3 notes": what there is of each kind.
std::string Tally(uint64_t damaged, uint64_t unreadable, uint64_t not_checked, uint64_t notes) {
  std::string out;
  if (damaged != 0) out += fmt::format(", {} damaged", damaged);
  if (unreadable != 0) out += fmt::format(", {} unreadable", unreadable);
  if (not_checked != 0) out += fmt::format(", {} not checked", not_checked);
  if (notes != 0) out += ", " + Count(notes, "note");
  return out;
}

void AppendFindings(const Findings& findings, std::string_view what, std::string& out) {
  for (const Finding& finding : findings.kept) {
    out += fmt::format("  {}{}: {}\n", what, model::OneLine(finding.path),
                       model::OneLine(finding.reason));
  }
  if (findings.count > findings.kept.size()) {
    out += fmt::format("  {}... and {} more\n", what, findings.count - findings.kept.size());
  }
}

std::string StoreAsText(const StoreReport& report) {
  const std::string_view state = StateOf(report);
  std::string out = fmt::format("{}: {}", model::OneLine(report.location), state);
  if (HasCounts(report)) {
    out += fmt::format(", {}, {}, {}", Count(report.arrays, "array"),
                       Count(report.chunks, "chunk"),
                       FormatBytes(static_cast<double>(report.bytes)));
  }
  out += Tally(report.damage.count, report.unreadable.count, report.not_checked.count,
               report.notes.count);
  if (!report.complete && state != "incomplete") out += ", incomplete";
  out += '\n';
  AppendFindings(report.damage, "", out);
  AppendFindings(report.unreadable, "unreadable: ", out);
  AppendFindings(report.not_checked, "not checked: ", out);
  AppendFindings(report.notes, "note: ", out);
  return out;
}

std::string FindingsAsJson(const Findings& findings) {
  std::string out = "[";
  for (const Finding& finding : findings.kept) {
    out += fmt::format(R"({}{{"path": {}, "reason": {}}})", out.size() > 1 ? ", " : "",
                       JsonString(finding.path), JsonString(finding.reason));
  }
  return out + "]";
}

std::string StoreAsJson(const StoreReport& report) {
  return fmt::format(
      R"({{"store": {}, "format": {}, "state": "{}", "complete": {}, "arrays": {}, )"
      R"("chunks": {}, "absent_chunks": {}, "bytes": {}, "damaged": {}, "damage": {}, )"
      R"("unreadable": {}, "not_read": {}, "unsupported": {}, "not_checked": {}, )"
      R"("noted": {}, "notes": {}}})",
      JsonString(report.location), JsonString(report.format), StateOf(report), report.complete,
      report.arrays, report.chunks, report.absent, report.bytes, report.damage.count,
      FindingsAsJson(report.damage), report.unreadable.count, FindingsAsJson(report.unreadable),
      report.not_checked.count, FindingsAsJson(report.not_checked), report.notes.count,
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
  out += Tally(0, summary.unreadable, summary.not_checked, summary.notes) + '\n';
  if (!summary.resume_at.empty()) {
    out += fmt::format("to go on: --from {}\n", model::Quote(summary.resume_at));
  }
  return out;
}

std::string SummaryAsJson(const CheckSummary& summary) {
  return fmt::format(
      R"({{"stores": {}, "arrays": {}, "chunks": {}, "absent_chunks": {}, "bytes": {}, )"
      R"("seconds": {:.3f}, "damaged": {}, "damaged_stores": {}, "unreadable": {}, )"
      R"("unsupported": {}, "noted": {}, "complete": {}, "resume_at": {}}})",
      summary.stores, summary.arrays, summary.chunks, summary.absent, summary.bytes,
      summary.seconds, summary.damaged, summary.damaged_stores, summary.unreadable,
      summary.not_checked, summary.notes, summary.complete,
      summary.resume_at.empty() ? "null" : JsonString(summary.resume_at));
}

}  // namespace

void CheckSummary::Add(const StoreReport& report) {
  // A report without a format is about a directory that cannot be read.
  stores += !report.format.empty();
  arrays += report.arrays;
  chunks += report.chunks;
  absent += report.absent;
  bytes += report.bytes;
  damaged += report.damage.count;
  damaged_stores += report.damage.count != 0;
  unreadable += report.unreadable.count;
  not_checked += report.not_checked.count;
  notes += report.notes.count;
  if (report.complete) return;
  complete = false;
  if (resume_at.empty()) resume_at = report.location;
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
  const std::string counts =
      Count(progress.chunks, "chunk") + ", " + Count(progress.stores, "store");
  const std::string problems =
      progress.damaged == 0 ? "" : fmt::format("{} damaged", progress.damaged);
  return FormatProgress(progress.work, counts, progress.bytes, seconds, problems);
}

}  // namespace ndlfs::fs
