# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by `up`: whether this machine can run nodes, and the programs and images that they need.
# shellcheck disable=SC2154 # here, zoo_cache, upstream and dir are of `up`

containerd_version=v2.3.7
stamp=k8s.io/component-base/version
kubernetes_version=$(awk '$1 == "k8s.io/kubernetes" { print $2; exit }' "$here/go.mod")
ldflags="-s -w -X $stamp.gitVersion=$kubernetes_version -X $stamp.gitMajor=1 -X $stamp.gitMinor=36 -X $stamp.gitTreeState=clean"

key_of() { (cd "$here" && cat "${@:2}"; uname -m; echo "$1") | sha256sum | cut -c1-16; }
program_sources=(go.mod go.sum coredns/go.mod coredns/go.sum coredns/main.go policies/main.go probe/main.go volumes/main.go)
bin=$zoo_cache/node-programs-$(key_of "$containerd_version $ldflags" "${program_sources[@]}")
operators=$zoo_cache/node-operators-$(key_of "" operators/{go.mod,go.sum,main.go,controller.go})
# shellcheck disable=SC2034 # for inside.sh
images=$zoo_cache/node-images-$(key_of "${bin##*-} ${operators##*-}" images.py lookup.c ../e2e/python/requirements.txt).tar

# ---- what the machine must have -------------------------------------------------------------------------------------

# The commands that are called by name, and the Debian packages that have them (packaging/build-deps).
needed_commands=(runc socat nginx iptables conntrack ip busybox bash dig nc curl gcc musl-gcc python3 nsenter unshare setpriv setsid flock openssl)

# cannot_run: prints why not, and succeeds, where this machine cannot run nodes.
cannot_run() {
  local controller probe
  ((EUID == 0)) || { echo "nodes need root"; return; }
  # Modules that a kernel may have without having loaded them.
  modprobe -a br_netfilter overlay xt_NFQUEUE nfnetlink_queue 2>/dev/null || true
  unshare --net --mount --pid --uts --ipc --fork true 2>/dev/null || { echo "the kernel gives no new namespaces"; return; }
  unshare --net ip link add probe0 type veth peer name probe1 2>/dev/null || { echo "no pairs of virtual network interfaces (veth)"; return; }
  unshare --net ip link add probe0 type bridge 2>/dev/null || { echo "no network bridges"; return; }
  unshare --net iptables -t nat -A POSTROUTING -j MASQUERADE 2>/dev/null || { echo "iptables cannot translate addresses"; return; }
  unshare --net iptables -t mangle -A POSTROUTING -m owner ! --uid-owner 0 -m conntrack --ctstate NEW -j NFQUEUE 2>/dev/null || { echo "iptables has no target NFQUEUE"; return; }
  [[ $(unshare --net cat /proc/sys/net/bridge/bridge-nf-call-iptables 2>/dev/null) == 1 ]] ||
    { echo "iptables does not see what passes a bridge (br_netfilter)"; return; }
  unshare --mount sh -c 'mount -t tmpfs tmpfs /mnt && mkdir /mnt/l /mnt/u /mnt/w && mount -t overlay -o lowerdir=/mnt/l,upperdir=/mnt/u,workdir=/mnt/w overlay /mnt/l' 2>/dev/null ||
    { echo "no overlay file systems"; return; }
  for controller in cpu cpuset memory pids; do
    if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then
      [[ " $(</sys/fs/cgroup/cgroup.controllers) " == *" $controller "* ]] || { echo "the cgroup controller $controller is missing"; return; }
      probe=/sys/fs/cgroup
    else
      probe=/sys/fs/cgroup/$controller
      mountpoint -q "$probe" || { echo "the cgroup controller $controller is not mounted at $probe"; return; }
    fi
    if ! mkdir "$probe/zoo-check-$$" 2>/dev/null; then echo "no cgroup can be made in $probe"; return; fi
    rmdir "$probe/zoo-check-$$"
  done
  return 1
}

