#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Mounts a bucket of OpenStack Swift, which speaks S3 and checks signatures by code that is not ours. Needs root, and
# the Debian packages swift-proxy, swift-account, swift-container, swift-object and memcached. Not part of the suite.
# By hand, after a build:
#
#   NDLFS_BINARY=$PWD/build/release/ndlfs tests/remote/real.sh [TEST...]     runs real_test.py
#   tests/remote/real.sh serve DIRECTORY       serves the bucket "bucket" of its files until it is interrupted
#
# All servers listen on 127.0.0.1 only, keep their files in a temporary directory, and end with the script.
set -euo pipefail

# Swift reads /etc/swift/swift.conf: in a mount namespace of its own, that can be a file of ours.
if [ -z "${NDLFS_REAL_NAMESPACE:-}" ]; then
  NDLFS_REAL_NAMESPACE=1 exec unshare -m --propagation private "$0" "$@"
fi
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
servers=()
finish() {
  for process in "${servers[@]}"; do
    kill "$process" 2>/dev/null || true
    wait "$process" 2>/dev/null || true
  done
  umount /etc/swift 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

port=${NDLFS_REAL_PORT:-6480}
page=7  # keys in a list, so that the tests see lists of several pages
[ "${1:-}" != serve ] || page=1000
mkdir -p "$work/etc" "$work/node/disk" "$work/cache"
mkdir -p /etc/swift && mount --bind "$work/etc" /etc/swift
printf '[swift-hash]\nswift_hash_path_suffix = a\nswift_hash_path_prefix = b\n[storage-policy:0]\nname = zero\ndefault = yes\n' \
  >"$work/etc/swift.conf"

server() {  # NAME PORT: one of the three that keep the data
  cat >"$work/etc/$1.conf" <<CONF
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = $2
user = $(id -un)
devices = $work/node
mount_check = false
workers = 0
recon_cache_path = $work/cache
[pipeline:main]
pipeline = $1-server
[app:$1-server]
use = egg:swift#$1
CONF
  (cd "$work/etc" && swift-ring-builder "$1.builder" create 4 1 0 &&
    swift-ring-builder "$1.builder" add --region 1 --zone 1 --ip 127.0.0.1 --port "$2" --device disk --weight 1 &&
    swift-ring-builder "$1.builder" rebalance) >"$work/$1.ring" 2>&1 || [ -f "$work/etc/$1.ring.gz" ]
  "swift-$1-server" "$work/etc/$1.conf" >"$work/$1.log" 2>&1 &
  servers+=($!)
}
server account $((port + 1))
server container $((port + 2))
server object $((port + 3))

cat >"$work/etc/proxy.conf" <<CONF
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = $port
user = $(id -un)
workers = 0
[pipeline:main]
pipeline = catch_errors cache s3api tempauth copy slo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:$((port + 4))
[filter:s3api]
use = egg:swift#s3api
location = eu-test-1
max_bucket_listing = $page
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = se/cret+ .admin
[filter:copy]
use = egg:swift#copy
[filter:slo]
use = egg:swift#slo
CONF
memcached -u "$(id -un)" -l 127.0.0.1 -p $((port + 4)) -m 16 &
servers+=($!)
swift-proxy-server "$work/etc/proxy.conf" >"$work/proxy.log" 2>&1 &
servers+=($!)
for ((tries = 0; ; tries++)); do
  answer=$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/auth/v1.0" || true)
  [ "$answer" = 401 ] && break
  if ((tries == 300)); then
    cat "$work"/*.log >&2
    exit 1
  fi
  sleep 0.2
done

export NDLFS_REAL_SERVER=http://127.0.0.1:$port
export PYTHONPATH=$here:$here/../mount
if [ "${1:-}" = serve ]; then
  /usr/bin/python3 -B -c 'import real_test, sys; real_test.Swift().put_folder("bucket", sys.argv[1])' "$2"
  echo "AWS_ENDPOINT_URL=$NDLFS_REAL_SERVER AWS_REGION=eu-test-1 AWS_ACCESS_KEY_ID=test:tester AWS_SECRET_ACCESS_KEY=se/cret+"
  sleep infinity &
  servers+=($!)
  wait $!
else
  /usr/bin/python3 -B "$here/real_test.py" "$@"
fi
