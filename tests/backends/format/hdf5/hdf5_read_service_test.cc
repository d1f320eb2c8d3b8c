// SPDX-License-Identifier: MIT
//
// What a helper may ask its parent for, and what comes of it at both ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <thread>

#include "backends/format/hdf5/page_cache.h"
#include "backends/format/hdf5/parent_files.h"
#include "backends/format/hdf5/read_service.h"
#include "backends/format/hdf5/shared_memory.h"
#include "backends/helper/message_socket.h"
#include "tests/support/result.h"

namespace ndlfs::backends::hdf5 {
namespace {

using test::IsErrno;
using test::IsOk;

// Byte i of it is i * 7 + i / 256.
class TestFile final : public InputFile {
 public:
  TestFile(uint64_t id, uint64_t size) : id_(id), size_(size) {}
  uint64_t id() const override { return id_; }
  uint64_t size() const override { return size_; }
  model::Result<void> Read(uint64_t offset, ByteSpan out) const override {
    reads_.emplace_back(offset, out.size());
    if (sys_errno != 0) return model::IoError(sys_errno, "read");
    if (offset < bad_end_ && offset + out.size() > bad_begin_)
      return model::IoError(EIO, "read");
    for (size_t i = 0; i < out.size(); ++i) out[i] = At(offset + i);
    return {};
  }
  model::Result<void> CheckUnchanged() const override { return {}; }
  static std::byte At(uint64_t i) { return static_cast<std::byte>(i * 7 + i / 256); }

  void SpoilBytes(uint64_t begin, uint64_t end) {
    bad_begin_ = begin;
    bad_end_ = end;
  }
  // What has been read since the last call.
  std::vector<std::pair<uint64_t, uint64_t>> TakeReads() const {
    return std::exchange(reads_, {});
  }

  int sys_errno = 0;

 private:
  const uint64_t id_;
  const uint64_t size_;
  uint64_t bad_begin_ = 0;
  uint64_t bad_end_ = 0;
  mutable std::vector<std::pair<uint64_t, uint64_t>> reads_;
};

class TestFiles final : public InputFiles {
 public:
  model::Result<std::shared_ptr<const InputFile>> Open(std::string_view name) override {
    const auto found = files.find(name);
    if (found == files.end()) return model::IoError(ENOENT, "open");
    return found->second;
  }
  std::map<std::string, std::shared_ptr<TestFile>, std::less<>> files;
};

class Hdf5ReadServiceTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kSize = 300'000;

  std::optional<std::vector<std::byte>> Read(uint64_t file,
                                             std::vector<ReadRequest::Range> ranges) {
    return service_.Reply({MessageKind::kRead, Encode(ReadRequest{file, std::move(ranges)})});
  }
  std::optional<std::vector<std::byte>> Open(const std::string& name) {
    return service_.Reply({MessageKind::kOpen, Encode(OpenRequest{name})});
  }

