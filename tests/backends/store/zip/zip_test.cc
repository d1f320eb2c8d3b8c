// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <random>
#include <thread>

#include "backends/detection.h"
#include "backends/format/zip/zarr_zip.h"
#include "backends/store/local/local_source.h"
#include "backends/store/request_scope.h"
#include "backends/store/zip/inflate.h"
#include "backends/store/zip/zip_directory.h"
#include "backends/store/zip/zip_store.h"
#include "tests/support/detect_file.h"
#include "tests/support/memory_store.h"
#include "tests/support/python.h"
#include "tests/support/read_array.h"
#include "tests/support/result.h"
#include "tests/support/zip_builder.h"

namespace ndlfs::backends {
namespace {

using test::ZipBuilder;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::shared_ptr<test::MemoryStore> InMemory(const std::string& bytes) {
  auto file = std::make_shared<test::MemoryStore>();
  file->Put("", bytes);
  return file;
}

model::Result<std::shared_ptr<const ZipStore>> OpenBytes(const std::string& bytes) {
  return ZipStore::Open(InMemory(bytes));
}

// Why these bytes are no archive.
std::string ErrorOf(const std::string& bytes) {
  const auto store = OpenBytes(bytes);
  if (store) return "accepted";
  const std::string& message = store.error().message();
  EXPECT_THAT(message, StartsWith("memory: "));
  return message.substr(8);
}

// What a member holds, or why it cannot be read.
std::string ReadMember(const model::Result<std::shared_ptr<const ZipStore>>& store,
                       std::string_view key) {
  if (!store) return "no archive: " + store.error().message();
  const auto bytes = (*store)->Read(key, 1 << 24);
  if (!bytes) return "error: " + bytes.error().message();
  return *bytes ? std::string(AsText((*bytes)->span())) : "absent";
}

// Text that deflates by about half.
std::string Compressible(size_t size, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::string text(size, '\0');
  for (char& c : text) c = "0123456789abcdef"[random() % 16];
  return text;
}

TEST(ZipStoreTest, ReadsWhatPythonWrites) {
  const test::TemporaryDirectory directory;
  const std::string script = R"PY(
import zipfile
path = 'DIRECTORY'
def write(name, comment=b'', prefix=b'', force=False, mode='w'):
    f = open(path + '/' + name, 'wb'); f.write(prefix); f.close()
    with zipfile.ZipFile(path + '/' + name, 'a') as z:
        z.comment = comment
        for i, t in enumerate((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)):
            info = zipfile.ZipInfo('dir/m%d' % i); info.compress_type = t
            with z.open(info, 'w', force_zip64=force) as m: m.write(b'member %d ' % i * 100)
        z.writestr('\u00fc\u4e00', b'unicode')
        z.writestr('empty', b'')
write('plain.zip')
write('comment.zip', comment=b'PK\5\6' + b'x' * 3000)
write('prefix.zip', prefix=b'#!/bin/sh\n' * 50)
write('zip64.zip', force=True)
with zipfile.ZipFile(path + '/many.zip', 'w') as z:
    for i in range(70000): z.writestr('%d' % i, b'%d' % i)
)PY";
  std::string with_path = script;
  with_path.replace(with_path.find("DIRECTORY"), 9, directory.path());
  test::RunPython(with_path);
  const auto root = SourceRoot::Open(directory.path()).value();
  for (const std::string name : {"plain", "comment", "prefix", "zip64"}) {
    SCOPED_TRACE(name);
    const auto store = ZipStore::Open(MakeFileStore(root, name + ".zip"));
    ASSERT_THAT(store, test::IsOk());
    for (const std::string i : {"0", "1"}) {
      const std::string text = ReadMember(store, "dir/m" + i);
      EXPECT_EQ(text.size(), 900u);
      EXPECT_THAT(text, StartsWith("member " + i + " member " + i));
    }
    EXPECT_EQ(ReadMember(store, "\xc3\xbc\xe4\xb8\x80"), "unicode");
    EXPECT_EQ(ReadMember(store, "empty"), "");
    EXPECT_EQ(ReadMember(store, "dir"), "absent");
  }
  const auto many = ZipStore::Open(MakeFileStore(root, "many.zip"));
  ASSERT_THAT(many, test::IsOk());
  EXPECT_EQ((*many)->directory().size(), 70000u);
  EXPECT_EQ(ReadMember(many, "69999"), "69999");
  EXPECT_EQ((*many)->List("")->size(), 70000u);
}

TEST(ZipStoreTest, StoredMembersAreReadInPlace) {
  const auto file = InMemory(ZipBuilder()
                                 .Add({.name = "a", .data = std::string(1000, 'a')})
                                 .Add({.name = "b", .data = "0123456789"})
                                 .Build());
  const auto store = ZipStore::Open(file).value();
  EXPECT_TRUE(store->IsStored("b"));
  const size_t before = file->bytes_read();
  std::string text(3, '\0');
  ASSERT_THAT(store->ReadInto("b", 4, std::as_writable_bytes(std::span(text))), test::IsOk());
  EXPECT_EQ(text, "456");
  EXPECT_LE(file->bytes_read() - before, 100u);  // the local header, and these
}

TEST(ZipStoreTest, StoredMembersThatContradictTheirChecksumAreCorrupt) {
  std::string archive = ZipBuilder().Add({.name = "b", .data = "0123456789"}).Build();
  archive[archive.find("5678")] ^= 1;
  const auto store = OpenBytes(archive);
  EXPECT_THAT(ReadMember(store, "b"), HasSubstr("crc32: stored"));
  EXPECT_THAT((*store)->VerifyValue("b").error().message(), HasSubstr("crc32: stored"));
  std::string part(3, '\0');
  EXPECT_THAT((*store)->ReadInto("b", 1, std::as_writable_bytes(std::span(part))), test::IsOk())
      << "a part has no checksum";
  EXPECT_EQ(part, "123");
}

TEST(ZipStoreTest, EmptyArchive) {
  const auto store = OpenBytes(ZipBuilder().Build());
  ASSERT_THAT(store, test::IsOk());
  EXPECT_THAT((*store)->List(""), test::IsOkAnd(IsEmpty()));
}

TEST(ZipStoreTest, SizesAndOffsetsMayHave64Bits) {
  const auto store =
      OpenBytes(ZipBuilder()
                    .Add({.name = "a", .data = "aaa"})
                    .Add({.name = "b", .data = "bbbb", .deflated = true, .zip64 = true})
                    .Build({.comment = "c", .zip64 = true}));
  EXPECT_EQ(ReadMember(store, "a"), "aaa");
  EXPECT_EQ(ReadMember(store, "b"), "bbbb");
}

TEST(ZipStoreTest, ForeignBytesBeforeTheArchiveShiftIt) {
  const ZipBuilder builder = ZipBuilder().Add({.name = "a", .data = "aaa"});
  EXPECT_EQ(ReadMember(OpenBytes("#!stub" + builder.Build()), "a"), "aaa");
  EXPECT_EQ(ReadMember(OpenBytes("#!stub" + builder.Build({.zip64 = true})), "a"), "aaa");
}

TEST(ZipStoreTest, StampIsThatOfTheArchiveWithTheSizeOfTheMember) {
  const test::TemporaryDirectory directory;
  test::WriteFile(directory / "a.zip",
                  ZipBuilder().Add({.name = "m", .data = "12345"}).Build());
  const auto root = SourceRoot::Open(directory.path()).value();
  const auto store = ZipStore::Open(MakeFileStore(root, "a.zip")).value();
  const auto stamp = store->Stat("m");
  ValueInfo expected = InfoOf(*root->Stat("a.zip"));
  expected.size = 5;
  EXPECT_EQ(**stamp, expected);
  EXPECT_EQ(store->Describe("m"), "a.zip/m");

  test::WriteFile(directory / "b.zip", ZipBuilder().Add({.name = "m", .data = "1234"}).Build());
  std::filesystem::rename(directory / "b.zip", directory / "a.zip");
  EXPECT_NE(*store->Stat("m"), *stamp);
}

TEST(ZipStoreTest, TheArchiveIsLookedAtOnceInARequest) {
  const auto file = std::make_shared<test::MemoryStore>();
  file->Put("", ZipBuilder().Add({.name = "a", .data = "1"}).Add({.name = "b"}).Build());
  const auto store = ZipStore::Open(file).value();
  const auto stats_of_request = [&] {
    const RequestScope request;
    const size_t before = file->stats();
    EXPECT_NE(*store->Stat("a"), std::nullopt);
    EXPECT_EQ(store->Stat("a").value()->size, 1u);
    EXPECT_EQ(store->Stat("b").value()->size, 0u);
    return file->stats() - before;
  };
  EXPECT_EQ(stats_of_request(), 1u);
  EXPECT_EQ(stats_of_request(), 1u) << "each request looks anew";
}

// Archives that are refused as a whole.

TEST(HostileZipTest, NotAnArchive) {
  for (const std::string bytes : {"", "P", "text", "PK\5\6", "PK\3\4 and no more"}) {
    EXPECT_EQ(ErrorOf(bytes), "not a ZIP archive, or cut short: no end record");
  }
  EXPECT_EQ(ErrorOf(std::string(200'000, '\0')),
            "not a ZIP archive, or cut short: no end record");
}

TEST(HostileZipTest, CutShort) {
  const std::string whole = ZipBuilder()
                                .Add({.name = "a", .data = "aaa"})
                                .Add({.name = "b", .data = "bbb", .zip64 = true})
                                .Build({.zip64 = true});
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(ErrorOf(whole.substr(0, size)), "not a ZIP archive, or cut short: no end record");
  }
}

TEST(HostileZipTest, EveryByteWrong) {
  // Whatever one byte is changed to, members are refused or read: their bytes
  // are either right or found out to be wrong.
  const std::string sound = ZipBuilder()
                                .Add({.name = "a", .data = "aaaaaaaaaa", .deflated = true})
                                .Add({.name = "b", .data = "bbb", .zip64 = true})
                                .Build({.zip64 = true});
  for (size_t at = 0; at < sound.size(); ++at) {
    for (const int change : {1, 0x80, 0xff}) {
      std::string damaged = sound;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      const std::string text = ReadMember(OpenBytes(damaged), "a");
      EXPECT_TRUE(text == "aaaaaaaaaa" || text == "absent" || text.starts_with("error: ") ||
                  text.starts_with("no archive: "))
          << at << ": " << text;
    }
  }
}

TEST(HostileZipTest, DirectoryBeyondTheEnd) {
  const ZipBuilder builder = ZipBuilder().Add({.name = "a", .data = "aaa"});
  EXPECT_EQ(ErrorOf(builder.Build({.directory_offset = 100'000})),
            "its directory lies beyond its end record");
  EXPECT_EQ(ErrorOf(builder.Build({.directory_size = 0xfffffffe})),
            "its directory lies beyond its end record");
}

TEST(HostileZipTest, DirectoryThatIsNone) {
  const ZipBuilder builder = ZipBuilder().Add({.name = "a", .data = "aaa"});
  EXPECT_EQ(ErrorOf(builder.Build({.directory_size = 20})),
            "its directory ends within a record");
  EXPECT_EQ(
      ErrorOf("PK\1\2" + std::string(60, 'x') + ZipBuilder().Build({.directory_size = 60})),
      "its directory is damaged");
}

TEST(HostileZipTest, NumberOfMembersThatIsNotTrue) {
  const ZipBuilder builder = ZipBuilder().Add({.name = "a", .data = "aaa"});
  EXPECT_EQ(ErrorOf(builder.Build({.count = 2})), "1 members, its end record says 2");
  EXPECT_EQ(ErrorOf(builder.Build({.count = 0})), "1 members, its end record says 0");
}

TEST(HostileZipTest, EndRecordsThatDiffer) {
  const ZipBuilder builder = ZipBuilder().Add({.name = "a", .data = "aaa"});
  EXPECT_EQ(ErrorOf(builder.Build({.directory_size = 3, .zip64 = true})),
            "its two end records differ");
}

TEST(HostileZipTest, EndRecordOf64BitsThatIsNotThere) {
  std::string bytes = ZipBuilder().Add({.name = "a", .data = "aaa"}).Build({.zip64 = true});
  bytes.replace(bytes.find("PK\6\6"), 4, "????");
  EXPECT_EQ(ErrorOf(bytes), "its 64-bit end record is not where it should be");
}

TEST(HostileZipTest, SizesOf64BitsThatAreCutShort) {
  std::string bytes = ZipBuilder().Add({.name = "a", .data = "aaa", .zip64 = true}).Build();
  bytes.replace(bytes.find(std::string("\1\0\x18\0", 4)), 4, std::string("\1\0\x10\0", 4));
  EXPECT_EQ(ErrorOf(bytes), "member \"a\": its 64-bit sizes are cut short");
}

TEST(HostileZipTest, OneOfSeveralParts) {
  EXPECT_EQ(ErrorOf(ZipBuilder().Add({.name = "a", .data = "a"}).Build({.part = 1})),
            "one of several parts of a ZIP archive");
  EXPECT_EQ(ErrorOf(ZipBuilder().Build({.part = 1, .zip64 = true})),
            "one of several parts of a ZIP archive");
}

TEST(HostileZipTest, MembersWhoseNamesClimbOutAreLeftOutAndOthersAreRead) {
  std::string deep;
  for (int i = 0; i < 300; ++i) deep += "d/";
  for (const std::string& name :
       {std::string("../a"), std::string(".."), std::string("a/../b"), std::string("a/.."),
        std::string(), std::string("a\0b", 3), std::string(4097, 'x'), deep}) {
    const auto store = OpenBytes(
        ZipBuilder().Add({.name = name, .data = "a"}).Add({.name = "b", .data = "bb"}).Build());
    ASSERT_TRUE(store) << name << store.error().message();
    EXPECT_EQ((*store)->directory().size(), 1u) << name;
    EXPECT_EQ((*store)->directory().left_out(), 1u) << name;
    EXPECT_THAT((*store)->directory().notes(),
                ::testing::ElementsAre(HasSubstr("is no path within the archive")));
    EXPECT_TRUE((*store)->Stat("b").value());
  }
}

TEST(HostileZipTest, OddNamesAreReadAsTheyAreMeant) {
  for (const std::string name :
       {"./a/b", "/a/b", "a//b", "a/./b", ".//a/b", "a\\b", ".\\a\\b"}) {
    const auto store = OpenBytes(ZipBuilder()
                                     .Add({.name = name, .data = "one"})
                                     .Add({.name = "c", .data = "x"})
                                     .Build());
    ASSERT_TRUE(store) << name << store.error().message();
    EXPECT_EQ((*store)->directory().left_out(), 0u) << name;
    const auto read = (*store)->Read("a/b", 100);
    ASSERT_TRUE(read && *read) << name;
    EXPECT_EQ(AsText((*read)->span()), "one") << name;
  }
  const auto both = OpenBytes(ZipBuilder()
                                  .Add({.name = "a\\b", .data = "x"})
                                  .Add({.name = "c/d", .data = "y"})
                                  .Build());
  EXPECT_TRUE((*both)->Stat("a\\b").value()) << "where other names have slashes";
}

TEST(HostileZipTest, MemberOutsideOfTheArchive) {
  EXPECT_EQ(ErrorOf(ZipBuilder().Add({.name = "a", .local_header = 1'000'000}).Build()),
            "member \"a\" lies outside of the archive");
  EXPECT_EQ(ErrorOf(ZipBuilder().Add({.name = "a", .compressed_size = 1'000'000}).Build()),
            "member \"a\" lies outside of the archive");
}

TEST(HostileZipTest, DirectoryBeyondReason) {
  // A sparse file whose directory would be the 200 MiB before its end.
  const test::TemporaryDirectory directory;
  constexpr uint32_t kSize = 200 << 20;
  test::WriteFile(directory / "a.zip", "PK\3\4");
  std::filesystem::resize_file(directory / "a.zip", kSize);
  std::ofstream(directory / "a.zip", std::ios::binary | std::ios::app)
      << ZipBuilder().Build({.directory_size = kSize});
  const auto root = SourceRoot::Open(directory.path()).value();
  EXPECT_THAT(ZipStore::Open(MakeFileStore(root, "a.zip")),
              test::IsError(model::ErrorCode::kLimit,
                            "a.zip: its directory has 209715200 bytes, more than 134217728"));
}

// Archives of which a member is refused, and the others are read.

class HostileMemberTest : public ::testing::Test {
 protected:
  // What reading `spec` as the member "bad" gives; "good" must be as it was.
  std::string Read(test::ZipMemberSpec spec) {
    spec.name = "bad";
    const auto store = OpenBytes(ZipBuilder()
                                     .Add({.name = "good", .data = "good"})
                                     .Add(spec)
                                     .Add({.name = "zz", .data = "zzzz", .deflated = true})
                                     .Build());
    EXPECT_EQ(ReadMember(store, "good"), "good");
    EXPECT_EQ(ReadMember(store, "zz"), "zzzz");
    return ReadMember(store, "bad");
  }
};

TEST_F(HostileMemberTest, Encrypted) {
  for (const uint16_t flags : {1, 1 << 6, 1 << 13, 0x2041}) {
    EXPECT_EQ(Read({.data = "secret", .flags = flags}), "error: encrypted");
  }
  // Flags without such a meaning: UTF-8, and sizes after the data.
  EXPECT_EQ(Read({.data = "plain", .flags = 0x0808}), "plain");
}

TEST_F(HostileMemberTest, UnknownCompression) {
  EXPECT_EQ(Read({.data = "x", .method = 12}), "error: ZIP compression method 12");
}

TEST_F(HostileMemberTest, StoredOfTwoSizes) {
  EXPECT_EQ(Read({.data = "abc", .size = 4}), "error: stored, but of two sizes: 4 and 3");
}

TEST_F(HostileMemberTest, InflatesToMoreThanCanBe) {
  EXPECT_THAT(Read({.data = "abc", .deflated = true, .size = 0x7fffffff}),
              HasSubstr("cannot inflate to 2147483647"));
}

TEST_F(HostileMemberTest, InflatesToMoreThanItsSize) {
  EXPECT_EQ(Read({.data = Compressible(5000), .deflated = true, .size = 4999}),
            "error: decodes to more than expected");
}

TEST_F(HostileMemberTest, InflatesToLessThanItsSize) {
  EXPECT_EQ(Read({.data = Compressible(5000), .deflated = true, .size = 5001}),
            "error: inflates to 5000 bytes instead of 5001");
}

TEST_F(HostileMemberTest, WrongChecksum) {
  EXPECT_EQ(Read({.data = "abc", .deflated = true, .crc32 = 0x12345678}),
            "error: crc32: stored 12345678, found 352441c2");
}

TEST_F(HostileMemberTest, CompressedSizeThatIsTooSmall) {
  EXPECT_EQ(Read({.data = Compressible(500), .deflated = true, .compressed_size = 20}),
            "error: invalid or truncated data, or a wrong checksum");
}

TEST_F(HostileMemberTest, LocalHeaderOfAnotherMember) {
  EXPECT_EQ(Read({.data = "abc", .local_header = 0}),
            "error: its local header does not match the directory");
  EXPECT_EQ(Read({.data = "abc", .local_name = "bat"}),
            "error: its local header does not match the directory");
  EXPECT_EQ(Read({.data = "abc", .local_header = 7}),
            "error: its local header does not match the directory");
}

TEST_F(HostileMemberTest, OfMembersWithOneNameTheLastCounts) {
  const auto store = OpenBytes(ZipBuilder()
                                   .Add({.name = "a", .data = "first"})
                                   .Add({.name = "b", .data = "b"})
                                   .Add({.name = "a", .data = "other"})
                                   .Add({.name = "c", .data = "same"})
                                   .Add({.name = "c", .data = "same", .deflated = true})
                                   .Build());
  EXPECT_EQ(ReadMember(store, "a"), "other");
  EXPECT_EQ((*store)->Size("a").value(), 5u);
  EXPECT_EQ((*store)->Stat("a").value()->size, 5u);
  EXPECT_EQ(ReadMember(store, "b"), "b");
  EXPECT_EQ(ReadMember(store, "c"), "same");
  std::vector<std::string> names;
  const auto entries = (*store)->List("");
  for (const auto& entry : *entries) names.push_back(entry.name);
  EXPECT_THAT(names, ElementsAre("a", "b", "c"));
}

// Reading parts of deflated members.

class InflateReaderTest : public ::testing::Test {
 protected:
  // 5 MB, so that there are milestones.
  InflateReaderTest() : text_(Compressible(5'000'000)), deflated_(test::Deflate(text_)) {}

  InflateReader Make(const std::string& deflated, uint64_t size, uint32_t crc32) {
    return InflateReader(InMemory("before" + deflated + "after"),
                         {6, deflated.size(), size, crc32});
  }
  static std::string Read(InflateReader& reader, uint64_t offset, size_t size) {
    std::string out(size, '?');
    const auto read = reader.Read(offset, std::as_writable_bytes(std::span(out)));
    return read ? out : "error: " + read.error().message();
  }
  static std::string ErrorOfRead(InflateReader& reader, uint64_t offset, size_t size) {
    const std::string text = Read(reader, offset, size);
    return text.starts_with("error: ") ? text : "no error";
  }

  const std::string text_;
  const std::string deflated_;
};

TEST_F(InflateReaderTest, ReadsInSequenceAndAtRandom) {
  InflateReader reader = Make(deflated_, text_.size(), test::Crc32(text_));
  std::mt19937 random(7);
  EXPECT_TRUE(Read(reader, 0, 100) == text_.substr(0, 100));
  for (size_t offset = 0; offset < 2'500'000; offset += 333'333) {
    EXPECT_TRUE(Read(reader, offset, 333'333) == text_.substr(offset, 333'333));
  }
  for (int i = 0; i < 40; ++i) {
    const size_t offset = random() % text_.size();
    const size_t size = std::min<size_t>(random() % 300'000, text_.size() - offset);
    EXPECT_TRUE(Read(reader, offset, size) == text_.substr(offset, size)) << offset;
  }
  EXPECT_TRUE(Read(reader, 0, text_.size()) == text_);
  EXPECT_EQ(Read(reader, text_.size(), 0), "");
}

TEST_F(InflateReaderTest, ReadsInSequenceInflateOnce) {
  const auto file = InMemory(deflated_);
  InflateReader reader(file, {0, deflated_.size(), text_.size(), test::Crc32(text_)});
  for (size_t offset = 0; offset < text_.size(); offset += 500'000) {
    ASSERT_TRUE(Read(reader, offset, 500'000) == text_.substr(offset, 500'000));
  }
  // What is left in the input buffer at the end of a read is read again.
  EXPECT_LE(file->bytes_read(), deflated_.size() + 10 * 65536 + 65536);
}

TEST_F(InflateReaderTest, ThreadsReadAtTheSameTime) {
  InflateReader reader = Make(deflated_, text_.size(), test::Crc32(text_));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 15; ++i) {
        const size_t offset = random() % (text_.size() - 70'000);
        if (Read(reader, offset, 70'000) != text_.substr(offset, 70'000)) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(InflateReaderTest, ChecksumIsVerifiedAtTheEnd) {
  InflateReader reader = Make(deflated_, text_.size(), test::Crc32(text_) ^ 1);
  EXPECT_TRUE(Read(reader, 0, 1'000'000) == text_.substr(0, 1'000'000));
  EXPECT_THAT(ErrorOfRead(reader, 4'000'000, 1'000'000), StartsWith("error: crc32: stored "));
  // And again, by whoever reads the end.
  EXPECT_THAT(ErrorOfRead(reader, text_.size() - 1, 1), StartsWith("error: crc32: stored "));
}

TEST_F(InflateReaderTest, StreamsOfAnotherLengthAreCorrupt) {
  const uint32_t crc32 = test::Crc32(text_);
  InflateReader shorter = Make(deflated_, text_.size() - 1, crc32);
  EXPECT_EQ(ErrorOfRead(shorter, text_.size() - 10, 9),
            "error: inflates to more than its 4999999 bytes");
  InflateReader longer = Make(deflated_, text_.size() + 1, crc32);
  EXPECT_EQ(ErrorOfRead(longer, text_.size(), 1),
            "error: inflates to less than its 5000001 bytes");
  EXPECT_TRUE(Read(longer, 10, 10) == text_.substr(10, 10));
}

TEST_F(InflateReaderTest, DamagedStreamsAreCorruptFromThereOn) {
  InflateReader cut = Make(deflated_.substr(0, deflated_.size() / 2), text_.size(), 0);
  EXPECT_TRUE(Read(cut, 1000, 1000) == text_.substr(1000, 1000));
  EXPECT_EQ(ErrorOfRead(cut, text_.size() - 10, 10),
            "error: invalid or truncated deflated data");
  EXPECT_TRUE(Read(cut, 1000, 1000) == text_.substr(1000, 1000));
  InflateReader noise = Make(std::string(1000, '\xff'), 1000, 0);
  EXPECT_EQ(ErrorOfRead(noise, 0, 10), "error: invalid or truncated deflated data");
}

TEST_F(InflateReaderTest, FileThatEndsWithinTheStream) {
  InflateReader reader(InMemory(deflated_.substr(0, 100'000)),
                       {0, deflated_.size(), text_.size(), test::Crc32(text_)});
  EXPECT_EQ(ErrorOfRead(reader, 1'000'000, 10), "error: cut short");
}

TEST_F(InflateReaderTest, PartsOfDeflatedMembersAreReadThroughTheStore) {
  const auto store =
      OpenBytes(ZipBuilder().Add({.name = "m", .data = text_, .deflated = true}).Build())
          .value();
  EXPECT_FALSE(store->IsStored("m"));
  for (const size_t offset : {0u, 4'999'999u, 1'234'567u, 1'234'568u}) {
    std::string out(1000, '?');
    const auto count = store->ReadInto("m", offset, std::as_writable_bytes(std::span(out)));
    ASSERT_THAT(count, test::IsOk());
    EXPECT_TRUE(out.substr(0, **count) == text_.substr(offset, 1000));
  }
}

// Zarr in ZIP archives, as zarr-python writes it.

class ZarrZipTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!test::HasZarrPython2()) GTEST_SKIP() << "zarr-python 2 is not installed";
  }
  const Format* Detect(const std::string& name) {
    return DetectFile(*LocalSource::Open(directory_.path()).value(), name);
  }
  model::Result<std::shared_ptr<const Hierarchy>> Open(const std::string& name) {
    return ZarrZipFormat().Open(LocalSource::Open(directory_.path()).value(), name, {});
  }
  void WriteZarr() {
    std::string script = R"PY(
import numpy as np, zarr, shutil, zipfile, os
os.chdir('DIRECTORY')
g = zarr.open_group('data.zarr', 'w')
a = g.create_dataset('g/t', data=np.arange(1000, dtype='>i4').reshape(10, 100), chunks=(4, 30))
a.attrs['_ARRAY_DIMENSIONS'] = ['y', 'x']
x = g.create_dataset('x', data=np.arange(100, dtype='<f8'))
x.attrs['_ARRAY_DIMENSIONS'] = ['x']
with zarr.ZipStore('within.zip', mode='w') as s: zarr.copy_store(zarr.DirectoryStore('data.zarr'), s)
shutil.make_archive('parent', 'zip', '.', 'data.zarr')  # deflated
with zipfile.ZipFile('two.zip', 'w') as z:
    for folder in 'ab':
        z.writestr(folder + '/.zgroup', '{"zarr_format": 2}')
zarr.save_array(zarr.ZipStore('one.zarr.zip', mode='w'), np.arange(5))
)PY";
    script.replace(script.find("DIRECTORY"), 9, directory_.path());
    test::RunPython(script);
  }
  static void CheckArray(const Hierarchy& hierarchy, const std::string& folder) {
    const auto node = hierarchy.Load(folder + "/g/t");
    ASSERT_THAT(node, test::IsOk());
    EXPECT_EQ((*node)->array().shape[1].dimcoord, folder + "/x");
    const std::string bytes = test::ReadThroughChunks(*(*node)->source);
    ASSERT_EQ(bytes.size(), 4000u);
    for (uint32_t i = 0; i < 1000; ++i) {
      EXPECT_EQ(bytes.substr(4 * i, 4), test::LittleEndian(i, 4));
    }
  }
  test::TemporaryDirectory directory_;
};

TEST_F(ZarrZipTest, AtTheRootOfTheArchive) {
  WriteZarr();
  ASSERT_EQ(Detect("within.zip"), &ZarrZipFormat());
  const auto hierarchy = Open("within.zip");
  ASSERT_THAT(hierarchy, test::IsOk());
  EXPECT_EQ((*hierarchy)->format(), "Zarr v2");
  EXPECT_THAT((*hierarchy)->List("/"), test::IsOkAnd(ElementsAre("g", "x")));
  CheckArray(**hierarchy, "");
}

TEST_F(ZarrZipTest, CutShortItIsAStoreThatCannotBeRead) {
  WriteZarr();
  std::string archive = test::ReadFile(directory_ / "within.zip");
  archive.resize(archive.size() / 2);
  test::WriteFile(directory_ / "cut.zip", archive);
  ASSERT_EQ(Detect("cut.zip"), &ZarrZipFormat());
  EXPECT_FALSE(Open("cut.zip"));
}

TEST_F(ZarrZipTest, OneFolderDown) {
  WriteZarr();
  ASSERT_EQ(Detect("parent.zip"), &ZarrZipFormat());
  const auto hierarchy = Open("parent.zip");
  ASSERT_THAT(hierarchy, test::IsOk());
  EXPECT_EQ((*hierarchy)->format(), "Zarr in ZIP");
  EXPECT_THAT((*hierarchy)->List("/"), test::IsOkAnd(ElementsAre("data.zarr")));
  EXPECT_THAT((*hierarchy)->List("/data.zarr"), test::IsOkAnd(ElementsAre("g", "x")));
  EXPECT_TRUE((*(*hierarchy)->Load("/"))->is_group());
  const auto top = (*hierarchy)->Load("/data.zarr");
  EXPECT_EQ(std::get<model::Group>((*top)->entity).name, "data.zarr");
  EXPECT_THAT((*hierarchy)->Load("/x"),
              test::IsError(model::ErrorCode::kNotFound, HasSubstr("/x")));
  EXPECT_THAT((*hierarchy)->List("/y/z"),
              test::IsError(model::ErrorCode::kNotFound, HasSubstr("/y/z")));
  CheckArray(**hierarchy, "/data.zarr");
}

TEST_F(ZarrZipTest, SeveralFoldersAreSeveralGroups) {
  WriteZarr();
  const auto hierarchy = Open("two.zip");
  ASSERT_THAT(hierarchy, test::IsOk());
  EXPECT_THAT((*hierarchy)->List("/"), test::IsOkAnd(ElementsAre("a", "b")));
  EXPECT_THAT((*hierarchy)->Version("/"), test::IsOk());
  EXPECT_THAT((*hierarchy)->Version("/a"), test::IsOk());
}

TEST_F(ZarrZipTest, ArrayAloneIsCalledAsTheFile) {
  WriteZarr();
  const auto node = (*Open("one.zarr.zip"))->Load("/");
  ASSERT_THAT(node, test::IsOk());
  EXPECT_EQ((*node)->array().name, "one");
}

TEST_F(ZarrZipTest, OtherArchivesAreNoStores) {
  test::WriteFile(directory_ / "plain.zip",
                  ZipBuilder().Add({.name = "a/b/.zgroup", .data = "{}"}).Build());
  EXPECT_EQ(Detect("plain.zip"), nullptr);
  test::WriteFile(directory_ / "broken.zip", "PK\3\4 but no more");
  EXPECT_EQ(Detect("broken.zip"), nullptr);
  test::WriteFile(directory_ / "text.zip", "text");
  EXPECT_EQ(Detect("text.zip"), nullptr);
  test::WriteFile(directory_ / "file.zarr", "text");
  EXPECT_EQ(Detect("file.zarr"), nullptr);
}

TEST_F(ZarrZipTest, NamedAsOneButBrokenSaysWhy) {
  test::WriteFile(directory_ / "broken.zarr.zip", "PK\3\4 but no more");
  EXPECT_EQ(Detect("broken.zarr.zip"), &ZarrZipFormat());
  EXPECT_THAT(Open("broken.zarr.zip"),
              test::IsError(model::ErrorCode::kBadInput,
                            "broken.zarr.zip: not a ZIP archive, or cut short: no end record"));
  test::WriteFile(directory_ / "empty.zarr.zip", ZipBuilder().Build());
  EXPECT_THAT(
      Open("empty.zarr.zip"),
      test::IsError(model::ErrorCode::kBadInput,
                    "empty.zarr.zip: no Zarr metadata at its root, nor one folder down"));
}

}  // namespace
}  // namespace ndlfs::backends
