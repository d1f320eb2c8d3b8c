#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes reference_tables.h: tables of references as kerchunk writes them, by tests/mount/parquet.py."""
import os
import pathlib
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mount"))

import parquet  # noqa: E402 - its folder is known only now


def references(*rows, **options):
    """Rows are paths with an offset and a size, or bytes, or None."""
    columns = {"path": ("text", []), "offset": ("i8", []), "size": ("i8", []), "raw": ("text", [])}
    for row in rows:
        raw = row if isinstance(row, bytes) else None
        path, offset, size = (row if isinstance(row, tuple) else (None, 0, 0))
        for name, value in zip(columns, (path, offset, size, raw)):
            columns[name][1].append(value)
    return parquet.table(columns, **options)


TABLES = {
    "WholeAndPart": references(("first.bin", None, None), ("../../second.bin", 1000, 262144), codec="zstd"),
    "Some": references(("data/a.bin", 2, 3), None, b"\0\1\2", ("top.bin", 0, 0), ("data/none.bin", 0, 5)),
    "OneMore": references(("data/a.bin", 5, 1)),
    "Elsewhere": references(("s3://bucket/a", 0, 1), ("../../../../secret", 0, 1), ("", 0, 1), ("same.bin", 0, 1)),
    "Negative": references(("data/a.bin", -1, 3)),
    "SixRows": references(*[None] * 6),
    "OfNumbers": parquet.table({"path": ("i8", [1, 2]), "offset": ("i8", [0, 0])}),
    "OfOthers": parquet.table({"name": ("text", ["a"])}),
    "RawAlone": parquet.table({"raw": ("text", [b"abc", None])}, encoding="dictionary", codec="gzip"),
}

lines = ["// SPDX-License-Identifier: MIT", "//", "// Written by make_reference_tables.py; not to be edited.", "#pragma once", "",
         "#include <charconv>", "#include <string>", "#include <string_view>", "", "namespace ndlfs::test {", "",
         "// Tables of Parquet in hexadecimal.", "// clang-format off"]
for name, table in TABLES.items():
    lines.append(f"inline constexpr std::string_view kTable{name} =")
    lines.append(f'    "{table.hex()}";')
lines += ["// clang-format on", "", "inline std::string TableFile(std::string_view hex) {",
          "  std::string file(hex.size() / 2, '\\0');", "  for (size_t i = 0; i < file.size(); ++i) {",
          "    unsigned value = 0;", "    std::from_chars(hex.data() + 2 * i, hex.data() + 2 * i + 2, value, 16);",
          "    file[i] = static_cast<char>(value);", "  }", "  return file;", "}", "",
          "}  // namespace ndlfs::test", ""]
pathlib.Path(__file__).with_name("reference_tables.h").write_text("\n".join(lines), encoding="utf-8")
