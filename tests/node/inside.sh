# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by `up`: what runs in the namespaces of a cluster. From the outside inwards:
#
#   cluster   processes, mounts and IPC of its own; the machine's network. Takes a number, leads the way to the API server
#             and provisions volumes. It is process 1 there: when it ends, the kernel ends all that follows.
#   switch    a network of its own with one bridge, to which the machine and the nodes are plugged.
#   run_node  everything of its own: containerd, kubelet, kube-proxy and the agent of NetworkPolicies.
#
# None of them cleans up: interfaces, routes, mounts and processes go with the namespaces.
# shellcheck disable=SC2154 # here, dir, nodes, node, bin and images are of `up` and build.sh

service_ip=10.0.0.1 # of the Service `kubernetes`, by tests/upstream/up
dns_ip=10.0.0.10    # by cluster.yaml
registry_port=5000

# addresses NUMBER: those of the cluster that has this number (0 to 99). Sets gateway, the machine's own, and the prefixes
# of nodes and of pods.
addresses() {
  nodes_prefix=10.99.$1
  pods_prefix=10.$((128 + $1))
  gateway=$nodes_prefix.1
}
node_ip() { echo "$nodes_prefix.$(($1 + 1))"; }
pods_of() { echo "$pods_prefix.$1.0/24"; }

# own_pid FILE: remembers this very process there, by the number that it has outside of its namespace. /proc is still that of
# the machine.
own_pid() {
  local pid
  read -r pid _ </proc/self/stat
  remember "$1.part" "$pid"
  mv "$1.part" "$1"
}

# until_exists FILE: something else makes it; when that fails, this process is ended from outside.
until_exists() { until [[ -s $1 ]]; do sleep 0.05; done; }

# ends WHAT PID...: when one of them ends, says so and ends.
ends() {
  wait -n "${@:2}" || true
  echo "one of these has ended, and with it all the others: $1; see their logs beside this one"
  exit 1
}

# The administrator's kubeconfig, by the address that holds inside nodes.
write_kubeconfig() {
  (umask 077; sed "s#https://127\.0\.0\.1:[0-9]*#https://$service_ip:443#" "$dir/upstream/admin.kubeconfig" >"$dir/run/node.kubeconfig")
}

# ---- cgroups ----------------------------------------------------------------------------------------------------

