#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A chart repository over TLS: repository.py FOLDER CERTIFICATE KEY. Prints its port; says each request and its credentials on
standard error. Whatever the path begins with, the file's name counts; without the password it answers 401, and below /good/slow
it answers an index when there is a file `released` in the folder, or after 15 seconds."""
import base64
import http.server
import pathlib
import ssl
import sys
import time

FOLDER = pathlib.Path(sys.argv[1])


class Repository(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        given = self.headers.get("Authorization", "")
        who = base64.b64decode(given[6:]).decode() if given.startswith("Basic ") else ""
        print("GET", self.path, who, file=sys.stderr, flush=True)
        file = FOLDER / pathlib.PurePosixPath(self.path).name
        if who != 'zoo:se cret"$x':
            return self.answer(401, b"")
        if not file.is_file():
            return self.answer(404, b"")
        if "/slow/" in self.path and file.name == "index.yaml":
            end = time.monotonic() + 15
            while time.monotonic() < end and not (FOLDER / "released").exists():
                time.sleep(0.05)
        return self.answer(200, file.read_bytes())

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[2], sys.argv[3])
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Repository)
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
