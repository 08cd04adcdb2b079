#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the container images of nodes and of Kubernetes' end-to-end tests, as one OCI archive.

usage: images.py --bin DIR --operators DIR --python DIR --kubernetes DIR --out IMAGES.tar

--bin         programs that `up build` has built: agnhost, coredns, etcd, sample-apiserver, nonewprivs, kubectl, probe
--operators   the operators that it has built: cert-manager, jobset, kube-state-metrics
--python      a folder with the Python client and all that it needs
--kubernetes  the unpacked Go module k8s.io/kubernetes, for the source of pause, a certificate and web pages

Everything else comes from Debian packages of this machine, with the shared libraries that its programs need. The names and
tags are those that Kubernetes 1.36 asks for (test/utils/image/manifest.go); what is inside stands in for the published
images. Layers have fixed times and owners, so that the same content has the same digest.
"""
import argparse
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile

REGISTRY = "registry.k8s.io/"
E2E = REGISTRY + "e2e-test-images/"
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ACCOUNTS = ["root:x:0:0:root:/root:/bin/sh", "daemon:x:1:1:daemon:/usr/sbin:/bin/false",
            "www-data:x:33:33:www-data:/var/www:/bin/false", "nobody:x:65534:65534:nobody:/home:/bin/false"]
GROUPS = ["root:x:0:", "daemon:x:1:", "mail:x:8:", "www-data:x:33:", "nogroup:x:65534:"]
TOOLS = ["dig", "host", "nslookup", "getent", "curl", "nc", "ip", "ss", "ipcs"]
PACKAGES = "usr/share/packages"
NGINX = """user www-data;
pid /run/nginx.pid;
error_log stderr;
events {}
http {
  access_log /dev/stdout;
  types { text/html html; }
  server { listen 80; root /usr/share/nginx/html; }
}
"""
PAGE = "<html><head><title>Welcome to nginx!</title></head><body><h1>Welcome to nginx!</h1></body></html>\n"


def lines(texts):
    return ("\n".join(texts) + "\n").encode()


def compiled(source, compiler="gcc"):
    """A C source as a static program."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([compiler, "-Os", "-static", "-s", "-o", folder + "/out", source], check=True)
        return pathlib.Path(folder, "out").read_bytes()


class Layer:
    """What one layer holds, by its path: content is bytes, a pathlib.Path of this machine, a symbolic link's target (str),
    or None for a folder."""

    def __init__(self):
        self.entries = {}

    def add(self, path, content, mode=0o755):
        for parent in list(pathlib.PurePath(path).parents)[-2::-1]:
            self.entries.setdefault(str(parent), (None, 0o755))
        self.entries[path] = (content, mode)
        return self

    def program(self, path, source):
        self.add(path, pathlib.Path(source))
        listing = subprocess.run(["ldd", source], capture_output=True, text=True).stdout
        if "not found" in listing:
            raise SystemExit("images.py: %s lacks a library:\n%s" % (source, listing))
        for library in re.findall(r"(/\S+) \(0x", listing):
            self.add(library.lstrip("/"), pathlib.Path(library).resolve())
        return self

    def accounts(self, accounts=(), groups=()):
        self.add("etc/passwd", lines([*ACCOUNTS, *accounts]), 0o644)
        return self.add("etc/group", lines([*GROUPS, *groups]), 0o644)

    def packed(self):
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w") as tar:
            for path, (content, mode) in sorted(self.entries.items()):
                info = tarfile.TarInfo(path)
                info.mode = mode
                if content is None:
                    info.type = tarfile.DIRTYPE
                elif isinstance(content, str):
                    info.type, info.linkname = tarfile.SYMTYPE, content
                else:
                    content = content.read_bytes() if isinstance(content, pathlib.Path) else content
                    info.size = len(content)
                tar.addfile(info, io.BytesIO(content) if isinstance(content, bytes) else None)
        return data.getvalue()


