# SPDX-License-Identifier: Apache-2.0
"""Rows of tests/bench/run about virtual clusters: real control planes, of the upstream's own version.

`Rows` goes before Bench among the bases of one class: Bench has the upstream, the processes and the rounds.
"""
import base64
import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLUSTERS = "/apis/kosmos.io/v1alpha1/namespaces/default/virtualclusters"


class Api:
    """An API server by a kubeconfig with a client certificate, over connections that stay: one a thread."""

    def __init__(self, kubectl, path, scratch):
        view = json.loads(subprocess.run([kubectl, "--kubeconfig", path, "config", "view", "--raw", "--minify", "-o", "json"],
                                         check=True, capture_output=True, text=True).stdout)
        cluster, user = view["clusters"][0]["cluster"], view["users"][0]["user"]
        self.tls = ssl.create_default_context(cadata=self.pem(cluster, "certificate-authority").decode())
        pair = scratch / f"{pathlib.Path(path).name}.pem"
        pair.write_bytes(self.pem(user, "client-certificate") + b"\n" + self.pem(user, "client-key"))
        pair.chmod(0o600)
        self.tls.load_cert_chain(pair)
        self.place = urllib.parse.urlsplit(cluster["server"])
        self.own = threading.local()

    @staticmethod
    def pem(holder, name):
        if name + "-data" in holder:
            return base64.b64decode(holder[name + "-data"])
        return pathlib.Path(holder[name]).read_bytes()

    def connection(self):
        return http.client.HTTPSConnection(self.place.hostname, self.place.port, context=self.tls, timeout=120)

    def ask(self, method, path, body=None, kind="application/json"):
        if not hasattr(self.own, "connection"):
            self.own.connection = self.connection()
        text = None if body is None else json.dumps(body)
        self.own.connection.request(method, path, text, {"Content-Type": kind, "Accept": "application/json"})
        answer = self.own.connection.getresponse()
        read = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {read[:300]!r}")
        return json.loads(read)

    def watch(self, path, heard, over):
        """Calls heard(event) for each event until `over` is set; ends with the process at the latest."""
        connection = self.connection()
        connection.request("GET", path, headers={"Accept": "application/json"})
        answer = connection.getresponse()
        if answer.status != 200:
            raise RuntimeError(f"watch {path}: {answer.status}")
        while not over.is_set():
            line = answer.readline()
            if not line:
                break
            heard(json.loads(line))
        connection.close()


