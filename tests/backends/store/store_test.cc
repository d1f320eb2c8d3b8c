// SPDX-License-Identifier: MIT
//
// What every Store promises, asked of each kind of store.
#include "backends/store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "backends/base/json.h"
#include "backends/store/local/local_source.h"
#include "backends/store/local/source_root.h"
#include "backends/store/pinned_store.h"
#include "backends/store/reference/reference_store.h"
#include "backends/store/zip/inflated_store.h"
#include "backends/store/zip/zip_store.h"
#include "model/base64.h"
#include "tests/support/memory_store.h"
#include "tests/support/python.h"
#include "tests/support/result.h"
#include "tests/support/zip_builder.h"
#if NDLFS_WITH_HTTP
#include "tests/support/fake_file_server.h"
#endif

namespace ndlfs::backends {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::Values;

using Contents = std::map<std::string, std::string>;

// How to make a store of one kind, and what it can hold.
struct StoreKind {
  std::string name;
  // A store with these values; called once per directory.
  std::function<std::shared_ptr<const Store>(const test::TemporaryDirectory&, const Contents&)>
      make;
  bool has_keys = true;     // otherwise the key "" alone
  bool checks_keys = true;  // refuses keys that climb out
};
void PrintTo(const StoreKind& kind, std::ostream* out) { *out << kind.name; }

std::shared_ptr<const SourceRoot> RootOf(const test::TemporaryDirectory& directory) {
  return SourceRoot::Open(directory.path()).value();
}

StoreKind DirectoryKind() {
  return {"Directory", [](const auto& directory, const Contents& contents) {
            for (const auto& [key, value] : contents) {
              const std::string path = directory / ("top/" + key);
              std::filesystem::create_directories(std::filesystem::path(path).parent_path());
              test::WriteFile(path, value);
            }
            return MakeDirectoryStore(RootOf(directory), "top");
          }};
}

StoreKind FileKind() {
  return {"File",
          [](const auto& directory, const Contents& contents) {
            for (const auto& [key, value] : contents) {
              if (key.empty()) test::WriteFile(directory / "file.bin", value);
            }
            return MakeFileStore(RootOf(directory), "file.bin");
          },
          false, false};
}

StoreKind MemoryKind() {
  return {"Memory",
          [](const auto&, const Contents& contents) {
            auto store = std::make_shared<test::MemoryStore>();
            for (const auto& [key, value] : contents) store->Put(key, value);
            return store;
          },
          true, false};
}

// Members are stored or deflated in one archive of both, or all in one way.
StoreKind ZipKind(const std::string& name, const std::function<bool(size_t)>& is_deflated) {
  return {name, [is_deflated](const auto&, const Contents& contents) {
            test::ZipBuilder builder;
            size_t i = 0;
            for (const auto& [key, value] : contents) {
              builder.Add({.name = key, .data = value, .deflated = is_deflated(i++)});
            }
            auto file = std::make_shared<test::MemoryStore>();
            file->Put("", builder.Build());
            return ZipStore::Open(file).value();
          }};
}
StoreKind StoredZipKind() {
  return ZipKind("StoredZip", [](size_t) { return false; });
}
StoreKind DeflatedZipKind() {
  return ZipKind("DeflatedZip", [](size_t) { return true; });
}
StoreKind MixedZipKind() {
  return ZipKind("MixedZip", [](size_t i) { return i % 2 == 0; });
}

// gzip of two members.
std::string GzipTwice(const std::string& text) {
  std::string all;
  for (const std::string& part :
       {text.substr(0, text.size() / 2), text.substr(text.size() / 2)}) {
    std::string out(compressBound(part.size()) + 64, '\0');
    z_stream stream = {};
    deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
    stream.avail_in = static_cast<uInt>(part.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_FINISH);
    all += out.substr(0, stream.total_out);
    deflateEnd(&stream);
  }
  return all;
}

StoreKind InflatedKind() {
  return {"Inflated",
          [](const auto&, const Contents& contents) {
            auto store = std::make_shared<test::MemoryStore>();
            uint64_t size = 0;
            for (const auto& [key, value] : contents) {
              if (!key.empty()) continue;
              store->Put(key, GzipTwice(value));
              size = value.size();
            }
            const auto pinned = PinVersion(store);
            return MakeInflatedStore(pinned ? *pinned : store, {}, size).value();
          },
          false, false};
}

StoreKind PinnedKind() {
  return {"Pinned",
          [](const auto&, const Contents& contents) {
            auto store = std::make_shared<test::MemoryStore>();
            for (const auto& [key, value] : contents) store->Put(key, value);
            return PinVersion(store).value();
          },
          false, false};
}

// Values in the reference file, or in parts of one other file.
StoreKind ReferenceKind(const std::string& name, bool is_inline) {
  return {name,
          [is_inline](const auto& directory, const Contents& contents) {
            std::string data = "before";
            Json references = Json::object();
            for (const auto& [key, value] : contents) {
              if (is_inline) {
                references[key] = "base64:" + model::EncodeBase64(AsBytes(value));
              } else {
                references[key] = {"data.bin", data.size(), value.size()};
                data += value + "between";
              }
            }
            test::WriteFile(directory / "data.bin", data);
            test::WriteFile(directory / "refs.json", references.dump());
            const auto source = LocalSource::Open(directory.path()).value();
            return kerchunk::OpenReferences(source, "refs.json").value();
          },
          true, false};
}
StoreKind InlineReferenceKind() { return ReferenceKind("InlineReference", true); }
StoreKind FileReferenceKind() { return ReferenceKind("FileReference", false); }

#if NDLFS_WITH_HTTP
// The store keeps its server.
std::shared_ptr<const Store> OnServer(const Contents& contents, const std::string& top,
                                      bool is_file) {
  struct Served {
    test::FakeFileServer server;
    std::shared_ptr<const Store> store;
  };
  const auto served = std::make_shared<Served>();
  served->server.lists_hidden_names = true;
  for (const auto& [key, value] : contents) {
    served->server.Put(key.empty() ? top : top + "/" + key, value);
  }
  const auto source = served->server.MakeSource();
  served->store = is_file ? source->OpenFile(top) : source->OpenStore(top);
  return {served, served->store.get()};
}
StoreKind HttpKind() {
  return {"Http", [](const auto&, const Contents& contents) {
            return OnServer(contents, "top", false);
          }};
}
StoreKind HttpFileKind() {
  return {"HttpFile",
          [](const auto&, const Contents& contents) {
            return OnServer(contents, "file.bin", true);
          },
          false, false};
}
#endif

std::string NameOf(const ::testing::TestParamInfo<StoreKind>& info) { return info.param.name; }

class StoreConformanceTest : public ::testing::TestWithParam<StoreKind> {
 protected:
  std::shared_ptr<const Store> MakeStore(const Contents& contents) {
    return GetParam().make(directory_, contents);
  }
  // A store with one value, and its key.
  std::shared_ptr<const Store> MakeSingle(const std::string& value) {
    return MakeStore({{key_, value}});
  }
  static std::string ReadText(const Store& store, std::string_view key, uint64_t offset,
                              size_t size) {
    std::string text(size, '?');
    const auto count = store.ReadInto(key, offset, std::as_writable_bytes(std::span(text)));
    if (!count) return "error: " + count.error().message();
    if (!*count) return "absent";
    return text.substr(0, **count);
  }

