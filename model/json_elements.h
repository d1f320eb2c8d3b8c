// SPDX-License-Identifier: MIT
#pragma once

#include "model/entities.h"

namespace ndlfs::model {

// Whether each element of `array` is the compact text of one JSON value: of type
// string, and encoded by a filter that writes documents (numcodecs "json2" and
// "msgpack2"). Descriptions say so by `x-format: json`.
bool HoldsJson(const Ndarray& array);

}  // namespace ndlfs::model
