#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bytes of one's own making over TLS, and all that comes back. raw.py HOST:PORT CA CERT KEY [h2 METHOD NAME=VALUE...]

HTTP/1.1: what standard input holds is sent as it is. HTTP/2: one request whose header fields are the arguments,
in their order, none added; what is answered is printed as text where it is text, and RST_STREAM and GOAWAY by name."""
import socket
import ssl
import struct
import sys

address, ca, cert, key = sys.argv[1:5]
h2 = sys.argv[5:6] == ["h2"]
host, port = address.rsplit(":", 1)
context = ssl.create_default_context(cafile=ca)
context.check_hostname = False
context.load_cert_chain(cert, key)
context.set_alpn_protocols(["h2" if h2 else "http/1.1"])
connection = context.wrap_socket(socket.create_connection((host, int(port)), timeout=4), server_hostname="localhost")


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def text(value: bytes) -> bytes:
    """An HPACK string without Huffman's code (RFC 7541 5.2)."""
    if len(value) < 127:
        return bytes([len(value)]) + value
    rest, out = len(value) - 127, bytes([127])
    while rest >= 128:
        out += bytes([rest % 128 + 128])
        rest //= 128
    return out + bytes([rest]) + value


if h2:
    fields = b""
    for argument in sys.argv[6:]:
        name, value = argument.split("=", 1)
        fields += b"\x10" + text(name.encode("latin-1").decode("unicode_escape").encode("latin-1")) + text(
            value.encode("latin-1").decode("unicode_escape").encode("latin-1"))
    body = sys.stdin.buffer.read()
    sent = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"") + frame(1, 4 if body else 5, 1, fields)
    if body:
        sent += frame(0, 1, 1, body)
    connection.sendall(sent)
else:
    connection.sendall(sys.stdin.buffer.read())

received = b""
try:
    while True:
        piece = connection.recv(65536)
        if not piece:
            break
        received += piece
        while h2 and len(received) >= 9:
            size = int.from_bytes(received[:3], "big")
            if len(received) < 9 + size:
                break
            kind, flags, payload = received[3], received[4], received[9:9 + size]
            received = received[9 + size:]
            if kind == 0:
                sys.stdout.buffer.write(payload)
            elif kind == 3:
                print("RST_STREAM", int.from_bytes(payload[:4], "big"))
                sys.exit(0)
            elif kind == 7:
                print("GOAWAY", int.from_bytes(payload[4:8], "big"))
                sys.exit(0)
            sys.stdout.flush()
            if kind in (0, 1) and flags & 1:
                sys.exit(0)
except (TimeoutError, ssl.SSLError, ConnectionError) as error:
    received += f"\n[{type(error).__name__}]".encode()
sys.stdout.buffer.write(received)
