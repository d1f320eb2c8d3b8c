// SPDX-License-Identifier: MIT
//
// Icechunk repositories, made by icechunk_files.h.
#include "backends/format/icechunk/icechunk.h"

#include <flatbuffers/flexbuffers.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zdict.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/detection.h"
#include "backends/format/icechunk/manifest.h"
#include "backends/format/icechunk/metadata_file.h"
#include "backends/format/icechunk/object_id.h"
#include "backends/format/icechunk/ref.h"
#include "backends/format/icechunk/snapshot.h"
#include "backends/format/versioned.h"
#include "backends/store/forwarding_source.h"
#include "backends/store/url_opener.h"
#include "tests/support/icechunk_files.h"
#include "tests/support/little_endian.h"
#include "tests/support/memory_source.h"
#include "tests/support/memory_store.h"
#include "tests/support/read_array.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using icechunk::ObjectId;
using icechunk::Ref;
using model::ErrorCode;
using test::IcechunkArrayJson;
using test::IcechunkChunk;
using test::IcechunkFile;
using test::IcechunkIdText;
using test::IcechunkKind;
using test::IcechunkManifest;
using test::IcechunkNode;
using test::IcechunkRepo;
using test::IcechunkRepoPayload;
using test::IcechunkSnapshot;
using test::IsError;
using test::IsOk;
using test::IsOkAnd;
using test::kIcechunkGroup;
using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Numbers(std::initializer_list<int32_t> numbers) {
  std::string bytes;
  for (const int32_t number : numbers) {
    bytes += test::LittleEndian(static_cast<uint32_t>(number), 4);
  }
  return bytes;
}

// Also tells where URLs lead: "https://example.org/K" is the key K of a store in memory.
class SourceWithUrls final : public ForwardingSource, public UrlOpener {
 public:
  explicit SourceWithUrls(std::shared_ptr<const Source> source)
      : ForwardingSource(std::move(source)) {}
  model::Result<StoreKey> FindUrl(std::string_view url) const override {
    constexpr std::string_view kTop = "https://example.org/";
    if (!url.starts_with(kTop)) return model::Unsupported("{} is not allowed", url);
    return StoreKey{store, std::string(url.substr(kTop.size()))};
  }
  const std::shared_ptr<test::MemoryStore> store = std::make_shared<test::MemoryStore>();
};

// A repository in the folder "r" with the array "a" of 4 chunks of 2 elements.
class IcechunkTest : public ::testing::Test {
 protected:
  void PutRepo(const IcechunkRepo& repo) {
    source_->Put("r/repo", IcechunkFile(IcechunkKind::kRepo, IcechunkRepoPayload(repo)));
  }
  void PutSnapshot(uint8_t id, const std::vector<IcechunkNode>& nodes) {
    source_->Put("r/snapshots/" + IcechunkIdText(id),
                 IcechunkFile(IcechunkKind::kSnapshot, IcechunkSnapshot(id, nodes)));
  }
  void PutManifest(uint8_t id, const std::vector<IcechunkChunk>& chunks,
                   const std::string& dictionary = {}) {
    source_->Put(
        "r/manifests/" + IcechunkIdText(id),
        IcechunkFile(IcechunkKind::kManifest, IcechunkManifest(id, {{2, chunks}}, dictionary)));
  }
  void PutChunk(uint8_t id, const std::string& bytes) {
    source_->Put("r/chunks/" + IcechunkIdText(id), bytes);
  }
  static std::vector<IcechunkNode> Nodes(std::vector<test::IcechunkManifestRef> manifests) {
    return {{"/", kIcechunkGroup, 1},
            {"/a", IcechunkArrayJson("[8]", "[2]"), 2, true, std::move(manifests)}};
  }
  // With one manifest of all chunks.
  void PutArray(const std::vector<IcechunkChunk>& chunks, const std::string& dictionary = {}) {
    PutRepo({.snapshots = {{1}}});
    PutSnapshot(1, Nodes({{20, {{0, 4}}}}));
    PutManifest(20, chunks, dictionary);
  }
  model::Result<std::shared_ptr<const Hierarchy>> Open(const std::string& ref = {}) {
    return OpenDetected(IcechunkFormat(), with_urls_, "r", {.ref = ref});
  }
  model::Result<std::string> Read(const std::string& ref = {}) {
    NDLFS_TRY(const auto hierarchy, Open(ref));
    return ReadArray(*hierarchy);
  }
  static model::Result<std::string> ReadArray(const Hierarchy& hierarchy) {
    NDLFS_TRY(const auto node, hierarchy.Load("/a"));
    if (node->error) return model::Propagate(*node->error);
    return test::ReadByChunks(*node->source);
  }

  const std::shared_ptr<test::MemorySource> source_ = test::MemorySource::Make();
  const std::shared_ptr<SourceWithUrls> with_urls_ = std::make_shared<SourceWithUrls>(source_);
};

TEST(IcechunkIdTest, IsBase32OfCrockford) {
  const ObjectId id = {0x0b, 0x1c, 0xc8, 0xd6, 0x78, 0x75, 0x80, 0xf0, 0xe3, 0x3a, 0x65, 0x34};
  EXPECT_EQ(icechunk::IdText(id), "1CECHNKREP0F1RSTCMT0");
  EXPECT_THAT(icechunk::ParseId("1CECHNKREP0F1RSTCMT0"), IsOkAnd(id));
}

