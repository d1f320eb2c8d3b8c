// SPDX-License-Identifier: MIT
#include "fs/fuse/errno.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace ndlfs::fs {
namespace {

using model::Error;
using model::ErrorCode;

TEST(ToErrnoTest, SystemErrorsKeepTheirNumber) {
  for (const int number : {EACCES, ENOENT, EMFILE, EIO}) {
    EXPECT_EQ(ToErrno(Error(ErrorCode::kIo, "x", number)), number);
  }
}

TEST(ToErrnoTest, WhatHasChangedIsEstaleWhoeverSaysSo) {
  EXPECT_EQ(ToErrno(model::HasChanged("x").value()), ESTALE);
  EXPECT_EQ(ToErrno(model::IoError(ESTALE, "x").value()), ESTALE);
}

TEST(ToErrnoTest, NumbersThatMeanSomethingElseToTheKernelAreEio) {
  // The last three: a store that leads out of the source, in a loop, or to no file.
  for (const int number : {ENOSYS, EINTR, EAGAIN, 0, -5, EXDEV, ELOOP, ENXIO}) {
    EXPECT_EQ(ToErrno(Error(ErrorCode::kIo, "x", number)), EIO) << number;
  }
}

TEST(ToErrnoTest, ADataFileThatLeavesTheSourceOrIsNoFileIsBroken) {
  for (const int number : {EXDEV, ELOOP, ENXIO}) {
    EXPECT_EQ(ToErrno(Error(ErrorCode::kIo, "x", number)), EIO) << number;
  }
}

TEST(ToErrnoTest, WhatIsNotThereIsEnoentAndAllElseEio) {
  EXPECT_EQ(ToErrno(Error(ErrorCode::kNotFound, "x")), ENOENT);
  for (const ErrorCode code :
       {ErrorCode::kBadInput, ErrorCode::kCorrupt, ErrorCode::kUnsupported, ErrorCode::kLimit,
        ErrorCode::kInternal}) {
    EXPECT_EQ(ToErrno(Error(code, "x")), EIO);
  }
}

}  // namespace
}  // namespace ndlfs::fs
