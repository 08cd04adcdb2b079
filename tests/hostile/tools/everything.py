#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each verb on each path that is served: everything.py DIRECTORY BASE TENANT VICTIM VAULT CANARY WORDS PATHS

As TENANT, whose .crt, .key and .ca lie in DIRECTORY, as VICTIM's do. VAULT is what the victim's objects are called, in
namespaces `team` and VAULT; CANARY is in their data; WORDS is a file of what no answer may hold unless the request itself said it;
PATHS is a file of upstream's paths, of which those without resources are asked for.

The victim's own lists say what it has: without an object of a kind that is listed, reading proves nothing of that kind. Everything
is read; then objects of every kind are made under names of the attacker's own, and everything is read again; then it is written by
the victim's names, so that from then on only UIDs and data are looked for; then read a third time and deleted. One line a leak, or
a fault, on standard output; the last line says how many requests of how many kinds there were."""
import concurrent.futures
import dataclasses
import http.client
import itertools
import json
import ssl
import sys
import threading
import time
import urllib.parse

directory, base, tenant, victim, vault, canary, words_file, paths_file = sys.argv[1:9]
prefix, own = f"{victim}-", "evil-everything"
words = [line.strip().encode() for line in open(words_file, encoding="utf-8") if line.strip()]
mine = threading.local()
lock = threading.Lock()
codes, leaks, broken, asked = {}, [], [], itertools.count()

# What is listed and no tenant has an object of.
NOBODYS = {
    "componentstatuses": "computed when asked for, never stored",
    "resourceslices": "DRA drivers of the platform's write them; tenants read those of the nodes",
}
# What upstream itself answers with 5xx.
UPSTREAMS = {
    b"no endpoints available for service": "the proxy of a Service without endpoints: 503",
    b"request to convert CR to an invalid group/version: autoscaling/v1": "an apply on the scale of a custom resource, now and then: 500",
}

JSON = "application/json"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIAL = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"
PROTOBUF = "application/vnd.kubernetes.protobuf"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
OPENAPI = "application/com.github.proto-openapi.spec.v{}@v1.0+protobuf"
APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
PATCHES = {
    "application/merge-patch+json": '{"metadata":{"labels":{"evil":"x"}}}',
    "application/json-patch+json": '[{"op":"add","path":"/metadata/labels","value":{"evil":"x"}}]',
    "application/strategic-merge-patch+json": '{"metadata":{"labels":{"evil":"x"}}}',
    "application/apply-patch+yaml": "",
}


@dataclasses.dataclass
class Kind:
    """A resource of a version, or a subresource."""
    root: str
    resource: str
    sub: str
    namespaced: bool
    kind: str
    version: str
    verbs: list
    theirs: list = dataclasses.field(default_factory=list)  # names of the victim's objects
    manifests: list = dataclasses.field(default_factory=list)  # of what the victim made them

    @property
    def path(self):
        return f"{self.root}/{self.resource}"


def context_of(name):
    context = ssl.create_default_context(cafile=f"{directory}/{name}.ca")
    context.check_hostname = False
    context.load_cert_chain(f"{directory}/{name}.crt", f"{directory}/{name}.key")
    return context


contexts = {name: context_of(name) for name in (tenant, victim)}


def connect(name):
    return http.client.HTTPSConnection(urllib.parse.urlsplit(base).netloc, context=contexts[name], timeout=30)


def ask(method, path, body="", kind="", accept=JSON):
    """The code and the bytes of an answer; a connection that was closed meanwhile is opened anew."""
    for turn in range(2):
        client = getattr(mine, "client", None)
        if client is None:
            client = mine.client = connect(tenant)
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
        if answer.status >= 500 and not any(text in got for text in UPSTREAMS):
            broken.append(f"{method} {path} {body[:100]} {kind}: {answer.status} {got[:300]!r}")
    return answer.status, got


def fetch(name, path):
    client = connect(name)
    client.request("GET", path, headers={"Accept": JSON})
    return json.loads(client.getresponse().read())


def discovered(name):
    roots = [("/api/v1", "v1")]
    for group in fetch(name, "/apis")["groups"]:
        roots += [(f"/apis/{each['groupVersion']}", each["groupVersion"]) for each in group["versions"]]
    for path, version in roots:
        for each in fetch(name, path)["resources"]:
            resource, _, sub = each["name"].partition("/")
            api = version
            if each.get("version"):
                api = f"{each['group']}/{each['version']}" if each.get("group") else each["version"]
            yield Kind(path, resource, sub, each["namespaced"], each["kind"], api, each["verbs"])


def as_made(item, kind):
    """What was applied, or else the object without what the server wrote."""
    applied = item["metadata"].get("annotations", {}).get(APPLIED)
    if applied and json.loads(applied)["apiVersion"] == kind.version:
        return json.loads(applied)
    made = {each: value for each, value in item.items() if each != "status"}
    made["metadata"] = {each: item["metadata"][each] for each in ("name", "namespace", "labels") if each in item["metadata"]}
    return {**made, "apiVersion": kind.version, "kind": kind.kind}


def look_at_the_victim(kind):
    """Which objects the victim has; their UIDs must be among what is looked for."""
    items = [each for each in fetch(victim, kind.path)["items"] if vault in (each["metadata"].get("labels") or {}).get("kept", "")]
    applied = [each for each in items if APPLIED in each["metadata"].get("annotations", {})]
    kind.theirs = sorted({each["metadata"]["name"] for each in items})
    kind.manifests = [as_made(each, kind) for each in applied or items[:1]]
    unknown = [each["metadata"]["name"] for each in items if each["metadata"]["uid"].encode() not in words]
    with lock:
        if not items and kind.resource not in NOBODYS:
            broken.append(f"the victim has no object of {kind.path}")
        if items and kind.resource in NOBODYS:
            broken.append(f"the victim has an object of {kind.path}, of which nobody could have one")
        if unknown:
            broken.append(f"nobody looks for the UIDs of {kind.path} {unknown}")


def names(kind):
    if kind.namespaced:
        plain = [vault]
    else:
        plain = [vault, f"{prefix}team", f"safes.{prefix}vaults.example.com", f"zoo:crb:{vault}"]
    # Its namespace `team` is called like the attacker's own.
    theirs = [each for each in kind.theirs if (kind.resource, each) != ("namespaces", "team")]
    return list(dict.fromkeys(spelled for each in plain + theirs for spelled in (each, f"{prefix}{each}")))


def spaces(kind):
    """Where objects of it may lie: the path before its name."""
    if not kind.namespaced:
        return [kind.path]
    return [f"{kind.root}/namespaces/{each}/{kind.resource}" for each in ("team", f"{prefix}team", vault, f"{prefix}{vault}")]


def collections(kind):
    return list(dict.fromkeys([kind.path, *spaces(kind)]))


def objects(kind):
    return [f"{space}/{name}" for space in spaces(kind) for name in names(kind)]


def own_objects(kind):
    return [f"{spaces(kind)[0]}/{each['metadata']['name'].replace(vault, own)}" for each in kind.manifests]


def body(kind, manifest, name, space, said):
    """The victim's manifest with a name; with its other words too where they are SAID."""
    text = json.dumps(manifest).replace(canary, "open")
    made = json.loads(text if said else text.replace(vault, own))
    made.setdefault("metadata", {})["name"] = name
    if kind.namespaced:
        made["metadata"]["namespace"] = space
    # One whose finalizers are taken by its subresource is never gone.
    if kind.kind == "Namespace":
        made["spec"] = {"finalizers": ["kubernetes"]}
    # Neither may have an address, which upstream would connect to.
    if kind.kind == "Pod" and "spec" in made:
        made["spec"]["schedulerName"] = "none"
    if kind.kind == "Service" and "spec" in made:
        made["spec"].pop("selector", None)
    return json.dumps(made)


