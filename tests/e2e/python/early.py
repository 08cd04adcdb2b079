#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Answers that come before the request is complete, read by httpx over HTTP/2 and HTTP/1.1. It sends a whole body before it
reads anything.

usage: early.py NAME   the begin of the files that `unpack` makes
"""
import ssl
import sys

import httpx


def main(begin):
    with open(begin + ".server") as file:
        server = file.read().strip()
    failures = 0
    for http2 in (True, False):
        for certificate, size, want in ((True, 4 << 20, 413), (True, 20 << 20, 413), (False, 2 << 20, 401)):
            context = ssl.create_default_context(cafile=begin + ".ca")
            if certificate:
                context.load_cert_chain(begin + ".crt", begin + ".key")

            def body():
                for _ in range(size >> 16):
                    yield b"x" * 65536

            for content, how in ((b"x" * size, "with its length"), (body(), "without")):
                what = f"{want} for {size} bytes {how}, HTTP/{2 if http2 else 1.1}"
                try:
                    with httpx.Client(http1=not http2, http2=http2, verify=context, timeout=60) as client:
                        answer = client.post(server + "/api/v1/namespaces/default/configmaps", content=content,
                                             headers={"content-type": "application/json"})
                        got = (answer.status_code, answer.json()["kind"])
                except httpx.HTTPError as error:
                    got = repr(error)
                if got != (want, "Status"):
                    print(f"{what}: {got}")
                    failures += 1
    return failures


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1]) else 0)
