// SPDX-License-Identifier: MIT
//
// Containers that c-blosc makes, decoded without it.
#include <blosc.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "backends/codec/stream/blosc_stream.h"

namespace ndlfs::backends {
namespace {

struct Settings {
  const char* compressor = "lz4";
  int shuffle = BLOSC_SHUFFLE;
  size_t element_size = 4;
  size_t block_size = 0;  // chosen by the library
  int level = 5;

  std::string Text() const {
    return fmt::format("{}, shuffle {}, elements of {}, blocks of {}", compressor, shuffle,
                       element_size, block_size);
  }
};

// Numbers that grow slowly, with noise in their lowest bits.
std::string Values(size_t size) {
  std::mt19937 random(1);
  std::string values(size, '\0');
  for (size_t i = 0; i + 4 <= size; i += 4) {
    const uint32_t value = static_cast<uint32_t>(i * 13) ^ (random() & 7);
    std::memcpy(&values[i], &value, 4);
  }
  return values;
}

std::string Compress(const std::string& values, const Settings& settings) {
  std::string container(values.size() + BLOSC_MAX_OVERHEAD, '\0');
  const int size = blosc_compress_ctx(
      settings.level, settings.shuffle, settings.element_size, values.size(), values.data(),
      container.data(), container.size(), settings.compressor, settings.block_size, 1);
  EXPECT_GT(size, 0);
  container.resize(static_cast<size_t>(size));
  return container;
}

// nullopt if the container is left to the library.
std::optional<std::string> Decode(const std::string& container, size_t size) {
  std::string decoded(size, '?');
  const bool done =
      DecodeBloscBlocks(AsBytes(container), std::as_writable_bytes(std::span(decoded)));
  return done ? std::optional(decoded) : std::nullopt;
}

std::optional<std::string> DecodeWithLibrary(const std::string& container, size_t size) {
  std::string decoded(size, '?');
  const int found = blosc_decompress_ctx(container.data(), decoded.data(), size, 1);
  return found == static_cast<int>(size) ? std::optional(decoded) : std::nullopt;
}

TEST(BloscBlocksTest, GivesBackWhatTheLibraryCompressed) {
  int decoded = 0;
  for (const char* compressor : {"lz4", "lz4hc", "zstd"}) {
    for (const int shuffle : {BLOSC_NOSHUFFLE, BLOSC_SHUFFLE}) {
      for (const size_t element_size : {1, 2, 3, 4, 8, 12, 16, 17, 200}) {
        for (const size_t block_size : {0, 1024, 5000, 65536}) {
          for (const size_t size : {1030, 65536, 100'003}) {
            const Settings settings = {compressor, shuffle, element_size, block_size};
            const std::string values = Values(size);
            const std::string container = Compress(values, settings);
            if ((container[2] & BLOSC_MEMCPYED) != 0) continue;
            EXPECT_TRUE(Decode(container, size) == values) << settings.Text() << ", " << size;
            ++decoded;
          }
        }
      }
    }
  }
  EXPECT_GT(decoded, 300);
}

TEST(BloscBlocksTest, StreamsThatDoNotCompressAreStored) {
  std::mt19937_64 random(1);
  std::string values(65536, '\0');
  for (size_t i = 0; i < values.size(); i += 8) {
    const uint64_t value = random() & 0xffff'ffff'ffff;  // two bytes of each eight are zeros
    std::memcpy(&values[i], &value, 8);
  }
  const std::string container = Compress(values, {.element_size = 8});
  ASSERT_EQ(container[2] & BLOSC_MEMCPYED, 0);
  EXPECT_TRUE(Decode(container, values.size()) == values);
}

TEST(BloscBlocksTest, LeavesOtherKindsToTheLibrary) {
  const std::string values = Values(10'000);
  for (const Settings& settings :
       {Settings{.compressor = "blosclz"}, Settings{.compressor = "zlib"},
        Settings{.shuffle = BLOSC_BITSHUFFLE}, Settings{.level = 0}}) {
    EXPECT_EQ(Decode(Compress(values, settings), values.size()), std::nullopt)
        << settings.Text();
  }
  std::string later = Compress(values, {});
  later[0] = 3;
  EXPECT_EQ(Decode(later, values.size()), std::nullopt);
  EXPECT_EQ(Decode("", 0), std::nullopt);
}

// Wrong bytes within a stream may decode to wrong elements, but to the same ones.
TEST(BloscBlocksTest, DecodesNoDamagedContainerThatTheLibraryRefuses) {
  for (const char* compressor : {"lz4", "zstd"}) {
    const std::string values = Values(3000);
    const std::string sound = Compress(values, {.compressor = compressor, .block_size = 1024});
    ASSERT_TRUE(Decode(sound, values.size()) == values);
    int refused = 0;
    for (size_t at = 0; at < sound.size(); ++at) {
      const bool is_size = (at >= 4 && at < 8) || (at >= 12 && at < 16);
      if (is_size) continue;  // the caller has compared these
      for (const int change : {1, 0x10, 0x80, 0xff}) {
        std::string container = sound;
        container[at] = static_cast<char>(container[at] ^ change);
        const auto decoded = Decode(container, values.size());
        refused += !decoded;
        if (!decoded) continue;
        EXPECT_TRUE(decoded == DecodeWithLibrary(container, values.size()))
            << compressor << ", byte " << at << " changed by " << change;
      }
    }
    EXPECT_GT(refused, 50);
  }
}

TEST(BloscBlocksTest, ContainersThatAreCutShortAreNotDecoded) {
  const std::string values = Values(3000);
  const std::string sound = Compress(values, {.block_size = 1024});
  for (size_t size = 0; size < sound.size(); ++size) {
    // In memory of its own, so that a sanitizer notices what lies beyond.
    const std::string container(sound, 0, size);
    EXPECT_EQ(Decode(container, values.size()), std::nullopt) << size;
  }
}

}  // namespace
}  // namespace ndlfs::backends