# With version 1 there is a hierarchy for each controller, with version 2 one for all.
cgroup_roots() {
  local root
  if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then
    echo /sys/fs/cgroup
  else
    for root in /sys/fs/cgroup/*/; do mountpoint -q "$root" && echo "${root%/}"; done
  fi
}

make_cgroup() { # name
  local root file controller
  while read -r root; do
    mkdir -p "$root/$1"
    # Version 1: a new cpuset has no processors and takes no process. These files are there with it alone.
    if [[ -f $root/cpuset.mems && ! -e $root/cgroup.controllers ]]; then
      for file in cpuset.cpus cpuset.mems; do cat "$root/$file" >"$root/$1/$file"; done
    fi
    if [[ -e $root/cgroup.controllers ]]; then
      for controller in $(<"$root/cgroup.controllers"); do
        echo "+$controller" >"$root/cgroup.subtree_control" || true
        echo "+$controller" >"$root/$1/cgroup.subtree_control" || true
      done
    fi
  done < <(cgroup_roots)
}

# remove_cgroups NUMBER: all of a cluster; fails as long as something is left.
remove_cgroups() {
  local root left=0
  while read -r root; do
    find "$root"/zoo-"$1"-* -depth -type d -exec rmdir {} + 2>/dev/null || true
    [[ -z $(find "$root" -maxdepth 1 -name "zoo-$1-*") ]] || left=1
  done < <(cgroup_roots)
  return $left
}

# ---- cluster ----------------------------------------------------------------------------------------------------

# taken NETWORK: does any route but the default one lead there or into it?
taken() { [[ -n $(ip -4 route show root "$1") || -n $(ip -4 route show match "$1" | grep -v '^default') ]]; }

# The interface is what reserves a number: making it succeeds for one cluster alone.
take_number() { # process in the network namespace of the switch
  local number
  for number in $(shuf -i 0-99); do
    addresses "$number"
    if taken "$nodes_prefix.0/24" || taken "$pods_prefix.0.0/16"; then continue; fi
    if ip link add "zoo-$number" type veth peer name uplink netns "$1"; then break; fi
    number=
  done
  [[ -n $number ]] || { echo "no addresses are free"; exit 1; }
  remove_cgroups "$number" || true # of a cluster that was killed
  ip addr add "$gateway/24" dev "zoo-$number"
  ip link set "zoo-$number" up
  echo "$number" >"$dir/run/number.part"
  mv "$dir/run/number.part" "$dir/run/number"
}

cluster() {
  local n port daemons
  own_pid "$dir/run/init.pid"
  unshare --net -- "$here/up" switch --dir "$dir" --nodes "$nodes" &
  daemons=($!)
  until_exists "$dir/run/switch.pid"
  take_number "${daemons[0]}"
  for ((n = 1; n <= nodes; ++n)); do ip route add "$(pods_of "$n")" via "$(node_ip "$n")" dev "zoo-$(<"$dir/run/number")"; done
  until_exists "$dir/run/port"
  port=$(<"$dir/run/port")
  # The API server listens on loopback alone.
  socat "TCP-LISTEN:$port,bind=$gateway,fork,reuseaddr,backlog=128" "TCP:127.0.0.1:$port" >"$dir/log/forward.log" 2>&1 &
  daemons+=($!)
  "$bin/volumes" --kubeconfig "$dir/upstream/admin.kubeconfig" --root "$dir/volumes" >"$dir/log/volumes.log" 2>&1 &
  daemons+=($!)
  ends "the nodes, socat, the provisioner of volumes" "${daemons[@]}"
}

switch() {
  local n pids=()
  ip link set lo up
  ip link add nodes type bridge
  ip link set nodes up
  own_pid "$dir/run/switch.pid"
  until ip link set uplink master nodes up 2>/dev/null; do sleep 0.05; done
  until_exists "$dir/run/port"
  for ((n = 1; n <= nodes; ++n)); do
    mkdir -p "$dir/log/node-$n"
    unshare --net --mount --pid --uts --ipc --fork --kill-child=KILL -- \
      "$here/up" node --dir "$dir" --node "$n" >"$dir/log/node-$n/node.log" 2>&1 &
    pids+=($!)
    until_exists "$dir/run/node-$n.pid"
    ip link add "node-$n" type veth peer name eth0 netns "${pids[-1]}"
    ip link set "node-$n" master nodes up
  done
  ends "the nodes" "${pids[@]}"
}

# ---- node -------------------------------------------------------------------------------------------------------

run_node() {
  local name=node-$node log=$dir/log/node-$node folder=$dir/node-$node number other daemons
  number=$(<"$dir/run/number")
  addresses "$number"
  umask 022
  mkdir -p "$log/pods" "$folder"/{kubelet,containerd,registries/_default,cni,cgroup}
  make_cgroup "zoo-$number-$node"
  configure_node
  own_pid "$dir/run/$name.pid"
  hostname "$name"
  mount_node
  network_node

  PATH=$bin:$PATH
  "$here/registry.py" "$images" "$registry_port" >"$log/registry.log" 2>&1 &
  daemons=($!)
  containerd --config "$folder/containerd.toml" >"$log/containerd.log" 2>&1 &
  daemons+=($!)
  until ctr version >/dev/null 2>&1; do
    kill -0 "${daemons[1]}" 2>/dev/null || ends containerd "${daemons[1]}"
    sleep 0.1
  done
  kubelet --config "$folder/kubelet.yaml" --bootstrap-kubeconfig "$dir/run/node.kubeconfig" --kubeconfig /var/lib/kubelet/kubeconfig \
    --cert-dir /var/lib/kubelet/pki --hostname-override "$name" --node-ip "$(node_ip "$node")" >"$log/kubelet.log" 2>&1 &
  daemons+=($!)
  kube-proxy --config "$folder/kube-proxy.yaml" >"$log/kube-proxy.log" 2>&1 &
  daemons+=($!)
  policies --kubeconfig "$dir/run/node.kubeconfig" --node "$name" --queue 100 >"$log/policies.log" 2>&1 &
  daemons+=($!)
  ends "the registry, containerd, kubelet, kube-proxy, the agent of policies" "${daemons[@]}"
}

mount_node() {
  local folder=$dir/node-$node
  mount -t proc proc /proc
  mount --rbind /sys/fs/cgroup "$folder/cgroup"
  umount -R /sys
  mount -t sysfs sysfs /sys # of this network namespace
  mount --move "$folder/cgroup" /sys/fs/cgroup
  mount -t tmpfs -o mode=755 tmpfs /run
  mount -t tmpfs -o mode=755 tmpfs /var/log
  mkdir -p /run/lock /run/var-lib /run/var-lib.work /var/log/pods /var/log/containers
  # Whatever a program keeps in /var/lib stays inside the node.
  mount -t overlay -o lowerdir=/var/lib,upperdir=/run/var-lib,workdir=/run/var-lib.work overlay /var/lib
  mkdir -p /var/lib/kubelet
  mount --bind "$folder/kubelet" /var/lib/kubelet
  mount --bind "$dir/log/node-$node/pods" /var/log/pods
  # kubelet makes mounts that containers see.
  mount --make-rshared /
}

network_node() {
  local other
  until ip link show eth0 >/dev/null 2>&1; do sleep 0.05; done
  ip link set lo up
  ip addr add "$(node_ip "$node")/24" dev eth0
  ip link set eth0 up
  ip route add 10.0.0.0/8 via "$gateway"
  for ((other = 1; other <= nodes; ++other)); do
    ((other == node)) || ip route add "$(pods_of "$other")" via "$(node_ip "$other")"
  done
  sysctl -qw net.ipv4.ip_forward=1
  # The API server's certificate names the Service's address. kubelet and kube-proxy use that one before kube-proxy has
  # set up Services.
  iptables -t nat -A OUTPUT -d "$service_ip/32" -p tcp --dport 443 -j DNAT --to-destination "$gateway:$(<"$dir/run/port")"
  # The first packet of each connection goes to the agent of NetworkPolicies, where the Service's address has become the
  # pod's and the client's is still its own. What the node's own programs send, such as probes, always may.
  iptables -t mangle -A POSTROUTING -o lo -j RETURN
  iptables -t mangle -A POSTROUTING -m owner --uid-owner 0 -j RETURN
  iptables -t mangle -A POSTROUTING -m conntrack --ctstate NEW -j NFQUEUE --queue-num 100
}

configure_node() {
  local folder=$dir/node-$node
  echo "nameserver $dns_ip" >"$folder/resolv.conf"
  cat >"$folder/containerd.toml" <<T
version = 3
root = "$folder/containerd"
state = "/run/containerd"
[grpc]
address = "/run/containerd/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
path = "$folder/opt"
[plugins."io.containerd.cri.v1.images".registry]
config_path = "$folder/registries"
[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "registry.k8s.io/pause:3.10.2"
[plugins."io.containerd.cri.v1.runtime"]
restrict_oom_score_adj = true # the machine may withhold CAP_SYS_RESOURCE
[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["/usr/lib/cni"]
conf_dir = "$folder/cni"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
SystemdCgroup = false
T
  # The registry inside the node stands for every registry.
  cat >"$folder/registries/_default/hosts.toml" <<H
server = "http://127.0.0.1:$registry_port"
[host."http://127.0.0.1:$registry_port"]
capabilities = ["pull", "resolve"]
H
  cat >"$folder/cni/10-bridge.conflist" <<C
{"cniVersion": "1.0.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "dataDir": "/run/cni", "ranges": [[{"subnet": "$(pods_of "$node")"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}, "snat": true}]}
C
  cat >"$folder/kubelet.yaml" <<K
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: /zoo-$(<"$dir/run/number")-$node
failSwapOn: false
clusterDNS: [$dns_ip]
clusterDomain: cluster.local
resolvConf: $folder/resolv.conf
volumePluginDir: $folder/plugins
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $dir/upstream/pki/ca.crt}}
authorization: {mode: Webhook}
# How long a changed ConfigMap or Secret takes to show inside a pod.
syncFrequency: 10s
configMapAndSecretChangeDetectionStrategy: Watch
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%, nodefs.inodesFree: 1%}
K
  cat >"$folder/kube-proxy.yaml" <<P
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
clusterCIDR: $pods_prefix.0.0/16
hostnameOverride: node-$node
clientConnection: {kubeconfig: $dir/run/node.kubeconfig}
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
P
}
