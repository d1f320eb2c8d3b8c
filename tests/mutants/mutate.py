# SPDX-License-Identifier: MIT
"""Mutants of our own code: one operator or constant of a source is changed at a time, and the unit tests shall notice it. Those
that survive are printed; each is a test that is missing, or a change without an effect.

    tests/mutants/mutate.py BUILD FOLDER_OR_SOURCE... [--count N] [--seed N] [--jobs N]

BUILD is a release build whose test executables are there. N mutants of each source are tried. The tests of a source are the file
X_test.cc that is named like it, and those that include its header; who survives them meets the other tests of the same
folder, without the slow ones. README.md says more."""
import argparse
import collections
import concurrent.futures
import json
import os
import random
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Folders below which a folder is tested as a whole.
FOLDERS = ["cache", "backends/codec", "backends/base", "backends/parquet", "backends/store", "backends/format", "fs/view", "fs/tree",
           "fs/compare", "fs/serve", "fs/fuse", "fs/http", "fs/cli", "model"]
# Seconds: tests that take longer are left to the unit tests themselves.
SLOW = 0.3
MEMORY = 6 << 30
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


def is_below(source, path):
    return source == path or source.startswith(path + "/")


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def run(words, folder):
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)


class Unit:
    """What the compiler takes at once: one source, or several (NDLFS_UNITY)."""

    def __init__(self, entry):
        self.file, words, self.flags = entry["file"], shlex.split(entry["command"]), []
        for before, word in zip(["", *words], words):
            if before not in ("-o", "-c", "-include") and word not in ("-o", "-c", "-include") and not word.endswith("ccache"):
                self.flags.append(word)
        # Neither warnings nor debug information, nor what clang does not know.
        self.flags = [word for word in self.flags[1:] if not word.startswith(("-O", "-g", "-W", "-flto", "-fvect-"))] + ["-w"]
        self.target = re.search(r"(\S+)/CMakeFiles/(\w+)\.dir/", shlex.join(words[words.index("-o"):])).group(2)
        self.object = words[words.index("-o") + 1]
        inner = re.findall(r'#include "(.*\.cc)"', text_of(self.file)) if "/Unity/" in self.file else [self.file]
        self.sources = [os.path.relpath(source, TOP) for source in inner]


class Program:
    """A test executable, linked with libraries that call each function where the linker finds it first."""

    def __init__(self, build, name, units, scratch):
        self.build, self.name, self.scratch = build, name, scratch
        self.sources = [source for unit in units for source in unit.sources]
        command = subprocess.run(["ninja", "-C", build, "-t", "commands", f"tests/{name}"], capture_output=True, text=True,
                                 check=True).stdout.splitlines()[-1]
        self.words = shlex.split(command.removeprefix(": && ").split(" && ")[0])
        self.objects = [word for word in self.words if word.endswith(".o")]
        self.libraries = self.words[self.words.index("-o") + 2:]

    def is_built(self):
        return all(os.path.exists(os.path.join(self.build, word)) for word in self.objects)

    def link(self, first, target):
        run([self.words[0], "-fuse-ld=lld", "-Wl,--allow-multiple-definition,-S,--threads=1", *first, *self.objects, *self.libraries, "-o",
             target], self.build)

    def suites(self, sources):
        found = set()
        for source in sources:
            text = text_of(os.path.join(TOP, source))
            found |= set(re.findall(r"\bTEST(?:_[FP])?\(\s*(\w+)", text)) | set(re.findall(r"\bTYPED_TEST(?:_P)?\(\s*(\w+)", text))
            found |= set(re.findall(r"\bINSTANTIATE_\w+\(\s*\w+,\s*(\w+)", text))
        return found

    def measure(self, objects, sources):
        """{test: seconds} of the tests in `sources` that pass."""
        kept = os.path.join(self.scratch, f"{self.name}.times.json")
        if os.path.exists(kept) and os.path.getmtime(kept) > max(os.path.getmtime(os.path.join(self.build, o)) for o in self.objects):
            return json.loads(text_of(kept))
        with tempfile.TemporaryDirectory(prefix="ndlfs-mutants-") as folder:
            program, report = os.path.join(folder, "test"), os.path.join(folder, "report.json")
            self.link(objects, program)
            wanted = ":".join(f"{suite}.*:*/{suite}.*:{suite}/*:*/{suite}/*" for suite in self.suites(sources))
            Run(program, ["--gtest_output=json:" + report, "--gtest_filter=" + wanted], folder, 900, 1800).outcome()
            times, failed = {}, []
            for suite in json.loads(text_of(report))["testsuites"]:
                for test in suite["testsuite"]:
                    name = f'{suite["name"]}.{test["name"]}'
                    if test.get("failures"):
                        failed.append(name)
                    else:
                        times[name] = float(test["time"].removesuffix("s"))
        if failed:
            print(f"{self.name}: fail without a change, and are left out: {' '.join(failed)}", flush=True)
        with open(kept, "w", encoding="utf-8") as file:
            json.dump(times, file)
        return times


