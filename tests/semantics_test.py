# SPDX-License-Identifier: MIT
"""Every sentence of SEMANTICS.md names a test, and that test exists."""
import ast
import os
import re
import sys

TESTS = os.path.dirname(os.path.abspath(__file__))
ROW = re.compile(r"^\| (?P<sentence>.*[.]) \| (?P<where>[^|]+) \| `(?P<test>[^`]+)` \|$")


def tests_of_script(path):
    """"Class.test" for each, as unittest calls them."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    return {f"{part.name}.{item.name}" for part in tree.body if isinstance(part, ast.ClassDef) for item in part.body
            if isinstance(item, ast.FunctionDef)}


def unit_tests():
    """"Suite.Name" for each of GoogleTest."""
    found = set()
    for folder, _, names in os.walk(TESTS):
        for name in names:
            if name.endswith("_test.cc"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    found |= {f"{suite}.{test}"
                              for suite, test in re.findall(r"TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", file.read())}
    return found


def exists(test, known):
    script, _, name = test.rpartition(" ")
    if not script:
        return name in known
    path = os.path.join(TESTS, script)
    return os.path.isfile(path) and name in tests_of_script(path)


def main():
    with open(os.path.join(TESTS, "..", "SEMANTICS.md"), encoding="utf-8") as file:
        rows = [line.rstrip("\n") for line in file if line.startswith("|")]
    rows = [row for row in rows if not re.match(r"^\|(---| what holds )", row)]
    known, wrong = unit_tests(), []
    for row in rows:
        found = ROW.match(row)
        if not found:
            wrong.append(f"no sentence, place and test: {row}")
        elif not exists(found["test"], known):
            wrong.append(f"there is no test {found['test']}: {found['sentence']}")
    print("\n".join(wrong) or f"{len(rows)} sentences, each with its test")
    return 1 if wrong or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
