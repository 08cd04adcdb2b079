#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a policy adds to the create of a pod.

usage: cost.py SERVER CA CERTIFICATE KEY NAMESPACE-WITH NAMESPACE-WITHOUT IMAGE

Asks the API server for dry runs over one kept connection, in turn in the two namespaces, and prints the medians in milliseconds, for
pods of one container and of three.
"""
import http.client
import json
import ssl
import statistics
import sys
import time
import urllib.parse

TURNS = 300


def pod(image, containers):
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "cost-"}, "spec": {"containers": [
        {"name": "c%d" % number, "image": image, "env": [{"name": "A", "value": "b"}]} for number in range(containers)]}})


def main():
    server, authority, certificate, key, *spaces, image = sys.argv[1:]
    context = ssl.create_default_context(cafile=authority)
    context.load_cert_chain(certificate, key)
    connection = http.client.HTTPSConnection(urllib.parse.urlparse(server).netloc, context=context)
    for containers in (1, 3):
        body, times = pod(image, containers), {space: [] for space in spaces}
        for turn in range(TURNS):
            for space in spaces:
                begun = time.monotonic()
                connection.request("POST", "/api/v1/namespaces/%s/pods?dryRun=All" % space, body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                text = answer.read()
                if answer.status != 201:
                    raise SystemExit("%s: %s" % (answer.status, text))
                if turn >= TURNS // 10:
                    times[space].append((time.monotonic() - begun) * 1000)
        given, without = (statistics.median(times[space]) for space in spaces)
        print("%d container(s): %.2f ms with, %.2f ms without, %.2f ms more" % (containers, given, without, given - without))


if __name__ == "__main__":
    main()