class Archive:
    def __init__(self):
        self.blobs, self.manifests = {}, []

    def blob(self, data):
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        self.blobs[digest] = data
        return digest

    def described(self, digest, kind, **more):
        return {"mediaType": "application/vnd.oci.image." + kind, "digest": digest, "size": len(self.blobs[digest]), **more}

    def layer(self, layer):
        return self.blob(layer.packed())

    def image(self, name, layers, **config):
        config = {"Env": [PATH], **config}
        settings = self.blob(json.dumps({
            "architecture": {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine], "os": "linux", "config": config,
            "rootfs": {"type": "layers", "diff_ids": layers}}).encode())
        manifest = self.blob(json.dumps({
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": self.described(settings, "config.v1+json"),
            "layers": [self.described(digest, "layer.v1.tar") for digest in layers]}).encode())
        self.manifests.append(self.described(manifest, "manifest.v1+json", annotations={"io.containerd.image.name": name}))

    def save(self, path):
        with tarfile.open(path, "w") as tar:
            for name, data in [("oci-layout", b'{"imageLayoutVersion": "1.0.0"}'),
                               ("index.json", json.dumps({"schemaVersion": 2, "manifests": self.manifests}).encode()),
                               *(("blobs/" + digest.replace(":", "/"), data) for digest, data in self.blobs.items())]:
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))


def busybox():
    layer = Layer().add("bin/busybox", pathlib.Path(shutil.which("busybox")).resolve())
    applets = subprocess.run(["busybox", "--list-full"], capture_output=True, text=True, check=True).stdout.split()
    for applet in applets:
        for path in {applet, "bin/" + os.path.basename(applet)} - {"bin/busybox", "linuxrc", "bin/linuxrc"}:
            layer.add(path, "/bin/busybox")
    # A spec looks for the name of Alpine Linux, of which the published image is made.
    layer.add("etc/os-release", lines(['NAME="busybox and bash of Debian, in place of Alpine Linux"']), 0o644)
    layer.add("etc/nsswitch.conf", lines(["hosts: files dns"]), 0o644)
    layer.add("tmp", None, 0o1777).add("root", None, 0o700).add("var/www", None).add("home", None)
    return layer.accounts()


def tools():
    layer = Layer()
    for tool in TOOLS:
        layer.program("usr/bin/" + tool, os.path.realpath(shutil.which(tool)))
    return layer


def agnhost(programs, sources):
    layer = Layer().add("agnhost", programs / "agnhost").add("agnhost-2", "agnhost").add("coredns", programs / "coredns").add("uploads", None)
    for name in ("localhost.crt", "localhost.key"):
        layer.add(name, sources / "agnhost/porter" / name, 0o644)
    return layer.accounts(["user-defined-in-image:x:1000:1000::/home/user-defined-in-image:/bin/sh"],
                          ["user-defined-in-image:x:1000:", "group-defined-in-image:x:50000:user-defined-in-image"])


def nginx():
    layer = Layer().program("usr/sbin/nginx", "/usr/sbin/nginx")
    layer.add("var/lib/nginx", None).add("var/log/nginx", None).add("run", None)
    layer.add("usr/share/nginx/html/index.html", PAGE.encode(), 0o644)
    return layer.add("etc/nginx/nginx.conf", NGINX.encode(), 0o644)


def python(packages):
    """The Python that runs this, without its own tests, and packages."""
    layer = Layer().program("usr/bin/python3", os.path.realpath(sys.executable))
    standard = sysconfig.get_path("stdlib")
    for root, source in ((standard.lstrip("/"), standard), (PACKAGES, packages)):
        for file in sorted(pathlib.Path(source).rglob("*")):
            inside = file.relative_to(source)
            if not file.is_file() or set(inside.parts) & {"test", "tests", "idlelib", "site-packages", "dist-packages", "__pycache__"}:
                continue
            if file.name.endswith(".so") and root != PACKAGES:
                layer.program("%s/%s" % (root, inside), str(file))
            else:
                layer.add("%s/%s" % (root, inside), file.resolve())
    return layer


