# SPDX-License-Identifier: MIT
"""Nothing outside of the source is ever read through a store: every way that a format has of naming another file is tried
on a secret beside the source, and the secret is looked for in all that the mount shows. And what root gives up."""
import base64
import json
import os
import signal
import stat
import unittest

import h5py
import harness
import numpy as np

SECRET = b"SECRET! never to be seen in a mount SECRET! never to be seen"


def v2(shape=64, **more):
    return json.dumps({"zarr_format": 2, "shape": [shape], "chunks": [shape], "dtype": "|u1", "compressor": None,
                       "filters": None, "fill_value": 0, "order": "C", **more})


class ConfinementCase(harness.SourceTestCase):
    def setUp(self):
        super().setUp()
        self.outside = os.path.join(self.scratch, "outside")
        self.secret = os.path.join(self.outside, "secret")
        harness.write(self.secret, (SECRET * 2)[:64])
        harness.write(f"{self.outside}/array.zarr/.zarray", v2())
        harness.write(f"{self.outside}/array.zarr/0", (SECRET * 2)[:64])
        np.save(f"{self.outside}/array.npy", np.frombuffer(SECRET, "u1"))
        with h5py.File(f"{self.outside}/data.h5", "w") as file:
            file["x"] = np.frombuffer(SECRET, "u1")
            file["text"] = SECRET.decode()


class ConfinementTest(ConfinementCase):
    def names_of_secret(self, name="secret"):
        """How a file in the top folder of the source may call a file outside."""
        return [f"../outside/{name}", os.path.join(self.outside, name), f"./x/../../outside/{name}",
                f"{self.source}/../outside/{name}"]

    def make_links(self):
        for number, target in enumerate(self.names_of_secret()):
            harness.write(self.path(f"chunk{number}.zarr", ".zarray"), v2())
            os.symlink(("../" if target.startswith("..") else "") + target, self.path(f"chunk{number}.zarr", "0"))
        harness.write(self.path("metadata.zarr", ".zgroup"), '{"zarr_format": 2}')
        os.symlink("../../outside/array.zarr", self.path("metadata.zarr", "array"))
        harness.write(self.path("metadata.zarr", "b", ".zarray"), v2())
        os.symlink("../../../outside/secret", self.path("metadata.zarr", "b", ".zattrs"))
        for name in ("array.zarr", "array.npy", "data.h5"):
            os.symlink(f"../outside/{name}", self.path(name))
        os.symlink(self.outside, self.path("folder"))
        os.symlink("/proc/self/root", self.path("root"))
        os.symlink(f"/proc/self/cwd/{self.secret}", self.path("magic"))

    def make_hdf5(self):
        for number, target in enumerate(self.names_of_secret()):
            with h5py.File(self.path(f"external{number}.h5"), "w") as file:
                file.create_dataset("x", (64,), "u1", external=[(target, 0, 64)])
        for number, target in enumerate(self.names_of_secret("data.h5")):
            with h5py.File(self.path(f"link{number}.h5"), "w") as file:
                file["x"] = h5py.ExternalLink(target, "/x")
                file["all"] = h5py.ExternalLink(target, "/")
                layout = h5py.VirtualLayout((60,), "u1")
                layout[:] = h5py.VirtualSource(target, "x", (60,))
                file.create_virtual_dataset("virtual", layout)

    def make_references(self):
        references = {".zgroup": '{"zarr_format": 2}'}
        for number, target in enumerate(self.names_of_secret()):
            for form in ("{}", "file://{}", "file:{}"):
                name = f"a{len(references)}"
                references[f"{name}/.zarray"] = v2()
                references[f"{name}/0"] = [form.format(target), 0, 64]
                references[f"{name}/.zattrs"] = [form.format(target)]
        references["inline/.zarray"] = v2(4)
        references["inline/0"] = "base64:" + base64.b64encode(b"good").decode()
        harness.write(self.path("references.json"), json.dumps({"version": 1, "refs": references}))

    def everything(self, top):
        """Bytes of all regular files, values of attributes and names below `top`; links are not followed."""
        for folder, names, files in os.walk(top):
            for name in names + files:
                path = os.path.join(folder, name)
                status = os.lstat(path)
                if stat.S_ISLNK(status.st_mode):
                    continue
                for attribute in os.listxattr(path):
                    yield path, os.getxattr(path, attribute)
                if stat.S_ISREG(status.st_mode):
                    try:
                        yield path, harness.read(path)
                    except OSError:
                        yield path, b""

    def test_no_way_leads_to_the_secret(self):
        self.make_links()
        self.make_hdf5()
        self.make_references()
        mounted = self.mount(self.source)
        seen = {}
        for path, content in self.everything(mounted.path):
            self.assertNotIn(b"never to be", content, path)
            seen[os.path.relpath(path, mounted.path)] = content
        # They were all there to be tried.
        for name in ("chunk0.zarr/data.raw", "external0.h5/.ndl.yaml", "link0.h5/.ndl.yaml"):
            self.assertIn(name, seen)
        self.assertEqual(seen.get("references.json/inline/data.raw"), b"good")
        for number in (0, 1, 3):  # the other leads nowhere
            with self.assertRaises(OSError):
                harness.read(mounted.path, f"chunk{number}.zarr/data.raw")
        checked = harness.run(harness.BINARY, "check", self.source)
        self.assertEqual(checked.returncode, 1)
        self.assertNotIn("never to be", checked.stdout)

    def test_links_that_stay_inside_are_followed(self):
        harness.write(self.path("a.zarr", ".zarray"), v2(4))
        harness.write(self.path("shared", "chunk"), b"good")
        os.symlink("../shared/chunk", self.path("a.zarr", "0"))
        mounted = self.mount(self.source)
        self.assertEqual(harness.read(mounted.path, "a.zarr", "data.raw"), b"good")

    def test_link_that_is_bent_while_it_is_read_never_leads_out(self):
        """A chunk that is now inside, now outside."""
        harness.write(self.path("inside"), b"i" * 64)
        harness.write(self.path("a.zarr", ".zarray"), v2())
        os.symlink("../inside", self.path("a.zarr", "0"))
        mounted = self.mount(self.source, "--revalidate", "0")
        for number in range(300):
            os.symlink("../inside" if number % 2 else "../../outside/secret", self.path("next"))
            os.rename(self.path("next"), self.path("a.zarr", "0"))
            try:
                self.assertEqual(harness.read(mounted.path, "a.zarr", "data.raw"), b"i" * 64)
            except OSError:
                pass


