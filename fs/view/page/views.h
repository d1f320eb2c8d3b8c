// SPDX-License-Identifier: MIT
//
// Pages and tables for people.
#pragma once

#include "fs/view/base/view_kind.h"

namespace ndlfs::fs {

extern const ArrayViewKind kTableView;           // table.csv, another name of values.csv
extern const ArrayViewKind kValuesCsvView;       // values.csv
extern const ArrayViewKind kDataCsvView;         // data.csv
extern const ArrayViewKind kPageView;            // index.html
extern const GroupViewKind kGroupTableView;      // table.csv, another name of values.csv
extern const GroupViewKind kGroupValuesCsvView;  // values.csv
extern const GroupViewKind kGroupDataCsvView;    // data.csv
extern const GroupViewKind kGroupPageView;       // index.html

}  // namespace ndlfs::fs
