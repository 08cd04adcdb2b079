#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests over connections that stay open, for stage.bash: client.py DIRECTORY

Standard input: NAME, BASE, METHOD, PATH, CONTENT-TYPE and BODY, each ended by NUL. NAME.crt, NAME.key and NAME.ca lie in
DIRECTORY. The answer's fields go to DIRECTORY/headers, its body to DIRECTORY/body (without NULs), its code is printed;
000 where there was none."""
import http.client
import ssl
import sys
import urllib.parse

directory = sys.argv[1]
connections = {}


class Connection(http.client.HTTPSConnection):
    """Sends a path as it is."""

    def _validate_path(self, url):
        pass


def connection(name, base):
    if (name, base) not in connections:
        context = ssl.create_default_context(cafile=f"{directory}/{name}.ca")
        context.check_hostname = False
        context.load_cert_chain(f"{directory}/{name}.crt", f"{directory}/{name}.key")
        connections[name, base] = Connection(urllib.parse.urlsplit(base).netloc, context=context, timeout=60)
    return connections[name, base]


def ask(name, base, method, path, kind, body):
    client = connection(name, base)
    client.putrequest(method, path, skip_accept_encoding=True)
    client.putheader("Accept", "*/*")
    if kind:
        client.putheader("Content-Type", kind)
    if kind or body:
        client.putheader("Content-Length", str(len(body)))
    client.endheaders(body or None)
    answer = client.getresponse()
    return answer.status, str(answer.headers), answer.read()


def fields():
    rest = b""
    while True:
        while rest.count(b"\0") < 6:
            piece = sys.stdin.buffer.read1(1 << 20)
            if not piece:
                return
            rest += piece
        *parts, rest = rest.split(b"\0", 6)
        yield parts


for name, base, method, path, kind, body in fields():
    name, base, kind = name.decode(), base.decode(), kind.decode()
    code, headers, answer = 0, "", b""
    # A connection that the other side has closed meanwhile is opened anew, once.
    for _ in range(2):
        try:
            code, headers, answer = ask(name, base, method.decode("latin-1"), path.decode("latin-1"), kind, body)
            break
        except (OSError, http.client.HTTPException, ValueError):
            connections.pop((name, base)).close()
    with open(f"{directory}/headers", "w", encoding="utf-8", errors="replace") as file:
        file.write(headers)
    with open(f"{directory}/body", "wb") as file:
        file.write(answer.replace(b"\0", b""))
    print(f"{code:03}", flush=True)
