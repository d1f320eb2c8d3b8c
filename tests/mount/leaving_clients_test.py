# SPDX-License-Identifier: MIT
"""ndlfs serve and clients that leave before an answer, in the middle of one, or that read slowly: nothing works for a
client that has left, and a slow one costs little memory, whatever it asked for."""
import json
import os
import re
import signal
import socket
import struct
import time
import unittest
import urllib.parse
import xml.etree.ElementTree

import harness
import numpy as np
import serve_test
import zarr2 as zarr

DEADLINE = harness.DEADLINE
# Arrays of any size without a stored chunk: what is asked for is computed, and takes hours.
SIDE = 1_000_000
# Of views of one array: those in the listing, and these, which only have a name.
PARTS = ["data[mean:y=1000000,x=1000000].npy", "data[max:y=1000000].raw", "values[count:x=1000000].npy",
         "data[::-1,::-7].npy", "data[axes:x,y].npy", "data[order=F].npy", "data[0:900000:3].txt", "values[5:].csv",
         "data[sum:y=1000000,x=1000000].zarr/0.0", "data[chunks:y=1000000].zarr/0.0", "data[y=3:].zarr2/0.0",
         "preview.png", "thumbnail.png", "index.html"]
FOLDER = ["data.nc", "data.dods", "data.dods?a.a,a.x", "data.ascii?a[0:1:999][0:999]", "data.das", "data.dap", "data.dmr",
          "data.dap?dap4.ce=/a&dap4.checksum=true", "data[mean:y=1000000].nc", "data.zarr/a/0.0", "?q=zzz", "?q=a"]