  TestFiles files_;
  std::shared_ptr<TestFile> file_ = std::make_shared<TestFile>(5, kSize);
  std::vector<std::byte> shared_ = std::vector<std::byte>(64 << 10);
  ReadService service_{files_, file_, shared_};
};

TEST_F(Hdf5ReadServiceTest, RangesComeOneAfterTheOther) {
  const auto reply = Read(5, {{1000, 3}, {kSize - 2, 2}, {kSize, 0}});
  ASSERT_TRUE(reply);
  EXPECT_THAT(DecodeAnswer<Done>(*reply), IsOk());
  for (const auto& [at, offset] : std::map<size_t, uint64_t>{
           {0, 1000}, {1, 1001}, {2, 1002}, {3, kSize - 2}, {4, kSize - 1}}) {
    EXPECT_EQ(shared_[at], TestFile::At(offset)) << at;
  }
  EXPECT_EQ(shared_[5], std::byte{0});
}

TEST_F(Hdf5ReadServiceTest, WhatBreaksTheRulesHasNoReply) {
  EXPECT_FALSE(Read(6, {{0, 1}})) << "a file that nobody opened";
  EXPECT_FALSE(Read(5, {{kSize, 1}})) << "beyond the end";
  EXPECT_FALSE(Read(5, {{kSize + 1, 0}})) << "beyond the end";
  EXPECT_FALSE(Read(5, {{1, UINT64_MAX}})) << "wraps around";
  EXPECT_FALSE(Read(5, {{UINT64_MAX, 2}})) << "wraps around";
  EXPECT_FALSE(Read(5, {{0, (64 << 10) + 1}})) << "more than there is room for";
  EXPECT_FALSE(Read(5, {{0, 64 << 10}, {0, 1}})) << "more than there is room for";
  EXPECT_FALSE(Read(5, std::vector<ReadRequest::Range>(ReadRequest::kMaxRanges + 1, {0, 1})));
  EXPECT_FALSE(Open(std::string(OpenRequest::kMaxName + 1, 'x')));
  EXPECT_FALSE(service_.Reply({MessageKind::kRead, std::vector<std::byte>(11)})) << "garbled";
  EXPECT_FALSE(service_.Reply({MessageKind::kOpen, std::vector<std::byte>(3)})) << "garbled";
  EXPECT_FALSE(service_.Reply({MessageKind::kReply, {}})) << "not for a helper to send";
  EXPECT_FALSE(service_.Reply({MessageKind::kQuestion, {}})) << "not for a helper to send";
  EXPECT_THAT(file_->TakeReads(), ::testing::IsEmpty());
}

TEST_F(Hdf5ReadServiceTest, MessagesThatKeepTheRulesAreNoLongerThanTheLimit) {
  const ReadRequest most{5, std::vector<ReadRequest::Range>(ReadRequest::kMaxRanges)};
  EXPECT_LE(Encode(most).size(), ReadService::MaxBytesOf(MessageKind::kRead));
  const OpenRequest longest{std::string(OpenRequest::kMaxName, 'x')};
  EXPECT_LE(Encode(longest).size(), ReadService::MaxBytesOf(MessageKind::kOpen));
}

TEST_F(Hdf5ReadServiceTest, OnlyFilesThatWereOpenedForTheQuestionAreRead) {
  files_.files["/b"] = std::make_shared<TestFile>(6, 100);
  EXPECT_FALSE(Read(6, {{0, 1}}));
  const auto opened = DecodeAnswer<NamedFile>(Open("/b").value());
  ASSERT_THAT(opened, IsOk());
  EXPECT_EQ(opened->id, 6);
  EXPECT_EQ(opened->size, 100);
  EXPECT_TRUE(Read(6, {{0, 1}}));
  EXPECT_FALSE(Read(6, {{100, 1}})) << "beyond its end, not that of the other file";
}

TEST_F(Hdf5ReadServiceTest, TheBeginningOfAFileComesAlong) {
  files_.files["/small"] = std::make_shared<TestFile>(6, 100);
  files_.files["/large"] = std::make_shared<TestFile>(7, kSize);
  files_.files["/broken"] = std::make_shared<TestFile>(8, kSize);
  files_.files["/broken"]->sys_errno = EIO;
  EXPECT_EQ(DecodeAnswer<NamedFile>(Open("/small").value())->head_bytes, 100);
  EXPECT_EQ(shared_[99], TestFile::At(99));
  EXPECT_EQ(DecodeAnswer<NamedFile>(Open("/large").value())->head_bytes, kMaxHeadBytes);
  EXPECT_EQ(shared_[kMaxHeadBytes - 1], TestFile::At(kMaxHeadBytes - 1));
  EXPECT_EQ(DecodeAnswer<NamedFile>(Open("/broken").value())->head_bytes, 0);
}

TEST_F(Hdf5ReadServiceTest, ErrorsOfFilesAreReplies) {
  EXPECT_THAT(DecodeAnswer<NamedFile>(Open("/nothing").value()), IsErrno(ENOENT));
  file_->sys_errno = ESTALE;
  EXPECT_THAT(DecodeAnswer<Done>(Read(5, {{0, 1}}).value()), test::IsStale());
}

TEST_F(Hdf5ReadServiceTest, RequestsWithoutEndAreRefused) {
  ReadService service(files_, file_, shared_, {.requests = 3});
  const Message nothing = {MessageKind::kRead, Encode(ReadRequest{5, {}})};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(service.Reply(nothing));
  EXPECT_FALSE(service.Reply(nothing));
}

TEST_F(Hdf5ReadServiceTest, BytesWithoutEndAreRefused) {
  ReadService service(files_, file_, shared_, {.bytes = 100});
  const Message some = {MessageKind::kRead, Encode(ReadRequest{5, {{0, 30}, {7, 20}}})};
  EXPECT_TRUE(service.Reply(some));
  EXPECT_TRUE(service.Reply(some));
  EXPECT_FALSE(service.Reply(some));
}

TEST(Hdf5MessageTest, MemoryGrowsWithWhatComesAndNotWithWhatIsPromised) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const uint64_t header[2] = {static_cast<uint64_t>(MessageKind::kAnswer), uint64_t{1} << 40};
  ASSERT_EQ(::send(ends[1], header, sizeof(header), 0), ssize_t{sizeof(header)});
  ASSERT_EQ(::send(ends[1], "some", 4, 0), 4);
  ::close(ends[1]);
  Message message;
  const auto any = [](MessageKind) { return UINT64_MAX; };
  EXPECT_EQ(ReceiveMessage(ends[0], message, any), Exchange::kClosed);
  EXPECT_LE(message.bytes.capacity(), size_t{4} << 20);
  ::close(ends[0]);
}

