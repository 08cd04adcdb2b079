# SPDX-License-Identifier: Apache-2.0
"""Rows of tests/bench/run about virtual clusters: real control planes, of the upstream's own version.

`Rows` goes before Bench among the bases of one class: Bench has the upstream, the processes and the rounds.
"""
import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLUSTERS = "/apis/kosmos.io/v1alpha1/namespaces/default/virtualclusters"


class Rows:
    def start(self):
        self.check_build()
        self.zoobench = self.build_zoobench()
        say("== upstream of virtual clusters")
        self.start_upstream()
        up = ROOT / "tests/upstream/up"
        version = subprocess.run([up, "versions"], check=True, capture_output=True, text=True).stdout.split()[0]
        subprocess.run([ROOT / "packaging/control-planes", version, "--into", self.tmp / "kubernetes"], check=True, stdout=subprocess.DEVNULL)
        port = 21000 + random.randrange(110) * 100
        self.config = f"""drain_timeout: 1s
clusters:
  enabled: true
  upstream_crd: false
  binaries: {self.tmp}/kubernetes
  addresses: 127.{random.randrange(66, 250)}.{random.randrange(256)}.0/24
  ports: {port}-{port + 99}
"""
        say("== zood for virtual clusters")
        self.start_zood()
        self.ends.append(self.end_keeper)

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
        """GET a small ConfigMap of a virtual cluster, one client: at its API server itself, and through zood's door"""
        self.ctl("cluster", "create", "asked")
        door = self.access("asked")
        text = door.read_text()
        place = json.loads((self.zood_dir / "clusters" / self.get("asked")["status"]["id"] / "keeper/plan.json").read_text())
        address = place["components"][1]["address"] + ":26443"
        server = next(line.split("server: ")[1].strip().strip('"') for line in text.splitlines() if "server: " in line)
        direct = self.tmp / "cluster-itself.kubeconfig"
        direct.write_text(text.replace(server, f"https://{address}"))
        direct.chmod(0o600)
        subprocess.run([self.kubectl, "--kubeconfig", door, "create", "configmap", "small", "--from-literal=a=b"], check=True, stdout=subprocess.DEVNULL)
        path = "/api/v1/namespaces/default/configmaps/small"
        out = self.rounds({"direct": dict(kubeconfig=direct, path=path), "zood": dict(kubeconfig=door, path=path, pid=str(self.zood))}, scenario="get", c=1)
        self.ctl("cluster", "delete", "asked")
        return out


def say(text):
    print(text, flush=True)
