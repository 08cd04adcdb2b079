#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rounds of creates that race deletes, against quotas of a real upstream, and what a watch has seen of them:

  rounds.py --kubeconfig FILE [--server URL]... MODE --rounds N --limit N --namespaces A,B,... [--creates N] [--account NAME]

MODE
  deletes   in one namespace: some pods are there, and are deleted while 40 others are created
  second    the same number of pods and Services at once, where two ResourceQuotas are charged by compare-and-swap (kubernetes#141904)
  decide    asks zood's webhook itself, --rounds times by one client, about a dry run that has room: what that costs zood (--pid)
  moves     the same of a pod that asks for --memory, in turn in each of the namespaces: of more than their share of the limit, so that room is moved
  spaces    over all namespaces: 20 pods by themselves, 20 by four ReplicaSets, deletes in between; with --account its quota changes from
            round to round between --limit and --limit + 2, in the middle of one

A round is over if more pods were charged at any moment than the limit allows. As a ResourceQuota charges: not for one that has ended, nor for
one whose deletion is beyond its grace (QuotaV1Pod in k8s.io/kubernetes/pkg/quota/v1/evaluator/core/pods.go). Prints one line of JSON. Each --server beside the kubeconfig's is
another API server of the same upstream.
"""
import argparse
import base64
import http.client
import json
import os
import random
import ssl
import tempfile
import threading
import time
import urllib.parse

import yaml


class Upstream:
    def __init__(self, kubeconfig, servers):
        config = yaml.safe_load(open(kubeconfig))
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.servers = [urllib.parse.urlsplit(each) for each in [cluster["server"], *servers]]
        self.tls = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        self.tls.check_hostname = False
        with tempfile.NamedTemporaryFile() as pair:
            pair.write(base64.b64decode(user["client-certificate-data"]) + b"\n" + base64.b64decode(user["client-key-data"]))
            pair.flush()
            self.tls.load_cert_chain(pair.name)
        self.local = threading.local()

    def connect(self, server):
        return http.client.HTTPSConnection(self.servers[server].hostname, self.servers[server].port, context=self.tls, timeout=60)

    def ask(self, method, path, body=None, server=0, content="application/json"):
        known = self.local.__dict__.setdefault("connections", {})
        for again in (True, False):
            try:
                if server not in known:
                    known[server] = self.connect(server)
                known[server].request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": content})
                answer = known[server].getresponse()
                return answer.status, json.loads(answer.read() or b"{}")
            except (http.client.HTTPException, OSError):
                known.pop(server, None)
                if not again:
                    raise

    def watch(self, path, heard, stopped, opened):
        connection = self.connect(0)
        connection.request("GET", path)
        answer = connection.getresponse()
        opened.set()
        while not stopped.is_set():
            line = answer.readline()
            if not line:
                raise SystemExit(f"the watch of {path} has ended")
            heard(json.loads(line))


class Record:
    """What there is, in the order of upstream's own watch."""

    def __init__(self, upstream, namespaces):
        self.namespaces, self.live, self.most, self.slices, self.sum, self.worst = set(namespaces), {}, 0, {}, 0, {}
        self.lock, self.stopped = threading.Lock(), threading.Event()
        for path, heard in (("/api/v1/pods", self.pod), ("/api/v1/resourcequotas", self.quota)):
            opened = threading.Event()
            threading.Thread(target=upstream.watch, args=(path + "?watch=1", heard, self.stopped, opened), daemon=True).start()
            opened.wait(30)

    def pod(self, event):
        metadata, status = event["object"]["metadata"], event["object"].get("status", {})
        if metadata.get("namespace") not in self.namespaces:
            return
        with self.lock:
            goes = "deletionTimestamp" in metadata and metadata.get("deletionGracePeriodSeconds") == 0
            if event["type"] == "DELETED" or goes or status.get("phase") in ("Failed", "Succeeded"):
                self.live.pop(metadata["uid"], None)
            else:
                self.live[metadata["uid"]] = metadata["namespace"]
            self.most = max(self.most, len(self.live))

    def quota(self, event):
        item = event["object"]
        if item["metadata"]["namespace"] not in self.namespaces or not item["metadata"]["name"].startswith("zoo-quota"):
            return
        with self.lock:
            status = item.get("status", {})
            lists = [item["spec"].get("hard", {}), status.get("hard", {}), status.get("used", {})]
            self.slices[item["metadata"]["namespace"]] = [int(each.get("pods", 0)) for each in lists]
            if event["type"] == "DELETED":
                del self.slices[item["metadata"]["namespace"]]
            now = sum(max(each) for each in self.slices.values())
            if now > self.sum:
                self.sum, self.worst = now, dict(self.slices)

    def there(self):
        with self.lock:
            return len(self.live)

    def begin(self):
        with self.lock:
            self.most = len(self.live)


POD = {"containers": [{"name": "c", "image": "registry.test/c"}], "terminationGracePeriodSeconds": 0}


class Rounds:
    def __init__(self, options):
        self.options, self.upstream = options, Upstream(options.kubeconfig, options.server)
        self.record = Record(self.upstream, options.namespaces)
        self.counts = {"created": 0, "by_slice": 0, "by_owner": 0, "conflict": 0, "other": 0}
        self.slowest, self.lock, self.number, self.texts = 0.0, threading.Lock(), 0, {}

    def create(self, collection, body, server=None):
        began = time.monotonic()
        where = random.randrange(len(self.upstream.servers)) if server is None else server
        status, answer = self.upstream.ask("POST", collection, body, where)
        with self.lock:
            self.slowest = max(self.slowest, time.monotonic() - began)
            message = answer.get("message", "")
            if status == 201:
                kind = "created"
            elif status == 409:
                kind = "conflict"
            elif status == 403 and "exceeded quota: zoo-quota" in message:
                kind = "by_slice"
            elif status == 403:
                kind = "by_owner"
            else:
                kind = "other"
                self.texts[f"{status} {message[:200]}"] = self.texts.get(f"{status} {message[:200]}", 0) + 1
            self.counts[kind] += 1
        return status

    def pod(self, space):
        with self.lock:
            self.number += 1
            name = f"p{self.number}"
        status = self.create(f"/api/v1/namespaces/{space}/pods",
                             {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": POD})
        return name if status == 201 else None

    def remove(self, space, name, resource="pods", group="api/v1"):
        self.upstream.ask("DELETE", f"/{group}/namespaces/{space}/{resource}/{name}?gracePeriodSeconds=0&propagationPolicy=Background",
                          server=random.randrange(len(self.upstream.servers)))

    def empty(self):
        for space in self.options.namespaces:
            for path in ("apis/apps/v1", "api/v1"):
                resource = "replicasets" if path.startswith("apis") else "pods"
                self.upstream.ask("DELETE", f"/{path}/namespaces/{space}/{resource}?gracePeriodSeconds=0&propagationPolicy=Background")
        self.until(lambda: self.record.there() == 0 and self.used() == 0, "nothing is there, and nothing is used")

    def used(self):
        total = 0
        for space in self.options.namespaces:
            _, quotas = self.upstream.ask("GET", f"/api/v1/namespaces/{space}/resourcequotas")
            for item in quotas["items"]:
                total += int(item.get("status", {}).get("used", {}).get("pods", 0))
        return total

    @staticmethod
    def until(holds, what, seconds=60):
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                raise SystemExit(f"not within {seconds} s: {what}")
            time.sleep(0.02)

    def at_once(self, jobs):
        start = threading.Barrier(len(jobs))

        def run(job):
            start.wait()
            job()

        threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    def deletes(self):
        space = self.options.namespaces[0]
        there = [name for name in (self.pod(space) for _ in range(self.options.limit - 2)) if name]
        made = list(there)

        def creator():
            time.sleep(random.random() * 0.05)
            for _ in range(3):
                name = self.pod(space)
                if name:
                    made.append(name)
                    return

        def remover():
            for _ in range(self.options.limit):
                if made:
                    self.remove(space, made.pop(0))

        self.at_once([creator] * self.options.creates + [remover] * 2)
        return self.options.limit

    def second(self):
        space = self.options.namespaces[0]

        def service():
            with self.lock:
                self.number += 1
                name = f"s{self.number}"
            # Its result is no pod's: it is there to make the other quota's writes meet.
            status, _ = self.upstream.ask("POST", f"/api/v1/namespaces/{space}/services",
                                          {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}},
                                          random.randrange(len(self.upstream.servers)))
            if status == 201:
                self.remove(space, name, "services")

        half = self.options.creates // 2
        self.at_once([lambda: self.pod(space)] * half + [service] * half)
        return self.options.limit

    def spaces(self):
        spaces, limit = self.options.namespaces, self.options.limit
        if self.options.account:
            limit += 2  # the larger of the two that hold in a round
        for space in spaces:
            self.create(f"/apis/apps/v1/namespaces/{space}/replicasets",
                        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": f"r{time.monotonic_ns()}"},
                         "spec": {"replicas": 5, "selector": {"matchLabels": {"a": space}},
                                  "template": {"metadata": {"labels": {"a": space}}, "spec": POD}}})

        def change():
            time.sleep(random.random() * 0.2)
            now = self.options.limit + (2 if self.record.there() % 2 else 0)
            self.upstream.ask("PATCH", f"/apis/config.kiosk.sh/v1alpha1/accountquotas/{self.options.account}",
                              {"spec": {"quota": {"hard": {"pods": str(now)}}}}, content="application/merge-patch+json")

        def replace():
            time.sleep(random.random() * 0.2)
            with self.record.lock:
                found = list(self.record.live.items())[:3]
            for uid, space in found:
                _, pods = self.upstream.ask("GET", f"/api/v1/namespaces/{space}/pods")
                for item in pods["items"]:
                    if item["metadata"]["uid"] == uid:
                        self.remove(space, item["metadata"]["name"])
            for _ in range(3):
                self.pod(random.choice(spaces))

        jobs = [lambda: self.pod(random.choice(spaces)) for _ in range(20)] + [replace]
        self.at_once(jobs + ([change] if self.options.account else []))
        time.sleep(0.3)  # what controllers make of it
        return limit

    def decide(self, memory="64Mi"):
        _, hook = self.upstream.ask("GET", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/zoo-quota")
        url = urllib.parse.urlsplit(hook["webhooks"][0]["clientConfig"]["url"])
        tls = ssl.create_default_context()
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        door = http.client.HTTPSConnection(url.hostname, url.port, context=tls, timeout=10)
        spec = dict(POD, containers=[{"name": f"c{i}", "image": "registry.test/c", "env": [{"name": f"V{k}", "value": "x" * 20} for k in range(12)],
                                      "resources": {"requests": {"cpu": "100m", "memory": memory}}} for i in range(3)])
        spaces = self.options.namespaces if self.options.mode == "moves" else self.options.namespaces[:1]
        bodies = [json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
            "uid": "u", "namespace": space, "operation": "CREATE", "dryRun": True,
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "object": {"metadata": {"name": "p", "uid": "p"}, "spec": spec}}}) for space in spaces]
        cpu, took = self.cpu(), []
        for turn in range(self.options.rounds):
            began = time.monotonic()
            door.request("POST", url.path + "?timeout=1s", bodies[turn % len(bodies)], {"Content-Type": "application/json"})
            answer = json.loads(door.getresponse().read())
            took.append(time.monotonic() - began)
            if not answer["response"]["allowed"]:
                raise SystemExit(f"it is refused: {answer}")
        took.sort()
        print(json.dumps({"mode": self.options.mode, "bytes": len(bodies[0]), "late": sum(each > 0.65 for each in took), "count": len(took), "p50_us": round(took[len(took) // 2] * 1e6),
                          "p99_us": round(took[len(took) * 99 // 100] * 1e6), "cpu_us": round((self.cpu() - cpu) / len(took) * 1e6)}))

    def cpu(self):
        with open(f"/proc/{self.options.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def run(self):
        if self.options.mode in ("decide", "moves"):
            return self.decide() if self.options.mode == "decide" else self.decide(self.options.memory)
        over, worst, rounds = 0, 0, 0
        for _ in range(self.options.rounds):
            self.empty()
            if rounds == 0:
                self.record.sum = 0  # what was before is another one's
            self.record.begin()
            limit = getattr(self, self.options.mode)()
            time.sleep(0.1)  # the watch
            rounds += 1
            over += self.record.most > limit
            worst = max(worst, self.record.most)
        tried = self.counts["created"] + self.counts["by_slice"]
        print(json.dumps({"mode": self.options.mode, "rounds": rounds, "over": over, "most": worst, "largest_sum": self.record.sum, "slices_then": self.record.worst,
                          **self.counts, "of_a_thousand_by_slice": round(1000 * self.counts["by_slice"] / max(1, tried), 1),
                          "slowest_ms": round(self.slowest * 1000), "texts": self.texts}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--server", action="append", default=[])
    parser.add_argument("mode", choices=("deletes", "second", "spaces", "decide", "moves"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=int, default=10)
    parser.add_argument("--creates", type=int, default=40)
    parser.add_argument("--namespaces", required=True, type=lambda text: text.split(","))
    parser.add_argument("--account", default="")
    parser.add_argument("--memory", default="20Gi", help="of each of the pod's three containers")
    parser.add_argument("--pid", default="self")
    Rounds(parser.parse_args()).run()


main()
