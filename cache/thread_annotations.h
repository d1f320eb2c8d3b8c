// SPDX-License-Identifier: MIT
#pragma once

#include "model/mutex.h"
