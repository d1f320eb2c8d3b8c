// SPDX-License-Identifier: MIT
//
// The one place that names the version of libfuse: 3.12. 3.10 is supported, too.
#pragma once

#define FUSE_USE_VERSION 312
#include <fuse3/fuse_lowlevel.h>
