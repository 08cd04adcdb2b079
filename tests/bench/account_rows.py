# SPDX-License-Identifier: Apache-2.0
"""Rows of tests/bench/run about users of the upstream: an upstream of their own, with 10,000 namespaces and 100,000 RoleBindings.

`Rows` goes before Bench among the bases of one class: Bench has the upstream, the processes and the rounds.
"""
import base64
import contextlib
import io
import json
import pathlib
import re
import socket
import ssl
import subprocess
import tarfile
import time
import urllib.request

import account_fixture as fixture

SPACES = "/apis/tenancy.kiosk.sh/v1alpha1/spaces"
NAMESPACES = "/api/v1/namespaces"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
ROOT = pathlib.Path(__file__).resolve().parents[2]
TENANT = "m00001"


def own_address():
    """Of this machine: an EndpointSlice takes no loopback address. No packet is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect(("192.0.2.1", 9))
        return s.getsockname()[0]


class Rows:
    have = 0  # namespaces of the fixture

    def start(self):
        self.check_build()
        self.zoobench = self.build_zoobench()
        say("== upstream of accounts")
        self.start_upstream("--apiserver-arg", "--enable-aggregator-routing=true")
        self.most = 1000 if self.options.short else 10_000
        self.grow(100)
        self.config = f"""drain_timeout: 1s
limits:
  connections: 12000
  long_running: 20000
accounts:
  enabled: true
  self_service: true
  listen: 127.0.0.1:0
  aggregated:
    listen: "{own_address()}:0"
templates:
  helm: {self.tmp / "helm"}
