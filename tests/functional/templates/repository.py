#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A chart repository over TLS: repository.py FOLDER CERTIFICATE KEY [--open] [ADDRESS PORT]. Prints its port; says each request and its
credentials on standard error. Whatever the path begins with, the file's name counts; without the password it answers 401, unless it is
open, and below /good/slow it answers an index when there is a file `released` in the folder, or after 15 seconds. Below /good/silent it
answers nothing, and below /good/long an index without end."""
import base64
import contextlib
import http.server
import pathlib
import ssl
import sys
import time

OPEN = "--open" in sys.argv
FOLDER, CERTIFICATE, KEY, *WHERE = (each for each in sys.argv[1:] if each != "--open")
FOLDER = pathlib.Path(FOLDER)


class Repository(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        given = self.headers.get("Authorization", "")
        who = base64.b64decode(given[6:]).decode() if given.startswith("Basic ") else ""
        print("GET", self.path, who, file=sys.stderr, flush=True)
        file = FOLDER / pathlib.PurePosixPath(self.path).name
        if "/silent/" in self.path:
            return time.sleep(60)
        if not OPEN and who != 'zoo:se cret"$x':
            return self.answer(401, b"")
        if not file.is_file():
            return self.answer(404, b"")
        if "/slow/" in self.path and file.name == "index.yaml":
            end = time.monotonic() + 15
            while time.monotonic() < end and not (FOLDER / "released").exists():
                time.sleep(0.05)
        if "/long/" in self.path and file.name == "index.yaml":
            return self.flood()
        return self.answer(200, file.read_bytes())

    def flood(self):
        self.send_response(200)
        self.end_headers()
        with contextlib.suppress(OSError):
            while True:
                self.wfile.write(b"# and so on\n" * 4096)

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(CERTIFICATE, KEY)
server = http.server.ThreadingHTTPServer((WHERE[0], int(WHERE[1])) if WHERE else ("127.0.0.1", 0), Repository)
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
