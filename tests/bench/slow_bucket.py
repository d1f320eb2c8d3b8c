# SPDX-License-Identifier: MIT
"""Files behind a slow link (slow_link.py) as the bucket "bucket" of an object store.

    slow_bucket.py DIRECTORY [RATE [TOTAL]]

Looks at no signature. Lists objects in both versions of the protocol.
"""
import os
import urllib.parse
import xml.sax.saxutils

import slow_link

BUCKET = "bucket"
STAMP = "2017-07-14T02:40:00.000Z"


class Bucket(slow_link.Link):
    async def answer_path(self, writer, method, target, headers):
        path, _, query = target.partition("?")
        key = urllib.parse.unquote(path).removeprefix(f"/{BUCKET}").lstrip("/")
        query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        if not path.startswith(f"/{BUCKET}"):
            await super().answer_path(writer, method, target, headers)
        elif key:
            await self.answer_file(writer, method, f"{self.top}/{key}", headers)
        elif "location" in query:
            await self.send_xml(writer, method, "<LocationConstraint>us-east-1</LocationConstraint>")
        else:
            await self.send_xml(writer, method, self.list(query))

    async def send_xml(self, writer, method, text):
        await self.send(writer, method, "200 OK", {"Content-Type": "application/xml"}, text.encode())

    def keys(self, prefix, delimiter):
        """The keys that begin so, and folders, which end in '/', instead of the keys in them."""
        folder = prefix[:prefix.rfind("/") + 1]
        for entry in sorted(os.listdir(f"{self.top}/{folder}") if os.path.isdir(f"{self.top}/{folder}") else []):
            key = folder + entry
            is_folder = os.path.isdir(f"{self.top}/{key}")
            if not key.startswith(prefix):
                continue
            if is_folder and not delimiter:
                yield from self.keys(key + "/", delimiter)
            else:
                yield key + "/" * is_folder

    def list(self, query):
        after = query.get("continuation-token") or query.get("start-after") or query.get("marker", "")
        keys = [key for key in sorted(self.keys(query.get("prefix", ""), query.get("delimiter", ""))) if key > after]
        most = min(int(query.get("max-keys", 1000)), 1000)
        parts = [f"<Name>{BUCKET}</Name><Prefix>{xml.sax.saxutils.escape(query.get('prefix', ''))}</Prefix>"
                 f"<IsTruncated>{'true' if len(keys) > most else 'false'}</IsTruncated>"]
        for key in keys[:most]:
            name = xml.sax.saxutils.escape(key)
            if key.endswith("/"):
                parts.append(f"<CommonPrefixes><Prefix>{name}</Prefix></CommonPrefixes>")
            else:
                status = os.stat(f"{self.top}/{key}")
                parts.append(f"<Contents><Key>{name}</Key><Size>{status.st_size}</Size><LastModified>{STAMP}"
                             f"</LastModified><ETag>{xml.sax.saxutils.escape(self.tag(status))}</ETag></Contents>")
            last = name
        if len(keys) > most:
            parts.append(f"<NextMarker>{last}</NextMarker><NextContinuationToken>{last}</NextContinuationToken>")
        return f"<ListBucketResult>{''.join(parts)}</ListBucketResult>"


if __name__ == "__main__":
    slow_link.main(Bucket)
