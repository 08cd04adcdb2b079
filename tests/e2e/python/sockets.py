#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Watches over WebSocket, spoken by hand, as a tenant and beside it to upstream itself: what a handshake is answered with, what
the frames hold, and what a client's own frames lead to is compared.

usage: sockets.py TENANT UPSTREAM [TOKEN]   each the begin of the files that `unpack` makes; a ServiceAccount's token
"""
import base64
import json
import os
import re
import socket
import ssl
import struct
import sys
import unittest
from urllib.parse import urlsplit

PATIENCE = 30
KEY = "dGhlIHNhbXBsZSBub25jZQ=="
ACCEPT = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="  # RFC 6455 1.3
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PROTOBUF = "application/vnd.kubernetes.protobuf;stream=watch"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
TENANT = UPSTREAM = TOKEN = ""


class Server:
    def __init__(self, begin, certificate=True):
        with open(begin + ".server") as file:
            url = urlsplit(file.read().strip())
        self.address = (url.hostname, url.port)
        self.tls = ssl.create_default_context(cafile=begin + ".ca")
        if certificate:
            self.tls.load_cert_chain(begin + ".crt", begin + ".key")

    def connect(self):
        raw = socket.create_connection(self.address, timeout=PATIENCE)
        return self.tls.wrap_socket(raw, server_hostname=self.address[0])

    def request(self, method, path, body=None, content_type="application/json"):
        """A plain request; its status and JSON."""
        data = b"" if body is None else json.dumps(body).encode()
        with self.connect() as stream:
            stream.sendall((f"{method} {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Type: {content_type}\r\n"
                            f"Content-Length: {len(data)}\r\n\r\n").encode() + data)
            answer = Socket(stream)
            body = answer.rest()
            return answer.status, json.loads(body) if body.startswith(b"{") else body

    def watch(self, path, **fields):
        """Begins a watch; a field that is None is left out of the handshake."""
        head = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": KEY, "Sec-WebSocket-Version": "13",
                "Origin": "https://h"}
        head.update({name.replace("_", "-"): value for name, value in fields.items()})
        stream = self.connect()
        lines = [f"GET {path} HTTP/1.1", "Host: h"] + [f"{name}: {value}" for name, value in head.items() if value is not None]
        stream.sendall("\r\n".join(lines + ["", ""]).encode())
        return Socket(stream)


class Socket:
    def __init__(self, stream):
        self.stream, self.buffer = stream, b""
        head = self.until(b"\r\n\r\n").decode()
        self.status = int(head.split()[1])
        self.fields = {name.lower(): value for name, value in re.findall(r"^([^:\r\n]+): *([^\r\n]*)", head, re.M)}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()

    def fill(self):
        more = self.stream.recv(65536)
        if not more:
            raise EOFError(self.buffer)
        self.buffer += more

    def until(self, mark):
        while mark not in self.buffer:
            self.fill()
        out, self.buffer = self.buffer.split(mark, 1)
        return out

    def take(self, size):
        while len(self.buffer) < size:
            self.fill()
        out, self.buffer = self.buffer[:size], self.buffer[size:]
        return out

    def rest(self):
        """All that comes up to the connection's end, of a chunked body the chunks."""
        if self.fields.get("transfer-encoding") == "chunked":
            out = b""
            while size := int(self.until(b"\r\n"), 16):
                out += self.take(size)
                self.take(2)
            return out
        if "content-length" in self.fields:
            return self.take(int(self.fields["content-length"]))
        try:
            while True:
                self.fill()
        except (EOFError, ssl.SSLError, ConnectionError):
            return self.buffer

    def send(self, opcode, payload=b"", last=True, masked=True):
        size = len(payload)
        head = struct.pack(">B", opcode | (0x80 if last else 0))
        flag = 0x80 if masked else 0
        if size < 126:
            head += struct.pack(">B", flag | size)
        elif size < 65536:
            head += struct.pack(">BH", flag | 126, size)
        else:
            head += struct.pack(">BQ", flag | 127, size)
        if masked:
            mask = os.urandom(4)
            head += mask
            payload = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
        self.stream.sendall(head + payload)

    def frame(self):
        """The next one: opcode and payload. Whole messages, none masked."""
        first, second = self.take(2)
        assert first & 0xf0 == 0x80, "in pieces, or with extensions: %x" % first
        assert second & 0x80 == 0, "masked"
        size = second
        if size == 126:
            size, = struct.unpack(">H", self.take(2))
        elif size == 127:
            size, = struct.unpack(">Q", self.take(8))
        return first & 0xf, self.take(size)

    def event(self):
        opcode, payload = self.frame()
        assert opcode == TEXT, (opcode, payload)
        assert payload.count(b"\n") == 1 and payload.endswith(b"\n"), payload
        return json.loads(payload)

    def ended(self):
        try:
            self.fill()
        except (EOFError, ssl.SSLError, ConnectionError):
            return True
        return False


