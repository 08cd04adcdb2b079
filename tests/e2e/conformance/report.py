#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps the record of Kubernetes' conformance specs: which pass directly, and which through zood.

usage: report.py --folder F --doc D list [--every] --column COLUMN --out FILE
       report.py --folder F --doc D check --results RESULTS --column COLUMN
       report.py --folder F --doc D write --results RESULTS --column COLUMN

There are six columns. Three are of an upstream whose nodes are fake: `direct` is the upstream itself, `zood` a tenant in front
of it, `cluster` a virtual cluster that has its nodes. `nodes-direct`, `nodes-zood` and `nodes-cluster` are the same of an
upstream with two real nodes.

F/results.tsv has a line for each spec: the six columns and the name; `-` means that it was not run. F/expected-failures.tsv
has the specs that do not pass through zood, and why; F/expected-failures-nodes.tsv those of real nodes, beside the former:
a spec there does not pass through zood, or not even directly. F/expected-failures-cluster.tsv and
F/expected-failures-cluster-nodes.tsv have the specs that do not pass in a virtual cluster, the latter beside the former.
F/disturbed.tsv has specs that passed only alone, and what they said beside others. RESULTS is what run.py wrote.

`list` gives the specs that pass directly where COLUMN is, or all. `check` says what is worse than the record. `write` takes
RESULTS into the record and makes D of it.
"""
import argparse
import collections
import json
import os
import re
import sys

COLUMNS = ("direct", "zood", "cluster", "nodes-direct", "nodes-zood", "nodes-cluster")
HEADS = {"direct": "fake nodes, direct", "zood": "fake nodes, through zood", "cluster": "fake nodes, virtual cluster",
         "nodes-direct": "real nodes, direct", "nodes-zood": "real nodes, through zood",
         "nodes-cluster": "real nodes, virtual cluster"}
# The column that says whether a spec can pass at all where the other one is measured.
DIRECT = {column: "nodes-direct" if column.startswith("nodes-") else "direct" for column in COLUMNS}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", required=True)
    parser.add_argument("--doc", required=True)
    parser.add_argument("what", choices=["list", "check", "write"])
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--out")
    parser.add_argument("--results")
    parser.add_argument("--column", choices=COLUMNS, required=True)
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
            *states, name = line.split("\t")
            self.rows[name] = dict(zip(COLUMNS, states))
        self.expected, self.expected_nodes, self.expected_cluster, self.expected_cluster_nodes = (
            dict(line.split("\t", 1) for line in lines(os.path.join(folder, "expected-failures%s.tsv" % which)))
            for which in ("", "-nodes", "-cluster", "-cluster-nodes"))
        self.disturbed_path = os.path.join(folder, "disturbed.tsv")
        self.disturbed = dict(line.split("\t", 1) for line in lines(self.disturbed_path))

    def take(self, results, column):
        for result in results:
            row = self.rows.setdefault(result["name"], dict.fromkeys(COLUMNS, "-"))
            row[column] = result["state"]
            if column != DIRECT[column]:
                self.disturbed.pop(result["name"], None)
                if result.get("first"):
                    self.disturbed[result["name"]] = " ".join(result["first"].split())[:300]

    def save(self):
        with open(self.disturbed_path, "w") as file:
            file.write("# Specs that passed only alone, and what they said beside others. Made by conformance.sh --write.\n")
            for name in sorted(self.disturbed):
                file.write(name + "\t" + self.disturbed[name] + "\n")
        with open(self.path, "w") as file:
            file.write("# Kubernetes' conformance specs: %s, name. Made by conformance.sh --write.\n" % ", ".join(COLUMNS))
            for name in sorted(self.rows):
                file.write("\t".join([*(self.rows[name][column] for column in COLUMNS), name]) + "\n")

    def reasons(self, column):
        """Why specs do not pass in a column: those that may fail there."""
        if column == "direct":
            return {}
        if column == "zood":
            return self.expected
        if column == "nodes-zood":
            return {**self.expected, **self.expected_nodes}
        if column == "cluster":
            return self.expected_cluster
        if column == "nodes-cluster":
            # Some of the former are the fake nodes' alone.
            both = {**self.expected_cluster, **self.expected_cluster_nodes}
            return {name: reason for name, reason in both.items()
                    if name in self.expected_cluster_nodes or self.rows.get(name, {}).get(column) != "passed"}
        # What fails directly needs a reason of its own; what fails through zood alone has one that does not hold here.
        return {name: reason for name, reason in self.expected_nodes.items() if self.rows.get(name, {}).get(column) != "passed"}


def problems(record, results, column):
    expected = record.reasons(column)
    for result in results:
        name, passed = result["name"], result["state"] == "passed"
        row = record.rows.get(name, dict.fromkeys(COLUMNS, "-"))
        if column != DIRECT[column] and passed and name in expected:
            yield name, "passes: take it out of the list of expected failures"
        elif not passed and column != "direct" and name not in expected:
            yield name, result["message"] or result["state"]
        elif not passed and column == "direct" and row["direct"] == "passed":
            yield name, result["message"] or result["state"]


HEAD = """# Conformance

