#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes goldens.h: small tables, which tests/mount/parquet.py writes, with what is in them."""
import os
import pathlib
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "mount"))

import parquet  # noqa: E402 - its folder is known only now

COUNT = 21
COLUMNS = {
    "path": ("text", [f"file{i // 5}.nc" if i % 4 else None for i in range(COUNT)]),
    "offset": ("i8", [i * 2**33 - 7 if i % 5 else None for i in range(COUNT)]),
    "size": ("i4", [(-1)**i * i * 999 for i in range(COUNT)]),
    "flag": ("bool", [i % 3 == 0 if i != 7 else None for i in range(COUNT)]),
    "empty": ("f8", [None] * COUNT),
}
REQUIRED = {"a": ("i8", list(range(300, 300 - COUNT, -1))), "b": ("text", ["x" * (i % 3) for i in range(COUNT)]),
            "f": ("fixed", [f"{i:04}" for i in range(COUNT)])}
WIDE = {"d": ("i8", [0, 2**63 - 1, -2**63, 5, -1] + [i * i for i in range(300)])}
TABLES = {
    "Plain": parquet.table(COLUMNS),
    "Dictionary": parquet.table(COLUMNS | {"flag": ("i4", [1] * COUNT)}, encoding="dictionary", codec="snappy"),
    "Delta": parquet.table(COLUMNS, encoding="delta", version=2, codec="zstd"),
    "Gzip": parquet.table(COLUMNS, codec="gzip", checksum=True),
    "Runs": parquet.table({"flag": COLUMNS["flag"]}, encoding="runs", version=2),
    "Pages": parquet.table(COLUMNS, page_rows=4, group_rows=9, encoding="dictionary", codec="zstd", version=2,
                           checksum=True),
    "Required": parquet.table(REQUIRED, optional=False, fixed=4),
    "Required2": parquet.table(REQUIRED, optional=False, fixed=4, version=2, codec="snappy", encoding="dictionary"),
    "Wide": parquet.table(WIDE, encoding="delta", optional=False),
    "Nested": parquet.table({"a": REQUIRED["a"]}, nested=("x", "y"), optional=False),
    "NoRows": parquet.table({"a": ("i8", [])}),
}
CONTENTS = {"Required": REQUIRED, "Required2": REQUIRED, "Wide": WIDE, "Nested": {"a": REQUIRED["a"]},
            "NoRows": {"a": ("i8", [])}, "Runs": {"flag": COLUMNS["flag"]},
            "Dictionary": COLUMNS | {"flag": ("i4", [1] * COUNT)}}


def text_of(columns):
    """As table_test.cc writes it."""
    show = lambda v: "-" if v is None else str(int(v)) if isinstance(v, (bool, int)) else f"'{v}'"
    return "".join(f"{name}: {' '.join(map(show, values))}\\n" for name, (_, values) in columns.items())


lines = ["// SPDX-License-Identifier: MIT", "//", "// Written by make_goldens.py; not to be edited.", "#pragma once", "",
         "namespace ndlfs::backends::parquet {", "", "// A table in hexadecimal, and its columns.",
         "struct Golden {", "  const char* test_name;", "  const char* file;", "  const char* columns;", "};", "",
         "// clang-format off", "inline constexpr Golden kTables[] = {"]
for name, content in TABLES.items():
    lines.append(f'    {{"{name}", "{content.hex()}",')
    lines.append(f'     "{text_of(CONTENTS.get(name, COLUMNS))}"}},')
lines += ["};", "// clang-format on", "", "}  // namespace ndlfs::backends::parquet", ""]
pathlib.Path(__file__).with_name("goldens.h").write_text("\n".join(lines), encoding="utf-8")