class Sockets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tenant, cls.upstream = Server(TENANT), Server(UPSTREAM)
        cls.both = (cls.tenant, cls.upstream)

    def config_map(self, server, name, **metadata):
        server.request("DELETE", f"{CONFIG_MAPS}/{name}")
        self.addCleanup(server.request, "DELETE", f"{CONFIG_MAPS}/{name}")
        status, made = server.request("POST", CONFIG_MAPS, {"metadata": {"name": name, **metadata}, "data": {"k": "v"}})
        self.assertEqual(201, status, made)
        return made

    def alike(self, what):
        """What a server is asked gives the same from both; that is returned."""
        tenant, upstream = (what(server) for server in self.both)
        self.assertEqual(upstream, tenant)
        return tenant

    def test_handshakes(self):
        def shake(**fields):
            def ask(server):
                with server.watch(CONFIG_MAPS + "?watch=true", **fields) as answer:
                    names = ("upgrade", "sec-websocket-accept", "sec-websocket-protocol", "content-type" if answer.status == 101 else "-")
                    return (answer.status, *(answer.fields.get(name) for name in names))
            return self.alike(ask)

        self.assertEqual((101, "websocket", ACCEPT, None, None), shake())
        for protocol in ("binary.k8s.io", "base64.binary.k8s.io", "v5.channel.k8s.io"):
            self.assertEqual((101, "websocket", ACCEPT, protocol, None), shake(Sec_WebSocket_Protocol=protocol))
        self.assertEqual((101, "websocket", ACCEPT, None, None), shake(Upgrade="WebSocket", Connection="keep-alive, upgrade"))
        self.assertEqual(400, shake(Sec_WebSocket_Protocol="binary.k8s.io, base64.binary.k8s.io")[0])
        self.assertEqual(400, shake(Sec_WebSocket_Key=None)[0])
        self.assertEqual(400, shake(Sec_WebSocket_Version="8")[0])
        self.assertEqual(403, shake(Origin=None)[0])
        self.assertEqual(403, shake(Origin="null")[0])
        self.assertEqual(200, shake(Upgrade="h2c")[0])  # a watch as any other

    def test_errors_come_before_the_handshake(self):
        def status(path):
            def ask(server):
                with server.watch(path) as answer:
                    return answer.status, json.loads(answer.rest())["kind"]
            return self.alike(ask)

        self.assertEqual((404, "Status"), status("/api/v1/namespaces/default/nothings?watch=true"))
        self.assertEqual((400, "Status"), status(CONFIG_MAPS + "?watch=true&labelSelector=a%20b%20c"))

    def test_a_list_is_none(self):
        def ask(server):
            with server.watch(CONFIG_MAPS + "?limit=1") as answer:
                return answer.status
        self.assertEqual(200, self.alike(ask))

    def test_each_event_is_a_message(self):
        def watch(path, **fields):
            def ask(server):
                self.config_map(server, "socket-a")
                seen = []
                with server.watch(path, **fields) as events:
                    def hear():
                        event = events.event()
                        seen.append((event["type"], event["object"]["kind"]))
                        return event["object"]
                    hear()
                    server.request("PATCH", CONFIG_MAPS + "/socket-a", {"data": {"k": "x" * 70000}}, "application/merge-patch+json")
                    hear()
                    server.request("DELETE", CONFIG_MAPS + "/socket-a")
                    last = hear()
                    if last["kind"] == "ConfigMap":
                        seen.append(len(last["data"]["k"]))
                        seen.append((last["metadata"]["name"], last["metadata"]["namespace"]))
                return seen
            return self.alike(ask)

        one = "fieldSelector=metadata.name%3Dsocket-a"
        whole = [("ADDED", "ConfigMap"), ("MODIFIED", "ConfigMap"), ("DELETED", "ConfigMap"), 70000, ("socket-a", "default")]
        for path in (f"{CONFIG_MAPS}?watch=true&{one}", "/api/v1/watch/namespaces/default/configmaps/socket-a",
                     f"/api/v1/configmaps?watch=1&{one}", f"{CONFIG_MAPS}?watch=true&{one}&pretty=true"):
            with self.subTest(path):
                self.assertEqual(whole, watch(path))
        for protocol in ("binary.k8s.io", "base64.binary.k8s.io"):
            with self.subTest(protocol):
                self.assertEqual(whole, watch(f"{CONFIG_MAPS}?watch=true&{one}", Sec_WebSocket_Protocol=protocol))
        with self.subTest("a Table"):
            self.assertEqual(("ADDED", "Table"), watch(f"{CONFIG_MAPS}?watch=true&{one}", Accept=TABLE)[0])

    def test_protobuf_is_binary(self):
        def ask(server):
            self.config_map(server, "socket-b")
            with server.watch(CONFIG_MAPS + "?watch=true&fieldSelector=metadata.name%3Dsocket-b", Accept=PROTOBUF) as events:
                opcode, message = events.frame()
                # A metav1.WatchEvent: its type, then the object with the magic number in front.
                return opcode, message[:7], b"k8s\x00" in message[7:30], b"socket-b" in message
        self.assertEqual((BINARY, b"\x0a\x05ADDED", True, True), self.alike(ask))

    def test_kinds_that_zood_keeps_itself(self):
        def ask(server):
            with server.watch("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas?watch=true&fieldSelector=metadata.name%3Dexempt") as events:
                event = events.event()
                return event["type"], event["object"]["kind"], event["object"]["metadata"]["name"]
        self.assertEqual(("ADDED", "FlowSchema", "exempt"), self.alike(ask))

    def test_bookmarks(self):
        def ask(server):
            path = "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&fieldSelector=metadata.name%3Dnone"
            with server.watch(CONFIG_MAPS + path) as events:
                event = events.event()
                return event["type"], event["object"]["metadata"]["annotations"]
        self.assertEqual("BOOKMARK", self.alike(ask)[0])

    def test_the_end_is_a_close(self):
        def ask(server):
            with server.watch(CONFIG_MAPS + "?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dnone") as events:
                return events.frame(), events.ended()
        self.assertEqual(((CLOSE, struct.pack(">H", 1000)), True), self.alike(ask))

    def test_what_a_client_sends(self):
        quiet = CONFIG_MAPS + "?watch=true&fieldSelector=metadata.name%3Dnone"

        def after(*frames, masked=True):
            def ask(server):
                with server.watch(quiet) as events:
                    for opcode, payload, last in frames:
                        events.send(opcode, payload, last, masked)
                    return events.frame()
            return self.alike(ask)

        self.assertEqual((PONG, b"are you there"), after((PING, b"are you there", True)))
        self.assertEqual((PONG, b""), after((TEXT, b"ignored", True), (PING, b"", True)))
        self.assertEqual((PONG, b"x"), after((TEXT, b"a" * 100_000, False), (PONG, b"", True), (0, b"b", True), (PING, b"x", True)))
        self.assertEqual((CLOSE, struct.pack(">H", 1000)), after((CLOSE, struct.pack(">H", 1001) + b"bye", True)))
        self.assertEqual((CLOSE, struct.pack(">H", 1002)), after((TEXT, b"not masked", True), masked=False))


    def test_a_token_among_the_subprotocols(self):
        encoded = base64.urlsafe_b64encode(TOKEN.encode()).decode().rstrip("=")
        token = "base64url.bearer.authorization.k8s.io." + encoded
        stranger = Server(TENANT, certificate=False)
        for offered, status, chosen in ((f"{token}, base64.binary.k8s.io", 101, "base64.binary.k8s.io"),
                                        (token, 401, None), ("base64.binary.k8s.io", 401, None)):
            with stranger.watch(CONFIG_MAPS + "?watch=true", Sec_WebSocket_Protocol=offered) as answer:
                self.assertEqual((status, chosen), (answer.status, answer.fields.get("sec-websocket-protocol")))


if __name__ == "__main__":
    TENANT, UPSTREAM, TOKEN = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1], verbosity=2)
