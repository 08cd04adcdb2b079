#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A metrics API as a metrics-server has it: metrics.py CERTIFICATE KEY USAGE prints its port on 127.0.0.1. USAGE is a file with a
list of PodMetrics, which is read again for each request. It understands selectors of the form KEY=VALUE,KEY=VALUE."""
import http.server
import json
import ssl
import sys
import urllib.parse

GROUP = "metrics.k8s.io/v1beta1"
BASE = "/apis/" + GROUP
RESOURCES = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": GROUP, "resources": [
    {"name": "pods", "singularName": "", "namespaced": True, "kind": "PodMetrics", "verbs": ["get", "list"]}]}


def status(code, reason):
    return code, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": reason}


def answer(path, query):
    if path == BASE:
        return 200, RESOURCES
    with open(sys.argv[3]) as file:
        items = json.load(file)
    parts = path[len(BASE):].strip("/").split("/")
    if parts[0] == "namespaces":
        items = [each for each in items if each["metadata"]["namespace"] == parts[1]]
        parts = parts[2:]
    if not path.startswith(BASE + "/") or parts[0] != "pods":
        return status(404, "NotFound")
    if len(parts) == 2:
        found = [each for each in items if each["metadata"]["name"] == parts[1]]
        return (200, found[0]) if found else status(404, "NotFound")
    for term in filter(None, query.get("labelSelector", [""])[0].split(",")):
        key, value = term.split("=")
        items = [each for each in items if each["metadata"].get("labels", {}).get(key) == value]
    return 200, {"kind": "PodMetricsList", "apiVersion": GROUP, "metadata": {}, "items": items}


class Metrics(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        code, body = answer(url.path, urllib.parse.parse_qs(url.query))
        text = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Metrics)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
