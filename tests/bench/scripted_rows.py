# SPDX-License-Identifier: Apache-2.0
"""Rows of tests/bench/run about many virtual clusters, whose control planes are scripted (tests/bench/plane): what they cost is next to
nothing, so that a hundred fit on a small machine and what is measured is zood and the upstream.

`Rows` goes before Bench among the bases of one class, as that of cluster_rows does.
"""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import cluster_rows
from cluster_rows import CLUSTERS, ROOT, Api, say

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
IN_PARALLEL = "16"  # requests that the load generator has under way, on each side
LONGEST = "1800s"


class Rows(cluster_rows.Rows):
    # By itself the upstream's scheduler would bind fifty pods a second, whoever has made them.
    upstream_words = ("--nodes", "4", "--scheduler-arg", "--kube-api-qps=2000", "--scheduler-arg", "--kube-api-burst=2000")

    def lay_programs(self, version, folder):
        """One file under four names, so that all planes share its text in memory."""
        place = folder / version
        place.mkdir(parents=True)
        first = place / PROGRAMS[0]
        subprocess.run(["bash", "-c", '. "$1" && ensure_go && cd "$2" && go build -trimpath -buildvcs=false -ldflags="-s -w" -o "$3" .', "-",
                        ROOT / "tests/upstream/go-env.sh", ROOT / "tests/bench/plane", first], check=True)
        for name in PROGRAMS[1:]:
            os.link(first, place / name)

    # ---- many clusters ----

    def make_clusters(self, names, pods, cpu=20):
        """They are in step when this returns; a folder of kubeconfigs of their API servers themselves, without zood's door between."""
        say(f"   {len(names)} clusters")
        for name in names:
            self.ctl("cluster", "create", name, "--cpu", cpu, "--memory", "500Gi", "--resource", f"pods={pods}", "--dns", "none", "--no-wait")

        def in_step():
            status, found = self.admin_api("GET", CLUSTERS)
            held = {each["metadata"]["name"]: {one["type"] for one in each["status"].get("conditions", []) if one["status"] == "True"}
                    for each in found["items"]}
            return status == 200 and all({"Synced", "NodesReady"} <= held.get(name, set()) for name in names)

        self.until(f"{len(names)} clusters are in step", in_step, 1800, 0.5)
        folder = self.tmp / f"itself-{names[0]}"
        folder.mkdir()
        with concurrent.futures.ThreadPoolExecutor(4) as many:
            list(many.map(lambda name: self.access_itself(name, folder / name), names))
        return folder

    def remove_clusters(self, names):
        self.ctl("cluster", "delete", *names, "--timeout", LONGEST)

    def generator(self, at, count, prefix, spaces=("default",)):
        """Words of a command that makes pods and waits until they run."""
        return [str(word) for word in (self.zoobench, "-scenario", "clusters", "-kubeconfig", at, "-ns", ",".join(spaces), "-n", count,
                                       "-prefix", prefix, "-c", IN_PARALLEL, "-d", LONGEST)]

    def heard(self, text):
        """What the load generator has printed."""
        out = json.loads(text)
        self.bad += out["bad"]
        return out

    def make_pods(self, *more, **named):
        return self.heard(subprocess.run(self.generator(*more, **named), check=True, stdout=subprocess.PIPE, text=True).stdout)

    # ---- what it costs ----

    def metric(self, family):
        """The sum of all that zood tells of it."""
        connection = self.admin_connection()
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith((family + "{", family + " ")))

    def all_backlog(self):
        """Not to be asked for often: zood looks at the memory of each process of the planes for it."""
        return self.metric("zood_virtual_cluster_backlog")

    def planes_pids(self):
        """The keeper's children; none before it was started."""
        with contextlib.suppress(OSError, ValueError):
            keeper = int((self.zood_dir / "clusters/keeper.lock").read_text())
            return [pid for task in pathlib.Path(f"/proc/{keeper}/task").iterdir() for pid in (task / "children").read_text().split()]
        return []

    def spent(self):
        """CPU seconds of everybody so far."""
        out = {"zood": self.cpu_seconds(self.zood), "planes": sum(map(self.cpu_seconds, self.planes_pids()))}
        told = subprocess.run([ROOT / "tests/upstream/up", "status", "--dir", self.tmp / "up"], check=True, capture_output=True, text=True).stdout
        for line in told.splitlines():
            name, pid, _ = line.split()
            out[name] = self.cpu_seconds(pid)
        return out

    def calm(self):
        """Waits until what was done before has no consequences any more: all that is measured takes a third of a core at most."""
        def idle():
            before = sum(self.spent().values())
            time.sleep(2)
            return sum(self.spent().values()) - before < 2 / 3

        self.until("it is calm", idle, 900)

    @contextlib.contextmanager
    def costs(self, out, pods):
        """Adds to `out` the CPU seconds of everybody, until zood has nothing left to be done, and how often zood asks upstream."""
        asked = "zood_upstream_request_duration_seconds_count"
        before, requests = self.spent(), self.metric(asked)
        yield
        self.until("nothing is left to be done", lambda: self.all_backlog() == 0, 1800, 1)
        for name, now in self.spent().items():
            out[f"cpu_s_{name}"] = round(now - before[name], 2)
        out["requests_pod"] = round((self.metric(asked) - requests) / pods, 2)

    # ---- rows ----

    def row_cluster_scripted(self):
        """Pods in a hundred clusters with scripted control planes until all run; as many made upstream itself, in as many namespaces"""
        planes, each = (5, 10) if self.options.short else (100, 100)
        pods = planes * each
        upstream = Api(self.kubectl, self.admin, self.tmp)
        spaces = [f"direct-{n}" for n in range(planes)]
        for space in spaces:
            upstream.ask("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
        for space in spaces:
            def has_account():
                with contextlib.suppress(RuntimeError):
                    return upstream.ask("GET", f"/api/v1/namespaces/{space}/serviceaccounts/default")
            self.until(f"pods can be made in {space}", has_account)
        self.calm()
        direct = {}
        with self.costs(direct, pods):
            made = self.make_pods(self.admin, each, "direct", spaces)
        direct = {**self.figures(made), **direct}
        upstream = Api(self.kubectl, self.admin, self.tmp)  # it closes connections that were idle for so long
        for space in spaces:
            upstream.ask("DELETE", f"/api/v1/namespaces/{space}/pods")
        self.until("they are gone", lambda: not upstream.ask("GET", "/api/v1/pods?labelSelector=bench&limit=1")["items"])

        names = [f"plane-{n}" for n in range(planes)]
        folder = self.make_clusters(names, each + 10)
        self.make_pods(folder, 1, "warm")  # their namespaces are there from now on, as those of the other side
        self.calm()
        memory = self.rss_kib(self.zood)
        through = {}
        with self.costs(through, pods):
            made = self.make_pods(folder, each, "through")
        through = {**self.figures(made), **through, "ratio": made["all_s"] / direct["all_s"]}
        through.update(cpu_ms_pod=through["cpu_s_zood"] / pods * 1000, rss_kib_pod=(self.rss_kib(self.zood) - memory) / pods)
        self.remove_clusters(names)
        upstream = Api(self.kubectl, self.admin, self.tmp)
        for space in spaces:
            upstream.ask("DELETE", f"/api/v1/namespaces/{space}")
        return {"direct": direct, "zood": through}

    def row_cluster_killed(self):
        """zood killed beside a cluster with so many pods: until it has compared them all; the look at upstream's pods in that"""
        out = {}
        # A scripted control plane lists all at once, and zood takes 8 MiB: more pods than these do not fit.
        for count in (40,) if self.options.short else (2000,):
            name = f"killed-{count}"
            made = self.make_pods(self.make_clusters([name], count + 10, count / 50), count, "many")
            self.calm()
            identity = self.get(name)["status"]["id"]
            os.kill(self.zood, signal.SIGKILL)
            os.waitpid(self.zood, 0)
            log = self.tmp / "zood.log"
            told = log.stat().st_size
            begun = time.monotonic()
            self.start_zood("zood", "--log-level", "debug")
            looks = []

            def compared():
                with open(log, encoding="utf-8", errors="replace") as text:
                    text.seek(told)
                    looks[:] = re.findall(rf"{identity}: patrol: (\d+) pods upstream, (\d+) to be looked at, in (\d+) ms", text.read())
                return looks and self.all_backlog() == 0 and self.condition(name, "Synced")

            self.until("all is compared", compared, 600)
            there, other, took = map(int, looks[-1])
            if there < made["pods"]:
                raise RuntimeError(f"upstream has {there} pods")
            out[f"{count} pods"] = {"caught_up_s": round(time.monotonic() - begun, 2), "patrol_ms": took, "to_be_looked_at": other}
            self.remove_clusters([name])
        return {"zood": out}

    @staticmethod
    def figures(made):
        return dict(pods=made["pods"], all_s=made["all_s"], made_s=made["made_s"], mean_s=made["mean_s"], max_s=made["max_s"], cpu_s_generator=made["own_cpu_s"])

    def row_cluster_scripted_greedy(self):
        """Two pods in each of forty clusters with scripted control planes: alone, and while ten others make 180 each"""
        greedy, many, regular = (3, 60, 5) if self.options.short else (10, 180, 40)
        names = [[f"greedy-{n}" for n in range(greedy)], [f"regular-{n}" for n in range(regular)]]
        crowd, others = (self.make_clusters(each, many + 10) for each in names)
        for folder in (crowd, others):
            self.make_pods(folder, 1, "warm")
        self.calm()
        alone = self.make_pods(others, 2, "alone")
        self.calm()
        with subprocess.Popen(self.generator(crowd, many, "many"), stdout=subprocess.PIPE, text=True) as process:
            self.until("the greedy ones wait", lambda: self.all_backlog() >= greedy * many / 10 or process.poll() is not None, pause=0.5)
            beside = self.make_pods(others, 2, "beside")
            left = process.poll() is None  # else it was not beside them to the end
            crowded = self.heard(process.communicate()[0])
        if process.returncode != 0:
            raise RuntimeError("the pods of the greedy clusters do not run")
        self.remove_clusters([*names[0], *names[1]])
        return {"alone": self.figures(alone), "zood": {**self.figures(beside), "greedy_to_the_end": left}, "greedy": self.figures(crowded)}
