#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Add protobuf field numbers to api-references.json.

usage: fields.py MODULE-CACHE [VERSION]        e.g. fields.py "$(go env GOMODCACHE)" v0.36.3

Reads the generated.proto files of k8s.io/{api,apimachinery,apiextensions-apiserver,kube-aggregator}
and writes, into each row whose kind has a message, "fields": one entry for each named step of the
path. An entry is a number, or [outer, ..., inner] where JSON inlines what protobuf nests.
"""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
MODULES = ("api", "apimachinery", "apiextensions-apiserver", "kube-aggregator")
FIELD = re.compile(r"^\s*(optional|repeated|required)?\s*(map<\s*\w+\s*,\s*([\w.]+)\s*>|[\w.]+)\s+(\w+)\s*=\s*(\d+)")
# Messages that Go embeds inline under a name that is not their type's.
INLINE = {"handler": "ProbeHandler"}
PACKAGES = {"apiextensions.k8s.io": "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions",
            "apiregistration.k8s.io": "k8s.io.kube_aggregator.pkg.apis.apiregistration",
            "internal.apiserver.k8s.io": "k8s.io.api.apiserverinternal",
            "": "k8s.io.api.core"}


def steps(path):
    """a.b[].c{x} -> [("key","a"), ("key","b"), ("list",), ("key","c"), ("map","x")]"""
    out = []
    for part in re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^.\[\{]+", path):
        if part[0] == "{":
            out.append(("map", part[1:-1]))
        elif part[0] == "[":
            out.append(("list", part[1:-1]))
        else:
            out.append(("key", part))
    return out


def load(cache, version):
    messages = {}
    for module in MODULES:
        for path in sorted((pathlib.Path(cache) / "k8s.io" / f"{module}@{version}").rglob("generated.proto")):
            package, message = "", None
            for line in path.read_text().splitlines():
                if line.startswith("package "):
                    package = line.split()[1].rstrip(";")
                elif line.startswith("message "):
                    message = messages.setdefault(f"{package}.{line.split()[1]}", {"": package})
                elif line.startswith("}"):
                    message = None
                elif message is not None and (match := FIELD.match(line)):
                    kind = match.group(3) or match.group(2)
                    message[match.group(4)] = (kind, int(match.group(5)))
    if not messages:
        sys.exit(f"fields.py: no generated.proto of {version} under {cache}")
    return messages


def resolve(messages, message, kind):
    return messages.get(kind.lstrip(".")) or messages.get(f"{message['']}.{kind}")


def find(messages, message, name, depth=0):
    """-> ([numbers from the outside in], type name, package message) or None"""
    plain = name.replace("-", "").lower()
    for key, field in message.items():
        if key and key.lower() == plain:
            return [field[1]], field[0], message
    if depth == 2:
        return None
    for key, field in message.items():
        short = field[0].split(".")[-1] if key else ""
        if key and (short == INLINE.get(key) or short.lower() == key.lower()):
            inner = resolve(messages, message, field[0])
            below = inner and find(messages, inner, name, depth + 1)
            if below:
                return [field[1]] + below[0], below[1], below[2]
    return None


def numbers(messages, message, path):
    out = []
    for step in steps(path):
        if step[0] != "key":
            continue
        found = message and find(messages, message, step[1])
        if not found:
            return None
        out.append(found[0] if len(found[0]) > 1 else found[0][0])
        message = resolve(messages, found[2], found[1])
    return out


def main():
    cache = sys.argv[1]
    version = sys.argv[2] if len(sys.argv) > 2 else "v0.36.3"
    messages = load(cache, version)
    target = HERE / "api-references.json"
    rows = json.loads(target.read_text())
    missing = set()
    for row in rows:
        row.pop("fields", None)
        package = PACKAGES.get(row["group"], "k8s.io.api." + row["group"].split(".")[0])
        message = messages.get(f"{package}.{row['version']}.{row['kind']}")
        if message is None:
            continue
        found = numbers(messages, message, row["path"])
        if found is None:
            missing.add((row["kind"], row["path"]))
        else:
            row["fields"] = found
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    target.write_text("[\n" + lines + "\n]\n")
    print(sum("fields" in row for row in rows), "of", len(rows), "rows have numbers")
    for kind, path in sorted(missing):
        print("no number:", kind, path)


if __name__ == "__main__":
    main()