"""
        say("== zood for accounts")
        self.start_zood()
        self.people = {name: self.person(name, groups) for name, groups in (
            (fixture.FIVE, []), (fixture.CROWD, fixture.GROUPS), (fixture.READER, []))}
        self.open_door()
        self.sees(fixture.FIVE, 5)

    # ---- who asks, and where ----

    def person(self, name, groups):
        """A client certificate of the upstream's: its two files."""
        subject = "".join(f"/O={group}" for group in groups) + f"/CN={name}"
        return self.client_certificate(f"person-{name}", subject)

    def open_door(self):
        """Reads where the account door listens, and writes everybody's kubeconfigs for it and for the upstream."""
        log = (self.zood_dir.parent / f"{self.zood_dir.name}.log").read_text()
        self.door = "https://" + re.findall(r"the account door listens on (\S+)", log)[-1]
        self.door_ca = self.zood_dir / "pki/ca.crt"
        self.at_door, self.at_upstream = {}, {}
        for name, files in (self.people | {"bench": (self.tmp / "bench.crt", self.tmp / "bench.key")}).items():
            self.at_door[name] = self.kubeconfig(f"{name}-door", self.door, self.door_ca, *files)
            self.at_upstream[name] = self.kubeconfig(f"{name}-upstream", self.server, self.pki / "ca.crt", *files)

    def ask(self, name, path):
        """One GET at the account door, as `name`."""
        context = ssl.create_default_context(cafile=str(self.door_ca))
        context.load_cert_chain(*self.people[name])
        with urllib.request.urlopen(self.door + path, timeout=60, context=context) as answer:
            return json.loads(answer.read())

    def sees(self, name, count, seconds=120):
        """Waits until he sees so many spaces; how long that was."""
        begun = time.monotonic()
        while True:
            got = None
            with contextlib.suppress(OSError):
                got = len(self.ask(name, SPACES)["items"])
            if got == count:
                return time.monotonic() - begun
            if time.monotonic() - begun > seconds:
                raise RuntimeError(f"{name} sees {got} spaces, and not {count}")
            time.sleep(0.02)

    def grow(self, count):
        """So many namespaces, of which upstream's controllers make nothing more."""
        if count <= self.have:
            return
        begun = time.monotonic()
        port = int((self.tmp / "up/port").read_text()) + 10
        made = fixture.fill(port, self.have, count, (self.pki / "ca.crt").read_text())
        self.have = count
        quiet = self.upstream_is_quiet()
        say(f"   {made} objects of {count} namespaces: {time.monotonic() - begun - quiet:.1f}s, quiet after {quiet:.0f}s")

    def side(self, who, path, **more):
        return dict(kubeconfig=self.at_door[who], path=path, pid=str(self.zood), **more)

    def straight(self, who, path, **more):
        return dict(kubeconfig=self.at_upstream[who], path=path, **more)

    # ---- rows ----

    def row_spaces(self):
        """a user with 5 spaces lists them, one client: among 100 namespaces and among 10,000, beside a GET of a namespace"""
        one = f"{NAMESPACES}/{fixture.space(0)}"
        out = {}
        if self.have <= 100:
            few = self.rounds({"direct": self.straight(fixture.FIVE, one), "zood": self.side(fixture.FIVE, SPACES)}, scenario="get", c=1)
            out |= {f"{name}, 100 namespaces": values for name, values in few.items()}
        self.grow(self.most)
        self.sees(fixture.FIVE, 5)
        time.sleep(12)  # zood gives back every ten seconds what it does not hold
        return out | self.rounds({
            "direct": self.straight(fixture.FIVE, one),
            "zood": self.side(fixture.FIVE, SPACES),
            "namespaces": self.side(fixture.FIVE, NAMESPACES),
            "aggregated": dict(self.straight(fixture.FIVE, SPACES), pid=str(self.zood))}, scenario="get", c=1)

    def row_spaces_groups(self):
        """a user of 200 groups with 50 spaces lists them, one client"""
        self.grow(self.most)
        self.sees(fixture.CROWD, 50)
        return self.rounds({"direct": self.straight(fixture.CROWD, f"{NAMESPACES}/{fixture.space(30)}"),
                            "zood": self.side(fixture.CROWD, SPACES)}, scenario="get", c=1)

    def row_spaces_all(self):
        """an administrator lists all spaces as a Table, 500 a page, beside a list of namespaces"""
        self.grow(self.most)
        page = "?limit=500"
        return self.rounds({"direct": self.straight("bench", NAMESPACES + page), "zood": self.side("bench", SPACES + page)},
                           scenario="pages", c=1, accept=TABLE)

    def row_spaces_pods(self):
        """get pods -A of a user with 20 spaces and 500 pods, beside the 20 lists side by side"""
        self.grow(self.most)
        names = [fixture.space(n) for n in range(10, 30)]
        self.fill("pod", names, 500)
        self.sees(fixture.READER, 20)
        beside = ",".join(f"{NAMESPACES}/{name}/pods" for name in names)
        out = self.rounds({"direct": self.straight(fixture.READER, beside)}, scenario="beside", c=1)
        out |= self.rounds({"zood": self.side(fixture.READER, "/api/v1/pods")}, scenario="list", c=1)
        return out | {f"{name}, again": values for name, values in self.rounds(
            {"direct": self.straight(fixture.READER, beside)}, scenario="beside", c=1).items()}

    def row_spaces_watch(self):
        """a right is given and taken: how long until who watches spaces hears of it, alone and among many who do not"""
        self.grow(self.most)
        flags = dict(kubeconfig=self.at_door["bench"], writer=self.admin, pid=str(self.zood), scenario="grants", ns=fixture.space(99), rate=20)
        many = 100 if self.options.short else 1000
        out = {}
        for name, more in {"zood": dict(c=1), f"zood, {many} watchers": dict(c=many), "zood, nobody concerned": dict(c=0, hear="none")}.items():
            runs = [self.load(**flags, **more, d=f"{max(self.options.seconds, 3)}s") for _ in range(self.options.rounds)]
            keys = {key for run in runs for key, value in run.items() if isinstance(value, (int, float))}
            # Of p99 the worst round counts.
            out[name] = {key: (max if "p99" in key else self.median)(run[key] for run in runs if key in run) for key in sorted(keys)}
        return out

    def row_spaces_start(self):
        """zood starts beside these rights: until the account door answers, and what it holds"""
        self.grow(self.most)
        out, samples = {}, []
        for _ in range(self.options.rounds):
            self.ends.pop()()  # zood was what was started last
            began = time.monotonic()
            self.start_zood()
            listens = time.monotonic() - began
            self.open_door()
            self.sees(fixture.FIVE, 5)
            serves = time.monotonic() - began
            time.sleep(12)  # zood gives back every ten seconds what it does not hold
            samples.append(dict(listens_s=listens, seconds=serves, rss_mib=self.rss_kib(self.zood) / 1024,
                                cpu_s_of_first_seconds=self.cpu_seconds(self.zood)))
        out["zood"] = {key: self.median(each[key] for each in samples) for key in samples[0]}
        out["zood"]["namespaces"] = self.have
        return out

    def row_door_get(self):
        """GET a small ConfigMap, one client: at the account door, and beside it as a tenant"""
        self.ctl("tenant", "create", TENANT, "--wait")
        self.ready([TENANT])
        own = self.tmp / "tenant.kubeconfig"
        self.ctl("kubeconfig", "export", TENANT, "-o", own)
        name = fixture.space(0)
        self.fill("configmap", [name, f"{TENANT}-default"], 2, prefix="small")
        small = NAMESPACES + "/{}/configmaps/small-{:06d}"
        return self.rounds({
            "direct": self.straight(fixture.FIVE, small.format(name, 0)),
            "zood": self.side(fixture.FIVE, small.format(name, 0)),
            "tenant": dict(kubeconfig=own, path=small.format("default", 1), pid=str(self.zood))}, scenario="get", c=1)

    def row_space_create(self):
        """members make spaces: one after the other, and 50 of them at once, beside namespaces alone"""
        self.grow(self.most)
        self.kube("apply", "-f", "-", input=json.dumps({"apiVersion": "config.kiosk.sh/v1alpha1", "kind": "Account", "metadata": {"name": "makers"},
                  "spec": {"subjects": [{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "makers"}]}}))
        self.kube("wait", "--for=condition=Ready", "account.config.kiosk.sh/makers", "--timeout=60s")
        # Of one person's writes four may be in progress here, so that each is a person of his own.
        members = [self.kubeconfig(f"maker-{n}-door", self.door, self.door_ca, *self.person(f"maker-{n}", ["makers"])) for n in range(50)]
        sides = {"direct": dict(kubeconfig=self.direct, kind="namespace", c=1), "zood": dict(kubeconfig=members[0], kind="space", c=1),
                 "direct, 50 at once": dict(kubeconfig=self.direct, kind="namespace", c=50),
                 "zood, 50 at once": dict(kubeconfig=",".join(map(str, members)), kind="space", c=50)}
        return self.rounds({name: dict(side, pid=str(self.zood)) for name, side in sides.items()}, scenario="create", ns="makers")

    def row_space_templates(self):
        """a member makes spaces one after the other: bare ones, with a template of five manifests, and with a chart that is kept"""
        self.grow(self.most)
        subprocess.run([ROOT / "packaging/build-helm", self.tmp / "helm"], check=True, stdout=subprocess.DEVNULL)
        chart = self.packed_chart()
        manifests = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"settings-{n}"}, "data": {"of": "${namespace}"}} for n in range(3)]
        manifests.append({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "walls"}, "spec": {"podSelector": {}}})
        manifests.append({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "sizes"},
                          "spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}}]}})
        templates = {"five": {"manifests": manifests}, "chart": {"helm": {"chart": {"inline": chart}}}}
        for name, resources in templates.items():
            self.kube("apply", "-f", "-", input=json.dumps({"apiVersion": "config.kiosk.sh/v1alpha1", "kind": "Template", "metadata": {"name": name},
                                                            "resources": resources}))
        for name in ("bare", *templates):
            space = {"templateInstances": [{"spec": {"template": name}}]} if name in templates else {}
            self.kube("apply", "-f", "-", input=json.dumps({
                "apiVersion": "config.kiosk.sh/v1alpha1", "kind": "Account", "metadata": {"name": name},
                "spec": {"space": space, "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "maker"}]}}))
            self.kube("wait", "--for=condition=Ready", f"account.config.kiosk.sh/{name}", "--timeout=60s")
        maker = self.kubeconfig("maker-door", self.door, self.door_ca, *self.person("maker", []))
        sides = {"direct": dict(kubeconfig=self.direct, kind="namespace", ns="none")}
        sides |= {name: dict(kubeconfig=maker, kind="space", ns=name, pid=str(self.zood)) for name in ("bare", *templates)}
        return self.rounds(sides, scenario="create", c=1)

    def quota_of(self, name, hard):
        """An account with this limit over its two namespaces, whose slices stand and about which upstream asks zood."""
        self.kube("apply", "-f", "-", input=json.dumps({"apiVersion": "config.kiosk.sh/v1alpha1", "kind": "Account", "metadata": {"name": name},
                                                        "spec": {"subjects": []}}))
        spaces = [f"{name}-{n}" for n in range(2)]
        for space in spaces:
            self.kube("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {
                "name": space, "labels": {"kiosk.sh/account": name}}}))
        self.kube("apply", "-f", "-", input=json.dumps({"apiVersion": "config.kiosk.sh/v1alpha1", "kind": "AccountQuota", "metadata": {"name": name},
                                                        "spec": {"account": name, "quota": {"hard": hard}}}))
        for space in spaces:
            self.kube("wait", "--for=create", "resourcequota/zoo-quota", "-n", space, "--timeout=60s")
        self.kube("wait", "--for=create", "validatingwebhookconfiguration/zoo-quota", "--timeout=60s")
        time.sleep(6)  # for so long zood believes the slices, too, and moves less
        return spaces

    def decisions(self, mode, spaces, count):
        """What rounds.py says of zood's decisions, a round a sample."""
        words = [ROOT / "tests/functional/quota/rounds.py", "--kubeconfig", self.admin, mode, "--namespaces", ",".join(spaces),
                 "--rounds", count // (10 if self.options.short else 1), "--pid", self.zood]
        runs = [json.loads(subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True).stdout)
                for _ in range(self.options.rounds)]
        return {"zood": {"p50_ms": self.median(run["p50_us"] for run in runs) / 1000, "p99_ms": max(run["p99_us"] for run in runs) / 1000,
                         "cpu_us": self.median(run["cpu_us"] for run in runs), "late": max(run["late"] for run in runs)}}

    def row_quota_decide(self):
        """zood's webhook of quotas is asked by one client about a pod that has room"""
        return self.decisions("decide", self.quota_of("decides", {"pods": "1000", "requests.memory": "100Gi"}), 5000)

    def row_quota_moves(self):
        """the same of a pod for which room is moved from another namespace first"""
        return self.decisions("moves", self.quota_of("moves", {"pods": "1000", "requests.memory": "100Gi"}), 500)

    def row_accounts_start(self):
        """zood starts beside 10,000 accounts of three spaces each: until the account door answers, and what it holds"""
        self.grow(self.most)
        count = 300 if self.options.short else 10_000
        begun = time.monotonic()
        fixture.fill_accounts(int((self.tmp / "up/port").read_text()) + 10, count, (self.pki / "ca.crt").read_text())
        # The bindings of all these spaces are made by zood, once.
        last = 0
        while last < 3 * count:
            time.sleep(5)
            now = len(json.loads(self.kube("get", "--raw", "/apis/rbac.authorization.k8s.io/v1/rolebindings?fieldSelector=metadata.name%3Dzoo:account"))["items"])
            if now == last and time.monotonic() - begun > 600:
                raise RuntimeError(f"of {3 * count} spaces {now} have their binding")
            last = now
        say(f"   {count} accounts, {3 * count} spaces: {time.monotonic() - begun:.0f}s")
        return self.row_spaces_start()

    def packed_chart(self):
        """A chart of five ConfigMaps, as a Template holds it."""
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w:gz") as archive:
            files = {"Chart.yaml": "apiVersion: v2\nname: five\nversion: 1.0.0\n"}
            files |= {f"templates/{n}.yaml": f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: '{{{{ .Release.Name }}}}-{n}'}}\n" for n in range(5)}
            for name, text in files.items():
                entry = tarfile.TarInfo("five/" + name)
                entry.size = len(text)
                archive.addfile(entry, io.BytesIO(text.encode()))
        return base64.b64encode(out.getvalue()).decode()


def say(text):
    print(text, flush=True)