def manifest_of(kind):
    """The first, or that of the kind whose subresource it is."""
    same = [each for each in kinds if not each.sub and (each.root, each.resource, each.kind) == (kind.root, kind.resource, kind.kind)]
    found = kind.manifests or [each for of in same for each in of.manifests]
    return found[0] if found else {"apiVersion": kind.version, "kind": kind.kind}


def reads(kind, more):
    if kind.sub:
        for path in [*objects(kind), *more]:
            ask("GET", f"{path}/{kind.sub}")
        return
    for path in collections(kind):
        for accept in (JSON, TABLE, PARTIAL.format("List"), PROTOBUF):
            ask("GET", f"{path}?limit=500", accept=accept)
        ask("GET", f"{path}?resourceVersion=0")
        ask("GET", f"{path}?fieldSelector=metadata.name%3D{vault}")
        ask("GET", f"{path}?labelSelector=kept%3D{vault}")
        ask("HEAD", path)
    for path in [*objects(kind), *more]:
        for accept in (JSON, TABLE, PARTIAL.format(""), PROTOBUF):
            ask("GET", path, accept=accept)


def watches(kind, turn):
    """A second each: the representations take turns."""
    lists = collections(kind)
    accept = (JSON, TABLE, PARTIAL.format(""), PROTOBUF)[turn % 4]
    ask("GET", f"{lists[0]}?watch=1&resourceVersion=0&timeoutSeconds=1", accept=accept)
    ask("GET", f"{lists[-1]}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1")
    ask("GET", f"{objects(kind)[turn % len(objects(kind))]}?watch=1&timeoutSeconds=1&resourceVersion=1")


