# SPDX-License-Identifier: Apache-2.0
"""Namespaces and RoleBindings by the ten thousand, written where kube-apiserver keeps them.

Through the API 10,000 namespaces with 100,000 RoleBindings take a quarter of an hour; etcd itself takes them in seconds,
128 at a time, through its JSON gateway. kube-apiserver reads what is stored as JSON, and hears of it as of any other
change. Each namespace comes with what upstream's controllers would add (the default ServiceAccount and
kube-root-ca.crt), so that they find nothing to do.
"""
import base64
import http.client
import json
import time
import uuid

MOST = 120  # operations in one transaction of etcd; 128 is its limit
PER_SPACE = 10  # RoleBindings in each namespace
FIVE, CROWD, READER = "five", "crowd", "reader"  # users, and what they may see below
GROUPS = [f"crowd-{n:03d}" for n in range(200)]  # of the user `crowd`


def space(n):
    return f"sp-{n:05d}"


def subjects_of(n, k):
    """Whom the k-th RoleBinding of the n-th namespace is for.

    `five` sees the namespaces 0 to 4, `reader` 10 to 29, `crowd` 30 to 79 by one of its groups each; everything else is
    for people, groups and ServiceAccounts of that namespace, or of ten neighbours.
    """
    user = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io"}
    group = {"kind": "Group", "apiGroup": "rbac.authorization.k8s.io"}
    if k == 0 and n < 5:
        return [user | {"name": FIVE}]
    if k == 0 and 10 <= n < 30:
        return [user | {"name": READER}]
    if k == 0 and 30 <= n < 80:
        return [group | {"name": GROUPS[(n - 30) * 4]}]
    if k < 4:
        return [user | {"name": f"user-{n:05d}-{k}"}]
    if k < 8:
        return [group | {"name": f"team-{n // 10:04d}-{k}"}]
    return [{"kind": "ServiceAccount", "name": f"robot-{k}", "namespace": space(n)}]


def objects_of(n, root_ca, created):
    """(key below /registry/, object) of the n-th namespace; the namespace last, when everything in it is there."""
    name = space(n)

    def meta(its, **more):
        return {"name": its, "namespace": name, "uid": str(uuid.uuid4()), "creationTimestamp": created, **more}
    yield f"serviceaccounts/{name}/default", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta("default")}
    yield f"configmaps/{name}/kube-root-ca.crt", {
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"ca.crt": root_ca},
        "metadata": meta("kube-root-ca.crt", annotations={
            "kubernetes.io/description": "Contains a CA bundle that can be used to verify the kube-apiserver when using internal "
                                         "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is "
                                         "guaranteed across distributions of Kubernetes clusters."})}
    for k in range(PER_SPACE):
        yield f"rolebindings/{name}/binding-{k}", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": meta(f"binding-{k}"),
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": ("admin", "edit", "view")[k % 3]},
            "subjects": subjects_of(n, k)}
    yield f"namespaces/{name}", {
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": name, "uid": str(uuid.uuid4()), "creationTimestamp": created, "labels": {"kubernetes.io/metadata.name": name}},
        "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}


def objects_of_account(n, root_ca, created):
    """The n-th account, of one user, and its three namespaces, in which nothing is bound yet."""
    yield f"config.kiosk.sh/accounts/account-{n:05d}", {
        "apiVersion": "config.kiosk.sh/v1alpha1", "kind": "Account",
        "metadata": {"name": f"account-{n:05d}", "uid": str(uuid.uuid4()), "creationTimestamp": created, "generation": 1},
        "spec": {"subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": f"member-{n:05d}"}]}}
    for k in range(3):
        for key, each in objects_of(100_000 + 3 * n + k, root_ca, created):
            if key.startswith("rolebindings/"):
                continue
            if key.startswith("namespaces/"):
                each["metadata"]["labels"]["kiosk.sh/account"] = f"account-{n:05d}"
            yield key, each


def fill(etcd_port, first, end, root_ca):
    """Writes the namespaces from `first` to `end`; how many objects that were."""
    return write(etcd_port, (each for n in range(first, end) for each in objects_of(n, root_ca, now())))


def fill_accounts(etcd_port, count, root_ca):
    return write(etcd_port, (each for n in range(count) for each in objects_of_account(n, root_ca, now())))


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def write(etcd_port, objects):
    connection = http.client.HTTPConnection("127.0.0.1", etcd_port, timeout=60)

    def encoded(text):
        return base64.b64encode(text.encode()).decode()

    def put(batch):
        connection.request("POST", "/v3/kv/txn", json.dumps({"success": [{"requestPut": {
            "key": encoded("/registry/" + key), "value": encoded(json.dumps(value))}} for key, value in batch]}))
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200 or not json.loads(text).get("succeeded"):
            raise RuntimeError(f"etcd: {answer.status} {text[:500]!r}")
    count, batch = 0, []
    for each in objects:
        batch.append(each)
        if len(batch) == MOST:
            put(batch)
            count, batch = count + MOST, []
    if batch:
        put(batch)
    connection.close()
    return count + len(batch)
