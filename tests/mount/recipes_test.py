# SPDX-License-Identifier: MIT
"""Runs the recipes of examples/RECIPES.md, and compares what they print.

NDLFS_ALL_RECIPES=1 runs those, too, whose programs are large and not among the packages that the tests install.
"""
import os
import re
import shutil
import subprocess

import harness

RECIPES = os.path.join(harness.EXAMPLES, "RECIPES.md")
BLOCK = re.compile(r"^```sh ?(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Those that packaging/install-deps.sh does not install.
LARGE = {"octave", "Rscript", "gnuplot", "cdo", "ncks", "gdalinfo", "haproxy"}


class RecipesTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.mounted = self.mount(harness.DATA)
        folder = os.path.join(self.scratch, "bin")
        os.mkdir(folder)
        os.symlink(harness.BINARY, os.path.join(folder, "ndlfs"))
        self.environment = {**os.environ, "PATH": folder + ":" + os.environ["PATH"], "LC_ALL": "C.UTF-8"}

    def run_block(self, script):
        """Standard output of the block, without the lines that say what it shall be."""
        script = re.sub(r"^#>.*\n", "", script, flags=re.MULTILINE)
        for name, path in (("/mnt/ndl", self.mounted.path), ("/data/", harness.DATA + "/")):
            script = script.replace(name, path)
        work = os.path.join(self.scratch, "work")
        shutil.rmtree(work, ignore_errors=True)
        os.mkdir(work)
        result = subprocess.run(["bash", "-euo", "pipefail", "-c", script], stdin=subprocess.DEVNULL,
                                capture_output=True, text=True, cwd=work, env=self.environment,
                                timeout=harness.DEADLINE * 2)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_recipes_print_what_they_say(self):
        with open(RECIPES, encoding="utf-8") as file:
            blocks = BLOCK.findall(file.read())
        self.assertGreater(len(blocks), 10)
        with_large = os.environ.get("NDLFS_ALL_RECIPES") == "1"
        for program, script in blocks:
            if program in LARGE and not with_large:
                continue
            with self.subTest(program or "sh", script=script.splitlines()[0]):
                expected = re.findall(r"^#> ?(.*)$", script, flags=re.MULTILINE)
                self.assertNotEqual(expected, [], "a recipe that prints nothing proves nothing")
                self.assertEqual([line.rstrip() for line in self.run_block(script).splitlines()],
                                 [line.rstrip() for line in expected])


if __name__ == "__main__":
    harness.main()
