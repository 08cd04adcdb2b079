#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads ResourceQuotas, one JSON object after another as `kubectl get --watch -o json` prints them, and prints the largest
sum over the namespaces of the largest of spec.hard, status.hard and status.used of one resource, at any moment:

  largest_sum.py RESOURCE <WATCH
"""
import json
import sys


def objects(text):
    decoder, at = json.JSONDecoder(), 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at == len(text):
            return
        try:
            item, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError:
            return  # the watch was ended in the middle of one
        yield item


def main():
    resource, taken, largest, seen = sys.argv[1], {}, 0, 0
    for item in objects(sys.stdin.read()):
        status = item.get("status", {})
        lists = [item["spec"].get("hard", {}), status.get("hard", {}), status.get("used", {})]
        taken[item["metadata"]["namespace"]] = max(int(each.get(resource, 0)) for each in lists)
        largest, seen = max(largest, sum(taken.values())), seen + 1
    print(f"{seen} changes, at most {largest}")


main()
