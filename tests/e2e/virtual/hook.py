#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A webhook: hook.py CERTIFICATE KEY [ADDRESS] prints its port on that address (127.0.0.1). Of each review it says no; asked at
/redirect/HOST:PORT it sends on to there. A GET is answered with its path."""
import http.server
import json
import ssl
import sys


class Hook(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        answer = ("hook at %s\n" % self.path).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.startswith("/redirect/"):
            self.send_response(307)
            self.send_header("Location", "https://%s/" % self.path.split("/")[2])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        uid = json.loads(body)["request"]["uid"]
        answer = json.dumps({
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "response": {"uid": uid, "allowed": False, "status": {"message": "asked by the cluster"}},
        }).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


server = http.server.ThreadingHTTPServer((sys.argv[3] if len(sys.argv) > 3 else "127.0.0.1", 0), Hook)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
