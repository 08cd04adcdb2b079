#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write messages.json: the protobuf messages of the built-in kinds and their JSON names.

usage: messages.py MODULE-CACHE [VERSION]      e.g. messages.py "$(go env GOMODCACHE)" v0.36.3

Reads generated.proto (numbers and types) and the Go structs beside it (JSON names, inlining,
omitempty, pointers) of k8s.io/{api,apimachinery,apiextensions-apiserver,kube-aggregator}. A kind is
a struct with an inlined TypeMeta in a group of api-resources.json, lists left out. Equal messages
of several versions are written once.

messages.json: {"kinds": [[apiVersion, kind, message]], "messages": [[name, [field...]]]}, a field
is [number, JSON name, type, flags, message or -1]. Flags: r repeated, m map<string, type>, i inlined
into the object around it, z written when zero as well (a pointer in Go, or without omitempty).
"""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
MODULES = ("api", "apimachinery", "apiextensions-apiserver", "kube-aggregator")
FIELD = re.compile(r"^\s*(optional|repeated|required)?\s*"
                   r"(?:map<\s*(\w+)\s*,\s*([\w.]+)\s*>|([\w.]+))\s+(\w+)\s*=\s*(\d+)")
TAG = re.compile(r'(\w+):"([^"]*)"')
SCALARS = {"string", "bytes", "bool", "int32", "int64", "double"}
META = "k8s.io.apimachinery.pkg.apis.meta.v1."
# Types that write themselves to JSON. Those of apiextensions hold a JSONSchemaProps.
SPECIAL = {META + "Time": "time", META + "MicroTime": "micro_time", META + "FieldsV1": "json",
           "k8s.io.apimachinery.pkg.api.resource.Quantity": "quantity",
           "k8s.io.apimachinery.pkg.util.intstr.IntOrString": "int_or_string",
           "k8s.io.apimachinery.pkg.runtime.RawExtension": "json"}
SCHEMAS = {"JSONSchemaPropsOrArray": "schema_or_array", "JSONSchemaPropsOrBool": "schema_or_bool",
           "JSONSchemaPropsOrStringArray": "schema_or_strings"}
for version_ in ("v1", "v1beta1"):
    prefix = f"k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.{version_}."
    SPECIAL[prefix + "JSON"] = "json"
    SPECIAL.update({prefix + name: word for name, word in SCHEMAS.items()})


class Package:
    def __init__(self, name, directory):
        self.name = name
        self.protos = {}   # message -> [(number, proto name, type, repeated, map)]
        self.structs = {}  # struct -> {number: (JSON name or None if inlined, keeps zero)}
        self.kinds = set()
        self.lists = set()  # type X []string
        self.others = {}    # type X v1.Y -> (v1, Y)
        self.group = None
        self.version = name.rsplit(".", 1)[-1]
        self.read_proto(directory / "generated.proto")
        for path in sorted(directory.glob("*.go")):
            if not re.search(r"_test\.go$|^zz_|^generated|_swagger_", path.name):
                self.read_go(path.read_text())

    def read_proto(self, path):
        message = None
        for line in path.read_text().splitlines():
            if line.startswith("message "):
                message = self.protos.setdefault(line.split()[1], [])
            elif line.startswith("}"):
                message = None
            elif message is not None and (match := FIELD.match(line)):
                label, key, value, plain, name, number = match.groups()
                if key not in (None, "string"):
                    sys.exit(f"messages.py: {path}: map with a key of type {key}")
                message.append((int(number), name, value or plain, label == "repeated", bool(key)))

    def read_go(self, text):
        struct = None
        for line in text.splitlines():
            if match := re.match(r"type (\w+) struct \{", line):
                struct = match.group(1)
                self.structs.setdefault(struct, {})
            elif match := re.match(r"type (\w+) \[\]string", line):
                self.lists.add(match.group(1))
            elif match := re.match(r"type (\w+) (?:= )?(v\w+)\.(\w+)$", line):
                self.others[match.group(1)] = match.group(2, 3)
            elif match := re.match(r'\s*(?:const )?GroupName\s*=\s*"([^"]*)"', line):
                self.group = match.group(1)
            elif line.startswith("}"):
                struct = None
            elif struct and "`" in line and not line.lstrip().startswith("//"):
                self.read_field(struct, line)

    def read_field(self, struct, line):
        before, tags = line.split("`")[:2]
        words, tags = before.split(), dict(TAG.findall(tags))
        name, *options = tags.get("json", "").split(",")
        if "inline" in options and words[-1].split(".")[-1] == "TypeMeta":
            self.kinds.add(struct)
        if tags.get("protobuf", "-") == "-" or name == "-":
            return
        if "string" in options:
            sys.exit(f"messages.py: {self.name}.{struct}: no case for {line.strip()}")
        inline = "inline" in options or (len(words) == 1 and not name)
        if inline and words[-1].startswith("*"):
            sys.exit(f"messages.py: {self.name}.{struct}: an inlined pointer: {line.strip()}")
        keeps = words[-1].startswith("*") or "omitempty" not in options
        number = int(tags["protobuf"].split(",")[1])
        self.structs[struct][number] = (None if inline else name or words[0], keeps)


def load(cache, version):
    packages = {}
    for module in MODULES:
        for path in sorted((pathlib.Path(cache) / "k8s.io" / f"{module}@{version}").rglob("generated.proto")):
            name = re.search(r"^package (\S+);", path.read_text(), re.M).group(1)
            packages[name] = Package(name, path.parent)
    if not packages:
        sys.exit(f"messages.py: no generated.proto of {version} under {cache}")
    return packages


class Reacher:
    """Follows the fields from the kinds, so that only what is needed is written."""

    def __init__(self, packages):
        self.packages = packages
        self.ids = {}       # full name -> place in messages
        self.messages = []  # [name, [[number, JSON name, type, flags, message]]]

    def type_of(self, package, name):
        """-> (type, message)"""
        if name in SCALARS:
            return name, -1
        full = name.lstrip(".") if "." in name else f"{package.name}.{name}"
        if full == META + "Duration":
            sys.exit(f"messages.py: {package.name}: durations have their own JSON, which none needed yet")
        home = self.packages.get(full.rpartition(".")[0])
        short = full.rpartition(".")[2]
        if full in SPECIAL:
            word = SPECIAL[full]
            schema = word.startswith("schema")
            return word, self.message(home, "JSONSchemaProps") if schema else -1
        if home is None or short not in home.protos:
            sys.exit(f"messages.py: {package.name}: no case for the type {name}")
        if short in home.lists:
            if [field[2:4] for field in home.protos[short]] != [("string", True)]:
                sys.exit(f"messages.py: {full} is no list of strings")
            return "strings", -1
        return "message", self.message(home, short)

    def message(self, package, name):
        full = f"{package.name}.{name}"
        if full in self.ids:
            return self.ids[full]
        at = self.ids[full] = len(self.messages)
        fields = []
        self.messages.append([name, fields])
        struct = package.structs.get(name, {})
        if name in package.others:
            version, there = package.others[name]
            struct = self.packages[package.name.rpartition(".")[0] + "." + version].structs[there]
        for number, proto, kind, repeated, is_map in sorted(package.protos[name]):
            if number not in struct:
                sys.exit(f"messages.py: {full}: no Go field for {proto} = {number}")
            json_name, keeps = struct[number]
            word, ref = self.type_of(package, kind)
            flags = "r" * repeated + "m" * is_map + "i" * (json_name is None) + "z" * keeps
            fields.append([number, json_name or proto, word, flags, ref])
        if set(struct) != {field[0] for field in fields}:
            sys.exit(f"messages.py: {full}: Go has fields that generated.proto has not")
        return at


def merge(messages):
    """Equal messages become one, recursion and all: classes are split until nothing changes."""
    classes = [0] * len(messages)
    while True:
        seen, after = {}, []
        for name, fields in messages:
            key = (name, tuple((*field[:4], classes[field[4]] if field[4] >= 0 else -1) for field in fields))
            after.append(seen.setdefault(key, len(seen)))
        if after == classes:
            break
        classes = after
    kept = {}
    for at, group in enumerate(classes):
        kept.setdefault(group, at)
    merged = [[messages[at][0], [[*field[:4], classes[field[4]] if field[4] >= 0 else -1]
                                 for field in messages[at][1]]] for at in kept.values()]
    return classes, merged


def main():
    packages = load(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "v0.36.3")
    groups = {row["group"] for row in json.loads((HERE / "api-resources.json").read_text())}
    reacher, kinds = Reacher(packages), []
    for package in packages.values():
        if package.group not in groups or not re.fullmatch(r"v\d+(?:(?:alpha|beta)\d+)?", package.version):
            continue
        for kind in sorted(package.kinds & set(package.protos)):
            if not kind.endswith("List"):
                api_version = f"{package.group}/{package.version}".lstrip("/")
                kinds.append((api_version, kind, reacher.message(package, kind)))
    # Typed clients send it under the group and version of the resource.
    kinds.append(("", "DeleteOptions", reacher.message(packages[META[:-1]], "DeleteOptions")))
    classes, messages = merge(reacher.messages)
    lines = [json.dumps([version, kind, classes[at]]) for version, kind, at in sorted(kinds)]
    text = '{"kinds": [\n' + ",\n".join(lines) + '\n],\n"messages": [\n'
    text += ",\n".join(json.dumps(message, separators=(",", ":")) for message in messages) + "\n]}\n"
    (HERE / "messages.json").write_text(text)
    print(f"{len(kinds)} kinds, {len(messages)} messages of {len(reacher.messages)}")


if __name__ == "__main__":
    main()
