// SPDX-License-Identifier: MIT
//
// How long reads at random places take.
//
//   bench_latency FILE THREADS READS SEED
//
// READS reads of 4096 bytes in each of THREADS threads, at multiples of 4096.
// Prints microseconds: the median, the 99th percentile and the longest.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

namespace {

constexpr size_t kSize = 4096;

bool ReadAtRandom(const char* path, size_t reads, unsigned seed, std::vector<double>& taken) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  struct ::stat status = {};
  if (fd < 0 || ::fstat(fd, &status) != 0 || status.st_size < static_cast<off_t>(kSize)) {
    return false;
  }
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<off_t> place(0, status.st_size / kSize - 1);
  std::vector<char> buffer(kSize);
  bool complete = true;
  for (size_t i = 0; i < reads; ++i) {
    const off_t offset = place(random) * static_cast<off_t>(kSize);
    const auto start = std::chrono::steady_clock::now();
    complete = ::pread(fd, buffer.data(), kSize, offset) == kSize && complete;
    const std::chrono::duration<double, std::micro> time =
        std::chrono::steady_clock::now() - start;
    taken.push_back(time.count());
  }
  ::close(fd);
  return complete;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: bench_latency FILE THREADS READS SEED\n");
    return 2;
  }
  const size_t threads = std::strtoul(argv[2], nullptr, 10);
  const size_t reads = std::strtoul(argv[3], nullptr, 10);
  const auto seed = static_cast<unsigned>(std::strtoul(argv[4], nullptr, 10));
  std::vector<std::vector<double>> taken(threads);
  std::vector<char> complete(threads);
  std::vector<std::thread> running;
  for (size_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      complete[i] = ReadAtRandom(argv[1], reads, seed + static_cast<unsigned>(i), taken[i]);
    });
  }
  for (std::thread& thread : running) thread.join();
  std::vector<double> all;
  for (const auto& part : taken) all.insert(all.end(), part.begin(), part.end());
  if (all.empty() || std::count(complete.begin(), complete.end(), 0) != 0) {
    std::fprintf(stderr, "bench_latency: a read failed\n");
    return 1;
  }
  std::sort(all.begin(), all.end());
  std::printf("%.1f %.1f %.1f\n", all[all.size() / 2], all[all.size() * 99 / 100], all.back());
  return 0;
}
