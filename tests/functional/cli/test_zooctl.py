#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""zooctl as a black box against a scripted zood: doors, errors, time, pipes, files.

usage: test_zooctl.py ZOOCTL [unittest's arguments]
"""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

from fake_zood import TENANTS, FakeZood, answer, status, tenant, tenant_list

ZOOCTL = None
# Far above what any of these commands needs: a command that hangs fails instead of hanging the test.
PATIENCE = 60

KUBECONFIG = """apiVersion: v1
kind: Config
clusters:
- name: foofoo
  cluster:
    server: https://127.0.0.1:7443
users:
- name: admin
  user:
    token: t
contexts:
- name: foofoo
  context:
    cluster: foofoo
    user: admin
current-context: foofoo
"""


class ZooctlTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="zooctl-")
        self.addCleanup(shutil.rmtree, self.directory)
        self.zood = None
        self.environment = {"PATH": os.environ["PATH"], "HOME": self.directory,
                            "ZOO_DIR": self.directory}

    def start(self):
        self.zood = FakeZood(self.path("zood.sock"))
        self.addCleanup(self.zood.close)
        return self.zood

    def path(self, name):
        return os.path.join(self.directory, name)

    def run_zooctl(self, *arguments, **options):
        options.setdefault("stdin", subprocess.DEVNULL if "input" not in options else None)
        if options["stdin"] is None:
            del options["stdin"]
        return subprocess.run([ZOOCTL, *arguments], env=self.environment, text=True,
                              stdout=options.pop("stdout", subprocess.PIPE),
                              stderr=subprocess.PIPE, timeout=PATIENCE, **options)

    def refused(self, status_code, words, *arguments, **options):
        result = self.run_zooctl(*arguments, **options)
        self.assertEqual(result.returncode, status_code, result.stderr)
        self.assertIn(words, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)


class Doors(ZooctlTest):
    def test_no_socket(self):
        self.refused(69, "is zood running?", "tenant", "list")

    def test_dead_socket(self):
        zood = self.start()
        zood.listener.close()
        # A thread blocked in accept() would keep the listener alive; this one never listened.
        os.unlink(zood.path)
        import socket
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(zood.path)
        self.refused(69, "nobody listens", "tenant", "list")

    @unittest.skipIf(shutil.which("setpriv") is None or os.geteuid() != 0,
                     "needs root and setpriv to be somebody else")
    def test_no_permission(self):
        self.start()
        os.chmod(self.directory, 0o755)
        os.chmod(self.path("zood.sock"), 0o600)
        copy = self.path("zooctl")
        shutil.copy(ZOOCTL, copy)
        result = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                                 copy, "tenant", "list"], env=self.environment, text=True,
                                capture_output=True, timeout=PATIENCE)
        self.assertEqual(result.returncode, 77, result.stderr)
        self.assertIn("group zoo", result.stderr)

    def test_socket_of_the_command_line_wins(self):
        self.start().on("GET " + TENANTS, answer(200, tenant_list(tenant("foofoo"))))
        self.environment["ZOO_DIR"] = "/nowhere"
        self.environment["ZOO_SOCKET"] = "/nowhere/else"
        result = self.run_zooctl("tenant", "list", "-o", "name", "--dir", self.directory)
        self.assertEqual(result.stdout, "foofoo\n", result.stderr)

    def test_tls_door_that_nobody_serves(self):
        with open(self.path("admin.kubeconfig"), "w") as file:
            file.write(KUBECONFIG)
        import socket
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            url = f"https://127.0.0.1:{unused.getsockname()[1]}"
            self.refused(69, url, "--server", url, "status")


class Errors(ZooctlTest):
    def test_statuses(self):
        zood = self.start()
        for code, reason, exit_status in [(400, "BadRequest", 65), (401, "Unauthorized", 77),
                                          (403, "Forbidden", 77), (409, "Conflict", 6),
                                          (410, "Expired", 6), (422, "Invalid", 65),
                                          (429, "TooManyRequests", 75), (500, "InternalError", 70),
                                          (500, "StorageFailure", 74),
                                          (503, "ServiceUnavailable", 69), (504, "Timeout", 7)]:
            with self.subTest(reason):
                zood.on("GET " + TENANTS, answer(code, status(code, reason, "it is so")))
                self.refused(exit_status, "zooctl: it is so", "tenant", "list")

    def test_answers_that_are_none(self):
        zood = self.start()
        for body in [b"<html>", b"", b"[1,2", b"\xff\xfe"]:
            zood.on("GET " + TENANTS, answer(200, body))
            self.refused(70, "is it zood?", "tenant", "list")
        zood.on("GET " + TENANTS, answer(502, b"Bad Gateway"))
        result = self.run_zooctl("tenant", "list")
        self.assertNotEqual(result.returncode, 0)

    def test_cut_off(self):
        zood = self.start()

        def in_the_middle(connection, request):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"items\":[")
            return False

        for handler in [in_the_middle, lambda *_: False,
                        lambda connection, _: connection.sendall(b"garbage\r\n\r\n") and False or False]:
            zood.on("GET " + TENANTS, handler)
            result = self.run_zooctl("tenant", "list")
            self.assertEqual(result.returncode, 69, result.stderr)
            self.assertEqual(result.stdout, "")

    def test_suggestion(self):
        zood = self.start()
        zood.on("GET " + TENANTS, answer(200, tenant_list(tenant("foofoo"), tenant("123456"))))
        self.refused(4, "did you mean 'foofoo'?", "tenant", "get", "fofoo")
        self.refused(4, "did you mean '123456'?", "kubeconfig", "export", "12345")

    def test_control_characters_do_not_reach_the_terminal(self):
        zood = self.start()
        zood.on("GET " + TENANTS, answer(400, status(400, "BadRequest", "a\x1b[31mb\nc")))
        result = self.run_zooctl("tenant", "list")
        self.assertNotIn("\x1b", result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1)


class Time(ZooctlTest):
    def test_a_zood_that_never_answers(self):
        zood = self.start()
        zood.on("GET " + TENANTS, zood.hang)
        self.refused(7, "within 0.3s while asking for the list of tenants", "--request-timeout",
                     "300ms", "tenant", "list")

    def test_a_wait_that_is_over(self):
        zood = self.start()
        zood.on("POST " + TENANTS, answer(201, tenant("foofoo", "Pending")))
        zood.on("GET " + TENANTS, answer(200, tenant_list(tenant("foofoo", "Pending"))))
        zood.on("WATCH " + TENANTS, zood.stream(
            {"type": "MODIFIED", "object": tenant("foofoo", "Pending", waitingFor="fences")},
            then_hang=True))
        result = self.run_zooctl("tenant", "create", "foofoo", "--timeout", "1s")
        self.assertEqual(result.returncode, 7, result.stderr)
        self.assertEqual(result.stdout, "tenant/foofoo created\n")
        self.assertIn("waiting for fences", result.stderr)

    def test_a_wait_through_a_stream_that_is_cut(self):
        zood = self.start()
        zood.on("POST " + TENANTS, answer(201, tenant("foofoo", "Pending")))
        zood.on("GET " + TENANTS, answer(200, tenant_list(tenant("foofoo", "Pending"))))

        def first(connection, request):
            zood.on("WATCH " + TENANTS, zood.stream(
                {"type": "MODIFIED", "object": tenant("foofoo")}, then_hang=True))
            connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            return False

        zood.on("WATCH " + TENANTS, first)
        result = self.run_zooctl("tenant", "create", "foofoo")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "tenant foofoo is Ready\n")

    def test_completion_gives_up(self):
        zood = self.start()
        zood.on("GET " + TENANTS, zood.hang)
        result = self.run_zooctl("__complete", "tenant", "get", "")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, ":none\n", ""))


class Pipes(ZooctlTest):
    def test_broken_pipe_is_quiet(self):
        zood = self.start()
        many = tenant_list(*(tenant(f"t{i:05}") for i in range(5000)))
        zood.on("GET " + TENANTS, answer(200, many))
        reader, writer = os.pipe()
        os.close(reader)
        result = self.run_zooctl("tenant", "list", stdout=writer)
        os.close(writer)
        self.assertEqual(result.returncode, -signal.SIGPIPE)
        self.assertEqual(result.stderr, "")

    def test_full_disk(self):
        self.start().on("GET " + TENANTS, answer(200, tenant_list(tenant("foofoo"))))
        with open("/dev/full", "w") as full:
            result = self.run_zooctl("tenant", "list", stdout=full)
        self.assertEqual(result.returncode, 74)
        self.assertIn("No space left", result.stderr)

    def test_manifest_on_standard_input(self):
        zood = self.start()
        zood.on("POST " + TENANTS, answer(201, tenant("123456")))
        text = ("apiVersion: tenant.kubezoo.io/v1alpha1\nkind: Tenant\n"
                "metadata: {name: \"123456\"}\n")
        result = self.run_zooctl("tenant", "create", "-f", "-", "--no-wait", input=text)
        self.assertEqual(result.stdout, "tenant/123456 created\n", result.stderr)
        self.assertEqual(json.loads(zood.requests[0][2])["metadata"]["name"], "123456")
        self.refused(65, "quote", "tenant", "create", "-f", "-", "--no-wait",
                     input=text.replace('"', ""))


class Kubeconfigs(ZooctlTest):
    def setUp(self):
        super().setUp()
        zood = self.start()
        zood.on(f"GET {TENANTS}/foofoo", answer(200, tenant("foofoo")))
        zood.on(f"POST {TENANTS}/foofoo/kubeconfig", answer(201, {"kubeconfig": KUBECONFIG}))

    def test_standard_output(self):
        self.assertEqual(self.run_zooctl("kubeconfig", "export", "foofoo").stdout, KUBECONFIG)

    def test_file_is_private(self):
        os.umask(0)
        file = self.path("out")
        result = self.run_zooctl("kubeconfig", "export", "foofoo", "-o", file)
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)
        self.assertEqual(stat.S_IMODE(os.stat(file).st_mode), 0o600)
        with open(file) as stream:
            self.assertEqual(stream.read(), KUBECONFIG)
        self.assertEqual(self.run_zooctl("kubeconfig", "export", "foofoo", "-o", "/dev/null").returncode, 0)
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))

    def test_file_that_cannot_be_written(self):
        result = self.run_zooctl("kubeconfig", "export", "foofoo", "-o", "/nowhere/x")
        self.assertIn("/nowhere/x", result.stderr)
        self.assertIn(result.returncode, (4, 74))

    def test_merge(self):
        result = self.run_zooctl("kubeconfig", "export", "foofoo", "--merge")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("current context is now foofoo", result.stderr)
        file = self.path(".kube/config")
        self.assertEqual(stat.S_IMODE(os.stat(file).st_mode), 0o600)

    def test_kubectl(self):
        bin_directory = self.path("bin")
        os.mkdir(bin_directory)
        with open(os.path.join(bin_directory, "kubectl"), "w") as file:
            file.write("#!/bin/sh\necho \"$KUBECONFIG|$KUBECACHEDIR|$*\"; cat \"$KUBECONFIG\"; "
                       "(cat \"$KUBECONFIG\") | wc -c; exit 42\n")
        os.chmod(os.path.join(bin_directory, "kubectl"), 0o755)
        self.environment["PATH"] = bin_directory + ":" + self.environment["PATH"]
        before = set(os.listdir(self.directory))
        result = self.run_zooctl("kubectl", "foofoo", "--", "get", "pods", "-o", "wide", "--", "x")
        self.assertEqual(result.returncode, 42, result.stderr)
        first, _, rest = result.stdout.partition("\n")
        config, cache, words = first.split("|")
        self.assertTrue(config.startswith("/proc/self/fd/"))
        self.assertEqual(cache, self.path(".kube/cache/zooctl/foofoo"))
        self.assertEqual(words, "get pods -o wide -- x")
        self.assertEqual(rest, KUBECONFIG + f"{len(KUBECONFIG)}\n")
        self.assertEqual(set(os.listdir(self.directory)), before)

    @unittest.skipIf(shutil.which("kubectl") is None, "no kubectl in PATH")
    def test_real_kubectl_reads_it(self):
        result = self.run_zooctl("kubectl", "foofoo", "--", "config", "current-context")
        self.assertEqual(result.stdout, "foofoo\n", result.stderr)

    def test_no_kubectl(self):
        self.environment["PATH"] = "/nowhere"
        self.refused(4, "kubernetes-client", "kubectl", "foofoo", "--", "get", "pods")


class Shells(ZooctlTest):
    def test_bash_completes(self):
        self.start().on("GET " + TENANTS, answer(200, tenant_list(tenant("foofoo"), tenant("barbar"))))
        script = self.path("completion.bash")
        with open(script, "w") as file:
            file.write(self.run_zooctl("completion", "bash").stdout)
        for words, expected in [(["tenant", "cr"], ["create"]),
                                (["tenant", "get", "f"], ["foofoo"]),
                                (["tenant", "list", "-o", "y"], ["yaml"]),
                                (["tenant", "get", ""], ["foofoo", "barbar"])]:
            line = " ".join(f"'{word}'" for word in ["zooctl", *words])
            run = subprocess.run(
                ["bash", "--norc", "-c",
                 f"source {script}; COMP_WORDS=({line}); COMP_WORDS[0]={ZOOCTL}; "
                 f"COMP_CWORD={len(words)}; _zooctl; printf '%s\\n' \"${{COMPREPLY[@]}}\""],
                env=self.environment, text=True, capture_output=True, timeout=PATIENCE)
            self.assertEqual(run.stdout.split(), expected, run.stderr)


if __name__ == "__main__":
    if len(sys.argv) < 2 or not os.access(sys.argv[1], os.X_OK):
        sys.exit(__doc__)
    ZOOCTL = os.path.abspath(sys.argv.pop(1))
    unittest.main()
