# SPDX-License-Identifier: Apache-2.0
"""A zood that misbehaves on purpose: HTTP/1.1 on a Unix socket, answering from a table.

A handler gets the connection's socket and the request (method, target, body) and writes raw bytes,
so that it can be slow, cut off or wrong in ways that a real zood cannot be made to be.
"""

import json
import os
import socket
import threading

TENANTS = "/apis/tenant.kubezoo.io/v1alpha1/tenants"


def tenant(name, phase="Ready", **status):
    return {
        "apiVersion": "tenant.kubezoo.io/v1alpha1",
        "kind": "Tenant",
        "metadata": {"name": name, "uid": "uid-" + name, "resourceVersion": "7",
                     "creationTimestamp": "2026-01-31T21:30:00Z"},
        "spec": {},
        "status": {"phase": phase, **status},
    }


def tenant_list(*items):
    return {"apiVersion": "tenant.kubezoo.io/v1alpha1", "kind": "TenantList",
            "metadata": {"resourceVersion": "9"}, "items": list(items)}


def status(code, reason, message):
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason,
            "message": message, "code": code}


def answer(code, value):
    """A handler that answers `value` as JSON."""
    def handler(connection, request):
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        head = f"HTTP/1.1 {code} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
    return handler


class FakeZood:
    def __init__(self, path):
        self.path = path
        self.handlers = {}
        self.requests = []
        self.released = threading.Event()
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(path)
        self.listener.listen(16)
        threading.Thread(target=self._accept, daemon=True).start()

    def on(self, what, handler):
        """`what`: "GET /path"; "WATCH /path" for GETs with watch=true."""
        self.handlers[what] = handler

    def hang(self, connection, request):
        """A handler that never answers."""
        self.released.wait()

    def stream(self, *events, then_hang=False):
        def handler(connection, request):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                               b"Transfer-Encoding: chunked\r\n\r\n")
            for event in events:
                line = json.dumps(event).encode() + b"\n"
                connection.sendall(b"%x\r\n%s\r\n" % (len(line), line))
            if then_hang:
                self.released.wait()
            connection.sendall(b"0\r\n\r\n")
        return handler

    def close(self):
        self.released.set()
        self.listener.close()
        if os.path.exists(self.path):
            os.unlink(self.path)

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection, connection.makefile("rb") as stream:
            try:
                while self._one(connection, stream):
                    pass
            except OSError:
                pass

    def _one(self, connection, stream):
        line = stream.readline().decode()
        if not line:
            return False
        method, target, _ = line.split(" ", 2)
        length = 0
        while (header := stream.readline().decode().strip()):
            name, _, value = header.partition(":")
            if name.lower() == "content-length":
                length = int(value)
        body = stream.read(length)
        self.requests.append((method, target, body))
        path, _, query = target.partition("?")
        verb = "WATCH" if "watch=true" in query else method
        handler = self.handlers.get(f"{verb} {path}",
                                    answer(404, status(404, "NotFound", "no such thing")))
        return handler(connection, (method, target, body)) is not False
