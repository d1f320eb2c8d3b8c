// SPDX-License-Identifier: MIT
#include "fs/cli/mount/stats_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "backends/base/json.h"

namespace ndlfs::fs {
namespace {

using Times = RequestTimes::Snapshot;

std::string Bytes(double bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 || bytes >= 100 ? 0 : 1, kUnits[unit]);
}

std::string Seconds(double seconds) {
  if (seconds <= 0) return "-";
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.{}f} ms", seconds * 1e3, seconds < 0.01 ? 1 : 0);
  return fmt::format("{:.1f} s", seconds);
}

std::string Uptime(double seconds) {
  const auto minutes = static_cast<int64_t>(seconds / 60);
  if (minutes < 1) return fmt::format("{:.0f} s", seconds);
  if (minutes < 60) return fmt::format("{} min", minutes);
  if (minutes < 48 * 60) return fmt::format("{} h {} min", minutes / 60, minutes % 60);
  return fmt::format("{} days", minutes / (24 * 60));
}

std::string Percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.0f} %", 100 * part / whole) : "-";
}

// Rates between two moments.
class Rates {
 public:
  Rates(const MountStats& before, const MountStats& now)
      : before_(before),
        now_(now),
        seconds_(std::max(now["uptime_seconds"] - before["uptime_seconds"], 1e-3)) {}

  double Grown(std::string_view name) const {
    return std::max(now_[name] - before_[name], 0.0);
  }
  double PerSecond(std::string_view name) const { return Grown(name) / seconds_; }
  double seconds() const { return seconds_; }

  // The requests of a kind that were answered in between.
  Times Answered(size_t kind) const {
    Times times = now_.requests[kind].second;
    if (kind >= before_.requests.size()) return times;
    const Times& old = before_.requests[kind].second;
    for (size_t i = 0; i < times.counts.size(); ++i) {
      times.counts[i] -= std::min(times.counts[i], old.counts[i]);
    }
    times.seconds = std::max(times.seconds - old.seconds, 0.0);
    return times;
  }

 private:
  const MountStats& before_;
  const MountStats& now_;
  const double seconds_;
};

std::string RequestLine(const std::string& kind, const Times& all, const Times& recent,
                        double seconds) {
  // Where nothing happens now, what was usual before is still worth showing.
  const Times& shown = recent.total() > 0 ? recent : all;
  const double mean =
      shown.total() > 0 ? shown.seconds / static_cast<double>(shown.total()) : 0;
  return fmt::format("  {:<9}{:>9.0f}{:>13}{:>11}{:>11}{:>11}", kind,
                     static_cast<double>(recent.total()) / seconds, all.total(), Seconds(mean),
                     Seconds(QuantileOf(shown, 0.5)), Seconds(QuantileOf(shown, 0.99)));
}

// Cuts a line, without leaving part of a character.
void Fit(std::string& line, size_t width) {
  if (line.size() <= width) return;
  while (width > 0 && (static_cast<unsigned char>(line[width]) & 0xc0) == 0x80) --width;
  line.resize(width);
}

// How fast each codec decodes on one core: now, or where it rests, on average.
std::string CodecsLine(const MountStats& before, const MountStats& now) {
  std::string text;
  for (const auto& [name, total] : now.codecs) {
    const auto found = before.codecs.find(name);
    const auto old = found != before.codecs.end() ? found->second : MountStats::Codec();
    const bool is_busy = total.seconds > old.seconds && total.bytes > old.bytes;
    const double bytes = is_busy ? total.bytes - old.bytes : total.bytes;
    const double seconds = is_busy ? total.seconds - old.seconds : total.seconds;
    if (seconds <= 0) continue;
    text += fmt::format("{}{} {}/s", text.empty() ? "" : ", ", name, Bytes(bytes / seconds));
  }
  return "  codecs     " + (text.empty() ? "-" : text + "  (on one core)");
}

void AddSlowRequests(const MountStats& now, std::vector<std::string>& lines) {
  constexpr size_t kMostShown = 4;
  if (now.slow_requests.empty()) return;
  lines.emplace_back();
  lines.push_back(fmt::format("  {:<9}{:>9}{:>13}   path", "slow", "took", "ago"));
  for (size_t i = 0; i < std::min(now.slow_requests.size(), kMostShown); ++i) {
    const MountStats::SlowRequest& request = now.slow_requests[i];
    lines.push_back(fmt::format("  {:<9}{:>9}{:>13}   {}", request.kind,
                                Seconds(request.seconds), Uptime(request.age),
                                model::OneLine(request.path)));
  }
}

void ParseRequests(const backends::Json& json, MountStats& stats) {
  const auto requests = json.find("requests");
  if (requests == json.end() || !requests->is_object()) return;
  for (const auto& [kind, value] : requests->items()) {
    Times times;
    if (!value.is_object() || !value.contains("classes") || !value.contains("seconds"))
      continue;
    const auto& classes = value.at("classes");
    const auto& seconds = value.at("seconds");
    if (!classes.is_array() || !seconds.is_number()) continue;
    times.seconds = seconds.template get<double>();
    for (size_t i = 0; i < std::min(classes.size(), times.counts.size()); ++i) {
      if (classes[i].is_number_unsigned())
        times.counts[i] = classes[i].template get<uint64_t>();
    }
    stats.requests.emplace_back(kind, times);
  }
}

// 0 where there is no such number.
double NumberAt(const backends::Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->template get<double>() : 0;
}
std::string TextAt(const backends::Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->template get<std::string>() : "";
}

