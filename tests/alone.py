# SPDX-License-Identifier: MIT
"""Compiles each header and each source of the project alone, so that each includes what it uses.

    tests/alone.py BUILD [JOBS [FILE...]]

BUILD is a build folder with one unit a source (no NDLFS_UNITY, no NDLFS_PRECOMPILE) and with its target `generated`. FILEs
are named from the top of the sources; without any, all are compiled. Nothing is written.
"""
import concurrent.futures
import json
import os
import shlex
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDERS = ["model", "backends", "cache", "fs", "tests"]


def commands_of(build):
    """The compiler's arguments for each source, without what is written."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    commands = {}
    for entry in entries:
        arguments = shlex.split(entry["command"])
        output = arguments.index("-o")
        del arguments[output:output + 2]
        arguments = [word for word in arguments if word not in ("-c", entry["file"])]
        commands[os.path.relpath(entry["file"], TOP)] = arguments
    return commands


def headers():
    for folder in FOLDERS:
        for where, _, names in os.walk(os.path.join(TOP, folder)):
            for name in sorted(names):
                if name.endswith(".h"):
                    yield os.path.relpath(os.path.join(where, name), TOP)


def command_for_header(header, commands):
    """That of a source in the same folder, or else in the nearest one above."""
    folder = os.path.dirname(header)
    while folder:
        near = [source for source in commands if source.startswith(folder + "/")]
        if near:
            return commands[min(near, key=lambda source: (source.count("/"), source))]
        folder = os.path.dirname(folder)
    raise SystemExit(f"alone.py: no source near {header}")


def compile_alone(job):
    path, arguments = job
    language = ["-x", "c++"] if path.endswith(".h") else []
    # A header is the main file here, and its constants are not used.
    quiet = ["-Wno-pragma-once-outside-header", "-Wno-unused-const-variable", "-Wno-unused-function"]
    result = subprocess.run([*arguments, *(quiet if language else []), "-fsyntax-only", *language, path], cwd=TOP,
                            stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return path, result.returncode, result.stderr


def main(build, width, wanted):
    commands = commands_of(build)
    jobs = [(source, arguments) for source, arguments in sorted(commands.items()) if not source.startswith("..")
            and not source.startswith("build/")]
    jobs += [(header, command_for_header(header, commands)) for header in headers()]
    if wanted:
        jobs = [job for job in jobs if job[0] in wanted]
    broken = 0
    with concurrent.futures.ThreadPoolExecutor(width) as pool:
        for path, status, text in pool.map(compile_alone, jobs):
            if status != 0:
                broken += 1
                print(f"{path}:\n{text}", flush=True)
    print(f"{len(jobs) - broken} passed, {broken} failed")
    return 1 if broken or not jobs else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else os.cpu_count(), set(sys.argv[3:])))
