# SPDX-License-Identifier: MIT
"""Mutants of our own code: one operator or constant of a source is changed at a time, and the unit tests of that source shall
notice it. Those that survive are printed; each is a test that is missing, or a change without an effect.

    tests/mutants/mutate.py BUILD SOURCE TEST... [--count N] [--seed N] [--jobs N]

BUILD is a release build whose libraries are there. SOURCE is compiled alone, without optimization, and linked before the
libraries with the tests, which are compiled once: cache/strided_copy.cc tests/cache/strided_copy_test.cc. A mutant that does not
compile is none; one whose tests take ten times as long as usual is killed."""
import argparse
import concurrent.futures
import json
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# What stands in a source, and what takes its place.
OPERATORS = {
    "<=": ["<", "=="], ">=": [">", "=="], "<": ["<=", ">"], ">": [">=", "<"], "==": ["!="], "!=": ["=="], "&&": ["||"],
    "||": ["&&"], "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["*"], "+=": ["-="], "-=": ["+="], "<<": [">>"],
    ">>": ["<<"], "++": ["--"], "true": ["false"], "false": ["true"], "break;": [""], "continue;": ["break;"],
}
TOKEN = re.compile(r"""
    (?P<skip>//[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|^\s*\#[^\n]*|->|<[\w:]+(?:\s*[*&])?>|::|\bstd::\w+<|\btemplate\s*<[^;{]*)
  | (?P<number>\b\d+\b(?![.\w]))
  | (?P<operator>\+=|-=|<<|>>|<=|>=|==|!=|&&|\|\||\+\+|\b(?:true|false)\b|\b(?:break|continue);|(?<=[ ])[-+*/%<>](?=[ ]))
""", re.VERBOSE | re.MULTILINE)


def mutants(text):
    """(offset, old, new) of every change."""
    found = []
    for match in TOKEN.finditer(text):
        if match["number"]:
            number = int(match["number"])
            found += [(match.start(), match["number"], str(new)) for new in {number + 1, max(number - 1, 0)} - {number}]
        elif match["operator"]:
            found += [(match.start(), match["operator"], new) for new in OPERATORS.get(match["operator"], [])]
    return found


def compile_command(build):
    """The flags of a source of the release build, without optimization."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        command = next(entry["command"] for entry in json.load(file) if "ndlfs_cli_store.dir" in entry["command"])
    words, flags = shlex.split(command), []
    for index, word in enumerate(words):
        if word in ("ccache",) or word.endswith("/ccache") or words[index - 1] in ("-o", "-c", "-include"):
            continue
        if word not in ("-o", "-c", "-include") and not word.startswith(("-O", "-g", "-Winvalid", "-flto")):
            flags.append(word)
    return [*flags, "-O0", "-w", "-DNDLFS_TEST_DATA=\"" + TOP + "/tests/data\""]


def link_words(build):
    """The libraries that the executable is linked with."""
    command = subprocess.run(["ninja", "-C", build, "-t", "commands", "ndlfs"], capture_output=True, text=True,
                             check=True).stdout.splitlines()[-1]
    words = command.split(" -o ndlfs ", 1)[1].split(" && ")[0]
    return shlex.split(words)


class Bench:
    def __init__(self, arguments, scratch):
        self.build, self.scratch = os.path.abspath(arguments.build), scratch
        self.source = os.path.join(TOP, arguments.source)
        with open(self.source, encoding="utf-8") as file:
            self.text = file.read()
        self.flags = compile_command(self.build)
        self.libraries = link_words(self.build)
        self.tests = [self.compile(os.path.join(TOP, test), f"test{number}.o") for number, test in enumerate(arguments.tests)]
        begin = time.monotonic()
        self.limit = 600
        if self.run("original", self.text) != "survives":
            sys.exit("the tests fail without a change")
        self.limit = 10 + 10 * (time.monotonic() - begin)

    def compile(self, source, name):
        target = os.path.join(self.scratch, name)
        subprocess.run([*self.flags, "-c", source, "-o", target], cwd=self.build, check=True, capture_output=True)
        return target

    def run(self, name, text):
        folder = os.path.join(self.scratch, name)
        os.makedirs(folder, exist_ok=True)
        changed = os.path.join(folder, os.path.basename(self.source))
        with open(changed, "w", encoding="utf-8") as file:
            file.write(text)
        try:
            mutant = self.compile(changed, f"{name}/mutant.o")
        except subprocess.CalledProcessError:
            return "does not compile"
        program = os.path.join(folder, "test")
        subprocess.run([self.flags[0], "-fuse-ld=lld", "-Wl,--allow-multiple-definition", mutant, *self.tests, *self.libraries, "-lgmock", "-lgtest",
                        "-lgtest_main", "-o", program], cwd=self.build, check=True, capture_output=True)
        try:
            done = subprocess.run([program, "--gtest_brief=1"], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=self.limit)
        except subprocess.TimeoutExpired:
            return "killed"
        finally:
            os.unlink(program)
        return "survives" if done.returncode == 0 else "killed"

    def mutate(self, number, mutant):
        offset, old, new = mutant
        outcome = self.run(f"mutant{number}", self.text[:offset] + new + self.text[offset + len(old):])
        line = self.text.count("\n", 0, offset) + 1
        shown = self.text.splitlines()[line - 1].strip()
        return outcome, f"{os.path.relpath(self.source, TOP)}:{line}: {old} -> {new or 'nothing'}: {shown}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("source")
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ndlfs-mutants-") as scratch:
        bench = Bench(arguments, scratch)
        found = mutants(bench.text)
        chosen = random.Random(arguments.seed).sample(found, min(arguments.count, len(found)))
        counts = {}
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            for outcome, shown in pool.map(bench.mutate, range(len(chosen)), sorted(chosen)):
                counts[outcome] = counts.get(outcome, 0) + 1
                if outcome == "survives":
                    print(shown, flush=True)
        print(f"{arguments.source}: {len(chosen)} of {len(found)} mutants: {counts}")


if __name__ == "__main__":
    main()
