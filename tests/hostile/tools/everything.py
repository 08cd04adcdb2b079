#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each verb on each path that discovery serves: everything.py DIRECTORY BASE NAME WORDS NAMES...

As tenant NAME, whose NAME.crt, NAME.key and NAME.ca lie in DIRECTORY; NAMES are the victim's namespaces and objects, and how
upstream calls them. WORDS is a file of what no answer may hold unless the request itself said it. First everything is read;
then everything is written, by the victim's names too, so that from then on only UIDs and data are looked for; then read
again and deleted. What was seen is told on standard output, one line a leak; the last line says how many requests of how
many kinds there were."""
import concurrent.futures
import http.client
import itertools
import json
import ssl
import sys
import threading
import urllib.parse

directory, base, tenant, words_file, namespace, name, prefix = sys.argv[1:8]
words = [line.strip().encode() for line in open(words_file, encoding="utf-8") if line.strip()]
context = ssl.create_default_context(cafile=f"{directory}/{tenant}.ca")
context.check_hostname = False
context.load_cert_chain(f"{directory}/{tenant}.crt", f"{directory}/{tenant}.key")
mine = threading.local()
lock = threading.Lock()
codes, leaks, broken, asked = {}, [], [], itertools.count()

JSON = "application/json"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIAL = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"
PROTOBUF = "application/vnd.kubernetes.protobuf"
PATCHES = {
    "application/merge-patch+json": '{"metadata":{"labels":{"evil":"x"}}}',
    "application/json-patch+json": '[{"op":"add","path":"/metadata/labels","value":{"evil":"x"}}]',
    "application/strategic-merge-patch+json": '{"metadata":{"labels":{"evil":"x"}}}',
    "application/apply-patch+yaml": "",
}


def ask(method, path, body="", kind="", accept=JSON):
    """The code and the bytes of an answer; a connection that was closed meanwhile is opened anew."""
    for turn in range(2):
        client = getattr(mine, "client", None)
        if client is None:
            client = mine.client = http.client.HTTPSConnection(urllib.parse.urlsplit(base).netloc, context=context, timeout=30)
        try:
            headers = {"Accept": accept}
            if kind:
                headers["Content-Type"] = kind
            client.request(method, path, body or None, headers)
            answer = client.getresponse()
            got = answer.read() + str(answer.headers).encode()
            break
        except (OSError, http.client.HTTPException) as error:
            client.close()
            mine.client = None
            if turn:
                with lock:
                    broken.append(f"{method} {path}: {type(error).__name__}")
                return 0, b""
    said = f"{method} {path} {body} {kind}".encode()
    found = [word.decode() for word in words if word in got and word not in said]
    with lock:
        next(asked)
        codes[answer.status // 100] = codes.get(answer.status // 100, 0) + 1
        if found:
            leaks.append(f"{method} {path} as {accept}: {answer.status} holds {' '.join(found)}")
        # Upstream's own answer to a binding without a role.
        if answer.status in (500, 502, 504) and b"unsupported role reference kind" not in got:
            broken.append(f"{method} {path}: {answer.status} {got[:200]!r}")
    return answer.status, got


def discovered():
    """(group/version path, resource, subresource, namespaced, kind, api version)"""
    roots = [("/api/v1", "v1")]
    for group in json.loads(fetch("/apis"))["groups"]:
        roots += [(f"/apis/{each['groupVersion']}", each["groupVersion"]) for each in group["versions"]]
    for path, version in roots:
        for each in json.loads(fetch(path))["resources"]:
            resource, _, sub = each["name"].partition("/")
            api = version
            if each.get("version"):
                api = f"{each['group']}/{each['version']}" if each.get("group") else each["version"]
            yield path, resource, sub, each["namespaced"], each["kind"], api, each["verbs"]


def fetch(path):
    client = http.client.HTTPSConnection(urllib.parse.urlsplit(base).netloc, context=context, timeout=30)
    client.request("GET", path, headers={"Accept": JSON})
    return client.getresponse().read()


def paths(root, resource, namespaced):
    """Collections, then objects."""
    if namespaced:
        spaces = ["team", namespace, f"{prefix}{namespace}", name]
        return [f"{root}/{resource}"] + [f"{root}/namespaces/{space}/{resource}" for space in spaces], [
            f"{root}/namespaces/{space}/{resource}/{each}" for space in spaces for each in (name, f"{prefix}{name}")]
    return [f"{root}/{resource}"], [f"{root}/{resource}/{each}" for each in (
        name, f"{prefix}{name}", f"{prefix}{namespace}", f"safes.{prefix}vaults.example.com", "safes.vaults.example.com", f"zoo:crb:{name}")]


def reads(root, resource, sub, namespaced, watched):
    lists, objects = paths(root, resource, namespaced)
    if sub:
        for path in objects:
            ask("GET", f"{path}/{sub}")
        return
    for path in lists:
        for accept in (JSON, TABLE, PARTIAL.format("List"), PROTOBUF):
            ask("GET", f"{path}?limit=500", accept=accept)
        ask("GET", f"{path}?resourceVersion=0")
        ask("GET", f"{path}?fieldSelector=metadata.name%3D{name}")
        ask("GET", f"{path}?labelSelector=kept%3D{name}")
        ask("HEAD", path)
    if watched:
        # A second each: the representations take turns.
        accept = (JSON, TABLE, PARTIAL.format(""), PROTOBUF)[watched % 4]
        ask("GET", f"{lists[0]}?watch=1&resourceVersion=0&timeoutSeconds=1", accept=accept)
        ask("GET", f"{lists[-1]}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1")
        ask("GET", f"{objects[watched % len(objects)]}?watch=1&timeoutSeconds=1&resourceVersion=1")
    for path in objects:
        for accept in (JSON, TABLE, PROTOBUF):
            ask("GET", path, accept=accept)


def writes(root, resource, sub, namespaced, kind, version):
    lists, objects = paths(root, resource, namespaced)

    def body(of, where):
        return json.dumps({"apiVersion": version, "kind": kind, "metadata": {"name": of, **({"namespace": where} if namespaced else {})}})
    if not sub:
        for path in lists:
            ask("POST", path, body("evil-everything", "team"), JSON)
            ask("POST", path, body(name, f"{prefix}{namespace}"), JSON)
            ask("POST", f"{path}?dryRun=All", body(name, namespace), "application/yaml")
    for path in objects:
        of = path.rsplit("/", 1)[1]
        where = path.split("/namespaces/")[1].split("/")[0] if namespaced else ""
        path += f"/{sub}" if sub else ""
        ask("PUT", path, body(of, where), JSON)
        for patch, text in PATCHES.items():
            ask("PATCH", f"{path}?fieldManager=evil&force=true" if "apply" in patch else path, text or body(of, where), patch)
        if sub:
            ask("POST", path, body(of, where), JSON)


def deletions(root, resource, sub, namespaced):
    lists, objects = paths(root, resource, namespaced)
    for path in objects:
        ask("DELETE", f"{path}/{sub}" if sub else path)
    # Its own namespaces stay until the end.
    if not sub and resource != "namespaces":
        for path in lists:
            ask("DELETE", f"{path}?labelSelector=kept%3D{name}")
            ask("DELETE", path)


kinds = list(discovered())
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    def all_kinds(step):
        for done in [pool.submit(step, turn, kind) for turn, kind in enumerate(kinds, 1)]:
            done.result()
    all_kinds(lambda turn, kind: reads(*kind[:4], turn))
    words = [word for word in words if word.decode() not in (name, prefix)]
    all_kinds(lambda _, kind: writes(*kind[:6]))
    all_kinds(lambda _, kind: reads(*kind[:4], 0))
    all_kinds(lambda _, kind: deletions(*kind[:4]))
ask("DELETE", "/api/v1/namespaces")
for line in leaks[:50]:
    print("LEAK", line)
for line in broken[:20]:
    print("BROKEN", line)
print(f"{next(asked)} requests on {len(kinds)} resources; answered {dict(sorted(codes.items()))}; {len(leaks)} leaks, {len(broken)} broken")
