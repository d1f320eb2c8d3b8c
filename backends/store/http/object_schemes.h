// SPDX-License-Identifier: MIT
#pragma once

// The schemes of URLs of object stores, and the function of backends/store/schemes/schemes.cc
// that opens them. A new one is a line here: ParseUrl() takes it from this list, too. The keys
// in these URLs are as they are: no character in them is special.
#define NDLFS_OBJECT_SCHEMES(MACRO) \
  MACRO("s3", OpenS3)               \
  MACRO("gs", OpenGoogle)           \
  MACRO("az", OpenAzure)            \
  MACRO("abfs", OpenAzure)          \
  MACRO("abfss", OpenAzure)