class LeavingCase(serve_test.ServeCase):
    def setUp(self):
        super().setUp()
        group = zarr.open_group(self.path("huge.zarr"), "w")
        for name, shape, chunks in (("a", (SIDE, SIDE), (1000, 1000)), ("y", (SIDE,), (1000,)), ("x", (SIDE,), (1000,)),
                                    ("cube", (3000, 3000, 3000), (1, 3000, 3000))):
            array = group.create_dataset(name, shape=shape, chunks=chunks, dtype="<f4", fill_value=1)
            array.attrs["_ARRAY_DIMENSIONS"] = [name] if len(shape) == 1 else ["z", "y", "x"][-len(shape):]
            array.attrs["scale_factor"] = 2.0
        for number in range(6000):
            harness.write(self.path("many", f"file_with_a_rather_long_name_number_{number}.dat"), "")
        harness.write(self.path("large"), "")
        os.truncate(self.path("large"), 1 << 30)
        self.server = self.serve("--s3", "bucket")

    def requests(self):
        """(method, path) of every kind of answer."""
        for folder, more in (("/huge.zarr/a/", PARTS), ("/huge.zarr/cube/", ["data.ome.zarr/0/c/0/0/0"]),
                             ("/huge.zarr/", FOLDER)):
            listed = json.loads(self.server.get(folder + "?format=json"))
            names = [entry["name"] for entry in listed if entry["type"] == "file"] + more
            yield from (("GET", folder + urllib.parse.quote(name, safe="/?=&")) for name in names)
        for path in ("/many/", "/many/?format=json", "/many/?q=9999", "/bucket/?list-type=2",
                     "/bucket/?list-type=2&delimiter=/&prefix=many/file", "/.ndlfs/stats.json"):
            yield "GET", path
        yield "PROPFIND", "/many/"
        yield "HEAD", "/huge.zarr/a/data.txt"

    def connect(self, method, path):
        client = socket.socket()
        self.addCleanup(client.close)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(DEADLINE)
        client.connect(("127.0.0.1", self.server.port))
        client.sendall(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nDepth: 1\r\n\r\n".encode())
        return client

    def stats(self):
        return json.loads(self.server.get("/.ndlfs/stats.json"))

    def is_idle(self):
        """Whether no request is under way but the one that asks."""
        stats = self.stats()
        return stats["requests_running"] + stats["requests_waiting"] <= 1


def close(client):
    client.close()


def reset(client):
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def stop_sending(client):
    client.shutdown(socket.SHUT_WR)


class LeavingTest(LeavingCase):
    # Longer than any test: what goes on for a client that has left would go on until then.
    def serve(self, *options, **more):
        return super().serve("--timeout", "100000", *options, **more)

    def test_nothing_works_for_a_client_that_has_left(self):
        for method, path in self.requests():
            for leave in (close, reset, stop_sending):
                for bytes_read in (0, 1):
                    with self.subTest(path, leave=leave.__name__, bytes_read=bytes_read):
                        client = self.connect(method, path)
                        client.settimeout(0.05)
                        try:
                            client.recv(bytes_read)
                        except TimeoutError:  # it leaves before
                            pass
                        leave(client)
                        harness.wait_until(self.is_idle, "the end of the work")
                        client.close()
        self.assertEqual(self.server.get("/s.zarr/a/data.raw"), serve_test.VALUES.tobytes())

    def test_a_server_that_is_told_to_end_waits_for_nobody(self):
        clients = [self.connect(method, path) for method, path in self.requests()]
        harness.wait_until(lambda: self.stats()["requests_running"] > 1, "the work")
        self.server.process.send_signal(signal.SIGTERM)
        self.server.process.wait(harness.ENDING)
        self.assertEqual(self.server.process.returncode, 0)
        for client in clients:
            client.close()


class TimeoutTest(LeavingCase):
    def serve(self, *options, **more):
        return super().serve("--timeout", "0.5", *options, **more)

    def test_nothing_works_for_an_answer_that_came_too_late(self):
        client = self.connect("GET", f"/huge.zarr/a/{urllib.parse.quote(PARTS[0])}")
        self.assertIn(b" 504 ", client.recv(100))
        harness.wait_until(self.is_idle, "the end of the work")


@unittest.skipIf(os.environ.get("NDLFS_SANITIZED"), "sanitizers keep memory that is free")
class SlowTest(LeavingCase):
    CLIENTS = 40
    MOST = 64 << 20  # for all clients, however many there are

    def resident(self):
        status = harness.read(f"/proc/{self.server.process.pid}/status").decode()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) << 10

    def test_slow_clients_cost_a_block_each_whatever_they_read(self):
        for method, path in (("PROPFIND", "/many/"), ("GET", "/many/"), ("GET", "/many/?format=json"),
                             ("GET", "/bucket/?list-type=2&prefix=many/"), ("GET", "/large")):
            with self.subTest(path):
                self.connect(method, path).recv(1)
                before = self.resident()
                clients = [self.connect(method, path) for _ in range(self.CLIENTS)]
                for client in clients:
                    self.assertEqual(client.recv(1), b"H")
                harness.wait_until(self.is_idle, "all blocks")
                self.assertLess(self.resident() - before, self.MOST)
                for client in clients:
                    client.close()


class LongListsTest(LeavingCase):
    def names(self):
        return {f"file_with_a_rather_long_name_number_{number}.dat" for number in range(6000)}

    def test_a_long_folder_is_complete_in_every_list(self):
        self.assertEqual({entry["name"] for entry in json.loads(self.server.get("/many/?format=json"))}, self.names())
        page = self.server.get("/many/").decode()
        self.assertEqual(set(re.findall(r'href="\./(file_[^"]*)"', page)), self.names())
        status, fields, body = self.server.ask("/many/", "PROPFIND", Depth="1")
        self.assertEqual((status, fields["Transfer-Encoding"]), (207, "chunked"))
        hrefs = [node.text for node in xml.etree.ElementTree.fromstring(body).iter("{DAV:}href")]
        self.assertEqual(len(hrefs), 6001)
        self.assertEqual({os.path.basename(href) for href in hrefs} - {""}, self.names())
        self.assertEqual(self.server.ask("/many/", "HEAD")[0], 200)

    def test_lists_of_a_bucket_have_all_keys_in_order(self):
        keys, token = [], ""
        while token is not None:
            body = self.server.get("/bucket/?list-type=2&prefix=many/&continuation-token=" + urllib.parse.quote(token))
            keys += re.findall("<Key>many/(.*?)</Key>", body.decode())
            more = re.search("<NextContinuationToken>(.*?)<", body.decode())
            token = more and more[1]
        self.assertEqual(keys, sorted(self.names()))


if __name__ == "__main__":
    harness.main()
