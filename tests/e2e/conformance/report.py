#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps the record of Kubernetes' conformance specs: which pass directly, and which through zood.

usage: report.py --folder F --doc D list [--every] --out FILE
       report.py --folder F --doc D check --results RESULTS --column direct|zood
       report.py --folder F --doc D write --results RESULTS --column direct|zood

F/results.tsv has a line a spec: direct, zood, name; `-` is not run. F/expected-failures.tsv: name, reason.
F/disturbed.tsv: name, what it said beside others, when it passed through zood only alone. RESULTS is what run.py
wrote. `list` gives the specs that pass directly, or all. `check` says what is worse than the record. `write` takes
RESULTS into the record and makes D of it.
"""
import argparse
import collections
import json
import os
import re
import sys


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", required=True)
    parser.add_argument("--doc", required=True)
    parser.add_argument("what", choices=["list", "check", "write"])
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--out")
    parser.add_argument("--results")
    parser.add_argument("--column", choices=["direct", "zood"])
    return parser.parse_args()


def lines(path):
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]


class Record:
    def __init__(self, folder):
        self.path = os.path.join(folder, "results.tsv")
        self.rows = {}
        for line in lines(self.path):
            direct, zood, name = line.split("\t")
            self.rows[name] = {"direct": direct, "zood": zood}
        self.expected = dict(line.split("\t", 1) for line in
                             lines(os.path.join(folder, "expected-failures.tsv")))

        self.disturbed_path = os.path.join(folder, "disturbed.tsv")
        self.disturbed = dict(line.split("\t", 1) for line in lines(self.disturbed_path))

    def take(self, results, column):
        for result in results:
            row = self.rows.setdefault(result["name"], {"direct": "-", "zood": "-"})
            row[column] = result["state"]
            if column == "zood":
                self.disturbed.pop(result["name"], None)
                if result.get("first"):
                    self.disturbed[result["name"]] = " ".join(result["first"].split())[:300]

    def save(self):
        with open(self.disturbed_path, "w") as file:
            file.write("# Specs that passed only alone, and what they said beside others. Made by conformance.sh --write.\n")
            for name in sorted(self.disturbed):
                file.write(name + "\t" + self.disturbed[name] + "\n")
        with open(self.path, "w") as file:
            file.write("# Kubernetes' conformance specs: direct, through zood, name. Made by conformance.sh --write.\n")
            for name in sorted(self.rows):
                file.write("%(direct)s\t%(zood)s\t" % self.rows[name] + name + "\n")


def problems(record, results, column):
    for result in results:
        name, passed = result["name"], result["state"] == "passed"
        row = record.rows.get(name, {"direct": "-", "zood": "-"})
        if column == "zood" and passed and name in record.expected:
            yield name, "passes: take it out of expected-failures.tsv"
        elif not passed and column == "zood" and name not in record.expected:
            yield name, result["message"] or result["state"]
        elif not passed and column == "direct" and row["direct"] == "passed":
            yield name, result["message"] or result["state"]


HEAD = """# Conformance

Made by `tests/e2e/conformance.sh`; not written by hand. Kubernetes' own end-to-end tests, those that its conformance
programme names, are run twice: directly against the upstream of our tests, whose nodes are fake (kwok: pods become Running,
no container ever starts), and through the kubeconfig of a tenant. A spec that does not pass directly needs a real node, and
says nothing about zood.
"""

WORDS = {"passed": "pass", "failed": "**fail**", "skipped": "skipped", "missing": "missing", "-": "not run"}


def cell(text):
    return text.replace("|", "\\|").replace("[Conformance]", "").strip()


def document(record):
    rows = {name: row for name, row in record.rows.items() if row["direct"] == "passed"}
    out = [HEAD]
    groups = collections.OrderedDict()
    for name in sorted(record.rows):
        group = groups.setdefault(re.match(r"\[([^]]*)\]", name).group(1), collections.Counter())
        group["all"] += 1
        group["direct"] += record.rows[name]["direct"] == "passed"
        if name in rows:
            group["run"] += rows[name]["zood"] != "-"
            group["zood"] += rows[name]["zood"] == "passed"
    out.append("| group | specs | pass directly | of these run through zood | pass through zood |\n|---|---:|---:|---:|---:|")
    total = collections.Counter()
    for group, count in groups.items():
        total.update(count)
        out.append("| %s | %d | %d | %d | %d |" % (group, count["all"], count["direct"], count["run"], count["zood"]))
    out.append("| **all** | **%d** | **%d** | **%d** | **%d** |\n" %
               (total["all"], total["direct"], total["run"], total["zood"]))
    if record.expected:
        out.append("## Not passing yet\n\n| spec | why |\n|---|---|")
        out += ["| %s | %s |" % (cell(name), cell(reason)) for name, reason in sorted(record.expected.items())]
        out.append("")
    if record.disturbed:
        out.append("## Disturbed by others\n\nThese passed when they were run again, alone; beside others they said:\n\n"
                   "| spec | said |\n|---|---|")
        out += ["| %s | %s |" % (cell(name), cell(said)) for name, said in sorted(record.disturbed.items())]
        out.append("")
    out.append("## Specs that pass directly\n\n| spec | direct | through zood |\n|---|---|---|")
    out += ["| %s | %s | %s |" % (cell(name), WORDS[row["direct"]], WORDS[row["zood"]])
            for name, row in sorted(rows.items())]
    rest = sorted(set(record.rows) - set(rows))
    out.append("\n## Specs that need more than a fake node\n")
    out += ["- " + cell(name) for name in rest]
    return "\n".join(out) + "\n"


def main():
    args = arguments()
    record = Record(args.folder)
    if args.what == "list":
        names = [name for name in sorted(record.rows) if args.every or record.rows[name]["direct"] == "passed"]
        with open(args.out, "w") as file:
            file.write("".join(name + "\n" for name in names))
        return 0
    with open(args.results) as file:
        results = json.load(file)
    if args.what == "check":
        found = list(problems(record, results, args.column))
        for name, why in found:
            print("%s\n    %s" % (name, why.replace("\n", "\n    ")))
        return 1 if found else 0
    record.take(results, args.column)
    record.save()
    with open(args.doc, "w") as file:
        file.write(document(record))
    return 0


if __name__ == "__main__":
    sys.exit(main())
