#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A service that is looked at through a proxy: pages with links, plain and compressed, and redirects.

usage: pages.py ADDRESS   its port is printed
"""
import gzip
import http.server
import sys

PAGE = """<!DOCTYPE html>
<html><head><title>a page</title><base href="/"><link rel=stylesheet href=/style.css>
<script src="/app.js"></script><script>const link = '<a href="{at}/script">'</script></head>
<body background='/tile.png'><!-- <a href="{at}/comment"> -->
<a href="/login?to=/x&amp;y">in</a> <a href="relative">in</a> <a href="https://other.example/x">out</a>
<a href="http://{host}/host">in</a> <a title="{at}/title" href="{at}/forwarded">in</a> &lt;a href="{at}/text"&gt; {at}
<form action="/form"></form><img src="/image.png"/></body></html>
"""


class Pages(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body=b"", **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        forwarded = self.headers.get("X-Forwarded-Uri", "")
        at = forwarded[:forwarded.find("/proxy") + len("/proxy")]
        page = PAGE.format(at=at, host=self.headers["Host"]).encode()
        html = "text/html; charset=utf-8"
        what = self.path.split("?")[0]
        if what == "/page":
            self.answer(200, page, Content_Type=html)
        elif what == "/encodings":
            self.answer(200, self.headers.get("Accept-Encoding", "none").encode(), Content_Type="text/plain")
        elif what == "/text":
            self.answer(200, page, Content_Type="text/plain")
        elif what == "/gzip":
            self.answer(200, gzip.compress(page), Content_Type=html, Content_Encoding="gzip")
        elif what == "/large":
            self.answer(200, gzip.compress(b"<p>" + b'<a href="/x">x</a>\n' * 400_000), Content_Type=html, Content_Encoding="gzip")
        elif what == "/missing":
            self.answer(404, page, Content_Type=html)
        elif what == "/redirect":
            self.answer(302, page, Location="/login?a=b", Content_Type=html, Set_Cookie="a=b; Path=/", Refresh="5; url=/x")
        elif what == "/redirect-host":
            self.answer(301, Location=f"http://{self.headers['Host']}/login/")
        elif what == "/redirect-away":
            self.answer(302, Location=f"https://other.example{at}/x")
        else:
            self.answer(404)

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer((sys.argv[1], 0), Pages)
    print(server.server_port, flush=True)
    server.serve_forever()
