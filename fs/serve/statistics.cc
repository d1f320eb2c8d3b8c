// SPDX-License-Identifier: MIT
#include "fs/serve/statistics.h"

#include <fmt/ranges.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "backends/base/json.h"
#include "backends/store/block_cache/block_cache.h"
#include "fs/tree/view/decoded_cache.h"

namespace ndlfs::fs {
namespace {

// Bytes of memory that the process has now; 0 where the system does not tell.
double ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t total = 0, resident = 0;
  if (!(statm >> total >> resident)) return 0;
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

double ProcessorSeconds() {
  rusage usage = {};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Whole numbers as such, however large.
std::string NumberText(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e18) {
    return fmt::format("{}", static_cast<int64_t>(value));
  }
  return fmt::format("{}", value);
}

using Servers = std::map<std::string, EndpointStatistics>;

using Codecs = backends::DecodeTimes::Totals;

std::string JsonText(const std::string& text) {
  return backends::Json(text).dump(-1, ' ', true, backends::Json::error_handler_t::replace);
}

// Appends one counter of each entry of `numbers`: ndlfs_KIND_NAME{KIND="entry"}.
template <typename Numbers, typename Value>
void AddCounters(std::string_view kind, std::string_view name, std::string_view help,
                 const Numbers& numbers, const Value& value, std::string& text) {
  text +=
      fmt::format("# HELP ndlfs_{0}_{1} {2}\n# TYPE ndlfs_{0}_{1} counter\n", kind, name, help);
  for (const auto& [entry, counted] : numbers) {
    text += fmt::format("ndlfs_{0}_{1}{{{0}=\"{2}\"}} {3}\n", kind, name, entry,
                        NumberText(static_cast<double>(value(counted))));
  }
}

std::string CodecsAsJson(const Codecs& codecs) {
  std::string text = "{";
  for (const auto& [name, total] : codecs) {
    if (!text.ends_with('{')) text += ',';
    text += fmt::format("\n    {}: {{\"chunks\": {}, \"bytes\": {}, \"seconds\": {}}}",
                        JsonText(name), total.chunks, total.bytes, NumberText(total.seconds()));
  }
  return text + "\n  }";
}

std::string CodecsAsMetrics(const Codecs& codecs) {
  std::string text;
  if (codecs.empty()) return text;
  using Total = backends::DecodeTimes::Total;
  AddCounters(
      "codec", "chunks_total", "Chunks that a codec decoded.", codecs,
      [](const Total& total) { return total.chunks; }, text);
  AddCounters(
      "codec", "bytes_total", "Bytes that it decoded them to.", codecs,
      [](const Total& total) { return total.bytes; }, text);
  AddCounters(
      "codec", "seconds_total", "Time that this took.", codecs,
      [](const Total& total) { return total.seconds(); }, text);
  return text;
}

std::string SlowRequestsAsJson(const std::vector<SlowRequest>& requests,
                               SlowRequests::Clock::time_point now) {
  using Seconds = std::chrono::duration<double>;
  std::string text = "[";
  for (const SlowRequest& request : requests) {
    if (!text.ends_with('[')) text += ',';
    text += fmt::format(
        "\n    {{\"kind\": \"{}\", \"path\": {}, \"seconds\": {:.6f}, \"age\": {:.1f}}}",
        request.kind, JsonText(request.path), Seconds(request.time).count(),
        Seconds(now - request.answered).count());
  }
  return text + (requests.empty() ? "]" : "\n  ]");
}

std::string ServersAsJson(const Servers& servers) {
  std::string text = "{";
  for (const auto& [name, server] : servers) {
    if (!text.ends_with('{')) text += ',';
    text += fmt::format(
        "\n    {}: {{\"requests\": {}, \"bytes\": {}, \"retries\": {}, \"failures\": {}, "
        "\"answers\": {}, \"answer_seconds\": {}}}",
        JsonText(name), server.requests, server.bytes, server.retries, server.failures,
        server.answers, NumberText(server.answer_seconds));
  }
  return text + "\n  }";
}

std::string ServersAsMetrics(const Servers& servers) {
  std::string text;
  if (servers.empty()) return text;
  const auto add = [&](std::string_view name, std::string_view help, const auto& value) {
    AddCounters("server", name, help, servers, value, text);
  };
  using Server = EndpointStatistics;
  add("requests_total", "Requests to a server.", [](const Server& s) { return s.requests; });
  add("bytes_total", "Bytes that a server sent.", [](const Server& s) { return s.bytes; });
  add("retries_total", "Requests tried again.", [](const Server& s) { return s.retries; });
  add("failures_total", "Requests that failed.", [](const Server& s) { return s.failures; });
  add("answers_total", "Answers of a server.", [](const Server& s) { return s.answers; });
  add("answer_seconds_total", "Time until these answers began.",
      [](const Server& s) { return s.answer_seconds; });
  return text;
}

// JSON strings are YAML. A path need not be UTF-8.
std::string YamlText(const std::string& text) {
  return backends::Json(text).dump(-1, ' ', false, backends::Json::error_handler_t::replace);
}

}  // namespace

std::vector<Statistic> CollectStatistics(const MountContext& context,
                                         const FrontEndCounts& front_end,
                                         std::chrono::steady_clock::time_point mounted) {
  const cache::ChunkCache::Stats cache = context.cache.stats();
  const cache::SpillSpace::Stats spill = context.spill.stats();
  const OperationCounts& counts = front_end.operations;
  const RequestQueue::Stats& queue = front_end.queue;
  const std::chrono::duration<double> uptime = std::chrono::steady_clock::now() - mounted;
  const auto gauge = [](const char* name, const char* help, auto value) {
    return Statistic{name, help, false, static_cast<double>(value)};
  };
  const auto counter = [](const char* name, const char* help, auto value) {
    return Statistic{name, help, true, static_cast<double>(value)};
  };
  const DecodedCache::Stats kept =
      context.decoded ? context.decoded->stats() : DecodedCache::Stats();
  return {
      gauge("uptime_seconds", "Time since the mount.", uptime.count()),
      gauge("resident_bytes", "Memory of the process.", ResidentBytes()),
      counter("cpu_seconds_total", "Processor time of the process.", ProcessorSeconds()),
      counter("lookups_total", "Names looked up.", counts.lookup.begun()),
      counter("getattrs_total", "Calls of stat.", counts.getattr.begun()),
      counter("opens_total", "Files opened.", counts.open.begun()),
      counter("opens_passed_through_total", "Opened files that the kernel reads itself.",
              counts.passed_through.load()),
      counter("reads_total", "Read requests.", counts.read.begun()),
      counter("read_bytes_total", "Bytes that read requests got.", counts.bytes_read.load()),
      counter("readdirs_total", "Requests for directory listings.", counts.readdir.begun()),
      counter("other_requests_total", "All other requests.", counts.other.begun()),
      counter("failed_requests_total", "Requests that failed for what is wrong in the source.",
              counts.failed.load()),
      counter("problems_total", "Problems met in the source, repeated ones too.",
              context.problems.reported()),
      gauge("requests_running", "Requests that are under way.", queue.running),
      gauge("requests_waiting", "Requests that wait for their turn.", queue.waiting),
      gauge("requests_abandoned", "Requests under way that were refused meanwhile.",
            queue.abandoned),
      counter("requests_waited_total", "Requests that had to wait for their turn.",
              queue.waited),
      counter("requests_waited_seconds_total", "How long they waited.", queue.waited_seconds),
      counter("requests_timed_out_total", "Requests that took longer than --timeout.",
              queue.timed_out),
      counter("requests_interrupted_total", "Requests whose caller has gone.",
              queue.interrupted),
      counter("requests_crowded_out_total",
              "Requests that were refused because too many of their user waited.",
              queue.crowded_out),
      counter("requests_charged_seconds_total",
              "Processor time of requests of ndlfs serve, with what calls and chunks count.",
              queue.charged_seconds),
      counter("opens_refused_total",
              "Files that were not opened because their user had too much open.",
              front_end.open.refused),
      gauge("inodes", "Files and directories that the kernel knows.", front_end.inodes),
      gauge("open_files", "Open files.", front_end.open_files),
      gauge("open_files_bytes", "Memory that open files keep, with --allow-other.",
            front_end.open.bytes),
      gauge("stores", "Stores that are known.", context.catalog.size()),
      gauge("open_stores", "Stores that are open.", context.services.opened.size()),
      gauge("entities", "Groups and arrays in memory.", context.services.entities.size()),
      gauge("document_bytes", "Memory of NDL documents.", context.documents.bytes()),
      gauge("cache_budget_bytes", "Limit of the chunk cache.", cache.budget_bytes),
      gauge("cache_used_bytes", "Memory of the chunk cache.", cache.used_bytes),
      gauge("cache_blocks", "Chunks in the cache.", cache.blocks),
      counter("cache_hits_total", "Chunks found in the cache.", cache.hits),
      counter("cache_misses_total", "Chunks that had to be decoded.", cache.misses),
      counter("cache_parts_total", "Parts of chunks that were decoded without the rest.",
              cache.parts),
      counter("cache_loaded_bytes_total", "Bytes decoded into the cache.", cache.loaded_bytes),
      counter("cache_evictions_total", "Chunks dropped for others.", cache.evictions),
      counter("prefetched_chunks_total", "Chunks decoded ahead of a reader.",
              context.prefetcher.stats().loaded),
      gauge("fetch_width", "Chunks that may be fetched at once now.",
            context.cache.pace().width()),
      gauge("spill_used_bytes", "Disk space of chunks that the cache had no room for.",
            spill.used_bytes),
      counter("spill_written_total", "Chunks written there.", spill.written),
      counter("spill_reads_total", "Reads of parts of them.", spill.reads),
      counter("spill_refused_total", "Chunks there was no room for even there.", spill.refused),
      counter("kept_views_opened_total", "Opened files whose kept bytes were found.",
              kept.hits),
      counter("kept_views_written_total", "Files that were read to their end and kept.",
              kept.kept),
      counter("kept_views_bytes_total", "Bytes of these files.", kept.kept_bytes),
      counter("kept_views_damaged_total", "Kept files that were not as they were written.",
              kept.damaged),
      counter("cache_failures_total", "Chunks that could not be decoded.", cache.failures),
  };
}

void AddBlockStatistics(const backends::BlockCache& cache, std::vector<Statistic>& statistics) {
  const backends::BlockCacheStats stats = cache.stats();
  const auto add = [&](const char* name, const char* help, uint64_t value) {
    statistics.push_back({name, help, /*is_counter=*/true, static_cast<double>(value)});
  };
  add("block_cache_hits_total", "Blocks of files that were found on disk.", stats.hits);
  add("block_cache_misses_total", "Blocks that were looked for there in vain.", stats.misses);
  add("block_cache_hit_bytes_total", "Bytes of the blocks that were found.", stats.hit_bytes);
  add("block_cache_stored_total", "Blocks that were written there.", stats.stored);
  add("block_cache_stored_bytes_total", "Bytes of these.", stats.stored_bytes);
  add("block_cache_damaged_total", "Blocks that were found damaged, and removed.",
      stats.damaged);
}

std::vector<RequestStatistic> CollectRequests(const OperationCounts& counts) {
  std::vector<RequestStatistic> requests;
  for (const auto& [name, times] : OperationCounts::kKinds) {
    requests.push_back({name, (counts.*times).answered()});
  }
  return requests;
}

std::string StatisticsAsJson(const std::vector<Statistic>& statistics,
                             const DetailedStatistics& details,
                             const std::vector<SlowRequest>& slow_requests,
                             SlowRequests::Clock::time_point now) {
  std::string text = "{";
  for (const Statistic& statistic : statistics) {
    if (text.size() > 1) text += ',';
    text += fmt::format("\n  \"{}\": {}", statistic.name, NumberText(statistic.value));
  }
  if (details.requests.empty()) return text + "\n}\n";
  text += ",\n  \"requests\": {";
  for (const RequestStatistic& request : details.requests) {
    if (!text.ends_with('{')) text += ',';
    text += fmt::format("\n    \"{}\": {{\"count\": {}, \"seconds\": {}, \"classes\": [{}]}}",
                        request.kind, request.times.total(), NumberText(request.times.seconds),
                        fmt::join(request.times.counts, ", "));
  }
  text += "\n  }";
  text += ",\n  \"codecs\": " + CodecsAsJson(details.codecs);
  if (!details.servers.empty()) text += ",\n  \"servers\": " + ServersAsJson(details.servers);
  text += ",\n  \"slow_requests\": " + SlowRequestsAsJson(slow_requests, now);
  return text + "\n}\n";
}

std::string StatisticsAsMetrics(const std::vector<Statistic>& statistics,
                                const DetailedStatistics& details) {
  std::string text;
  for (const Statistic& statistic : statistics) {
    text +=
        fmt::format("# HELP ndlfs_{0} {1}\n# TYPE ndlfs_{0} {2}\nndlfs_{0} {3}\n",
                    statistic.name, statistic.help, statistic.is_counter ? "counter" : "gauge",
                    NumberText(statistic.value));
  }
  if (!details.requests.empty()) {
    text +=
        "# HELP ndlfs_request_seconds How long requests took until they were answered.\n"
        "# TYPE ndlfs_request_seconds histogram\n";
  }
  for (const RequestStatistic& request : details.requests) {
    uint64_t sum = 0;
    for (size_t i = 0; i < RequestTimes::kClasses; ++i) {
      sum += request.times.counts[i];
      const bool is_last = i + 1 == RequestTimes::kClasses;
      const double limit = std::chrono::duration<double>(RequestTimes::LongestOf(i)).count();
      text += fmt::format("ndlfs_request_seconds_bucket{{kind=\"{}\",le=\"{}\"}} {}\n",
                          request.kind, is_last ? "+Inf" : fmt::format("{}", limit), sum);
    }
    text += fmt::format(
        "ndlfs_request_seconds_sum{{kind=\"{0}\"}} {1}\n"
        "ndlfs_request_seconds_count{{kind=\"{0}\"}} {2}\n",
        request.kind, NumberText(request.times.seconds), sum);
  }
  return text + CodecsAsMetrics(details.codecs) + ServersAsMetrics(details.servers);
}

std::string WithLabels(std::string_view metrics, const MountOptions& options) {
  // Without control characters, the escapes are those of JSON.
  std::string labels = "source=" + YamlText(model::OneLine(options.source));
  if (!options.mountpoint.empty()) {
    labels += ",mountpoint=" + YamlText(model::OneLine(options.mountpoint));
  }
  std::string text;
  while (!metrics.empty()) {
    const std::string_view line = metrics.substr(0, metrics.find('\n'));
    metrics.remove_prefix(std::min(line.size() + 1, metrics.size()));
    const std::string_view name = line.substr(0, line.find_first_of("{ "));
    const std::string_view rest = line.substr(name.size());
    if (line.starts_with('#')) {
      text += line;
    } else if (rest.starts_with('{')) {
      text += fmt::format("{}{{{},{}", name, labels, rest.substr(1));
    } else {
      text += fmt::format("{}{{{}}}{}", name, labels, rest);
    }
    text += '\n';
  }
  return text;
}

std::string OptionsAsYaml(const MountOptions& options) {
  const auto number = [](const auto& value) {
    return value ? fmt::format("{}", *value) : std::string("null");
  };
  std::string text;
  const auto add = [&](const char* name, const std::string& value) {
    text += fmt::format("{}: {}\n", name, value);
  };
  add("version", YamlText(NDLFS_VERSION));
  add("pid", fmt::format("{}", ::getpid()));
  add("source", YamlText(options.source));
  add("mountpoint", YamlText(options.mountpoint));
  add("cache-size", fmt::format("{}", options.cache_size));
  add("cache-dir", YamlText(options.cache_dir));
  add("cache-dir-size", fmt::format("{}", options.cache_dir_size));
  add("decoded-cache", YamlText(options.decoded_cache));
  add("decoded-cache-size", fmt::format("{}", options.decoded_cache_size));
  add("threads", fmt::format("{}", options.threads));
  add("fetches", fmt::format("{}", options.fetches));
  add("timeout", NumberText(options.timeout_seconds));
  add("allow-other", options.allow_other ? "true" : "false");
  add("uid", number(options.uid));
  add("gid", number(options.gid));
  add("umask", options.umask ? fmt::format("\"{:04o}\"", *options.umask) : "null");
  add("revalidate", NumberText(options.revalidate_seconds));
  add("immutable", options.immutable ? "true" : "false");
  add("inode32", options.inode32 ? "true" : "false");
  add("detect", options.detection == backends::Detection::kName ? "name" : "content");
  add("max-chunk-size", fmt::format("{}", options.max_chunk_size));
  add("max-scan", fmt::format("{}", options.max_scan));
  add("zarr-chunks", options.passes_stored_chunks ? "stored" : "raw");
  add("as", options.as.empty() ? "null" : YamlText(options.as));
  add("block-cache", YamlText(options.remote.block_cache));
  add("block-cache-size", fmt::format("{}", options.remote.block_cache_size));
  add("ca-file", YamlText(options.remote.ca_file));
  add("token-file", YamlText(options.remote.token_file));
  add("endpoint", YamlText(ShownUrl(options.remote.endpoint)));
  add("region", YamlText(options.remote.region));
  add("no-sign-request", options.remote.signs_requests ? "false" : "true");
  add("requester-pays", options.remote.requester_pays ? "true" : "false");
  add("urls", YamlText(options.remote.urls_file));
  add("allow-urls", YamlText(options.remote.allow_urls_text));
  const std::string views = options.views.Text();
  add("views", views.empty() ? "null" : YamlText(views));
  add("log-file", YamlText(options.log_file));
  add("log-level", YamlText(options.log_level));
  add("foreground", options.foreground ? "true" : "false");
  return text;
}

}  // namespace ndlfs::fs