void ParseCodecs(const backends::Json& json, MountStats& stats) {
  const auto codecs = json.find("codecs");
  if (codecs == json.end() || !codecs->is_object()) return;
  for (const auto& [name, value] : codecs->items()) {
    if (!value.is_object()) continue;
    stats.codecs[name] = {NumberAt(value, "bytes"), NumberAt(value, "seconds")};
  }
}

void ParseSlowRequests(const backends::Json& json, MountStats& stats) {
  const auto requests = json.find("slow_requests");
  if (requests == json.end() || !requests->is_array()) return;
  for (const auto& value : *requests) {
    if (!value.is_object()) continue;
    stats.slow_requests.push_back({TextAt(value, "kind"), TextAt(value, "path"),
                                   NumberAt(value, "seconds"), NumberAt(value, "age")});
  }
}

}  // namespace

double MountStats::operator[](std::string_view name) const {
  const auto it = numbers.find(name);
  return it != numbers.end() ? it->second : 0;
}

model::Result<MountStats> ParseMountStats(std::string_view text) {
  NDLFS_TRY(const auto json, backends::ParseJson(text));
  if (!json.is_object()) return model::BadInput("not an object");
  MountStats stats;
  for (const auto& [name, value] : json.items()) {
    if (value.is_number()) stats.numbers[name] = value.template get<double>();
  }
  ParseRequests(json, stats);
  ParseCodecs(json, stats);
  ParseSlowRequests(json, stats);
  return stats;
}

double QuantileOf(const Times& times, double share) {
  const auto wanted = std::max(1.0, std::ceil(share * static_cast<double>(times.total())));
  double sum = 0;
  for (size_t i = 0; i < times.counts.size(); ++i) {
    sum += static_cast<double>(times.counts[i]);
    if (sum >= wanted) {
      return std::chrono::duration<double>(RequestTimes::LongestOf(i)).count();
    }
  }
  return 0;
}

std::vector<std::string> StatsScreen(const MountFacts& facts, const MountStats& before,
                                     const MountStats& now, std::string_view problem,
                                     size_t width) {
  const Rates rates(before, now);
  const double hits = rates.Grown("cache_hits_total");
  const double misses = rates.Grown("cache_misses_total");
  std::vector<std::string> lines = {
      fmt::format("ndlfs {}   {} on {}   up {}", facts.version, facts.source, facts.mountpoint,
                  Uptime(now["uptime_seconds"])),
      "",
      fmt::format("  reads      {:>12}/s   decoded {:>12}/s   processor {:.0f} %",
                  Bytes(rates.PerSecond("read_bytes_total")),
                  Bytes(rates.PerSecond("cache_loaded_bytes_total")),
                  100 * rates.PerSecond("cpu_seconds_total")),
      fmt::format("  chunks     {:>12.0f}/s   ahead   {:>12.0f}/s   {} found in the cache",
                  misses / rates.seconds(), rates.PerSecond("prefetched_chunks_total"),
                  Percent(hits, hits + misses)),
      fmt::format("  memory     {:>12}     cache {} of {}, {:.0f} chunks",
                  Bytes(now["resident_bytes"]), Bytes(now["cache_used_bytes"]),
                  Bytes(now["cache_budget_bytes"]), now["cache_blocks"]),
      fmt::format("  documents  {:>12}     on disk {:>12}  of chunks that did not fit",
                  Bytes(now["document_bytes"]), Bytes(now["spill_used_bytes"])),
      fmt::format("  open files {:>12.0f}     {:.0f} of {:.0f} stores, {:.0f} objects, "
                  "{:.0f} names",
                  now["open_files"], now["open_stores"], now["stores"], now["entities"],
                  now["inodes"]),
      CodecsLine(before, now),
      "",
      fmt::format("  {:<9}{:>9}{:>13}{:>11}{:>11}{:>11}", "requests", "per s", "total", "mean",
                  "50 % <", "99 % <"),
  };
  for (size_t i = 0; i < now.requests.size(); ++i) {
    lines.push_back(RequestLine(now.requests[i].first, now.requests[i].second,
                                rates.Answered(i), rates.seconds()));
  }
  lines.emplace_back();
  lines.push_back(fmt::format("  problems {:>9.0f}     failed requests {:.0f}",
                              now["problems_total"], now["failed_requests_total"]));
  if (!problem.empty()) lines.push_back(fmt::format("  latest: {}", problem));
  // At the end, because a terminal of 24 lines has no room for all of them.
  AddSlowRequests(now, lines);
  for (std::string& line : lines) Fit(line, width);
  return lines;
}

std::string StatsHeader() {
  return fmt::format("{:>11} {:>11} {:>8} {:>8} {:>7} {:>6} {:>11} {:>11} {:>9}", "read/s",
                     "decoded/s", "reads/s", "opens/s", "hits", "cpu", "memory", "cache",
                     "problems");
}

std::string StatsLine(const MountStats& before, const MountStats& now) {
  const Rates rates(before, now);
  const double hits = rates.Grown("cache_hits_total");
  return fmt::format("{:>11} {:>11} {:>8.0f} {:>8.0f} {:>7} {:>5.0f}% {:>11} {:>11} {:>9.0f}",
                     Bytes(rates.PerSecond("read_bytes_total")),
                     Bytes(rates.PerSecond("cache_loaded_bytes_total")),
                     rates.PerSecond("reads_total"), rates.PerSecond("opens_total"),
                     Percent(hits, hits + rates.Grown("cache_misses_total")),
                     100 * rates.PerSecond("cpu_seconds_total"), Bytes(now["resident_bytes"]),
                     Bytes(now["cache_used_bytes"]), now["problems_total"]);
}

}  // namespace ndlfs::fs
