#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A container image registry that can only be read, over the archive that images.py makes.

usage: registry.py IMAGES.tar PORT

Listens on 127.0.0.1 and answers the pull half of the OCI distribution API. It does not look at the host that an image
names, so it can stand for any registry.
"""
import http.server
import json
import os
import re
import sys
import tarfile

MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def handler(path):
    """The class that answers from this archive, whose blobs are sent from where they lie in it."""
    file = open(path, "rb")
    with tarfile.open(fileobj=file) as archive:
        members = {member.name: member for member in archive}
        index = json.load(archive.extractfile("index.json"))
    # Digests by name and tag; names without the host.
    tags = {}
    for manifest in index["manifests"]:
        tags[manifest["annotations"]["io.containerd.image.name"].partition("/")[2]] = manifest["digest"]

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            path = re.fullmatch(r"/v2/(.+)/(manifests|blobs)/([^/?]+)(\?.*)?", self.path)
            digest = tags.get("%s:%s" % (path[1], path[3]), path[3]) if path else ""
            blob = members.get("blobs/" + digest.replace(":", "/"))
            if not blob:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Type", MANIFEST if path[2] == "manifests" else "application/octet-stream")
            self.send_header("Content-Length", str(blob.size))
            self.send_header("Docker-Content-Digest", digest)
            self.end_headers()
            sent = 0
            while self.command == "GET" and sent < blob.size:
                sent += os.sendfile(self.connection.fileno(), file.fileno(), blob.offset_data + sent, blob.size - sent)

        do_HEAD = do_GET

    return Handler


if __name__ == "__main__":
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), handler(sys.argv[1])).serve_forever()
