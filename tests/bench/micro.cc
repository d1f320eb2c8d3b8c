// SPDX-License-Identifier: MIT
//
// Micro-benchmarks of what reading spends its time with: decoding a chunk,
// copying a part of it to its place, and asking the cache for it; and writing
// and reading the document of a store with many arrays.
#include <benchmark/benchmark.h>
#include <blosc.h>
#include <libdeflate.h>
#include <zstd.h>

#include <cstring>
#include <random>

#include "backends/codec/gather.h"
#include "backends/codec/registry.h"
#include "backends/codec/unshuffle.h"
#include "cache/chunk_cache.h"
#include "cache/strided_copy.h"
#include "model/ndl/ndl_reader.h"
#include "model/ndl/ndl_writer.h"

namespace ndlfs {
namespace {

using backends::Bytes;
using backends::Json;

constexpr size_t kChunkBytes = size_t{4} << 20;
const std::vector<uint64_t> kChunkShape = {16, 256, 256};

// As models make them: smooth, with noise in the last bits that are kept.
Bytes Field() {
  Bytes bytes(kChunkBytes);
  std::mt19937 random(0);
  for (size_t i = 0; i < kChunkBytes / sizeof(float); ++i) {
    const float value = 280 + static_cast<float>(i / 65536) / 16 +
                        static_cast<float>(i % 256) / 32 +
                        static_cast<float>(random() % 16) / 64;
    std::memcpy(bytes.data() + i * sizeof(float), &value, sizeof(float));
  }
  return bytes;
}

Bytes Shrunk(Bytes bytes, size_t size) {
  bytes.Shrink(size);
  return bytes;
}

Bytes Encode(std::string_view codec, const Bytes& from) {
  Bytes out(2 * from.size());
  if (codec == "zstd") {
    return Shrunk(std::move(out),
                  ZSTD_compress(out.data(), out.size(), from.data(), from.size(), 3));
  }
  if (codec == "gzip") {
    libdeflate_compressor* const compressor = libdeflate_alloc_compressor(5);
    const size_t size =
        libdeflate_gzip_compress(compressor, from.data(), from.size(), out.data(), out.size());
    libdeflate_free_compressor(compressor);
    return Shrunk(std::move(out), size);
  }
  const int size = blosc_compress_ctx(5, BLOSC_SHUFFLE, sizeof(float), from.size(), from.data(),
                                      out.data(), out.size(), "lz4", 0, 1);
  return Shrunk(std::move(out), static_cast<size_t>(size));
}

void DecodeChunk(benchmark::State& state, const char* codec) {
  const std::string id = codec == std::string_view("lz4") ? "blosc" : codec;
  const auto dtype = model::Datatype::Float32();
  const auto chain =
      backends::MakeZarr2Chain(Json(), Json{{"id", id}}, false, dtype, kChunkShape);
  if (!chain) return state.SkipWithError(chain.error().message().c_str());
  const Bytes field = Field();
  const Bytes encoded = Encode(codec, field);
  Bytes decoded(kChunkBytes);
  backends::Scratch scratch;
  for (auto _ : state) {
    const auto result = chain->Decode(encoded.span(), kChunkShape, decoded.span(), scratch);
    if (!result) return state.SkipWithError(result.error().message().c_str());
    benchmark::DoNotOptimize(decoded.data());
  }
  if (std::memcmp(decoded.data(), field.data(), kChunkBytes) != 0)
    state.SkipWithError("differs");
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * kChunkBytes));
}
BENCHMARK_CAPTURE(DecodeChunk, zstd, "zstd");
BENCHMARK_CAPTURE(DecodeChunk, gzip, "gzip");
BENCHMARK_CAPTURE(DecodeChunk, blosc_lz4, "lz4");

void UnshuffleElements(benchmark::State& state) {
  const Bytes from = Field();
  Bytes to(kChunkBytes);
  for (auto _ : state) {
    backends::Unshuffle(from.span(), static_cast<size_t>(state.range(0)), to.data());
    benchmark::DoNotOptimize(to.data());
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * kChunkBytes));
}
BENCHMARK(UnshuffleElements)->Arg(2)->Arg(4)->Arg(8);

// Fortran order, of elements of the given size.
void TransposeChunk(benchmark::State& state) {
  const Bytes from = Field();
  Bytes to(kChunkBytes);
  const auto size = static_cast<size_t>(state.range(0));
  const std::vector<uint64_t> shape = {16, 256, kChunkBytes / size / 4096};
  const std::vector<uint64_t> strides = {1, 16, 4096};
  for (auto _ : state) {
    backends::GatherStrided(from.data(), strides, shape, size, to.data());
    benchmark::DoNotOptimize(to.data());
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * kChunkBytes));
}
BENCHMARK(TransposeChunk)->Arg(2)->Arg(4)->Arg(8);

// One plane of a chunk into rows four times as long: what a sequential reader
// gets, with rows of the given length.
void CopyPlane(benchmark::State& state) {
  const auto row = static_cast<size_t>(state.range(0));
  const size_t rows = (kChunkBytes / 16) / row;
  const Bytes from = Field();
  Bytes to(kChunkBytes);
  for (auto _ : state) {
    cache::CopyStrided(from.data(), to.data(), {{rows, row, 4 * row}}, row);
    benchmark::DoNotOptimize(to.data());
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * rows * row));
}
BENCHMARK(CopyPlane)->Arg(4)->Arg(64)->Arg(1024)->Arg(16384);

// Hits on 64 blocks by several threads at once.
void CacheHits(benchmark::State& state) {
  static cache::ChunkCache cache(uint64_t{64} << 20);
  const auto load = []() -> model::Result<Bytes> { return Bytes(4096); };
  std::mt19937 random(static_cast<unsigned>(state.thread_index()));
  for (auto _ : state) {
    benchmark::DoNotOptimize(cache.GetOrLoad({1, random() % 64}, 4096, 0, load));
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(CacheHits)->ThreadRange(1, 8)->UseRealTime();

// Of 64 blocks half fit.
void CacheMisses(benchmark::State& state) {
  static cache::ChunkCache cache(uint64_t{32} * 4096);
  const auto load = []() -> model::Result<Bytes> { return Bytes(4096); };
  std::mt19937 random(static_cast<unsigned>(state.thread_index()));
  for (auto _ : state) {
    benchmark::DoNotOptimize(cache.GetOrLoad({1, random() % 64}, 4096, 0, load));
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(CacheMisses)->ThreadRange(1, 8)->UseRealTime();

model::File ManyArrays(int64_t count) {
  model::File file;
  for (int64_t i = 0; i < count; ++i) {
    model::Ndarray array;
    array.name = fmt::format("variable_{:06}", i);
    array.type = model::Datatype::Float32();
    array.shape = std::vector<model::Dimension>(3, {100, ""});
    array.storage.chunk = {{10, 100, 100}};
    array.storage.filter = {{{"shuffle", {}}, {"zlib", {{"level", 5}}}}};
    array.storage.fillvalue = 9.96921e+36F;
    file.root.ndarrays.push_back(std::move(array));
  }
  return file;
}

void WriteDocument(benchmark::State& state) {
  const model::File file = ManyArrays(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(model::WriteFile(file));
}
BENCHMARK(WriteDocument)->Arg(1000)->Arg(100000)->Unit(benchmark::kMillisecond);

void ReadDocument(benchmark::State& state) {
  const std::string text = model::WriteFile(ManyArrays(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(model::ReadNdl(text, ""));
}
BENCHMARK(ReadDocument)->Arg(1000)->Arg(100000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ndlfs

BENCHMARK_MAIN();