Made by `tests/e2e/conformance.sh`; not written by hand. Kubernetes' own end-to-end tests, those that its conformance
programme names, are run directly against an upstream, through the kubeconfig of a tenant, and in a virtual cluster that has the
upstream's nodes. All three are done twice: in front of an upstream whose nodes are fake (kwok: pods become Running, no container
ever starts), and in front of one with two real nodes (`tests/node`), where pods do what they should. A spec that does not pass
directly says nothing about zood.
"""

WORDS = {"passed": "pass", "failed": "**fail**", "skipped": "skipped", "missing": "missing", "-": "not run"}


def cell(text):
    return text.replace("|", "\\|").replace("[Conformance]", "").strip()


def reasons(title, expected):
    if not expected:
        return []
    return ["## %s\n\n| spec | why |\n|---|---|" % title,
            *("| %s | %s |" % (cell(name), cell(reason)) for name, reason in sorted(expected.items())), ""]


def document(record):
    out = [HEAD]
    groups = collections.OrderedDict()
    for name in sorted(record.rows):
        group = groups.setdefault(re.match(r"\[([^]]*)\]", name).group(1), collections.Counter())
        group["all"] += 1
        for column in COLUMNS:
            group[column] += record.rows[name][column] == "passed"
    out.append("How many pass:\n\n| group | specs | %s |\n|---|---:%s|" % (" | ".join(HEADS[column] for column in COLUMNS), "|---:" * len(COLUMNS)))
    total = collections.Counter()
    for group, count in groups.items():
        total.update(count)
        out.append("| %s | %d | %s |" % (group, count["all"], " | ".join(str(count[column]) for column in COLUMNS)))
    out.append("| **all** | **%d** | %s |" % (total["all"], " | ".join("**%d**" % total[column] for column in COLUMNS)))
    for column in COLUMNS:
        unknown = sum(row[column] == "-" and (column == DIRECT[column] or row[DIRECT[column]] == "passed") for row in record.rows.values())
        if unknown:
            out.append("\n%s: %d specs were not run yet." % (HEADS[column].capitalize(), unknown))
    out.append("")
    out += reasons("Not passing through zood", record.expected)
    out += reasons("Not passing on real nodes", record.expected_nodes)
    out += reasons("Not passing in a virtual cluster", record.expected_cluster)
    out += reasons("Not passing in a virtual cluster on real nodes", record.expected_cluster_nodes)
    if record.disturbed:
        out.append("## Disturbed by others\n\nThese passed when they were run again, alone; beside others they said:\n\n"
                   "| spec | said |\n|---|---|")
        out += ["| %s | %s |" % (cell(name), cell(said)) for name, said in sorted(record.disturbed.items())]
        out.append("")
    out.append("## All specs\n\nThrough zood and in a virtual cluster those are run that pass directly.\n\n| spec | %s |\n|---%s|" %
               (" | ".join(HEADS[column] for column in COLUMNS), "|---" * len(COLUMNS)))
    for name, row in sorted(record.rows.items()):
        out.append("| %s | %s |" % (cell(name), " | ".join(WORDS[row[column]] for column in COLUMNS)))
    return "\n".join(out) + "\n"


def main():
    args = arguments()
    record = Record(args.folder)
    if args.what == "list":
        names = [name for name in sorted(record.rows) if args.every or record.rows[name][DIRECT[args.column]] == "passed"]
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