TEST(Hdf5MessageTest, LongMessagesComeWhole) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  for (const size_t size : {size_t{0}, size_t{1}, size_t{4096}, size_t{4097},
                            (size_t{1} << 20) + 1, (size_t{5} << 20) + 3}) {
    std::vector<std::byte> sent(size);
    for (size_t i = 0; i < size; ++i) sent[i] = TestFile::At(i);
    std::thread sender(
        [&] { EXPECT_EQ(SendMessage(ends[1], MessageKind::kAnswer, sent), Exchange::kDone); });
    Message message;
    EXPECT_EQ(ReceiveMessage(ends[0], message, [&](MessageKind) { return size; }),
              Exchange::kDone);
    sender.join();
    EXPECT_EQ(message.bytes, sent);
  }
  ::close(ends[0]);
  ::close(ends[1]);
}

// --- The end of the helper

class Hdf5ParentFilesTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kSize = 3'000'001;

  Hdf5ParentFilesTest() {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_), 0);
    parent_ = std::thread([this] { Serve(); });
    files_.emplace(ends_[1], memory_.bytes());
    file_ = files_->Told({1, kSize});
  }
  ~Hdf5ParentFilesTest() override {
    ::shutdown(ends_[1], SHUT_RDWR);
    parent_.join();
    ::close(ends_[0]);
    ::close(ends_[1]);
  }

  void Serve() {
    ReadService service(named_, behind_, memory_.bytes());
    Message message;
    const auto limit = [](MessageKind kind) { return ReadService::MaxBytesOf(kind); };
    while (ReceiveMessage(ends_[0], message, limit) == Exchange::kDone) {
      const auto reply = service.Reply(message);
      ASSERT_TRUE(reply) << "a request that breaks the rules";
      SendMessage(ends_[0], MessageKind::kReply, *reply);
    }
  }

  // Whether the bytes that are read are those of the file.
  bool ReadsWell(uint64_t offset, size_t size) const {
    std::vector<std::byte> out(size);
    if (!file_->Read(offset, out)) return false;
    for (size_t i = 0; i < size; ++i) {
      if (out[i] != TestFile::At(offset + i)) return false;
    }
    return true;
  }

  int ends_[2] = {-1, -1};
  SharedMemory memory_ = SharedMemory::Create().value();
  TestFiles named_;
  std::shared_ptr<TestFile> behind_ = std::make_shared<TestFile>(1, kSize);
  std::thread parent_;
  std::optional<ParentFiles> files_;
  std::shared_ptr<const InputFile> file_;
};

