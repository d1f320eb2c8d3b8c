// SPDX-License-Identifier: MIT
#pragma once

#include "model/entities.h"

namespace ndlfs::model {

// Whether each element of `array` is the compact text of one JSON value. That
// is so for strings that a filter for documents has encoded (numcodecs "json2"
// or "msgpack2"). Descriptions of such arrays say `x-format: json`.
bool HoldsJson(const Ndarray& array);

}  // namespace ndlfs::model