@unittest.skipIf(os.getuid() != 0, "what root gives up")
class CapabilitiesTest(ConfinementCase):
    READING, UNMOUNTING = 1 << 2, 1 << 21  # CAP_DAC_READ_SEARCH, CAP_SYS_ADMIN

    def status(self, path):
        fields = {}
        with open(path, encoding="ascii") as file:
            for line in file:
                key, value = line.split(":", 1)
                fields[key] = value.strip()
        return fields

    def capabilities(self, path):
        fields = self.status(path)
        return [int(fields[key], 16) for key in ("CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb")]

    def test_every_thread_keeps_what_it_takes_to_read_and_to_unmount(self):
        np.save(self.path("a.npy"), np.arange(1000))
        os.chmod(self.path("a.npy"), 0)
        os.chown(self.path("a.npy"), 12345, 12345)
        mounted = self.mount(self.source)
        np.testing.assert_array_equal(np.load(mounted.join("a.npy", "data.npy")), np.arange(1000))
        tasks = f"/proc/{mounted.process.pid}/task"
        for task in os.listdir(tasks):
            self.assertEqual(self.capabilities(f"{tasks}/{task}/status"),
                             [self.READING, self.READING | self.UNMOUNTING, 0, self.READING | self.UNMOUNTING, 0])

    def test_sigterm_still_unmounts(self):
        with harness.Mount(self.source) as mounted:
            mounted.process.send_signal(signal.SIGTERM)
            harness.wait_until(lambda: harness.mount_type(mounted.path) is None, "unmounting")


if __name__ == "__main__":
    harness.main()