def operators(archive, programs):
    """Under the names that their charts and manifests ask for."""
    for part in ("controller", "webhook", "cainjector", "startupapicheck"):
        layer = archive.layer(Layer().add("cert-manager", programs / "cert-manager"))
        archive.image("quay.io/jetstack/cert-manager-%s:v1.21.1" % part, [layer], Entrypoint=["/cert-manager", part], User="1000")
    layer = archive.layer(Layer().add("manager", programs / "jobset"))
    archive.image("us-central1-docker.pkg.dev/k8s-staging-images/jobset/jobset:v0.12.0", [layer], Entrypoint=["/manager"], User="65532:65532")
    layer = archive.layer(Layer().add("kube-state-metrics", programs / "kube-state-metrics"))
    archive.image(REGISTRY + "kube-state-metrics/kube-state-metrics:v2.20.0", [layer], User="65534",
                  Entrypoint=["/kube-state-metrics", "--port=8080", "--telemetry-port=8081"])


def make(archive, programs, packages, kubernetes):
    sources = kubernetes / "test/images"
    # Debian's busybox has a shell that prefers its own applets to the programs in PATH and drops environment variables
    # whose names a shell cannot say, so /bin/sh is bash.
    shell = [archive.layer(busybox()), archive.layer(Layer().program("usr/bin/bash", "/usr/bin/bash").add("bin/sh", "/usr/bin/bash"))]
    network = [*shell, archive.layer(tools()), archive.layer(agnhost(programs, sources))]
    server = archive.layer(nginx())

    def own(path, name, mode=0o755):
        return archive.layer(Layer().add(path, programs / name, mode))

    pause = Layer().add("pause", compiled(kubernetes / "build/pause/linux/pause.c"))
    archive.image(REGISTRY + "pause:3.10.2", [archive.layer(pause)], Entrypoint=["/pause"], User="65535:65535")
    archive.image(REGISTRY + "coredns/coredns:v1.14.7", [own("coredns", "coredns")], Entrypoint=["/coredns"])
    archive.image(REGISTRY + "etcd:3.6.8-0", [*shell, own("usr/local/bin/etcd", "etcd")], Cmd=["etcd"])
    archive.image(E2E + "busybox:1.37.0-1", shell, Cmd=["sh"])
    for version in ("2.55", "2.63.0"):
        archive.image(E2E + "agnhost:" + version, network, Entrypoint=["/agnhost"], Cmd=["pause"])
    for page in ("kitten", "nautilus"):
        site = Layer()
        for file in sorted((sources / page / "html").iterdir()):
            site.add(file.name, file, 0o644)
        archive.image(E2E + page + ":1.8", [*network, archive.layer(site)], Entrypoint=["/agnhost"], Cmd=["test-webserver"])
    archive.image(E2E + "glibc-dns-testing:2.0.0", network, Cmd=["sh"])
    for version in ("1.15-4", "1.27-0"):
        archive.image(E2E + "nginx:" + version, [*shell, server], Cmd=["nginx", "-g", "daemon off;"])
    archive.image(E2E + "nonroot:1.5", shell, Cmd=["sh"], User="1234")
    archive.image(E2E + "nonewprivs:1.4", [*shell, own("usr/local/bin/nnp", "nonewprivs", 0o6755)], Cmd=["nnp"])
    kubectl = own("bin/kubectl", "kubectl")
    archive.image(REGISTRY + "kubectl:v1.36.3", [*shell, kubectl], Entrypoint=["/bin/kubectl"])
    # What scripts of tests/node look around with inside a pod.
    lookup = compiled(pathlib.Path(__file__).with_name("lookup.c"), "musl-gcc")
    layers = [*network, kubectl, own("bin/probe", "probe"), archive.layer(Layer().add("bin/lookup-musl", lookup)), archive.layer(python(packages))]
    archive.image("zoo.test/inside:1", layers, Cmd=["/agnhost", "pause"], Env=[PATH, "PYTHONPATH=/" + PACKAGES])
    archive.image(E2E + "sample-apiserver:1.29.2", [*shell, own("sample-apiserver", "sample-apiserver")], Entrypoint=["/sample-apiserver"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for option in ("--bin", "--operators", "--python", "--kubernetes", "--out"):
        parser.add_argument(option, required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    archive = Archive()
    make(archive, arguments.bin, arguments.python, arguments.kubernetes)
    operators(archive, arguments.operators)
    archive.save(arguments.out)


if __name__ == "__main__":
    main()