class Run:
    """A run of tests that may loop for ever, or take all the memory."""

    def __init__(self, program, arguments, folder, cpu, wall):
        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        temporary = os.path.join(folder, "tmp")
        os.makedirs(temporary, exist_ok=True)
        self.wall = wall
        self.process = subprocess.Popen([program, "--gtest_brief=1", *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, preexec_fn=limit, start_new_session=True,
                                        env={**os.environ, "TMPDIR": temporary, "TEST_TMPDIR": temporary})

    def outcome(self):
        """Whether all tests passed."""
        try:
            return self.process.wait(self.wall) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait()


class Bench:
    """What mutants of the sources of some paths below a folder are linked and tested with."""

    def __init__(self, build, folder, paths):
        self.build, self.folder = os.path.abspath(build), folder
        self.scratch = os.path.join(self.build, "mutants")
        os.makedirs(self.scratch, exist_ok=True)
        with open(os.path.join(self.build, "compile_commands.json"), encoding="utf-8") as file:
            units = [Unit(entry) for entry in json.load(file) if entry["file"].endswith((".cc", ".cxx"))]
        self.units = [unit for unit in units if any(is_below(source, path) for source in unit.sources for path in paths)]
        by_target = collections.defaultdict(list)
        for unit in units:
            if "/tests/" in unit.sources[0] or unit.sources[0].startswith("tests/"):
                by_target[unit.target].append(unit)
        self.programs = [Program(self.build, name, own, self.scratch) for name, own in sorted(by_target.items()) if name.endswith("_test")]
        self.programs = [program for program in self.programs if program.is_built() and self.mirrored(program)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            self.objects = list(pool.map(self.interposable, self.units))
            self.headers = dict(pool.map(self.precompile, {unit.target: unit for unit in self.units}.values()))
        self.times = {program.name: program.measure(self.objects, self.mirrored(program)) for program in self.programs}

    def mirrored(self, program):
        return [source for source in program.sources if source.startswith(f"tests/{self.folder}/")]

    def is_new(self, path, unit):
        return os.path.exists(path) and os.path.getmtime(path) > os.path.getmtime(os.path.join(self.build, unit.object))

    def interposable(self, unit):
        """The unit compiled so that a function of another object takes the place of its own, and none is inlined that may be mutated."""
        target = os.path.join(self.scratch, unit.object.replace("/", "_"))
        if not self.is_new(target, unit):
            run(["g++", *unit.flags, "-O1", "-fPIC", "-c", unit.file, "-o", target], self.build)
        return target

    def precompile(self, unit):
        """(target, what has the compiler read all that sources of the target include)."""
        header = os.path.join(self.scratch, unit.target + ".h")
        if self.is_new(header + ".pch", unit):
            return unit.target, ["-include-pch", header + ".pch"]
        lines = set()
        for other in self.units:
            if other.target == unit.target:
                for source in other.sources:
                    lines |= set(re.findall(r"^#include .*$", text_of(os.path.join(TOP, source)), re.MULTILINE))
        with open(header, "w", encoding="utf-8") as file:
            file.write("\n".join(sorted(lines, key=lambda line: ('"' in line, line))) + "\n")
        try:
            run(["clang++", *unit.flags, "-O0", "-Xclang", "-fno-pch-timestamp", "-fpch-instantiate-templates", "-x", "c++-header", header,
                 "-o", header + ".pch"], self.build)
        except RuntimeError as problem:
            print(f"{unit.target}: no precompiled headers: {str(problem).splitlines()[0]}", flush=True)
            return unit.target, []
        return unit.target, ["-include-pch", header + ".pch"]

    def sources(self, wanted):
        return sorted(source for unit in self.units for source in unit.sources if is_below(source, wanted))


class Source:
    """One source, and what its tests are."""

    def __init__(self, bench, name):
        self.bench, self.name, self.text = bench, name, text_of(os.path.join(TOP, name))
        self.unit = next(unit for unit in bench.units if name in unit.sources)
        stem = os.path.basename(name).removesuffix(".cc")
        header = f'#include "{name.removesuffix(".cc")}.h"'
        self.stages, self.has_own = [], False
        later = []
        for program in bench.programs:
            mirrored = bench.mirrored(program)
            own = [source for source in mirrored if os.path.basename(source) == stem + "_test.cc" or
                   header in text_of(os.path.join(TOP, source))]
            self.has_own |= bool(own)
            first = self.tests(program, own, 3 * SLOW)
            rest = [test for test in self.tests(program, mirrored, SLOW) if test not in set(first)]
            self.stages += [(program, first)] if first else []
            later += [(program, rest)] if rest else []
        self.stages += later

    def tests(self, program, sources, longest):
        suites = program.suites(sources)
        return [test for test, seconds in self.bench.times[program.name].items()
                if seconds <= longest and suites & set(test.split(".")[0].split("/"))]

    def outcome(self, text):
        with tempfile.TemporaryDirectory(prefix="ndlfs-mutants-") as folder:
            changed, mutant = os.path.join(folder, os.path.basename(self.name)), os.path.join(folder, "mutant.o")
            with open(changed, "w", encoding="utf-8") as file:
                file.write(text)
            include = self.bench.headers[self.unit.target]
            try:
                run(["clang++", *self.unit.flags, "-O0", *include, "-c", changed, "-o", mutant], self.bench.build)
            except RuntimeError:
                return "does not compile"
            linked = {}
            for program, tests in self.stages:
                if program.name not in linked:
                    linked[program.name] = os.path.join(folder, program.name)
                    program.link([mutant, *self.bench.objects], linked[program.name])
                seconds = sum(self.bench.times[program.name][test] for test in tests)
                flags = os.path.join(folder, "flags")
                with open(flags, "w", encoding="utf-8") as file:
                    file.write("--gtest_fail_fast\n--gtest_filter=" + ":".join(tests) + "\n")
                if not Run(linked[program.name], ["--gtest_flagfile=" + flags], folder, int(3 + 6 * seconds), 15 + 10 * seconds).outcome():
                    return "killed"
        return "lived"

    def describe(self, mutant):
        offset, old, new = mutant
        line = self.text.count("\n", 0, offset) + 1
        return f"{self.name}:{line}: {old} -> {new or 'nothing'}: {self.text.splitlines()[line - 1].strip()}"

    def mutate(self, mutant):
        offset, old, new = mutant
        return self.outcome(self.text[:offset] + new + self.text[offset + len(old):]), self.describe(mutant)


def without_line(description):
    return re.sub(r":\d+: ", ": ", description, count=1)


def mutate(source, arguments):
    """{outcome: how many} of one source."""
    found = mutants(source.text)
    chosen = sorted(random.Random(arguments.seed).sample(found, min(arguments.count, len(found))))
    if arguments.again:
        known = {without_line(line) for line in text_of(arguments.again).splitlines()}
        chosen = [mutant for mutant in chosen if without_line(source.describe(mutant)) in known]
    counts = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for outcome, shown in pool.map(source.mutate, chosen):
            counts[outcome] += 1
            if outcome == "lived":
                print(shown, flush=True)
    note = "" if source.has_own else ", no unit test of its own"
    note += ", NONE COMPILES" if chosen and not counts["killed"] + counts["lived"] else ""
    print(f"{source.name}: {counts['killed']} killed, {counts['lived']} lived, of {len(found)}{note}", flush=True)
    return counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--again", help="what an earlier run printed: of the same mutants, only those that lived then")
    arguments = parser.parse_args()
    wanted, table = collections.defaultdict(list), {}
    for path in arguments.paths:
        path = os.path.relpath(os.path.abspath(path), TOP)
        folder = next((folder for folder in FOLDERS if is_below(path, folder)), None)
        if not folder:
            sys.exit(f"{path} is in none of {FOLDERS}")
        wanted[folder].append(path)
    for folder, paths in wanted.items():
        bench = Bench(arguments.build, folder, paths)
        for name in (name for path in paths for name in bench.sources(path)):
            if arguments.again and name + ":" not in text_of(arguments.again):
                continue
            row = table.setdefault(os.path.dirname(name), collections.Counter())
            row += mutate(Source(bench, name), arguments)
            row["sources"] += 1
    print("\n| folder | sources | killed | lived |\n|---|---|---|---|")
    for name, row in sorted(table.items()):
        print(f"| `{name}` | {row['sources']} | {row['killed']} | {row['lived']} |")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{used.ru_utime + used.ru_stime:.0f} seconds of processor")


if __name__ == "__main__":
    main()
