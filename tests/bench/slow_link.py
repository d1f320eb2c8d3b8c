# SPDX-License-Identifier: MIT
"""Files behind a slow link: each answer begins after a delay, and each connection has a rate of its own.

    slow_link.py DIRECTORY [RATE [TOTAL]]

RATE is that of a connection, TOTAL that of all together, in MB/s.
"""
import asyncio
import email.utils
import json
import os
import sys
import urllib.parse

DELAY = 0.05  # seconds
RATE = 64e6  # bytes a second and connection
PIECE = 512 << 10  # at most at once
LEAST = 4 << 10


class Link:
    """Serves the files below `top`; counts the requests under way. Rates are in bytes a second."""

    def __init__(self, top, rate=RATE, total=float("inf")):
        self.top, self.under_way, self.most, self.count = top, 0, 0, 0
        self.rate, self.total = rate, total
        self.free_at = 0.0  # when the link has sent all that it was given
        # A link sends without pauses: at most what takes 50 ms of a connection, and 5 ms of all.
        self.piece = int(min(PIECE, max(LEAST, min(rate * 0.05, total * 0.005))))

    async def serve(self, reader, writer):
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.under_way += 1
                self.count += 1
                self.most = max(self.most, self.under_way)
                try:
                    await self.answer(head.decode("latin-1"), writer)
                finally:
                    self.under_way -= 1
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def answer(self, head, writer):
        await asyncio.sleep(DELAY)
        lines = head.split("\r\n")
        method, target, _ = lines[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        await self.answer_path(writer, method, target, headers)

    async def answer_path(self, writer, method, target, headers):
        path = urllib.parse.unquote(urllib.parse.urlsplit(target).path)
        if path == "/.statistics":
            body = json.dumps({"count": self.count, "most": self.most}).encode()
            self.count = self.most = 0
            return await self.send(writer, method, "200 OK", {}, body)
        name = self.top + path
        if os.path.isdir(name) and not path.endswith("/"):
            return await self.send(writer, method, "301 Moved Permanently", {"Location": path + "/"}, b"")
        if os.path.isdir(name):
            entries = [{"name": entry.name, "type": "directory" if entry.is_dir() else "file"}
                       for entry in os.scandir(name)]
            return await self.send(writer, method, "200 OK", {"Content-Type": "application/json"},
                                   json.dumps(entries).encode())
        await self.answer_file(writer, method, name, headers)

    async def answer_file(self, writer, method, name, headers):
        try:
            with open(name, "rb") as file:
                await self.send_file(writer, method, file, headers.get("range"))
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            await self.send(writer, method, "404 Not Found", {}, b"")

    @staticmethod
    def tag(status):
        return f'"{status.st_mtime_ns:x}-{status.st_size:x}"'

    async def send_file(self, writer, method, file, wanted):
        status = os.fstat(file.fileno())
        size = status.st_size
        headers = {"ETag": self.tag(status),
                   "Last-Modified": email.utils.formatdate(status.st_mtime, usegmt=True)}
        first, end = 0, size
        if wanted:
            start, last = wanted.removeprefix("bytes=").split("-")
            first = int(start) if start else max(0, size - int(last))
            end = min(size, int(last) + 1) if start and last else size
            if first >= size:
                return await self.send(writer, method, "416 Range Not Satisfiable",
                                       {"Content-Range": f"bytes */{size}"}, b"")
            headers["Content-Range"] = f"bytes {first}-{end - 1}/{size}"
        file.seek(first)
        await self.send(writer, method, "206 Partial Content" if wanted else "200 OK", headers, None, file, end - first)

    async def send(self, writer, method, status, headers, body, file=None, length=0):
        length = len(body) if body is not None else length
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {length}",
                 *(f"{name}: {value}" for name, value in headers.items())]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n")
        if body is not None and method != "HEAD":
            writer.write(body)
        await writer.drain()
        if file is None or method == "HEAD":
            return
        loop = asyncio.get_running_loop()
        start = loop.time()
        sent = 0
        while sent < length:
            count = min(self.piece, length - sent)
            self.free_at = max(self.free_at, loop.time()) + count / self.total
            sent += count
            await asyncio.sleep(max(0, start + sent / self.rate - loop.time(), self.free_at - loop.time()))
            await loop.sendfile(writer.transport, file, file.tell(), count)


async def serve(kind):
    link = kind(sys.argv[1], *(float(rate) * 1e6 for rate in sys.argv[2:4]))
    server = await asyncio.start_server(link.serve, "127.0.0.1", 0, backlog=256)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def main(kind=Link):
    asyncio.run(serve(kind))


if __name__ == "__main__":
    main()