  test::TemporaryDirectory directory_;
  const std::string key_ = GetParam().has_keys ? "a/b/0.1" : "";
};

TEST_P(StoreConformanceTest, TellsTheSizeOfAValue) {
  EXPECT_THAT(MakeSingle("0123456789")->Size(key_), test::IsOkAnd(Optional(10u)));
}

TEST_P(StoreConformanceTest, AnEmptyValueIsNotAnAbsentOne) {
  const auto store = MakeSingle("");
  EXPECT_THAT(store->Size(key_), test::IsOkAnd(Optional(0u)));
  EXPECT_EQ(ReadText(*store, key_, 0, 4), "");
  const auto bytes = store->Read(key_, 0);
  ASSERT_THAT(bytes, test::IsOk());
  EXPECT_TRUE(bytes->has_value());
}

TEST_P(StoreConformanceTest, ReadsWhatItIsAskedFor) {
  const auto store = MakeSingle("0123456789");
  EXPECT_EQ(ReadText(*store, key_, 0, 10), "0123456789");
  EXPECT_EQ(ReadText(*store, key_, 3, 4), "3456");
  EXPECT_EQ(ReadText(*store, key_, 9, 1), "9");
  EXPECT_EQ(ReadText(*store, key_, 4, 0), "");
}

TEST_P(StoreConformanceTest, ReadsEndAtTheEndOfTheValue) {
  const auto store = MakeSingle("0123456789");
  EXPECT_EQ(ReadText(*store, key_, 7, 10), "789");
  EXPECT_EQ(ReadText(*store, key_, 10, 10), "");
  EXPECT_EQ(ReadText(*store, key_, 11, 10), "");
  EXPECT_EQ(ReadText(*store, key_, uint64_t{1} << 63, 10), "");
  EXPECT_EQ(ReadText(*store, key_, UINT64_MAX - 3, 10), "");
}

TEST_P(StoreConformanceTest, AbsentKeysAreAnAnswer) {
  const auto store = MakeSingle("0123456789");
  for (const char* key : {"c", "a/b/0.2", "a/b/0.1/2", "x/y/z"}) {
    EXPECT_THAT(store->Size(key), test::IsOkAnd(Eq(std::nullopt))) << key;
    EXPECT_EQ(ReadText(*store, key, 0, 4), "absent") << key;
    EXPECT_THAT(store->Stat(key), test::IsOkAnd(Eq(std::nullopt))) << key;
    const auto bytes = store->Read(key, 100);
    ASSERT_THAT(bytes, test::IsOk()) << key;
    EXPECT_FALSE(bytes->has_value()) << key;
  }
}

TEST_P(StoreConformanceTest, StampHoldsTheSize) {
  const auto stamp = MakeSingle("0123456789")->Stat(key_);
  ASSERT_THAT(stamp, test::IsOk());
  ASSERT_TRUE(stamp->has_value());
  EXPECT_EQ((*stamp)->size, 10u);
}

TEST_P(StoreConformanceTest, OneQuestionAnswersBytesSizeAndVersion) {
  const auto store = MakeSingle("0123456789");
  std::string text;
  std::vector<uint64_t> sizes;
  const Reserve reserve = [&](uint64_t size) -> model::Result<ByteSpan> {
    sizes.push_back(size);
    text.assign(4, '.');
    return std::as_writable_bytes(std::span(text));
  };
  for (const uint64_t offset : {0, 3, 8, 30}) {
    const auto result = store->Read(key_, {.range = {offset, 4}}, reserve);
    ASSERT_THAT(result, test::IsOk());
    ASSERT_TRUE(result->has_value());
    EXPECT_EQ((*result)->info.size, 10u);
    EXPECT_EQ(text.substr(0, (*result)->count),
              std::string("0123456789").substr(std::min<uint64_t>(offset, 10), 4));
    EXPECT_THAT(store->Stat(key_), test::IsOkAnd(Optional((*result)->info)));
  }
  EXPECT_THAT(sizes, testing::Each(10u));
}

TEST_P(StoreConformanceTest, OneQuestionEndsWhereThereIsNoMemory) {
  const auto store = MakeSingle("0123456789");
  const Reserve refuse = [](uint64_t) -> model::Result<ByteSpan> {
    return model::Limit("no room");
  };
  EXPECT_THAT(store->Read(key_, {}, refuse),
              test::IsError(model::ErrorCode::kLimit, HasSubstr("no room")));
  const auto absent = store->Read("c", {}, refuse);
  ASSERT_THAT(absent, test::IsOk());
  EXPECT_FALSE(absent->has_value());
}

TEST_P(StoreConformanceTest, NoMoreIsReadThanThereIsRoomFor) {
  const auto store = MakeSingle("0123456789");
  std::string text(3, '.');
  const auto result = store->Read(key_, {}, [&](uint64_t) -> model::Result<ByteSpan> {
    return std::as_writable_bytes(std::span(text));
  });
  ASSERT_THAT(result, test::IsOkAnd(Optional(testing::Field(&ReadResult::count, 3u))));
  EXPECT_EQ(text, "012");
}

TEST_P(StoreConformanceTest, AValueThatMatchesIsRead) {
  const auto store = MakeSingle("0123456789");
  const auto first = store->Get(key_, 100, {.range = {0, 2}});
  ASSERT_THAT(first, test::IsOkAnd(testing::Ne(std::nullopt)));
  const Generation generation = (*first)->info.generation;
  for (int i = 0; i < 2; ++i) {
    const auto next = store->Get(key_, 100, {.range = {5, 3}, .if_match = generation});
    ASSERT_THAT(next, test::IsOkAnd(testing::Ne(std::nullopt)));
    EXPECT_EQ(AsText((*next)->bytes.span()), "567");
    EXPECT_EQ((*next)->info, (*first)->info);
  }
}

TEST_P(StoreConformanceTest, AValueThatDoesNotMatchIsStale) {
  const auto store = MakeSingle("0123456789");
  for (const Generation& other :
       {Generation(), Generation::OfTag("another"), Generation::OfNumbers({1, 2, 3, 4, 5})}) {
    EXPECT_THAT(store->Get(key_, 100, {.if_match = other}), test::IsStale());
    EXPECT_THAT(store->Get(key_, 100, {.range = {0, 0}, .if_match = other}), test::IsStale());
  }
  const auto absent = store->Get("c", 100, {.if_match = Generation()});
  EXPECT_TRUE(absent ? !absent->has_value()
                     : absent.error().code() == model::ErrorCode::kStale);
}

TEST_P(StoreConformanceTest, ReadsFromTheEnd) {
  const auto store = MakeSingle("0123456789");
  const auto read = [&](ByteRange range) {
    const auto value = store->Get(key_, 100, {.range = range, .from_end = true});
    return value && *value ? std::string(AsText((*value)->bytes.span())) : "error";
  };
  EXPECT_EQ(read({4, 4}), "6789");
  EXPECT_EQ(read({4, 2}), "67");
  EXPECT_EQ(read({10, 1}), "0");
  EXPECT_EQ(read({30, 3}), "012") << "a shorter value is read from its beginning";
  EXPECT_EQ(read({0, 4}), "");
  EXPECT_EQ(read({4, ByteRange::kToEnd}), "6789");
}

TEST_P(StoreConformanceTest, ReadManyAnswersEachRequest) {
  const auto store = MakeSingle("0123456789");
  const std::vector<ReadRequest> requests = {
      {key_, {.range = {2, 3}}},
      {key_, {.range = {5, 2}}},   // adjoins
      {key_, {.range = {4, 30}}},  // overlaps, and reaches beyond the end
      {key_, {.range = {0, 1}}},
      {"none"},
      {key_, {.range = {3, 3}, .from_end = true}},
      {key_, {}, 9},
      {key_, {.range = {1, 4}}, 3},
      {key_, {.range = {2, 4}}, 4},
      {key_, {.if_match = Generation()}},
      {key_, {.range = {20, 5}}},
      {key_},
  };
  const auto answers = store->ReadMany(requests);
  std::vector<std::string> texts;
  for (const auto& answer : answers) {
    texts.push_back(!answer    ? answer.error().message()
                    : !*answer ? "absent"
                               : std::string(AsText((*answer)->bytes.span())));
    if (answer && *answer) {
      EXPECT_EQ((*answer)->info.size, 10u);
    }
  }
  EXPECT_THAT(texts, ElementsAre("234", "56", "456789", "0", "absent", "789",
                                 HasSubstr("10 bytes, more than the limit of 9"),
                                 HasSubstr("4 bytes, more than the limit of 3"), "2345",
                                 HasSubstr("changed"), "", "0123456789"));
}

TEST_P(StoreConformanceTest, ManyAreLookedAtAsOne) {
  const auto store = MakeSingle("0123456789");
  const std::vector<std::string_view> keys = {key_, "none", "a/b/none", "x/y", key_, "a/b"};
  const auto answers = store->StatMany(keys);
  ASSERT_EQ(answers.size(), keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto one = store->Stat(keys[i]);
    ASSERT_EQ(answers[i].has_value(), one.has_value()) << keys[i];
    if (one) {
      EXPECT_EQ(*answers[i], *one) << keys[i];
    }
  }
}

TEST_P(StoreConformanceTest, ReadGivesARangeClippedToTheValue) {
  const auto store = MakeSingle("0123456789");
  const auto read = [&](ByteRange range) {
    const auto bytes = store->Read(key_, 100, range);
    return std::string(AsText((*bytes)->span()));
  };
  EXPECT_EQ(read({}), "0123456789");
  EXPECT_EQ(read({2, 3}), "234");
  EXPECT_EQ(read({8, 30}), "89");
  EXPECT_EQ(read({8, ByteRange::kToEnd}), "89");
  EXPECT_EQ(read({30, 30}), "");
}

TEST_P(StoreConformanceTest, ReadRefusesMoreThanItsLimit) {
  const auto store = MakeSingle("0123456789");
  EXPECT_THAT(store->Read(key_, 10), test::IsOk());
  const auto refused = store->Read(key_, 9);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), model::ErrorCode::kLimit);
  EXPECT_EQ(refused.error().message(), "10 bytes, more than the limit of 9");
  EXPECT_THAT(store->Read(key_, 4, {2, 4}), test::IsOk());
}