TEST(IcechunkIdTest, RefusesOtherTexts) {
  for (const char* text :
       {"", "1CECHNKREP0F1RSTCMT", "1CECHNKREP0F1RSTCMT00", "1cechnkrep0f1rstcmt0",
        "1CECHNKREP0F1RSTCMTU", "1CECHNKREP0F1RSTCMT1", "../../../../etc/pass"}) {
    EXPECT_THAT(icechunk::ParseId(text), IsError(ErrorCode::kBadInput, HasSubstr("no id")));
  }
}

TEST(IcechunkRefTest, KnowsFourKinds) {
  EXPECT_EQ(icechunk::ParseRef("")->name, "main");
  EXPECT_EQ(icechunk::ParseRef("tag=a=b")->name, "a=b");
  EXPECT_EQ(icechunk::ParseRef("at=1970-01-02T00:00:01.5Z")->at_us, 86'401'500'000);
  EXPECT_EQ(icechunk::ParseRef("at=1970-01-01")->at_us, 86'400'000'000 - 1);
  EXPECT_EQ(icechunk::ParseRef("at=1970-01-01")->history().ToOption(), "branch=main");
  EXPECT_EQ(icechunk::ParseRef("at=1970-01-01,tag=a,b")->history().ToOption(), "tag=a,b");
  EXPECT_EQ(icechunk::ParseRef("at=1970-01-01,tag=a")->ToOption(), "at=1970-01-01,tag=a");
  for (const char* text : {"at=1970-01-01,at=1970-01-01", "at=1970-01-01,x", "at=x,tag=a"}) {
    EXPECT_THAT(icechunk::ParseRef(text), IsError(ErrorCode::kBadInput, _)) << text;
  }
  for (const char* text : {"v1", "tag=", "=v1", "at=yesterday", "at=2026-13-01",
                           "at=2026-05-01T25:00", "snapshot=x", "commit=x"}) {
    EXPECT_THAT(icechunk::ParseRef(text), IsError(ErrorCode::kBadInput, _)) << text;
  }
  EXPECT_EQ(icechunk::TimeText(1'740'000'000'012'345), "2025-02-19T21:20:00.012345Z");
}

TEST(IcechunkContainerTest, RefusesWhatItDoesNotKnow) {
  const std::string payload = IcechunkRepoPayload({.snapshots = {{1}}});
  const std::string sound = IcechunkFile(IcechunkKind::kRepo, payload);
  const auto read = [](const std::string& file, uint64_t limit = 1 << 20) {
    return icechunk::ReadPayload(AsBytes(file), icechunk::FileKind::kRepo, limit);
  };
  EXPECT_THAT(read(sound), IsOk());
  EXPECT_THAT(read(sound.substr(0, 30)), IsError(ErrorCode::kCorrupt, _));
  EXPECT_THAT(read("x" + sound), IsError(ErrorCode::kBadInput, _));
  EXPECT_THAT(read(IcechunkFile(IcechunkKind::kRepo, payload, 3)),
              IsError(ErrorCode::kUnsupported, HasSubstr("version 3")));
  EXPECT_THAT(read(IcechunkFile(IcechunkKind::kManifest, payload)),
              IsError(ErrorCode::kBadInput, HasSubstr("kind 2")));
  EXPECT_THAT(read(sound, 10), IsError(ErrorCode::kLimit, _));
  EXPECT_THAT(read(sound.substr(0, sound.size() - 3)), IsError(ErrorCode::kCorrupt, _));
  // A bomb that tells its size.
  const std::string bomb =
      IcechunkFile(IcechunkKind::kRepo, std::string(size_t{8} << 20, '\0'));
  EXPECT_THAT(read(bomb), IsError(ErrorCode::kLimit, _));
}

TEST_F(IcechunkTest, ReadsChunksOfAllKinds) {
  with_urls_->store->Put("file", "????" + Numbers({5, 6}) + "?");
  PutChunk(30, "??" + Numbers({1, 2}) + "???");
  PutArray({{.index = {0}, .chunk_id = 30, .offset = 2, .length = 8},
            {.index = {1}, .inline_data = Numbers({3, 4})},
            {.index = {2},
             .location = "https://example.org/file",
             .offset = 4,
             .length = 8,
             .last_modified = 4'000'000'000}});
  EXPECT_THAT(Read(), IsOkAnd(Numbers({1, 2, 3, 4, 5, 6, 7, 7})));
}

TEST_F(IcechunkTest, TellsTheStoreAndTheRangeOfAChunk) {
  PutChunk(30, "??" + Numbers({1, 2}));
  PutArray({{.index = {0}, .chunk_id = 30, .offset = 2, .length = 8}});
  const auto hierarchy = Open();
  ASSERT_THAT(hierarchy, IsOk());
  const auto node = (*hierarchy)->Load("/a");
  ASSERT_THAT(node, IsOk());
  test::PlainIndexCache indexes;
  const auto location = (*node)->source->Locate(std::vector<uint64_t>{0}, indexes);
  ASSERT_THAT(location, IsOk());
  EXPECT_EQ(location->key, "chunks/" + IcechunkIdText(30));
  EXPECT_EQ(location->pieces[0].offset, 2u);
  EXPECT_EQ(location->pieces[0].length, 8u);
  EXPECT_TRUE(location->must_exist);
  EXPECT_TRUE(location->never_changes);
  EXPECT_TRUE((*node)->source->Locate(std::vector<uint64_t>{1}, indexes)->absent());
}

TEST_F(IcechunkTest, ReadsAManifestOnceAndOnlyForChunks) {
  PutChunk(30, Numbers({1, 2}));
  PutArray({{.index = {0}, .chunk_id = 30, .length = 8}, {.index = {1}, .inline_data = "x"}});
  source_->ForgetReads();
  const auto hierarchy = Open();
  ASSERT_THAT(hierarchy, IsOk());
  EXPECT_THAT((*hierarchy)->List("/"), IsOkAnd(ElementsAre("a")));
  const auto node = (*hierarchy)->Load("/a");
  const auto paths = [&] {
    std::vector<std::string> read;
    for (const auto& part : source_->reads()) read.push_back(part.path);
    return read;
  };
  EXPECT_THAT(paths(), ElementsAre("r/repo", "r/snapshots/" + IcechunkIdText(1)));
  source_->ForgetReads();
  test::PlainIndexCache indexes;
  for (const uint64_t chunk : {0, 1, 2, 0}) {
    EXPECT_THAT((*node)->source->Locate(std::vector<uint64_t>{chunk}, indexes), IsOk());
  }
  EXPECT_THAT(paths(), ElementsAre("r/manifests/" + IcechunkIdText(20)));
}

TEST_F(IcechunkTest, FindsTheManifestByItsExtents) {
  PutRepo({.snapshots = {{1}}});
  PutSnapshot(1, Nodes({{22, {{3, 4}}}, {20, {{0, 1}}}, {21, {{1, 3}}}}));
  PutManifest(20, {{.index = {0}, .inline_data = Numbers({1, 2})}});
  PutManifest(21, {{.index = {1}, .inline_data = Numbers({3, 4})},
                   {.index = {2}, .inline_data = Numbers({5, 6})}});
  PutManifest(22, {});
  EXPECT_THAT(Read(), IsOkAnd(Numbers({1, 2, 3, 4, 5, 6, 7, 7})));
}

TEST_F(IcechunkTest, RefusesManifestsThatOverlap) {
  PutRepo({.snapshots = {{1}}});
  PutSnapshot(1, Nodes({{20, {{0, 3}}}, {21, {{1, 4}}}}));
  PutManifest(20, {});
  PutManifest(21, {});
  EXPECT_THAT(Read(), IsError(ErrorCode::kCorrupt, HasSubstr("two manifests")));
}

TEST_F(IcechunkTest, RefusesExtentsOfAnotherRank) {
  PutRepo({.snapshots = {{1}}});
  PutSnapshot(1, Nodes({{20, {{0, 3}, {0, 1}}}}));
  EXPECT_THAT(Read(), IsError(ErrorCode::kCorrupt, HasSubstr("2 dimensions")));
}

TEST_F(IcechunkTest, TakesChunksOfNoBytesForAbsent) {
  PutArray({{.index = {0}, .location = "https://elsewhere.example/file"}});
  EXPECT_THAT(Read(), IsOkAnd(Numbers({7, 7, 7, 7, 7, 7, 7, 7})));
}

TEST_F(IcechunkTest, RefusesReferencesThatAreNotSorted) {
  PutArray({{.index = {1}, .inline_data = Numbers({1, 2})},
            {.index = {0}, .inline_data = Numbers({3, 4})}});
  EXPECT_THAT(Read(), IsError(ErrorCode::kCorrupt, HasSubstr("not sorted")));
}

TEST_F(IcechunkTest, RefusesReferencesWithTwoPlacesAndWithNone) {
  PutArray({{.index = {0}, .inline_data = "", .chunk_id = 30}});
  EXPECT_THAT(Read(), IsError(ErrorCode::kCorrupt, HasSubstr("2 places")));
  PutArray({{.index = {0}, .length = 8}});
  EXPECT_THAT(Read(), IsError(ErrorCode::kCorrupt, HasSubstr("0 places")));
}

TEST_F(IcechunkTest, DoesNotTakeALostChunkForAbsent) {
  PutArray({{.index = {0}, .chunk_id = 30, .length = 8}});
  const auto hierarchy = Open();
  ASSERT_THAT(hierarchy, IsOk());
  const auto node = (*hierarchy)->Load("/a");
  ASSERT_THAT(node, IsOk());
  test::PlainIndexCache indexes;
  const auto location = (*node)->source->Locate(std::vector<uint64_t>{0}, indexes);
  ASSERT_THAT(location, IsOk());
  EXPECT_TRUE(location->must_exist);
}

TEST_F(IcechunkTest, RefusesAnotherManifestThanTheNameSays) {
  PutArray({});
  source_->Put("r/manifests/" + IcechunkIdText(20),
               IcechunkFile(IcechunkKind::kManifest, IcechunkManifest(21, {})));
  EXPECT_THAT(Read(), IsError(ErrorCode::kCorrupt, HasSubstr("another manifest")));
}

TEST_F(IcechunkTest, ReadsLocationsThatAreCompressed) {
  const std::string url = "https://example.org/file";
  std::string frame(ZSTD_compressBound(url.size()), '\0');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), url.data(), url.size(), 1));
  with_urls_->store->Put("file", Numbers({5, 6}));
  PutArray({{.index = {0}, .compressed_location = frame, .length = 8}});
  EXPECT_THAT(Read(), IsOkAnd(Numbers({5, 6, 7, 7, 7, 7, 7, 7})));
  PutArray({{.index = {0}, .compressed_location = "no frame", .length = 8}});
  EXPECT_THAT(Read(), IsError(ErrorCode::kCorrupt, HasSubstr("zstd")));
}

// As version 2.1 writes locations.
TEST_F(IcechunkTest, ReadsLocationsWithADictionary) {
  std::string samples;
  std::vector<size_t> sizes;
  const auto url_of = [](int i) {
    return "https://example.org/archive/of/observations/file-" + std::to_string(i) + ".grib2";
  };
  for (int i = 0; i < 2000; ++i) {
    const std::string url = url_of(i);
    samples += url;
    sizes.push_back(url.size());
  }
  std::string dictionary(4096, '\0');
  const size_t size =
      ZDICT_trainFromBuffer(dictionary.data(), dictionary.size(), samples.data(), sizes.data(),
                            static_cast<unsigned>(sizes.size()));
  ASSERT_FALSE(ZDICT_isError(size)) << ZDICT_getErrorName(size);
  dictionary.resize(size);
  const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(),
                                                                   &ZSTD_freeCCtx);
  const auto compressed = [&](const std::string& url) {
    std::string frame(ZSTD_compressBound(url.size()), '\0');
    frame.resize(ZSTD_compress_usingDict(context.get(), frame.data(), frame.size(), url.data(),
                                         url.size(), dictionary.data(), dictionary.size(), 3));
    return frame;
  };
  with_urls_->store->Put("archive/of/observations/file-7.grib2", "??" + Numbers({5, 6}));
  with_urls_->store->Put("archive/of/observations/file-8.grib2", Numbers({8, 9}));
  const std::vector<IcechunkChunk> chunks = {
      {.index = {0}, .compressed_location = compressed(url_of(7)), .offset = 2, .length = 8},
      {.index = {1}, .location = url_of(8), .length = 8},
      {.index = {2}, .compressed_location = compressed(url_of(8)), .length = 8}};
  EXPECT_LT(chunks[0].compressed_location.size(), url_of(7).size() / 2);
  PutArray(chunks, dictionary);
  EXPECT_THAT(Read(), IsOkAnd(Numbers({5, 6, 8, 9, 8, 9, 7, 7})));
  PutArray(chunks);
  EXPECT_THAT(Read(), IsError(ErrorCode::kCorrupt, HasSubstr("zstd"))) << "no dictionary";
  PutArray(chunks, dictionary.substr(0, 200));
  EXPECT_THAT(Read(), IsError(ErrorCode::kCorrupt, HasSubstr("zstd"))) << "damaged";
}

TEST_F(IcechunkTest, KeepsManifestsWithinTheBudgetForAllStores) {
  PutArray({{.index = {0}, .inline_data = Numbers({1, 2})}});
  test::PlainIndexCache indexes;
  source_->ForgetReads();
  for (int i = 0; i < 2; ++i) {
    const auto hierarchy = Open();
    ASSERT_THAT(hierarchy, IsOk());
    const uint64_t held = (*hierarchy)->held_bytes();
    const auto node = (*hierarchy)->Load("/a");
    EXPECT_THAT((*node)->source->Locate(std::vector<uint64_t>{0}, indexes), IsOk());
    EXPECT_LT((*hierarchy)->held_bytes(), held + 100) << "not by the store";
  }
  EXPECT_EQ(indexes.size(), 1u);
  EXPECT_GT(indexes.weight(), 50u);
  EXPECT_EQ(std::ranges::count(source_->reads(), "r/manifests/" + IcechunkIdText(20),
                               &test::MemorySource::Read::path),
            1);
}

// A list and a log of them end after a number, and are made by one reading of the file.
TEST_F(IcechunkTest, BoundsVeryManySnapshots) {
  constexpr uint32_t kSnapshots = 110'000;
  flatbuffers::FlatBufferBuilder b;
  const auto message = b.CreateString("m");
  std::vector<flatbuffers::Offset<icechunk::fb::SnapshotInfo>> infos;
  for (uint32_t i = 0; i < kSnapshots; ++i) {
    ObjectId bytes = {0x10, static_cast<uint8_t>(i >> 16), static_cast<uint8_t>(i >> 8),
                      static_cast<uint8_t>(i)};
    if (i == 0) bytes = test::IcechunkId(1);
    if (i == kSnapshots - 1) bytes = test::IcechunkId(2);
    const icechunk::fb::ObjectId12 id(bytes);
    infos.push_back(icechunk::fb::CreateSnapshotInfo(b, &id, static_cast<int32_t>(i) - 1,
                                                     uint64_t{1'000'000} * i, message));
  }
  const auto ref = [&](const char* name, uint32_t index) {
    return icechunk::fb::CreateRef(b, b.CreateString(name), index);
  };
  const auto snapshots = b.CreateVector(infos);
  const auto branches =
      b.CreateVector(std::vector{ref("first", 0), ref("main", kSnapshots - 1)});
  const auto tags = b.CreateVector(std::vector{ref("t", kSnapshots - 5)});
  const auto deleted = b.CreateVectorOfStrings(std::vector<std::string>{});
  const auto status = icechunk::fb::CreateRepoStatus(b);
  b.Finish(icechunk::fb::CreateRepo(b, 2, tags, branches, deleted, snapshots, status));
  source_->Put("r/repo", IcechunkFile(IcechunkKind::kRepo, test::TextOfBuilder(b)));
  for (const uint8_t id : {1, 2}) PutSnapshot(id, Nodes({{20, {{0, 4}}}}));
  PutManifest(20, {{.index = {0}, .inline_data = Numbers({1, 2})}});
  EXPECT_THAT(Read(), IsOkAnd(Numbers({1, 2, 7, 7, 7, 7, 7, 7})));
  EXPECT_THAT(Read("at=1970-01-01T00:00:00"), IsOk()) << "at the other end of the history";
  EXPECT_THAT(Open("tag=t"), IsError(ErrorCode::kCorrupt, HasSubstr("may have expired")));
  source_->ForgetReads();
  const auto opened = Open();
  const auto& versioned = dynamic_cast<const Versioned&>(**opened);
  EXPECT_EQ(versioned.Names()->snapshots.size(), 10'000u);
  EXPECT_THAT(versioned.Log(), IsOkAnd(HasSubstr("... and older ones")));
  const auto reads_of_repo =
      std::ranges::count(source_->reads(), "r/repo", &test::MemorySource::Read::path);
  EXPECT_LE(reads_of_repo, 5);
}

TEST_F(IcechunkTest, ChecksVirtualFiles) {
  with_urls_->store->Put("file", Numbers({5, 6}));
  PutArray(
      {{.index = {0}, .location = "https://example.org/file", .length = 8, .etag = "\"abc\""}});
  EXPECT_THAT(Read(), IsError(ErrorCode::kUnsupported, HasSubstr("no ETag")));
  PutArray({{.index = {0},
             .location = "https://example.org/gone",
             .length = 8,
             .last_modified = 1}});
  EXPECT_THAT(Read(), IsError(ErrorCode::kCorrupt, HasSubstr("not there")));
  PutArray({{.index = {0},
             .location = "https://example.org/file",
             .length = 8,
             .last_modified = 1}});
  EXPECT_THAT(Read(), IsError(ErrorCode::kCorrupt,
                              HasSubstr("the repository has noted 1970-01-01T00:00:01")));
}

TEST_F(IcechunkTest, ShowsTheFirstSnapshotAsAnEmptyGroup) {
  PutRepo({.snapshots = {{1}}});
  PutSnapshot(1, {});
  const auto hierarchy = Open();
  ASSERT_THAT(hierarchy, IsOk());
  EXPECT_THAT((*hierarchy)->List("/"), IsOkAnd(IsEmpty()));
  EXPECT_TRUE((*hierarchy)->Load("/").value()->is_group());
}

TEST_F(IcechunkTest, NamesThePrefixToAllow) {
  PutArray({{.index = {0}, .location = "s3://bucket/folder/file%20name", .length = 8}});
  EXPECT_THAT(Read(), IsError(ErrorCode::kUnsupported,
                              AllOf(HasSubstr("s3://bucket/folder/file name is not allowed"),
                                    HasSubstr("--allow-urls s3://bucket/folder/ allows it"))));
}

TEST_F(IcechunkTest, KeepsFilesInTheTree) {
  source_->Put("data/file", Numbers({5, 6}));
  PutArray(
      {{.index = {0}, .location = "file://" + source_->name() + "/data/file", .length = 8}});
  EXPECT_THAT(Read(), IsOkAnd(Numbers({5, 6, 7, 7, 7, 7, 7, 7})));
  PutArray({{.index = {0}, .location = "file:///etc/passwd", .length = 8}});
  EXPECT_THAT(Read(), IsError(ErrorCode::kUnsupported, HasSubstr("outside the source tree")));
}

// The configuration of a repository with these containers: names and URLs.
std::string Config(const std::vector<std::pair<std::string, std::string>>& containers) {
  flexbuffers::Builder builder;
  builder.Map([&] {
    builder.Map("virtual_chunk_containers", [&] {
      for (const auto& container : containers) {
        builder.Map(container.first.c_str(), [&] {
          builder.String("name", container.first);
          if (!container.second.empty()) builder.String("url_prefix", container.second);
        });
      }
    });
  });
  builder.Finish();
  return {builder.GetBuffer().begin(), builder.GetBuffer().end()};
}

TEST_F(IcechunkTest, ExpandsContainers) {
  with_urls_->store->Put("d/file", Numbers({5, 6}));
  PutArray({{.index = {0}, .location = "vcc://data/file", .length = 8}});
  const auto config = [&](const std::string& text) {
    PutRepo({.snapshots = {{1}}, .config = text});
  };
  config(Config({{"data", "https://example.org/d/"}}));
  EXPECT_THAT(Read(), IsOkAnd(Numbers({5, 6, 7, 7, 7, 7, 7, 7})));
  config(Config({{"other", "https://example.org/d/"}}));
  EXPECT_THAT(Read(), IsError(ErrorCode::kBadInput, HasSubstr("no virtual chunk container")));
  config(Config({{"data", ""}}));
  EXPECT_THAT(Read(), IsError(ErrorCode::kBadInput, HasSubstr("has no URL")));
  config(std::string(40, '\xff'));
  EXPECT_THAT(Read(), IsError(ErrorCode::kBadInput, HasSubstr("no virtual chunk container")));
}

// Snapshots 1, 2 and 3, one after the other; the array has the number of the snapshot.
class VersionsTest : public IcechunkTest {
 protected:
  VersionsTest() {
    for (const uint8_t number : {1, 2, 3}) {
      PutSnapshot(number, Nodes({{static_cast<uint8_t>(20 + number), {{0, 4}}}}));
      PutManifest(static_cast<uint8_t>(20 + number),
                  {{.index = {0}, .inline_data = Numbers({number, number})}});
    }
    PutRepo(repo_);
  }
  static std::string Version(int32_t number) {
    return Numbers({number, number, 7, 7, 7, 7, 7, 7});
  }
  IcechunkRepo repo_ = {.snapshots = {{1, -1, 1'000'000}, {2, 0, 2'000'000}, {3, 1, 3'000'000}},
                        .branches = {{"main", 2}, {"old", 0}},
                        .tags = {{"v2", 1}, {"lost", 9}},
                        .deleted_tags = {"gone"}};
};

TEST_F(VersionsTest, OpensEachRef) {
  EXPECT_THAT(Read(), IsOkAnd(Version(3)));
  EXPECT_THAT(Read("branch=old"), IsOkAnd(Version(1)));
  EXPECT_THAT(Read("tag=v2"), IsOkAnd(Version(2)));
  EXPECT_THAT(Read("snapshot=" + IcechunkIdText(1)), IsOkAnd(Version(1)));
  EXPECT_THAT(Read("at=1970-01-01T00:00:02.5"), IsOkAnd(Version(2)));
  EXPECT_THAT(Read("at=1970-01-01T00:00:02"), IsOkAnd(Version(2)));
}

TEST_F(VersionsTest, SaysWhatIsNotThere) {
  EXPECT_THAT(Open("branch=x"), IsError(ErrorCode::kNotFound, HasSubstr("no branch \"x\"")));
  EXPECT_THAT(Open("tag=gone"), IsError(ErrorCode::kNotFound, HasSubstr("was deleted")));
  EXPECT_THAT(Open("tag=lost"), IsError(ErrorCode::kCorrupt, HasSubstr("number 9")));
  EXPECT_THAT(Open("snapshot=" + IcechunkIdText(9)),
              IsError(ErrorCode::kNotFound, HasSubstr("may have expired")));
  EXPECT_THAT(Open("at=1970-01-01T00:00:00"), IsError(ErrorCode::kNotFound, _));
  source_->Remove("r/snapshots/" + IcechunkIdText(1));
  EXPECT_THAT(Open("branch=old"), IsError(ErrorCode::kCorrupt, HasSubstr("may have expired")));
}

TEST_F(VersionsTest, RefusesCyclesOfParents) {
  repo_.snapshots[0].parent = 2;
  PutRepo(repo_);
  EXPECT_THAT(Open("at=1970-01-01T00:00:00"),
              IsError(ErrorCode::kCorrupt, HasSubstr("its own ancestor")));
  repo_.snapshots[0].parent = -2;
  PutRepo(repo_);
  EXPECT_THAT(Open("at=1970-01-01T00:00:00"), IsError(ErrorCode::kCorrupt, _));
}

TEST_F(VersionsTest, WritesTheLog) {
  repo_.tags = {{"v2", 1}};
  PutRepo(repo_);
  const auto hierarchy = Open("tag=v2");
  ASSERT_THAT(hierarchy, IsOk());
  const auto* versioned = dynamic_cast<const Versioned*>(hierarchy->get());
  ASSERT_NE(versioned, nullptr);
  EXPECT_THAT(versioned->Log(),
              IsOkAnd("branch main -> " + IcechunkIdText(3) + "\nbranch old -> " +
                      IcechunkIdText(1) + "\ntag v2 -> " + IcechunkIdText(2) + "\n\n" +
                      IcechunkIdText(2) + " 1970-01-01T00:00:02.000000Z snapshot 2\n" +
                      IcechunkIdText(1) + " 1970-01-01T00:00:01.000000Z snapshot 1\n"));
  const auto names = versioned->Names();
  ASSERT_THAT(names, IsOk());
  EXPECT_THAT(names->branches, ElementsAre("main", "old"));
  EXPECT_THAT(names->tags, ElementsAre("v2"));
  EXPECT_THAT(names->snapshots,
              ElementsAre(IcechunkIdText(2), IcechunkIdText(1), IcechunkIdText(3)));
}

TEST_F(VersionsTest, TellsWhetherThereIsAVersion) {
  const auto hierarchy = Open();
  ASSERT_THAT(hierarchy, IsOk());
  const auto& versioned = dynamic_cast<const Versioned&>(**hierarchy);
  for (const std::string ref : {"branch=main", "tag=v2", "at=1970-01-02"}) {
    EXPECT_THAT(versioned.Check(ref), IsOk()) << ref;
  }
  EXPECT_THAT(versioned.Check("snapshot=" + IcechunkIdText(1)), IsOk());
  for (const char* ref : {"branch=x", "tag=x", "snapshot=x", "at=x", "at=1969-01-01", "x"}) {
    EXPECT_THAT(versioned.Check(ref), IsError(ErrorCode::kNotFound, _)) << ref;
  }
  EXPECT_THAT(versioned.Check("tag=gone"),
              IsError(ErrorCode::kBadInput, HasSubstr("was deleted")));
  EXPECT_THAT(versioned.Check("snapshot=" + IcechunkIdText(9)),
              IsError(ErrorCode::kBadInput, HasSubstr("may have expired")));
}

TEST_F(VersionsTest, TimesAreInTheHistoryThatIsOpen) {
  const auto ref_at = [&](const std::string& ref, std::string_view time) {
    const auto hierarchy = Open(ref);
    return dynamic_cast<const Versioned&>(**hierarchy).RefAt(time);
  };
  EXPECT_THAT(ref_at("", "1970-01-01"), IsOkAnd("at=1970-01-01,branch=main"));
  EXPECT_THAT(ref_at("tag=v2", "1970-01-01"), IsOkAnd("at=1970-01-01,tag=v2"));
  EXPECT_THAT(ref_at("at=1970-01-02,tag=v2", "1970-01-01"), IsOkAnd("at=1970-01-01,tag=v2"));
  EXPECT_THAT(ref_at("", "1970-01-01,tag=v2"), IsError(ErrorCode::kNotFound, _));
  EXPECT_THAT(ref_at("", "x"), IsError(ErrorCode::kNotFound, _));
  EXPECT_THAT(Read("at=1970-01-02,tag=v2"), IsOkAnd(Version(2)));
  EXPECT_THAT(Open("at=1969-01-01,tag=v2"),
              IsError(ErrorCode::kNotFound, HasSubstr("the tag \"v2\" has no version at")));
}

TEST_F(VersionsTest, StaysAtItsSnapshotAndTellsOfANewOne) {
  const auto hierarchy = Open();
  ASSERT_THAT(hierarchy, IsOk());
  const uint64_t version = (*hierarchy)->Version("/").value();
  const uint64_t of_array = (*hierarchy)->Version("/a").value();
  PutRepo(repo_);  // as it was
  EXPECT_THAT((*hierarchy)->Version("/"), IsOkAnd(version));
  repo_.branches[0].second = 1;
  PutRepo(repo_);
  EXPECT_NE((*hierarchy)->Version("/").value(), version);
  EXPECT_THAT((*hierarchy)->Version("/a"), IsOkAnd(of_array));
  EXPECT_THAT(ReadArray(**hierarchy), IsOkAnd(Version(3)));
  const auto other = Open();
  EXPECT_NE((*other)->Version("/a").value(), of_array);
  EXPECT_THAT(ReadArray(**other), IsOkAnd(Version(2)));
}

TEST_F(VersionsTest, LooksOnlyAtTheRepoFile) {
  const auto hierarchy = Open();
  ASSERT_THAT(hierarchy, IsOk());
  EXPECT_THAT(ReadArray(**hierarchy), IsOk());
  source_->ForgetReads();
  EXPECT_THAT((*hierarchy)->Version("/"), IsOk());
  EXPECT_THAT((*hierarchy)->Version("/a"), IsOk());
  EXPECT_THAT(source_->reads(), IsEmpty());
}

TEST_F(VersionsTest, RefusesARepositoryThatIsOffline) {
  repo_.availability = 2;
  repo_.reason = "moved to another bucket";
  PutRepo(repo_);
  EXPECT_THAT(Open(),
              IsError(ErrorCode::kBadInput, HasSubstr("is offline: moved to another bucket")));
}

TEST_F(VersionsTest, ReadsVersion1) {
  source_->Remove("r/repo");
  const auto put_ref = [&](const std::string& name, uint8_t snapshot) {
    source_->Put("r/refs/" + name + "/ref.json",
                 R"({"snapshot":")" + IcechunkIdText(snapshot) + "\"}");
  };
  put_ref("branch.main", 3);
  put_ref("tag.with space", 2);
  put_ref("tag.gone", 1);
  source_->Put("r/refs/tag.gone/ref.json.deleted", "");
  for (const uint8_t number : {2, 3}) {
    source_->Put(
        "r/snapshots/" + IcechunkIdText(number),
        IcechunkFile(
            IcechunkKind::kSnapshot,
            IcechunkSnapshot(number, Nodes({{static_cast<uint8_t>(20 + number), {{0, 4}}}}),
                             number - 1, number * 1'000'000),
            1));
  }
  EXPECT_EQ(DetectStore(*source_, "r").value(), &IcechunkFormat());
  EXPECT_THAT(Read(), IsOkAnd(Version(3)));
  EXPECT_THAT(Read("tag=with space"), IsOkAnd(Version(2)));
  EXPECT_THAT(Read("at=1970-01-01T00:00:02"), IsOkAnd(Version(2)));
  EXPECT_THAT(Open("tag=gone"), IsError(ErrorCode::kNotFound, HasSubstr("was deleted")));
  EXPECT_THAT(Open("tag=../../x"), IsError(ErrorCode::kNotFound, _));
  const auto opened = Open();
  const auto& versioned = dynamic_cast<const Versioned&>(**opened);
  EXPECT_THAT(versioned.Check("tag=with space"), IsOk());
  EXPECT_THAT(versioned.Check("snapshot=" + IcechunkIdText(1)), IsOk());
  EXPECT_THAT(versioned.Check("snapshot=" + IcechunkIdText(9)),
              IsError(ErrorCode::kBadInput, HasSubstr("may have expired")));
  EXPECT_THAT(versioned.Check("tag=gone"),
              IsError(ErrorCode::kBadInput, HasSubstr("was deleted")));
  EXPECT_THAT(versioned.Check("tag=../../x"), IsError(ErrorCode::kNotFound, _));
  const auto log = dynamic_cast<const Versioned&>(**Open()).Log();
  EXPECT_THAT(log, IsOkAnd(HasSubstr("tag with space -> " + IcechunkIdText(2))));
  put_ref("branch.main", 2);
  source_->Put("r/refs/branch.main/ref.json", R"({"snapshot":"x"})");
  EXPECT_THAT(Open(), IsError(ErrorCode::kBadInput, HasSubstr("no id")));
}

TEST_F(IcechunkTest, RefusesNodesThatAreNotSortedOrClimbOut) {
  PutRepo({.snapshots = {{1}}});
  PutSnapshot(1, {{"/b", kIcechunkGroup, 1}, {"/a", kIcechunkGroup, 2}});
  EXPECT_THAT(Open(), IsError(ErrorCode::kCorrupt, HasSubstr("stands after")));
  for (const char* path : {"", "a", "/a/", "/../a", "/a//b", "/./a"}) {
    PutSnapshot(1, {{path, kIcechunkGroup, 1}});
    EXPECT_THAT(Open(), IsError(ErrorCode::kCorrupt, HasSubstr("no path of a node"))) << path;
  }
}

TEST_F(IcechunkTest, ListsNamesThatSortAroundSlashes) {
  PutRepo({.snapshots = {{1}}});
  PutSnapshot(1, {{"/", kIcechunkGroup, 1},
                  {"/a", kIcechunkGroup, 2},
                  {"/a-b", kIcechunkGroup, 3},
                  {"/a/x", kIcechunkGroup, 4},
                  {"/a/x/y", kIcechunkGroup, 5},
                  {"/a0", kIcechunkGroup, 6}});
  const auto hierarchy = Open();
  ASSERT_THAT(hierarchy, IsOk());
  EXPECT_THAT((*hierarchy)->List("/"), IsOkAnd(ElementsAre("a", "a-b", "a0")));
  EXPECT_THAT((*hierarchy)->List("/a"), IsOkAnd(ElementsAre("x")));
  EXPECT_THAT((*hierarchy)->List("/a-b"), IsOkAnd(IsEmpty()));
}

// Every byte of a sound payload changed, and every length cut: verified, or an error.
TEST(IcechunkHostileTest, SurvivesFlatBuffersThatLie) {
  const std::string sound =
      IcechunkSnapshot(1, {{"/", kIcechunkGroup, 1},
                           {"/a", IcechunkArrayJson("[8]", "[2]"), 2, true, {{20, {{0, 4}}}}}});
  for (size_t at = 0; at < sound.size(); ++at) {
    for (const int value : {0, 1, 127, 255}) {
      std::string damaged = sound;
      damaged[at] = static_cast<char>(value);
      const auto snapshot =
          icechunk::Snapshot::Make(Bytes::Copy(AsBytes(damaged)), test::IcechunkId(1));
      if (!snapshot) continue;
      const auto* node = (*snapshot)->Find("/a");
      if (node != nullptr) {
        (void)(*snapshot)->FindManifest(*node, std::vector<uint32_t>{0}).has_value();
      }
    }
    (void)icechunk::Snapshot::Make(Bytes::Copy(AsBytes(sound.substr(0, at))),
                                   test::IcechunkId(1))
        .has_value();
  }
}

TEST_F(IcechunkTest, IsRecognizedByItsContent) {
  PutArray({});
  EXPECT_EQ(DetectStore(*source_, "r").value(), &IcechunkFormat());
  source_->Put("r/repo", "a file that is called like this");
  EXPECT_EQ(DetectStore(*source_, "r").value(), nullptr);
}

TEST_F(IcechunkTest, OtherStoresHaveNoVersions) {
  source_->Put("z.zarr/zarr.json", kIcechunkGroup);
  EXPECT_THAT(OpenAnyStore(source_, "z.zarr", {.ref = "tag=v1"}),
              IsError(ErrorCode::kBadInput, HasSubstr("has no versions")));
}

}  // namespace
}  // namespace ndlfs::backends