def change(kind, path, said):
    """PUT and each sort of patch on an object, or POST on a subresource of it."""
    name = path.rsplit("/", 1)[1]
    space = path.split("/namespaces/")[1].split("/")[0] if kind.namespaced else ""
    text = body(kind, manifest_of(kind), name, space, said)
    path += f"/{kind.sub}" if kind.sub else ""
    ask("PUT", path, text, JSON)
    for patch, change_of in PATCHES.items():
        ask("PATCH", f"{path}?fieldManager=evil&force=true" if "apply" in patch else path, change_of or text, patch)
    if kind.sub:
        ask("POST", path, text, JSON)


def make_own(kind):
    """An object under a name of its own, in its own namespace; in the victim's by its paths it is refused."""
    for manifest in kind.manifests or [{"apiVersion": kind.version, "kind": kind.kind, "metadata": {"name": own}}]:
        name = manifest["metadata"]["name"].replace(vault, own)
        text = body(kind, manifest, name, "team", False)
        for path in collections(kind):
            code, got = ask("POST", path, text, JSON)
            with lock:
                if path == spaces(kind)[0]:
                    answers.setdefault(kind.resource, []).append((code, kind.path, got[:200]))


def change_own(kind):
    for path in own_objects(kind):
        change(kind, path, False)


def change_theirs(kind):
    if not kind.sub:
        for path in collections(kind):
            ask("POST", path, body(kind, manifest_of(kind), vault, f"{prefix}team", True), JSON)
            ask("POST", f"{path}?dryRun=All", body(kind, manifest_of(kind), vault, "team", True), "application/yaml")
    for path in objects(kind):
        change(kind, path, True)


def deletions(kind):
    for path in objects(kind):
        ask("DELETE", f"{path}/{kind.sub}" if kind.sub else path)
    # Its own namespaces stay until the end.
    if not kind.sub and kind.resource != "namespaces":
        for path in collections(kind):
            ask("DELETE", f"{path}?labelSelector=kept%3D{vault}")
            ask("DELETE", path)


