#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs Kubernetes' own end-to-end specs and records which pass.

usage: run.py --bin BINARY --specs FILE --out RESULTS [--batch N] [--timeout SECONDS] [--again] KUBECONFIG...

FILE holds one full spec name a line. Every KUBECONFIG gets a worker of its own; a worker runs a few specs a process,
one after the other. Specs marked [Serial] come last, when nothing else runs. A process whose specs take too long is
ended: the spec it was at counts as failed, and those it had not begun come again. RESULTS is JSON: a list of
{name, state, seconds, message}, state being passed, failed, skipped (by the spec itself) or missing (no such spec);
`first` is what a spec said that passed only when it was run again.
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

GRACE = 25  # seconds that a spec gets to clean up after its time is over


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--specs", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--batch", type=int, default=5)
    parser.add_argument("--timeout", type=int, default=330, help="seconds that one spec may take")
    parser.add_argument("--again", action="store_true", help="run what failed once more, alone")
    parser.add_argument("kubeconfig", nargs="+")
    return parser.parse_args()


def command(args, kubeconfig, names, report, limit):
    # Ginkgo matches the name of the suite, a space, and the name of the spec.
    focus = " (%s)$" % "|".join(re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", name) for name in names)
    return [
        os.path.abspath(args.bin), "--provider=skeleton", "--allowed-not-ready-nodes=-1", "--minStartupPods=0",
        "--kubeconfig=" + kubeconfig, "--ginkgo.focus=" + focus, "--ginkgo.no-color", "--ginkgo.silence-skips",
        "--ginkgo.timeout=%ds" % limit, "--ginkgo.grace-period=%ds" % GRACE, "--ginkgo.json-report=" + report,
        "--test.timeout=0",
    ]


def full_name(spec):
    parts = list(spec.get("ContainerHierarchyTexts") or []) + [spec["LeafNodeText"]]
    return " ".join(part for part in parts if part)


def read_report(path):
    """What the process says of each spec that it began, and what failed outside of specs."""
    seen, outside = {}, ""
    try:
        with open(path) as file:
            specs = json.load(file)[0]["SpecReports"]
    except (OSError, ValueError, IndexError, KeyError):
        return seen, outside
    for spec in specs or []:
        failure = spec.get("Failure") or {}
        message = failure.get("Message", "").strip()
        if spec["LeafNodeType"] != "It":
            outside = outside or message
        elif spec.get("NumAttempts", 0) > 0:
            where = "%s:%s" % (os.path.basename(failure.get("Location", {}).get("FileName", "")),
                               failure.get("Location", {}).get("LineNumber", "")) if message else ""
            seen[full_name(spec)] = {
                "state": spec["State"] if spec["State"] in ("passed", "skipped") else "failed",
                "seconds": round(spec.get("RunTime", 0) / 1e9, 1),
                "message": (message[:1000] + " @ " + where) if message else "",
            }
    return seen, outside


class Run:
    def __init__(self, args, names):
        self.args, self.names = args, names
        self.results, self.lock = {}, threading.Lock()

    def record(self, name, **result):
        with self.lock:
            self.results[name] = {"name": name, **result}
            with open(self.args.out + ".part", "w") as file:
                json.dump([self.results[n] for n in self.names if n in self.results], file, indent=1)
            os.replace(self.args.out + ".part", self.args.out)
            print("%-8s %6.1fs %s" % (result["state"], result["seconds"], name), flush=True)

    def batch(self, kubeconfig, names):
        """Runs some specs in one process; the names of those that have to come again."""
        with tempfile.TemporaryDirectory(prefix="e2e-") as folder:
            report = os.path.join(folder, "report.json")
            limit = self.args.timeout + 30 * (len(names) - 1)
            begun = time.time()
            environment = {**os.environ, "KUBECONFIG": kubeconfig, "KUBECACHEDIR": os.path.join(folder, "cache")}
            try:
                done = subprocess.run(command(self.args, kubeconfig, names, report, limit), cwd=folder,
                                      env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                      errors="replace", timeout=limit + 4 * GRACE)
                output = done.stdout
            except subprocess.TimeoutExpired as late:
                output = (late.stdout or b"").decode(errors="replace")
            seen, outside = read_report(report)
            took = round(time.time() - begun, 1)
        for name in names:
            if name in seen:
                self.record(name, **seen[name])
        again = [name for name in names if name not in seen]
        if not again or (seen and took >= limit):
            return again
        if seen or len(names) == 1:
            for name in again:
                self.record(name, state="missing" if not outside else "failed", seconds=took,
                            message=outside or output[-600:])
            return []
        # Nothing of it ran: one at a time tells whose fault that is.
        for name in again:
            self.batch(kubeconfig, [name])
        return []

    def work(self, kubeconfig, queue, size):
        while True:
            with self.lock:
                names = [queue.pop(0) for _ in range(min(size, len(queue)))]
            if not names:
                return
            again = self.batch(kubeconfig, names)
            with self.lock:
                queue.extend(again)

    def all(self):
        kubeconfigs = [os.path.abspath(path) for path in self.args.kubeconfig]
        serial = [name for name in self.names if "[Serial]" in name]
        parallel = [name for name in self.names if "[Serial]" not in name]
        size = max(1, min(self.args.batch, len(parallel) // (2 * len(kubeconfigs)) or 1))
        with concurrent.futures.ThreadPoolExecutor(len(kubeconfigs)) as pool:
            for future in [pool.submit(self.work, path, parallel, size) for path in kubeconfigs]:
                future.result()
        self.work(kubeconfigs[0], serial, self.args.batch)
        # A spec that failed beside others gets a second chance alone: many wait by the clock.
        for name in [name for name in self.names if self.results[name]["state"] == "failed"]:
            if self.args.again:
                first = self.results[name]["message"]
                self.batch(kubeconfigs[0], [name])
                if self.results[name]["state"] == "passed":
                    self.record(**{**self.results[name], "first": first})


def main():
    args = arguments()
    args.out = os.path.abspath(args.out)
    with open(args.specs) as file:
        names = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    run = Run(args, list(dict.fromkeys(names)))
    run.all()
    passed = sum(result["state"] == "passed" for result in run.results.values())
    print("%d of %d passed" % (passed, len(run.names)))
    return 0 if passed == len(run.names) else 1


if __name__ == "__main__":
    sys.exit(main())
