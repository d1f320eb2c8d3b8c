#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Serves a directory by nginx on this machine, for comparisons by hand, until it is interrupted:
#
#   tests/remote/nginx.sh DIRECTORY [PORT]
#
# http://127.0.0.1:PORT/ lists directories as JSON, /html/ as HTML, /none/ not at all. PORT + 1 is the
# same with TLS and HTTP/2; the certificate to trust is the file that is printed (--ca-file).
set -euo pipefail

directory=$(realpath "$1")
port=${2:-8080}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
  -addext subjectAltName=DNS:localhost,IP:127.0.0.1 \
  -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null

cat >"$work/nginx.conf" <<CONF
worker_processes 2;
worker_rlimit_nofile 4096;
pid $work/pid;
error_log $work/error.log;
daemon off;
events { worker_connections 2048; }
http {
  types { application/json json; text/html html; }
  default_type application/octet-stream;
  access_log ${NGINX_LOG:-off};
  keepalive_requests 1000000;
  client_body_temp_path $work/body; proxy_temp_path $work/proxy; fastcgi_temp_path $work/fastcgi;
  uwsgi_temp_path $work/uwsgi; scgi_temp_path $work/scgi;
  sendfile on;
  server {
    listen 127.0.0.1:$port;
    listen 127.0.0.1:$((port + 1)) ssl http2;
    ssl_certificate $work/cert.pem;
    ssl_certificate_key $work/key.pem;
    location / { root $directory; index none; autoindex on; autoindex_format json; }
    location /html/ { alias $directory/; index none; autoindex on; }
    location /none/ { alias $directory/; index none; }
  }
}
CONF
echo "http://127.0.0.1:$port/ https://localhost:$((port + 1))/ --ca-file $work/cert.pem"
nginx -c "$work/nginx.conf" -p "$work" -e "$work/error.log"