def other_paths():
    """Without resources: upstream's, those that either tenant's index and OpenAPI name, and the well-known ones."""
    paths = ["/", "/api", "/apis", "/version", "/metrics", "/openapi/v2", "/openapi/v3", "/logs", "/logs/", "/configz", "/flagz", "/statusz"]
    paths += [f"/{each}{query}" for each in ("healthz", "livez", "readyz") for query in ("", "?verbose", "/etcd", "/ping")]
    paths += ["/.well-known/openid-configuration", "/openid/v1/jwks", "/swagger.json", "/swaggerapi", "/swagger-2.0.0.pb-v1", "/ui", "/ui/"]
    paths += ["/debug/pprof/", "/debug/pprof/heap?debug=1", "/debug/pprof/cmdline", "/debug/flags/v", "/debug/api_priority_and_fairness/dump_requests"]
    paths += [line.strip() for line in open(paths_file, encoding="utf-8") if line.strip()]
    for name in (tenant, victim):
        paths += fetch(name, "/").get("paths", []) + [each["serverRelativeURL"] for each in fetch(name, "/openapi/v3")["paths"].values()]
    paths += [each.replace("/vaults.example", f"/{prefix}vaults.example") for each in paths if "/vaults.example" in each]
    return list(dict.fromkeys(paths))


def read_other(path):
    for accept in (JSON, "*/*", PROTOBUF, AGGREGATED, OPENAPI.format(2), OPENAPI.format(3)):
        ask("GET", path, accept=accept)
    ask("HEAD", path)


def write_other(path):
    for method in ("POST", "PUT", "DELETE"):
        ask(method, path, "{}", JSON)
    for patch in PATCHES:
        ask("PATCH", path, "{}", patch)


def own_paths(kind):
    return next((own_objects(each) for each in kinds if not each.sub and each.path == kind.path), [])


def walk(step, *of, workers=8):
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for done in [pool.submit(step, *each) for each in zip(*of)]:
            done.result()


def read_all(with_own):
    walk(reads, kinds, [own_paths(kind) if with_own else [] for kind in kinds])
    walk(read_other, other_paths())


kinds = list({(each.path, each.sub): each for name in (victim, tenant) for each in discovered(name)}.values())
# The victim's own kinds also as upstream calls them.
kinds += [dataclasses.replace(each, root=each.root.replace("/vaults.", f"/{prefix}vaults."), verbs=["watch"]) for each in kinds if "/vaults." in each.root]
listed = [each for each in kinds if "list" in each.verbs]
watched = [each for each in kinds if "watch" in each.verbs]
creatable = [each for each in kinds if not each.sub and "create" in each.verbs]
answers = {}
walk(look_at_the_victim, listed)
documents = [each["serverRelativeURL"] for name, each in fetch(victim, "/openapi/v3")["paths"].items() if "vaults.example.com" in name]
if not any(canary in json.dumps(fetch(victim, each)) for each in documents):
    broken.append("the victim's own OpenAPI does not hold what is looked for")
read_all(False)
walk(watches, watched, itertools.count(), workers=32)

walk(make_own, [each for each in creatable if each.resource == "customresourcedefinitions"])
for _ in range(600):
    if ask("GET", "/apis/vaults.example.com/v1")[1].count(b'"singularName"') >= 2:
        break
    time.sleep(0.2)
else:
    broken.append("the attacker's own kinds are not served")
walk(make_own, [each for each in creatable if each.resource != "customresourcedefinitions"])
for resource, made in answers.items():
    # A kind of several versions has one name for all of them; what is not listed is not stored either.
    if not any(code in range(200, 300) for code, _, _ in made) and any(each.resource == resource for each in listed):
        broken.append(f"the attacker has no object of its own of {made}")
walk(change_own, creatable)
read_all(True)
walk(watches, watched, itertools.count(1), workers=32)

words = [word for word in words if word.decode() not in (vault, prefix)]
walk(change_theirs, kinds)
walk(write_other, other_paths())
read_all(True)
walk(deletions, kinds)
ask("DELETE", "/api/v1/namespaces")
for line in leaks[:50]:
    print("LEAK", line)
for line in broken[:50]:
    print("BROKEN", line)
print(f"{next(asked)} requests on {len(kinds)} resources, {sum(bool(each.theirs) for each in listed)} of the {len(listed)} listed ones with objects of the victim's, "
      f"and on {len(other_paths())} other paths; answered {dict(sorted(codes.items()))}; {len(leaks)} leaks, {len(broken)} broken")
