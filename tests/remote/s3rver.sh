#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Serves a copy of a directory as the bucket "bucket" by s3rver, for comparisons by hand, until it is interrupted:
#
#   tests/remote/s3rver.sh DIRECTORY [PORT]
#
# s3rver is a package of npm (npm install s3rver@3.7.1); S3RVER names its program if that is not found by its name. It
# checks no signatures. It lists a folder only if it has a file, so each one is given an object that ends in "/". It
# answers with one byte too many if asked for the last bytes of an object, and so shards with their index at the end
# cannot be read.
set -euo pipefail

directory=$(realpath "$1")
port=${2:-9102}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

/usr/bin/python3 - "$directory" "$work/bucket" <<'PYTHON'
import hashlib, os, sys

top, bucket = map(os.fsencode, sys.argv[1:])


def put(path, data):
    """An object as s3rver keeps it: three files."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    for end, text in ((b"object", data), (b"object.md5", hashlib.md5(data).hexdigest().encode()),
                      (b"metadata.json", b'{"content-type": "binary/octet-stream"}')):
        with open(path + b"._S3rver_" + end, "wb") as file:
            file.write(text)


os.mkdir(bucket)
for folder, _, names in os.walk(top):
    target = os.path.join(bucket, os.path.relpath(folder, top)) if folder != top else bucket
    if folder != top:
        put(target + b"/", b"")
    for name in filter(lambda name: os.path.isfile(os.path.join(folder, name)), names):
        with open(os.path.join(folder, name), "rb") as file:
            put(os.path.join(target, name), file.read())
PYTHON
echo "AWS_ENDPOINT_URL=http://127.0.0.1:$port AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=S3RVER AWS_SECRET_ACCESS_KEY=S3RVER"
"${S3RVER:-s3rver}" -d "$work" -a 127.0.0.1 -p "$port" --silent --no-vhost-buckets