class Rows:
    upstream_words = ("--nodes", "4")  # of tests/upstream/up start

    def start(self):
        self.check_build()
        self.zoobench = self.build_zoobench()
        say("== upstream of virtual clusters")
        self.start_upstream(*self.upstream_words)
        up = ROOT / "tests/upstream/up"
        version = subprocess.run([up, "versions"], check=True, capture_output=True, text=True).stdout.split()[0]
        self.lay_programs(version, self.tmp / "kubernetes")
        port = 21000 + random.randrange(55) * 200
        self.config = f"""drain_timeout: 1s
clusters:
  enabled: true
  upstream_crd: false
  binaries: {self.tmp}/kubernetes
  addresses: 127.{random.randrange(66, 250)}.{random.randrange(256)}.0/24
  ports: {port}-{port + 199}
"""
        say("== zood for virtual clusters")
        self.ends.append(self.end_keeper)  # behind zood, which would start another one
        self.start_zood()

    def lay_programs(self, version, folder):
        """Puts the programs of control planes of that version there, as zood looks for them."""
        subprocess.run([ROOT / "packaging/control-planes", version, "--into", folder], check=True, stdout=subprocess.DEVNULL)

    def end_keeper(self):
        lock = self.zood_dir / "clusters/keeper.lock"
        with contextlib.suppress(OSError, ValueError):
            pid = int(lock.read_text())
            os.kill(pid, signal.SIGINT)
            while pathlib.Path(f"/proc/{pid}").exists():
                time.sleep(0.1)

    def get(self, name):
        return json.loads(self.ctl("cluster", "get", name, "-o", "json"))

    def pids(self, name):
        return {each["name"]: each["pid"] for each in self.get(name)["status"]["components"]}

    def access(self, name, *flags):
        path = self.tmp / f"cluster-{name}{''.join(flags)}.kubeconfig"
        self.ctl("cluster", "connect", name, *flags, "--kubeconfig-file", path)
        return path

    def access_itself(self, name, path):
        """A kubeconfig of its API server, without zood's door between; the address of that, and the server that others name."""
        text = self.access(name).read_text()
        place = json.loads((self.zood_dir / "clusters" / self.get(name)["status"]["id"] / "keeper/plan.json").read_text())
        address = place["components"][1]["address"] + ":26443"
        server = next(line.split("server: ")[1].strip().strip('"') for line in text.splitlines() if "server: " in line)
        path.touch(0o600)
        path.write_text(text.replace(server, f"https://{address}"))
        return address, server

    @staticmethod
    def pss_mib(pid):
        for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
        return 0

    @staticmethod
    def spread(samples):
        ordered = sorted(samples)
        return dict(p50_s=ordered[len(ordered) // 2], p95_s=ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))], max_s=ordered[-1])

    # ---- rows ----

    def row_cluster_create(self):
        """zooctl cluster create: one after the other, and ten at once, until all are Initialized"""
        one, many = 3 if self.options.short else 10, 2 if self.options.short else 10
        samples = []
        for n in range(one):
            begun = time.monotonic()
            self.ctl("cluster", "create", f"one-{n}")
            samples.append(time.monotonic() - begun)
            self.ctl("cluster", "delete", f"one-{n}")
        names = [f"many-{n}" for n in range(many)]
        begun = time.monotonic()
        for name in names:
            self.ctl("cluster", "create", name, "--no-wait")
        for name in names:
            while self.get(name)["status"].get("phase") != "Initialized":
                time.sleep(0.1)
        together = time.monotonic() - begun
        self.ctl("cluster", "delete", *names)
        return {"zood": self.spread(samples), f"zood, {many} at once": dict(all_s=together)}

    def row_cluster_wake(self):
        """A request by server name to a cluster that is paused and then only asleep: until it is answered"""
        self.ctl("cluster", "create", "sleeper", "--sleep-after", "1s")
        path = self.access("sleeper")
        samples = []
        for _ in range(3 if self.options.short else 10):
            while self.get("sleeper")["status"]["phase"] != "Paused":
                time.sleep(0.2)
            begun = time.monotonic()
            while True:  # as a client does whose first try was too early
                done = subprocess.run([self.kubectl, "--kubeconfig", path, "get", "--raw", "/api/v1/namespaces/default"], capture_output=True)
                if done.returncode == 0:
                    break
                if time.monotonic() - begun > 60:
                    raise RuntimeError(done.stderr.decode())
            samples.append(time.monotonic() - begun)
        self.ctl("cluster", "delete", "sleeper")
        return {"zood": self.spread(samples)}

    def row_cluster_idle(self):
        """Two control planes that nobody asks: memory (PSS) and CPU of one, after a minute"""
        names = ["idle-a", "idle-b"]
        for name in names:
            self.ctl("cluster", "create", name)
        time.sleep(20 if self.options.short else 60)
        pids = self.pids(names[0])
        seconds = 20
        before = {name: self.cpu_seconds(pid) for name, pid in pids.items()}
        own = self.cpu_seconds(self.zood)
        time.sleep(seconds)
        out = {name: dict(pss_mib=self.pss_mib(pid), cpu_percent=(self.cpu_seconds(pid) - before[name]) / seconds * 100) for name, pid in pids.items()}
        out["zood"] = dict(pss_mib=sum(each["pss_mib"] for each in out.values()), cpu_percent=sum(each["cpu_percent"] for each in out.values()),
                           own_cpu_percent=(self.cpu_seconds(self.zood) - own) / seconds * 100)
        self.ctl("cluster", "delete", *names)
        return out

    def row_cluster_get(self):
        """GET a small ConfigMap of a virtual cluster, one client: at its API server itself, through zood's door, and through HAProxy's
        TCP mode, which hands the same bytes on, if there is one"""
        self.ctl("cluster", "create", "asked")
        door, direct = self.access("asked"), self.tmp / "cluster-itself.kubeconfig"
        address, server = self.access_itself("asked", direct)
        text = door.read_text()
        subprocess.run([self.kubectl, "--kubeconfig", door, "create", "configmap", "small", "--from-literal=a=b"], check=True, stdout=subprocess.DEVNULL)
        path = "/api/v1/namespaces/default/configmaps/small"
        sides = {"direct": dict(kubeconfig=direct, path=path), "zood": dict(kubeconfig=door, path=path, pid=str(self.zood))}
        if shutil.which("haproxy"):
            for name, option in (("haproxy", ""), ("haproxy, splice", "option splice-auto")):
                port, pid = self.haproxy(address, option)
                through = self.tmp / f"cluster-{port}.kubeconfig"
                through.write_text(text.replace(server, f"https://127.0.0.1:{port}"))
                through.chmod(0o600)
                sides[name] = dict(kubeconfig=through, path=path, pid=str(pid))
        out = self.rounds(sides, scenario="get", c=1)
        self.ctl("cluster", "delete", "asked")
        return out

    def haproxy(self, address, option):
        """One that passes bytes on to that address; its port and process."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        path = self.tmp / f"haproxy-{port}.cfg"
        path.write_text(f"""global
  nbthread 1
defaults
  mode tcp
  timeout connect 5s
  timeout client 1h
  timeout server 1h
  {option}
listen cluster
  bind 127.0.0.1:{port}
  server itself {address}
""")
        process = subprocess.Popen(["haproxy", "-db", "-f", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.ends.append(lambda: (process.terminate(), process.wait()))

        def listens():
            with socket.socket() as tried:
                return tried.connect_ex(("127.0.0.1", port)) == 0

        self.until("HAProxy listens", listens, 10)
        return port, process.pid

    # ---- rows about pods: fake nodes of the upstream, on which pods run at once ----

    def share(self, name, *more, pods=2000):
        """A cluster with a share that is large enough; its API and the upstream's."""
        self.ctl("cluster", "create", name, "--cpu", "100", "--memory", "500Gi", "--resource", f"pods={pods}", "--dns", "none", *more)
        self.until(f"{name} is in step", lambda: self.condition(name, "Synced") and self.condition(name, "NodesReady"))
        return Api(self.kubectl, self.access(name, "--direct"), self.tmp), Api(self.kubectl, self.admin, self.tmp)

    def condition(self, name, kind):
        return any(each["type"] == kind and each["status"] == "True" for each in self.get(name)["status"].get("conditions", []))

    @staticmethod
    def until(what, holds, seconds=600, pause=0.05):
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                raise RuntimeError("not in time: " + what)
            time.sleep(pause)

    @staticmethod
    def deployment(name, count):
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {
            "replicas": count, "selector": {"matchLabels": {"app": name}}, "template": {"metadata": {"labels": {"app": name}}, "spec": {
                "terminationGracePeriodSeconds": 0, "tolerations": [{"operator": "Exists"}],
                "containers": [{"name": "c", "image": "registry.example/x", "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}]}}}}

    def running(self, api, name, count):
        """Makes a Deployment and waits until all of its pods run; returns the seconds."""
        path = "/apis/apps/v1/namespaces/default/deployments"
        begun = time.monotonic()
        api.ask("POST", path, self.deployment(name, count))
        self.until(f"{count} pods of {name} run", lambda: api.ask("GET", f"{path}/{name}")["status"].get("readyReplicas", 0) == count)
        return time.monotonic() - begun

    def rss_kib(self, pid):
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        return 0

    def row_cluster_status(self):
        """A change of a pod's status upstream, 20 a second among 50 pods: until a watch of the cluster shows it"""
        own, upstream = self.share("seen")
        self.running(own, "web", 50)
        place = f"/api/v1/namespaces/{self.get('seen')['status']['id']}-default/pods"
        names = [pod["metadata"]["name"] for pod in upstream.ask("GET", place)["items"]]
        sent, seen, over = {}, {}, threading.Event()

        def heard(event):
            message = event["object"].get("status", {}).get("message", "")
            if message.startswith("bench-"):
                seen.setdefault(message, time.monotonic())

        threading.Thread(target=own.watch, args=("/api/v1/namespaces/default/pods?watch=true", heard, over), daemon=True).start()
        samples = 100 if self.options.short else 600
        begun = time.monotonic()
        for n in range(samples):
            time.sleep(max(0, begun + n / 20 - time.monotonic()))
            message = f"bench-{n}"
            upstream.ask("PATCH", f"{place}/{names[n % len(names)]}/status", {"status": {"message": message}}, "application/merge-patch+json")
            sent[message] = time.monotonic()  # when upstream has it; the watch may have been faster than this answer
        self.until("all changes are seen", lambda: len(seen) == samples, 60)
        over.set()
        taken = sorted(max(0.0, seen[message] - sent[message]) * 1000 for message in sent)
        self.ctl("cluster", "delete", "seen")
        return {"zood": dict(p50_ms=taken[len(taken) // 2], p99_ms=taken[int(len(taken) * 0.99)], max_ms=taken[-1])}

    def row_cluster_pods(self):
        """A Deployment until all its pods run: upstream itself, and in a cluster; what each pod costs zood"""
        count = 50 if self.options.short else 250
        own, upstream = self.share("many")
        self.running(own, "warm", 10)
        cpu, memory = self.cpu_seconds(self.zood), self.rss_kib(self.zood)
        through = self.running(own, "web", count)
        self.until("nothing is left to be done", lambda: self.backlog("many") == 0)
        cpu, memory = self.cpu_seconds(self.zood) - cpu, self.rss_kib(self.zood) - memory
        direct = self.running(upstream, "direct", count)
        upstream.ask("DELETE", "/apis/apps/v1/namespaces/default/deployments/direct?propagationPolicy=Background")
        self.ctl("cluster", "delete", "many")
        return {"direct": dict(all_s=direct), "zood": dict(all_s=through, cpu_ms_pod=cpu / count * 1000, rss_kib_pod=memory / count)}

    def backlog(self, name):
        identity = self.get(name)["status"]["id"]
        text = subprocess.run(["curl", "-s", "--unix-socket", self.zood_dir / "zood.sock", "http://zood/metrics"], check=True, capture_output=True, text=True).stdout
        for line in text.splitlines():
            if line.startswith(f'zood_virtual_cluster_backlog{{id="{identity}"}}'):
                return float(line.split()[-1])
        return 0

    def row_cluster_greedy(self):
        """One pod after the other in a cluster until each runs: alone, and while two others make hundreds at once"""
        greedy, samples = (50, 5) if self.options.short else (800, 20)
        own, _ = self.share("regular")
        others = {name: self.share(name)[0] for name in ("greedy-a", "greedy-b")}
        self.running(own, "warm", 1)
        alone = [self.running(own, f"alone-{n}", 1) for n in range(samples)]
        path = "/apis/apps/v1/namespaces/default/deployments"
        for api in others.values():
            api.ask("POST", path, self.deployment("many", greedy))
        beside = []
        for n in range(samples):
            beside.append(self.running(own, f"beside-{n}", 1))
            if not any(api.ask("GET", f"{path}/many")["status"].get("readyReplicas", 0) < greedy for api in others.values()):
                break  # from here on it would be alone
        self.ctl("cluster", "delete", "regular", *others)
        return {"alone": self.spread(alone), "zood": dict(self.spread(beside), pods=len(beside))}

    def row_cluster_planes(self):
        """Pods in eight clusters at once until all run; as many upstream itself; and made, bound and told as running in planes that have
        nothing of the upstream"""
        planes, pods = (2, 25) if self.options.short else (8, 250)
        upstream = Api(self.kubectl, self.admin, self.tmp)
        direct = self.running(upstream, "direct", planes * pods)
        upstream.ask("DELETE", "/apis/apps/v1/namespaces/default/deployments/direct?propagationPolicy=Background")
        selector = "/api/v1/namespaces/default/pods?labelSelector=app%3Ddirect&limit=1"
        self.until("they are gone", lambda: not upstream.ask("GET", selector)["items"])

        bare = [f"bare-{n}" for n in range(planes)]
        for name in bare:
            self.ctl("cluster", "create", name, "--dns", "none")
        alone = {name: Api(self.kubectl, self.access(name, "--direct"), self.tmp) for name in bare}
        pod = self.deployment("p", 1)["spec"]["template"]
        place = "/api/v1/namespaces/default/pods"

        def account(api):
            with contextlib.suppress(RuntimeError):
                return api.ask("GET", "/api/v1/namespaces/default/serviceaccounts/default")

        def make(api, name):
            api.ask("POST", place, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": pod["spec"]})
            api.ask("POST", f"{place}/{name}/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"apiVersion": "v1", "kind": "Node", "name": "n"}})
            api.ask("PATCH", f"{place}/{name}/status", {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}, "application/merge-patch+json")

        for api in alone.values():
            self.until("pods can be made", lambda: account(api))
        begun = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(16) as many:
            for done in [many.submit(make, api, f"p-{n}") for n in range(pods) for api in alone.values()]:
                done.result()
        planes_alone = time.monotonic() - begun
        self.ctl("cluster", "delete", *bare)

        names = [f"plane-{n}" for n in range(planes)]
        own = [self.share(name)[0] for name in names]
        path = "/apis/apps/v1/namespaces/default/deployments"
        begun = time.monotonic()
        for api in own:
            api.ask("POST", path, self.deployment("web", pods))
        self.until("all pods run", lambda: all(api.ask("GET", f"{path}/web")["status"].get("readyReplicas", 0) == pods for api in own))
        through = time.monotonic() - begun
        self.ctl("cluster", "delete", *names)
        return {"direct": dict(all_s=direct), "planes alone": dict(all_s=planes_alone), "zood": dict(all_s=through)}

    def row_cluster_gone(self):
        """zooctl cluster delete of one with pods that run: until upstream is proven to be empty of it"""
        count = 50 if self.options.short else 500
        own, _ = self.share("gone")
        self.running(own, "web", count)
        begun = time.monotonic()
        self.ctl("cluster", "delete", "gone", "--timeout", "300s")
        return {"zood": dict(pods=count, all_s=time.monotonic() - begun)}

    def row_cluster_nodes(self):
        """A cluster with thousands of nodes by name and no pods: until they are ready, and what their leases cost"""
        count = 200 if self.options.short else 10000
        upstream = Api(self.kubectl, self.admin, self.tmp)
        names = [f"bench-node-{n}" for n in range(count)]
        body = {"capacity": {"cpu": "8", "memory": "16Gi", "pods": "110"}, "allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110"},
                "conditions": [{"type": "Ready", "status": "True", "reason": "Bench", "message": "it is none"}]}
        with concurrent.futures.ThreadPoolExecutor(8) as many:
            list(many.map(lambda name: upstream.ask("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": body}), names))
        begun = time.monotonic()
        self.ctl("cluster", "create", "wide", *(word for name in names for word in ("--node", name)), "--dns", "none", "--no-wait")
        own = None
        while own is None:
            with contextlib.suppress(subprocess.CalledProcessError, KeyError, RuntimeError):
                self.until("its control plane", lambda: self.get("wide")["status"].get("phase") == "Initialized", 120)
                own = Api(self.kubectl, self.access("wide", "--direct"), self.tmp)
        leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases?limit=1"

        def renewed():
            page = own.ask("GET", leases)
            return len(page["items"]) + page["metadata"].get("remainingItemCount", 0) >= count

        self.until("each node has a lease", renewed, 3600, 1)
        ready = time.monotonic() - begun
        pids = self.pids("wide")
        before = {name: self.cpu_seconds(pid) for name, pid in pids.items()}
        cpu = self.cpu_seconds(self.zood)
        seconds = 20 if self.options.short else 120
        time.sleep(seconds)
        out = {name: dict(cpu_percent=(self.cpu_seconds(pid) - before[name]) / seconds * 100, pss_mib=self.pss_mib(pid)) for name, pid in pids.items()}
        out["zood"] = dict(nodes=count, ready_s=ready, cpu_percent=(self.cpu_seconds(self.zood) - cpu) / seconds * 100)
        self.ctl("cluster", "delete", "wide", "--timeout", "600s")
        with concurrent.futures.ThreadPoolExecutor(8) as many:
            list(many.map(lambda name: upstream.ask("DELETE", "/api/v1/nodes/" + name), names))
        return out


def say(text):
    print(text, flush=True)