TEST_P(StoreConformanceTest, ThreadsReadAtTheSameTime) {
  std::string value(100'000, '\0');
  for (size_t i = 0; i < value.size(); ++i) value[i] = static_cast<char>(i * 31 >> 3);
  const auto store = MakeSingle(value);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < 20; ++i) {
        const size_t offset = (i * 7919 + t * 101) % value.size();
        if (ReadText(*store, key_, offset, 4096) != value.substr(offset, 4096)) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(All, StoreConformanceTest,
                         Values(DirectoryKind(), FileKind(), MemoryKind(), PinnedKind(),
                                InflatedKind(), StoredZipKind(), DeflatedZipKind(),
                                InlineReferenceKind(), FileReferenceKind()),
                         NameOf);

#if NDLFS_WITH_HTTP
INSTANTIATE_TEST_SUITE_P(Remote, StoreConformanceTest, Values(HttpKind(), HttpFileKind()),
                         NameOf);
#endif

class KeyedStoreConformanceTest : public StoreConformanceTest {
 protected:
  // "name/" for prefixes.
  static std::vector<std::string> ListNames(const Store& store, std::string_view prefix) {
    std::vector<std::string> names;
    const auto entries = store.List(prefix);
    if (!entries) return {"error: " + entries.error().message()};
    for (const auto& entry : *entries) {
      names.push_back(entry.name + (entry.is_prefix ? "/" : ""));
    }
    return names;
  }
};

TEST_P(KeyedStoreConformanceTest, ListsChildrenSortedByBytes) {
  const auto store = MakeStore({{".zgroup", ""},
                                {"b/x", ""},
                                {"b/y/z", ""},
                                {"b.c", ""},
                                {"B", ""},
                                {"\xc3\xa9", ""},
                                {"a", ""}});
  EXPECT_THAT(ListNames(*store, ""), ElementsAre(".zgroup", "B", "a", "b/", "b.c", "\xc3\xa9"));
  EXPECT_THAT(ListNames(*store, "b"), ElementsAre("x", "y/"));
  EXPECT_THAT(ListNames(*store, "b/y"), ElementsAre("z"));
}

TEST_P(KeyedStoreConformanceTest, ListsNothingWhereThereIsNoPrefix) {
  const auto store = MakeStore({{"a/b", "1"}, {"c", "2"}});
  EXPECT_THAT(ListNames(*store, "d"), IsEmpty());
  EXPECT_THAT(ListNames(*store, "c"), IsEmpty());
  EXPECT_THAT(ListNames(*store, "a/b"), IsEmpty());
  EXPECT_THAT(ListNames(*store, "a/b/c"), IsEmpty());
}

TEST_P(KeyedStoreConformanceTest, PrefixesAreNoValues) {
  const auto store = MakeStore({{"a/b", "1"}});
  EXPECT_THAT(store->Size("a"), test::IsOkAnd(Eq(std::nullopt)));
  EXPECT_EQ(ReadText(*store, "a", 0, 1), "absent");
  EXPECT_THAT(store->Stat("a"), test::IsOkAnd(Eq(std::nullopt)));
}

TEST_P(KeyedStoreConformanceTest, TakesNamesOfAnyBytes) {
  for (const std::string name : {"new\nline", "\xff\xfe", " ", "...", "%2F", "a\\b", "-"}) {
    const auto store = MakeStore({{name, name}, {"p" + name + "/0", "1"}});
    EXPECT_EQ(ReadText(*store, name, 0, 100), name);
    EXPECT_EQ(ReadText(*store, "p" + name + "/0", 0, 100), "1");
  }
}

TEST_P(KeyedStoreConformanceTest, WhatIsKnownToHoldAValueHoldsIt) {
  const auto store =
      MakeStore({{"g/a/doc", "1"}, {"g/b/other", "2"}, {"g/doc", "3"}, {"g/c/doc/x", "4"}});
  const auto entries = store->List("g");
  ASSERT_THAT(entries, test::IsOk());
  const std::vector<std::string_view> names = {"missing", "doc"};
  const std::vector<bool> known = store->KnownToHold("g", *entries, names);
  ASSERT_EQ(known.size(), entries->size());
  for (size_t i = 0; i < known.size(); ++i) {
    if (known[i]) {
      EXPECT_EQ((*entries)[i].name, "a");
    }
  }
  EXPECT_THAT(store->KnownToHold("none", {}, names), IsEmpty());
}

TEST_P(KeyedStoreConformanceTest, DescribesKeysByTheNameOfTheStore) {
  const auto store = MakeStore({{"a/b", "1"}});
  EXPECT_THAT(store->Describe("a/b"), HasSubstr("a/b"));
}

TEST_P(KeyedStoreConformanceTest, KeysThatClimbOutAreRefused) {
  if (!GetParam().checks_keys) return;
  const auto store = MakeStore({{"a/b", "1"}});
  for (const std::string key :
       {"..", "../top/a/b", "a/../a/b", "a/./b", ".", "/a/b", "a//b", "a/", "/etc/passwd"}) {
    const auto message = HasSubstr("is not below its store");
    EXPECT_THAT(store->Size(key), test::IsError(model::ErrorCode::kBadInput, message)) << key;
    EXPECT_THAT(store->Stat(key), test::IsError(model::ErrorCode::kBadInput, message)) << key;
    EXPECT_THAT(ReadText(*store, key, 0, 1), message) << key;
    EXPECT_THAT(ListNames(*store, key), ElementsAre(message)) << key;
  }
  EXPECT_THAT(store->Size(std::string_view("a\0b", 3)),
              test::IsError(model::ErrorCode::kBadInput, HasSubstr("\"a\\x00b\"")));
}

#if NDLFS_WITH_HTTP
// One look at each name finds what is there; what a link leads to is left to Stat().
TEST(DirectoryStoreTest, KnowsWhichFoldersHoldAValue) {
  const test::TemporaryDirectory directory;
  for (const char* name : {"array", "empty", "folder/doc", "linked"}) {
    std::filesystem::create_directories(directory / ("g/" + std::string(name)));
  }
  test::WriteFile(directory / "g/array/doc", "1");
  std::filesystem::create_symlink("array", directory / "g/link");
  std::filesystem::create_symlink("../array/doc", directory / "g/linked/doc");
  const auto store = MakeDirectoryStore(RootOf(directory), "");
  const auto entries = store->List("g");
  ASSERT_THAT(entries, test::IsOk());
  const std::vector<std::string_view> names = {"other", "doc"};
  const std::vector<bool> known = store->KnownToHold("g", *entries, names);
  ASSERT_EQ(known.size(), entries->size());
  std::vector<std::string> found;
  for (size_t i = 0; i < known.size(); ++i) {
    if (known[i]) found.push_back((*entries)[i].name);
  }
  EXPECT_THAT(found, ElementsAre("array"));
}

INSTANTIATE_TEST_SUITE_P(Remote, KeyedStoreConformanceTest, Values(HttpKind()), NameOf);
#endif

INSTANTIATE_TEST_SUITE_P(All, KeyedStoreConformanceTest,
                         Values(DirectoryKind(), MemoryKind(), MixedZipKind()), NameOf);

}  // namespace
}  // namespace ndlfs::backends