check() {
  local why command missing=()
  for command in "${needed_commands[@]}"; do command -v "$command" >/dev/null || missing+=("$command"); done
  [[ -x /usr/lib/cni/bridge ]] || missing+=(/usr/lib/cni/bridge)
  ((${#missing[@]} == 0)) || die 69 "missing: ${missing[*]} (packaging/install-deps test installs them)"
  if why=$(cannot_run); then
    echo "SKIP: this machine cannot run nodes: $why"
    exit 125
  fi
}

# ---- build ----------------------------------------------------------------------------------------------------------

build() {
  "$upstream" build
  [[ $kubernetes_version == v$("$upstream" versions | head -n 1) ]] ||
    die 69 "go.mod here has Kubernetes $kubernetes_version, that of tests/upstream another one: make them the same"
  [[ -x $bin/kubelet && -f $images ]] && return 0
  (
    flock -n 9 || { say "another build is under way; waiting for it"; flock 9; }
    [[ -x $bin/kubelet ]] || build_programs
    [[ -x $operators/jobset ]] || build_operators
    [[ -f $images ]] || build_images
    say "built in ${SECONDS}s, kept in $zoo_cache"
  ) 9>"$zoo_cache/node-build.lock" >&2
}

# Kubernetes' own packages are at the versions of tests/upstream/go.mod, and are compiled with the same options: then they
# come from Go's cache, and only linking is left.
build_programs() {
  local part=$bin.part containerd=github.com/containerd/containerd/v2/cmd
  ensure_go
  rm -rf "$part" && mkdir -p "$part"
  say "building kubelet, kube-proxy and the agents (once)"
  (cd "$here" && go build -trimpath -buildvcs=false -ldflags "$ldflags" -o "$part/" k8s.io/kubernetes/cmd/{kubelet,kube-proxy} ./policies ./volumes)
  say "building programs of container images (once)"
  (cd "$here" && go build -trimpath -buildvcs=false -ldflags "-s -w -linkmode external -extldflags '-static -Wl,--no-warnings'" -o "$part/" \
    k8s.io/kubernetes/cmd/kubectl k8s.io/kubernetes/test/images/{agnhost,nonewprivs} k8s.io/sample-apiserver go.etcd.io/etcd/server/v3 ./probe)
  mv "$part/server" "$part/etcd"
  say "building CoreDNS (two minutes, once)"
  (cd "$here/coredns" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w" -o "$part/coredns" .)
  say "building containerd $containerd_version (two minutes, once)"
  GOBIN=$part go install -trimpath -buildvcs=false -tags "no_btrfs no_devmapper no_zfs" -ldflags "-s -w" \
    "$containerd/containerd@$containerd_version" "$containerd/containerd-shim-runc-v2@$containerd_version" "$containerd/ctr@$containerd_version"
  rm -rf "$bin" && mv "$part" "$bin"
}

# Operators that tenants run, and beside each what its project ships to install it: a chart of cert-manager, kustomizations of the
# others.
build_operators() {
  local part=$operators.part version
  ensure_go
  rm -rf "$part" && mkdir -p "$part/manifests"
  say "building cert-manager, JobSet and kube-state-metrics (two minutes, once)"
  (
    cd "$here/operators" || exit
    go build -trimpath -buildvcs=false -ldflags "-s -w -linkmode external -extldflags '-static -Wl,--no-warnings'" \
      -o "$part/" . k8s.io/kube-state-metrics/v2 sigs.k8s.io/jobset
    ships() { cp -r --no-preserve=mode "$(go list -m -f '{{.Dir}}' "$1")/$2" "$part/manifests/$3"; }
    ships github.com/cert-manager/cert-manager deploy/charts/cert-manager cert-manager
    ships sigs.k8s.io/jobset config jobset
    ships k8s.io/kube-state-metrics/v2 examples/standard kube-state-metrics
  )
  # What cert-manager's Makefile does for a release.
  version=$(awk '$1 == "github.com/cert-manager/cert-manager" { print $2 }' "$here/operators/go.mod")
  sed -i "s/^\(version\|appVersion\): v0\.0\.0$/\1: $version/" "$part/manifests/cert-manager/Chart.yaml"
  mv "$part/zoo.test" "$part/cert-manager"
  rm -rf "$operators" && mv "$part" "$operators"
}

build_images() {
  local kubernetes packages
  ensure_go
  packages=$(zoo_root=$here/../.. && . "$zoo_root/tests/e2e/python/lib.sh" && echo "$python_packages") || die 69 "pip could not get the Python client"
  kubernetes=$(cd "$here" && go mod download k8s.io/kubernetes && go list -m -f '{{.Dir}}' k8s.io/kubernetes)
  "$here/images.py" --bin "$bin" --operators "$operators" --python "$packages" --kubernetes "$kubernetes" --out "$images.part"
  mv "$images.part" "$images"
}