TEST_F(Hdf5ParentFilesTest, AnyBytesAreReadAsTheyAre) {
  uint64_t random = 12345;
  for (int i = 0; i < 3000; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const uint64_t offset = (random >> 20) % kSize;
    const uint64_t longest = i % 50 == 0 ? kSize : i % 5 == 0 ? 100'000 : 600;
    const size_t size = 1 + (random >> 40) % std::min(longest, kSize - offset);
    ASSERT_TRUE(ReadsWell(offset, size)) << offset << " " << size;
  }
  EXPECT_TRUE(ReadsWell(0, kSize));
  EXPECT_TRUE(ReadsWell(kSize - 1, 1));
}

TEST_F(Hdf5ParentFilesTest, SmallReadsNearEachOtherAreOneRequest) {
  for (uint64_t offset = 0; offset < 60'000; offset += 100) ASSERT_TRUE(ReadsWell(offset, 100));
  EXPECT_EQ(behind_->TakeReads().size(), 1);
}

TEST_F(Hdf5ParentFilesTest, ReadingForwardAsksForMoreAndMore) {
  for (uint64_t offset = 0; offset < kSize - 100; offset += 100) {
    ASSERT_TRUE(ReadsWell(offset, 100));
  }
  EXPECT_LT(behind_->TakeReads().size(), 30);
}

TEST_F(Hdf5ParentFilesTest, LargePiecesOneAfterTheOtherAreFewRequests) {
  constexpr size_t kPiece = 64 << 10;
  for (uint64_t offset = 1000; offset + kPiece <= kSize; offset += kPiece) {
    ASSERT_TRUE(ReadsWell(offset, kPiece)) << offset;
  }
  EXPECT_LT(behind_->TakeReads().size(), 8);
  // Small ones in between, which come into the same memory.
  for (uint64_t offset = 500; offset + kPiece <= kSize; offset += kPiece) {
    ASSERT_TRUE(ReadsWell(offset, kPiece)) << offset;
    ASSERT_TRUE(ReadsWell(kSize - 1 - offset, 1)) << offset;
  }
}

TEST_F(Hdf5ParentFilesTest, LargePiecesBeforeAnUnreadableOneAreRead) {
  constexpr size_t kPiece = 64 << 10;
  behind_->SpoilBytes(5 * kPiece, 5 * kPiece + 1);
  for (uint64_t offset = 0; offset < 5 * kPiece; offset += kPiece) {
    ASSERT_TRUE(ReadsWell(offset, kPiece)) << offset;
  }
  std::vector<std::byte> out(kPiece);
  EXPECT_THAT(file_->Read(5 * kPiece, out), IsErrno(EIO));
}

TEST_F(Hdf5ParentFilesTest, PrefetchedObjectsAreNotAskedForAgain) {
  std::vector<uint64_t> offsets;
  for (uint64_t i = 0; i < 400; ++i) offsets.push_back(i * 7000 % kSize);
  offsets.push_back(kSize - 1);
  offsets.push_back(kSize);
  offsets.push_back(UINT64_MAX);
  file_->Prefetch(offsets, 512);
  EXPECT_FALSE(behind_->TakeReads().empty());
  for (uint64_t i = 0; i < 400; ++i) ASSERT_TRUE(ReadsWell(i * 7000 % kSize, 512));
  ASSERT_TRUE(ReadsWell(kSize - 1, 1));
  EXPECT_THAT(behind_->TakeReads(), ::testing::IsEmpty());
}

TEST_F(Hdf5ParentFilesTest, BytesThatNobodyNeedsMayBeUnreadable) {
  behind_->SpoilBytes(20'000, 20'001);
  EXPECT_TRUE(ReadsWell(0, 8000));
  std::vector<std::byte> out(1);
  EXPECT_THAT(file_->Read(20'000, out), IsErrno(EIO));
  EXPECT_TRUE(ReadsWell(30'000, 500));
}

TEST_F(Hdf5ParentFilesTest, AChangedFileIsStale) {
  EXPECT_TRUE(ReadsWell(0, 1));
  behind_->sys_errno = ESTALE;
  std::vector<std::byte> out(1);
  EXPECT_THAT(file_->Read(1'000'000, out), test::IsStale());
}

TEST_F(Hdf5ParentFilesTest, NamedFilesHaveTheirOwnBytes) {
  named_.files["/b"] = std::make_shared<TestFile>(2, 10'000);
  const auto other = files_->Open("/b");
  ASSERT_THAT(other, IsOk());
  EXPECT_EQ((*other)->size(), 10'000);
  EXPECT_TRUE(ReadsWell(0, 100));
  std::vector<std::byte> out(1);
  EXPECT_THAT((*other)->Read(9'999, out), IsOk());
  EXPECT_EQ(out[0], TestFile::At(9'999));
  EXPECT_THAT(files_->Open("/c"), IsErrno(ENOENT));
  EXPECT_THAT(files_->Open(std::string(20'000, 'x')), IsErrno(ENAMETOOLONG));
}

TEST_F(Hdf5ParentFilesTest, ANameMeansOneFileWhileAQuestionIsAnswered) {
  named_.files["/b"] = std::make_shared<TestFile>(2, 10'000);
  EXPECT_EQ((*files_->Open("/b"))->id(), 2);
  named_.files["/b"] = std::make_shared<TestFile>(3, 10'000);
  EXPECT_EQ((*files_->Open("/b"))->id(), 2);
  files_->BeginQuestion();
  EXPECT_EQ((*files_->Open("/b"))->id(), 3);
}

TEST_F(Hdf5ParentFilesTest, TheBeginningOfAFileIsNotAskedForAgain) {
  for (const uint64_t size : {1, 4095, 4097, 16'000, 100'000}) {
    const auto file = std::make_shared<TestFile>(size, size);
    named_.files["/b"] = file;
    files_->BeginQuestion();
    const auto opened = files_->Open("/b").value();
    EXPECT_EQ(file->TakeReads().size(), 1);
    std::vector<std::byte> out(std::min<uint64_t>(size, 16 << 10));
    ASSERT_THAT(opened->Read(0, out), IsOk());
    EXPECT_EQ(out.back(), TestFile::At(out.size() - 1));
    EXPECT_THAT(file->TakeReads(), ::testing::IsEmpty()) << size;
  }
}

// --- Their parts

TEST(Hdf5PageCacheTest, TheLeastRecentlyUsedPageGoes) {
  PageCache cache(3);
  for (uint64_t page = 0; page < 3; ++page) {
    cache.Insert(1, page, std::vector<std::byte>(10, static_cast<std::byte>(page)));
  }
  ASSERT_NE(cache.Find(1, 0), nullptr);
  cache.Insert(2, 0, std::vector<std::byte>(PageCache::kPageBytes, std::byte{9}));
  EXPECT_EQ(cache.size(), 3);
  EXPECT_EQ(cache.Find(1, 1), nullptr);
  EXPECT_EQ(*cache.Find(1, 0), std::byte{0});
  EXPECT_EQ(*cache.Find(1, 2), std::byte{2});
  EXPECT_EQ(cache.Find(2, 0)[PageCache::kPageBytes - 1], std::byte{9});
  cache.Insert(2, 0, std::vector<std::byte>(1, std::byte{7}));
  EXPECT_EQ(*cache.Find(2, 0), std::byte{7});
  EXPECT_EQ(cache.size(), 3);
}

TEST(Hdf5SharedMemoryTest, AnotherProcessCanReadButNotWriteOrResizeIt) {
  const auto memory = SharedMemory::Create().value();
  memory.bytes()[17] = std::byte{42};
  const ConstByteSpan mapped = SharedMemory::Map(memory.fd());
  ASSERT_EQ(mapped.size(), SharedMemory::kBytes);
  EXPECT_EQ(mapped[17], std::byte{42});
  memory.bytes()[17] = std::byte{43};
  EXPECT_EQ(mapped[17], std::byte{43});
  EXPECT_EQ(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory.fd(), 0),
            MAP_FAILED);
  EXPECT_LT(::write(memory.fd(), "x", 1), 0);
  EXPECT_NE(::ftruncate(memory.fd(), 1), 0);
  ::munmap(const_cast<std::byte*>(mapped.data()), mapped.size());
}

class Hdf5MessageSocketTest : public ::testing::Test {
 protected:
  Hdf5MessageSocketTest() {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_), 0);
    helper::SetTick(ends_[0]);
  }
  ~Hdf5MessageSocketTest() override {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  static uint64_t Limit(MessageKind) { return 10'000'000; }

  int ends_[2] = {-1, -1};
};

TEST_F(Hdf5MessageSocketTest, MessagesOfAnySizeComeWhole) {
  for (const size_t size : {0, 1, 4095, 4096, 4097, 3'000'000}) {
    std::vector<std::byte> sent(size);
    for (size_t i = 0; i < size; ++i) sent[i] = TestFile::At(i);
    std::thread sender(
        [&] { EXPECT_EQ(SendMessage(ends_[1], MessageKind::kAnswer, sent), Exchange::kDone); });
    Message message;
    EXPECT_EQ(ReceiveMessage(ends_[0], message, &Limit), Exchange::kDone) << size;
    EXPECT_EQ(message.kind, MessageKind::kAnswer);
    EXPECT_EQ(message.bytes, sent);
    sender.join();
  }
}

TEST_F(Hdf5MessageSocketTest, AnEndThatDoesNotReadIsGivenUp) {
  int asked = 0;
  const std::vector<std::byte> large(50'000'000);
  EXPECT_EQ(SendMessage(ends_[0], MessageKind::kReply, large, [&] { return ++asked < 3; }),
            Exchange::kGivenUp);
}

TEST_F(Hdf5MessageSocketTest, AnEndThatSendsByteByByteIsGivenUp) {
  int left = 5;
  ASSERT_EQ(::send(ends_[1], "x", 1, 0), 1);
  Message message;
  const auto go_on = [&] { return ::send(ends_[1], "x", 1, 0) == 1 && --left > 0; };
  EXPECT_EQ(ReceiveMessage(ends_[0], message, &Limit, go_on), Exchange::kGivenUp);
}

TEST_F(Hdf5MessageSocketTest, WhatIsNoMessageBreaksTheRules) {
  const auto receive = [&](std::vector<uint64_t> words) {
    EXPECT_GT(::send(ends_[1], words.data(), words.size() * 8, 0), 0);
    Message message;
    return ReceiveMessage(ends_[0], message, &Limit);
  };
  EXPECT_EQ(receive({4, 0}), Exchange::kDone);
  EXPECT_EQ(receive({5, 0}), Exchange::kClosed) << "no such kind";
  EXPECT_EQ(receive({1, 10'000'001}), Exchange::kClosed) << "too long";
  EXPECT_EQ(receive({1, 8, 0, 0}), Exchange::kClosed) << "more than one";
}

}  // namespace
}  // namespace ndlfs::backends::hdf5
