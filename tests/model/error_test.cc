// SPDX-License-Identifier: MIT
#include "model/error.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "model/utf8.h"

namespace ndlfs::model {
namespace {

Result<int> Parse(int level) {
  if (level > 9) return BadInput("expected an integer from 0 to 9, found {}", level);
  return level;
}
Result<int> ParseCodec(int level) {
  NDLFS_TRY(const int parsed, Parse(level), "configuration.level");
  return parsed + 1;
}
Result<void> Check(int level) {
  NDLFS_RETURN_IF_ERROR(ParseCodec(level), "codecs[1]");
  return {};
}

TEST(ErrorTest, GainsContextOnTheWayUp) {
  EXPECT_EQ(ParseCodec(3).value(), 4);
  EXPECT_TRUE(Check(3));
  EXPECT_EQ(Check(12).error().message(),
            "codecs[1]: configuration.level: expected an integer from 0 to 9, found 12");
  EXPECT_EQ(Check(12).error().code(), ErrorCode::kBadInput);
}

TEST(ErrorTest, IoErrorKeepsTheErrno) {
  const Error error = IoError(ENOENT, "a\nb").value();
  EXPECT_EQ(error.sys_errno(), ENOENT);
  EXPECT_EQ(error.message(), "a\\x0ab: No such file or directory");
}

TEST(ErrorTest, TheErrnoTellsWhatKindItIs) {
  const auto code = [](int sys_errno) { return IoError(sys_errno, "open").value().code(); };
  for (const int number : {EACCES, EPERM}) EXPECT_EQ(code(number), ErrorCode::kDenied);
  for (const int number : {EAGAIN, EINTR, EMFILE, ENFILE, ENOMEM, ETIMEDOUT}) {
    EXPECT_EQ(code(number), ErrorCode::kBusy);
  }
  EXPECT_EQ(code(ECANCELED), ErrorCode::kCancelled);
  EXPECT_EQ(code(ESTALE), ErrorCode::kStale);
  for (const int number : {EIO, ENOENT, ENOTDIR, ELOOP})
    EXPECT_EQ(code(number), ErrorCode::kIo);
}

TEST(ErrorTest, TheErrnoTellsTheReason) {
  const auto reason = [](int sys_errno) { return IoError(sys_errno, "open").value().reason(); };
  EXPECT_EQ(reason(ENOENT), SystemReason::kNoSuchFile);
  EXPECT_EQ(reason(ELOOP), SystemReason::kLinkLoop);
  EXPECT_EQ(reason(EMFILE), SystemReason::kNoDescriptors);
  EXPECT_EQ(reason(ENFILE), SystemReason::kNoDescriptors);
  EXPECT_EQ(reason(EPIPE), SystemReason::kClosedPipe);
  EXPECT_EQ(reason(ENOSPC), SystemReason::kNone);
  EXPECT_EQ(Check(12).error().reason(), SystemReason::kNone);
  EXPECT_EQ(IoError(EACCES, "open").value().SystemText(), "Permission denied");
}

TEST(ErrorTest, MomentaryErrorsAreTransientButNotTheOtherWayRound) {
  for (const int number : {EMFILE, ECANCELED, ESTALE}) {
    EXPECT_TRUE(IoError(number, "open").value().is_momentary()) << number;
    EXPECT_TRUE(IoError(number, "open").value().is_transient()) << number;
  }
  for (const int number : {EACCES, EIO, ENOENT}) {
    EXPECT_FALSE(IoError(number, "open").value().is_momentary()) << number;
    EXPECT_TRUE(IoError(number, "open").value().is_transient()) << number;
  }
  EXPECT_FALSE(Check(12).error().is_transient());
}

TEST(ErrorTest, AnotherMessageLeavesTheKindAsItIs) {
  const Error error = IoError(EACCES, "open").value().WithMessage("a.zarr: closed");
  EXPECT_EQ(error.code(), ErrorCode::kDenied);
  EXPECT_EQ(error.sys_errno(), EACCES);
  EXPECT_EQ(error.message(), "a.zarr: closed");
}

TEST(ErrorTest, QuoteShowsWhatCannotBePrinted) {
  EXPECT_EQ(Quote("fa\"st\n\xff"), R"("fa\"st\x0a\xff")");
  // What terminals obey: CSI of one character, an override of direction, an end of line.
  EXPECT_EQ(OneLine("\u009b31m \u202e \u2028 \u2066"),
            R"(\xc2\x9b31m \xe2\x80\xae \xe2\x80\xa8 \xe2\x81\xa6)");
  EXPECT_EQ(OneLine("\u00a0\u00e9\u2013\u20ac"), "\u00a0\u00e9\u2013\u20ac");
  EXPECT_EQ(Quote(std::string(100, 'x')), "\"" + std::string(80, 'x') + "\"...");
}

TEST(Utf8Test, RefusesOverlongFormsAndSurrogates) {
  EXPECT_TRUE(IsUtf8("\u0394\u20ac\U0001F600"));
  for (const char* bad :
       {"\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"}) {
    EXPECT_FALSE(IsUtf8(bad));
  }
}

TEST(Utf8Test, Latin1GoesThereAndBack) {
  std::string back;
  EXPECT_TRUE(Utf8ToLatin1(Latin1ToUtf8("a\xe9\xff"), back));
  EXPECT_EQ(back, "a\xe9\xff");
  EXPECT_FALSE(Utf8ToLatin1("\u20ac", back));
}

}  // namespace
}  // namespace ndlfs::model
