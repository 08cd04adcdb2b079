// SPDX-License-Identifier: Apache-2.0
#include "common/config/key.hpp"

namespace zoo::config {
namespace {

constexpr std::string_view k_drivers[] = {"sqlite", "etcd"};
constexpr std::string_view k_range_reads[] = {"auto", "off"};
constexpr std::string_view k_visibilities[] = {"all", "own", "none"};
constexpr std::string_view k_networks[] = {"open", "isolated"};
constexpr std::string_view k_audit_outputs[] = {"file", "stderr", "none"};
constexpr std::string_view k_audit_levels[] = {"none", "denied", "writes", "all"};
constexpr std::string_view k_audit_overflows[] = {"drop", "refuse"};
constexpr std::string_view k_levels[] = {"debug", "info", "warning", "error"};

constexpr std::int64_t k_second = 1000;
constexpr std::int64_t k_hour = 3600 * k_second;
constexpr std::int64_t k_ki = 1024;
constexpr std::int64_t k_mi = 1024 * k_ki;

constexpr Key k_keys[] = {
    {.name = "listen",
     .type = Type::address,
     .default_text = "127.0.0.1:7443",
     .doc = "Where tenants connect (TLS). Port 0 lets the system choose; zooctl status shows it."},
    {.name = "advertise",
     .type = Type::address,
     .doc = "What kubeconfigs and the Service kubernetes of a tenant name as the server. Default: "
            "the address of listen, which must then be one to connect to: not 0.0.0.0 or [::]."},
    {.name = "listen_proxy.from",
     .type = Type::list,
     .doc = "Addresses of load balancers before listen and accounts.listen, as CIDRs: each of "
            "their connections must begin with a PROXY protocol header (version 1 or 2), which "
            "says for whom it is. Headers of others are not read. Default: none; a balancer is "
            "then the client, for the audit log too.",
     .reloadable = true},
    {.name = "health.listen",
     .type = Type::address,
     .doc = "Where load balancers ask, in plain HTTP and without credentials, whether zood may be "
            "sent clients: /readyz (200 or 503) and /livez. Nothing else is answered there. "
            "Default: off."},
    {.name = "tls.certificate",
     .type = Type::path,
     .doc = "Certificate chain (PEM) towards tenants and administrators, by the CA that tls.ca or "
            "pki.ca_certificate names: kubeconfigs that zood writes trust no other. Default: one "
            "that zood issues with its own CA.",
     .reloadable = true},
    {.name = "tls.key",
     .type = Type::path,
     .doc = "Private key (PEM) of tls.certificate. Give both or neither.",
     .reloadable = true},
    {.name = "tls.ca",
     .type = Type::path,
     .doc = "CA certificates (PEM) that tls.certificate is by: what kubeconfigs that zood writes "
            "trust from then on. Without tls.certificate it is nothing. Default: the tenants' CA.",
     .reloadable = true},
    {.name = "tls.further_ca",
     .type = Type::path,
     .doc = "CA certificates (PEM) that kubeconfigs and pods trust beside the door's own: of a CA "
            "that is about to come, or has just gone. Default: none.",
     .reloadable = true},
    {.name = "admin.socket",
     .type = Type::path,
     .doc =
         "Unix socket of the admin API, for root and group zoo. Default: zood.sock in the unit's "
         "RuntimeDirectory= (/run/zood), else in dir."},
    {.name = "admin.listen",
     .type = Type::address,
     .doc = "Where administrators connect by mutual TLS, for zooctl and kubectl. Default: off. "
            "127.0.0.1:0 lets the system choose the port."},
    {.name = "upstream.kubeconfig",
     .type = Type::path,
     .doc =
         "The upstream cluster: its address, its CA and who zood is at first. Read at each start. "
         "With an administrator's, zood installs what it needs and makes the credential that it "
         "works with; it is used again at each start, and where that credential cannot be renewed. "
         "One of ServiceAccount zoo-system/zood will do where zood --print-upstream-rbac was "
         "applied. The file holds a client certificate or a token: exec, auth-provider, passwords "
         "and as are refused. zood connects to its server directly, whatever HTTPS_PROXY says, and "
         "verifies it: refused are proxy-url, a path behind the host, insecure-skip-tls-verify."},
    {.name = "upstream.range_reads",
     .type = Type::choice,
     .default_text = "auto",
     .doc = "Whether lists begin at the tenant's first key: auto tries it at the start, off asks "
            "each namespace of the tenant instead, which costs more.",
     .choices = k_range_reads},
    {.name = "dir",
     .type = Type::path,
     .default_text = "/var/lib/zood",
     .doc = "Everything that zood owns: database, keys, PKI. One zood a directory."},
    {.name = "store.driver",
     .type = Type::choice,
     .default_text = "sqlite",
     .doc = "Where zood keeps its records: in a file of this machine, or in an etcd that several "
            "machines reach. `zooctl store migrate` moves them.",
     .choices = k_drivers},
    {.name = "store.path",
     .type = Type::path,
     .doc = "The database file of the sqlite driver. Default: zood.db in dir. Where zood.service "
            "does not let zood write, it needs ReadWritePaths= in a drop-in."},
    {.name = "store.etcd.endpoints",
     .type = Type::list,
     .doc = "Client URLs of the members of etcd (3.4 or later, with its JSON gateway), as "
            "https://10.0.0.1:2379. http:// is taken for loopback addresses alone."},
    {.name = "store.etcd.prefix",
     .default_text = "/zood/default/",
     .doc =
         "What every key of this zood's begins with; begins and ends with a slash. Two zoods with "
         "the same prefix have the same tenants."},
    {.name = "store.etcd.ca",
     .type = Type::path,
     .doc = "The CA (PEM) that the members' certificates are verified by. Default: the system's."},
    {.name = "store.etcd.certificate",
     .type = Type::path,
     .doc =
         "zood's certificate (PEM) as a client of etcd. It must have no CN where etcd has users: "
         "etcd's gateway refuses one that has. O=zood is enough."},
    {.name = "store.etcd.key",
     .type = Type::path,
     .doc = "Private key (PEM) of store.etcd.certificate. Give both or neither."},
    {.name = "store.etcd.server_name",
     .type = Type::string,
     .doc = "The name to verify in the members' certificates. Default: the host of each endpoint."},
    {.name = "store.etcd.username",
     .type = Type::string,
     .doc = "zood's user in etcd, where etcd has authentication switched on: it needs readwrite on "
            "store.etcd.prefix."},
    {.name = "store.etcd.password_file",
     .type = Type::path,
     .doc = "The first line of this file is the password of store.etcd.username."},
    {.name = "replicas.name",
     .type = Type::string,
     .doc =
         "What this zood is called among those that have one etcd: each needs a name of its own. "
         "Default: the host's name."},
    {.name = "replicas.max_stale",
     .type = Type::duration,
     .default_text = "10m",
     .doc =
         "With store.driver etcd: for how long tenants are let in by what was known while etcd "
         "cannot be reached, and a revocation that was made elsewhere is not heard of. Beyond it "
         "their requests get 503, and /readyz fails. 0: for ever."},
    {.name = "pki.ca_certificate",
     .type = Type::path,
     .doc = "The CA (PEM) that signs tenants' certificates; upstream must not trust it for "
            "clients. Default: one that zood makes in dir on first start."},
    {.name = "pki.ca_key",
     .type = Type::path,
     .doc = "Private key (PEM) of pki.ca_certificate. Give both or neither."},
    {.name = "tenants.reserved_ids",
     .type = Type::list,
     .default_text = "system, calico, cilium, istiod, knativ, gatekp, tigera, cattle, ingres, "
                     "kruise, argocd, consul, harbor, velero, zoosys",
     .doc = "IDs that no tenant may have: the first six characters of namespaces that platforms "
            "use, as in calico-system.",
     .reloadable = true},
    {.name = "tenants.certificate_validity",
     .type = Type::duration,
     .default_text = "8760h",
     .doc = "How long a tenant's certificate is valid.",
     .reloadable = true,
     .minimum = 60 * k_second,
     .maximum = 10 * 366 * 24 * k_hour},
    {.name = "tenants.certificate_warning",
     .type = Type::duration,
     .default_text = "336h",
     .doc = "How long before its end a certificate is warned of, in condition CertificateExpiring "
            "and by zooctl doctor; those made for less than twice as long are not.",
     .reloadable = true,
     .maximum = 10 * 366 * 24 * k_hour},
    {.name = "tenants.delete_grace",
     .type = Type::duration,
     .default_text = "30s",
     .doc = "How long the controllers of a deleted tenant may finish their custom resources "
            "before foreign finalizers are removed.",
     .reloadable = true,
     .maximum = 24 * k_hour},
    {.name = "shared.storage_classes",
     .type = Type::list,
     .doc = "StorageClasses of upstream that tenants see, read-only; \"*\" means all. Upstream's "
            "default has to be among them if its name is six characters and a dash, and more."},
    {.name = "shared.ingress_classes",
     .type = Type::list,
     .doc = "IngressClasses of upstream that tenants see; \"*\" means all of the platform's."},
    {.name = "shared.runtime_classes",
     .type = Type::list,
     .doc = "RuntimeClasses of upstream that tenants see; \"*\" means all of the platform's."},
    {.name = "shared.priority_classes",
     .type = Type::list,
     .doc = "PriorityClasses of upstream that tenants see; \"*\" means all of the platform's. "
            "system-* are never shared."},
    {.name = "shared.volume_attributes_classes",
     .type = Type::list,
     .doc = "VolumeAttributesClasses of upstream that tenants see; \"*\" means all of the "
            "platform's."},
    {.name = "shared.groups",
     .type = Type::list,
     .doc = "API groups of upstream's CustomResourceDefinitions that tenants use under their own "
            "name: objects in their namespaces are theirs, definitions and cluster-scoped objects "
            "are read-only. What a tenant has defined itself in such a group is out of its sight."},
    {.name = "shared.device_classes",
     .type = Type::list,
     .doc = "DeviceClasses of upstream that tenants see; \"*\" means all of the platform's."},
    {.name = "nodes.visibility",
     .type = Type::choice,
     .default_text = "all",
     .doc = "Which nodes a tenant sees: all (read-only, without images and volumes), own (those "
            "that carry its pods; a watch keeps to those that did when it began) or none.",
     .choices = k_visibilities},
    {.name = "guards.node_names",
     .type = Type::boolean,
     .default_text = "false",
     .doc = "Whether tenants may set spec.nodeName of pods and their templates, past the "
            "scheduler. spec.guards.nodeNames of a Tenant, and so on, holds instead of these keys.",
     .reloadable = true},
    {.name = "guards.admin_access",
     .type = Type::boolean,
     .default_text = "false",
     .doc = "Whether tenants may ask for adminAccess to devices that others use.",
     .reloadable = true},
    {.name = "guards.endpoints",
     .type = Type::boolean,
     .default_text = "true",
     .doc = "Whether tenants may write Endpoints and EndpointSlices themselves. Set it to false "
            "where load balancers of the platform reach what tenants' pods do not "
            "(CVE-2021-25740).",
     .reloadable = true},
    {.name = "guards.service_status",
     .type = Type::boolean,
     .default_text = "false",
     .doc = "Whether tenants may write status.loadBalancer of Services: every node then sends "
            "what goes to such an address to that tenant's pods (CVE-2020-8554).",
     .reloadable = true},
    {.name = "guards.conversion_webhooks",
     .type = Type::boolean,
     .default_text = "false",
     .doc = "Whether tenants' definitions may convert between versions by a webhook: while one "
            "does not answer, upstream deletes no namespace at all, whose ever it is.",
     .reloadable = true},
    {.name = "guards.volume_drivers",
     .type = Type::list,
     .doc = "CSI drivers of which tenants may make PersistentVolumes themselves: a volume handle "
            "can name anybody's volume. \"*\" means all, and volumes without a driver too. Claims "
            "that a StorageClass provisions for need nothing.",
     .reloadable = true},
    {.name = "guards.ingress_hosts",
     .type = Type::list,
     .default_text = "*",
     .doc = "Hosts that tenants' Ingresses may claim: names, or \"*.{tenant}.example.com\" where "
            "{tenant} stands for the ID. Unless it is \"*\", an Ingress without host is refused.",
     .reloadable = true},
    {.name = "guards.priority",
     .type = Type::integer,
     .default_text = "1000000000",
     .doc = "The highest value of a tenant's own PriorityClass, and of its pods but for classes "
            "that are shared. Pods of a higher one push others off their nodes, of all tenants.",
     .reloadable = true,
     .minimum = -2147483648,
     .maximum = 1'000'000'000},
    {.name = "guards.network",
     .type = Type::choice,
     .default_text = "open",
     .doc =
         "Whether pods of a tenant are reached from outside: open (by all, as upstream has it), or "
         "isolated: by the tenant's own pods and from guards.network_from, through a "
         "NetworkPolicy in each of its namespaces. Choose isolated where upstream's network "
         "plugin enforces NetworkPolicies: where it does not, nothing is kept apart.",
     .reloadable = true,
     .choices = k_networks},
    {.name = "guards.network_from",
     .type = Type::list,
     .doc = "From where pods are reached whose network is isolated: CIDRs, as 10.0.0.0/8, and "
            "labels of the platform's namespaces, as kubernetes.io/metadata.name=ingress-nginx. "
            "The API servers' addresses have to be among them where upstream calls tenants' "
            "webhooks, and ingress controllers on nodes.",
     .reloadable = true},
    {.name = "quota.namespaces",
     .type = Type::integer,
     .default_text = "1000",
     .doc = "How many namespaces a tenant may have besides the four of every cluster; 0 means "
            "unlimited, here and below. spec.quota of a Tenant holds instead.",
     .reloadable = true},
    {.name = "quota.customresourcedefinitions",
     .type = Type::integer,
     .default_text = "500",
     .doc = "How many CustomResourceDefinitions. Each costs upstream about 1.2 MB of memory.",
     .reloadable = true},
    {.name = "quota.webhooks",
     .type = Type::integer,
     .default_text = "100",
     .doc = "How many validating and mutating webhook configurations together.",
     .reloadable = true},
    {.name = "quota.policies",
     .type = Type::integer,
     .default_text = "200",
     .doc = "How many admission policies and bindings of policies together.",
     .reloadable = true},
    {.name = "quota.nodeports",
     .type = Type::integer,
     .default_text = "100",
     .doc = "How many node ports. Upstream has 2,768 for all.",
     .reloadable = true},
    {.name = "quota.loadbalancers",
     .type = Type::integer,
     .default_text = "20",
     .doc = "How many Services of type LoadBalancer.",
     .reloadable = true},
    {.name = "quota.objects",
     .type = Type::integer,
     .default_text = "0",
     .doc = "How many objects of all kinds but Events.",
     .reloadable = true},
    {.name = "quota.bytes",
     .type = Type::size,
     .default_text = "0",
     .doc = "How many bytes these objects have together, as JSON.",
     .reloadable = true},
    {.name = "inside.enabled",
     .type = Type::boolean,
     .default_text = "true",
     .doc = "Whether zood is the API server inside tenants' pods: upstream gives them its address, "
            "its CA and tokens for it alone, by an admission policy that zood keeps there "
            "(Kubernetes 1.36 or newer). It needs an advertise that pods reach."},
    {.name = "inside.domain",
     .type = Type::string,
     .default_text = "cluster.local",
     .doc = "The domain of upstream's cluster, as its kubelets and its DNS have it."},
    {.name = "inside.dns_servers",
     .type = Type::list,
     .doc = "Addresses of the DNS servers that tenants' pods ask, as 169.254.20.10 for "
            "NodeLocal DNSCache. Default: that of Service kube-system/kube-dns."},
    {.name = "accounts.enabled",
     .type = Type::boolean,
     .default_text = "false",
     .doc = "Whether zood keeps accounts and their spaces: it then installs the kinds of "
            "config.kiosk.sh upstream, with roles and policies. zooctl account uninstall takes "
            "them away."},
    {.name = "accounts.listen",
     .type = Type::address,
     .doc = "Where account users connect (TLS), with the credential that upstream takes from them. "
            "Default: off. Port 0 lets the system choose."},
    {.name = "accounts.advertise",
     .type = Type::address,
     .doc = "What kubeconfigs of account users name as the server. Default: the address of "
            "accounts.listen, which must then be one to connect to."},
    {.name = "accounts.default_cluster_role",
     .type = Type::string,
     .default_text = "admin",
     .doc = "The ClusterRole that members have in the spaces of an Account that says nothing in "
            "spec.space.clusterRole."},
    {.name = "accounts.single_account_default",
     .type = Type::boolean,
     .default_text = "true",
     .doc = "Whether a Space that names no account goes to the only account that its maker is a "
            "member of. If false, spec.account is required of members."},
    {.name = "accounts.self_service",
     .type = Type::boolean,
     .default_text = "false",
     .doc = "Whether ClusterRole kiosk-edit is bound to every user of upstream: each member may "
            "then make spaces, within the limit of the account. If false, an administrator binds "
            "it to whom they choose."},
    {.name = "accounts.rbac_limit",
     .type = Type::size,
     .default_text = "256Mi",
     .doc =
         "The most bytes of upstream's Roles, ClusterRoles and their bindings that zood keeps in "
         "memory to know who sees which namespace. Beyond it the views answer 503. Of one "
         "namespace "
         "a sixteenth is kept, and 1Mi at least: what is more there is not shown.",
     .minimum = k_mi,
     .maximum = 16 * 1024 * k_mi},
    {.name = "accounts.aggregated.listen",
     .type = Type::address,
     .doc = "Where upstream's kube-apiserver reaches zood for the kinds of tenancy.kiosk.sh. "
            "Default: off. While the group is installed and zood does not answer, upstream deletes "
            "no namespace."},
    {.name = "accounts.aggregated.advertise",
     .type = Type::address,
     .doc =
         "IP and port at which kube-apiserver reaches accounts.aggregated.listen; not a loopback "
         "address, which upstream refuses. Default: the address of accounts.aggregated.listen."},
    {.name = "accounts.aggregated.keep",
     .type = Type::boolean,
     .default_text = "false",
     .doc = "Whether tenancy.kiosk.sh stays registered upstream when zood is stopped in order: for "
            "two zoods behind one Service. If false it is withdrawn."},
    {.name = "templates.helm",
     .type = Type::path,
     .default_text = "/usr/libexec/zood/helm",
     .doc = "The helm by which templates' charts are rendered, in a sandbox. Without it, and where "
            "the kernel has no Landlock, a template with a chart fails and says so."},
    {.name = "templates.repositories",
     .type = Type::list,
     .doc = "Where templates may get charts from: what an address begins with, as "
            "https://charts.example.com or oci://registry.example.com/charts. Default: nowhere."},
    {.name = "templates.repository_ca",
     .type = Type::path,
     .doc =
         "A file of authorities (PEM) that repositories' certificates are checked with. Default: "
         "the system's."},
    {.name = "relay.enabled",
     .type = Type::boolean,
     .default_text = "true",
     .doc = "Whether upstream calls tenants' webhooks through zood, in the tenants' own words, "
            "where it reaches zood. If false, it calls their Services itself."},
    {.name = "relay.listen",
     .type = Type::address,
     .doc = "Where upstream's kube-apiserver reaches the relay of webhooks (TLS). What is stored "
            "upstream names it, so that a port that the system chooses (0) is kept for the next "
            "start. Default: the host of listen, and the port behind it; if that is taken, one "
            "that the system chooses."},
    {.name = "relay.advertise",
     .type = Type::address,
     .doc = "HOST:PORT at which upstream's kube-apiserver reaches relay.listen. Default: the host "
            "of advertise, and the port of relay.listen."},
    {.name = "broker.enabled",
     .type = Type::boolean,
     .default_text = "true",
     .doc = "Whether upstream asks zood before it creates what an account's quota counts, where it "
            "reaches zood: room is then moved to where it is needed first, and the limit holds to "
            "the last object. If false, room follows what controllers lack, a moment later."},
    {.name = "broker.listen",
     .type = Type::address,
     .doc = "Where upstream's kube-apiserver reaches the broker of quotas (TLS). Default: the host "
            "of listen, and a port that the system chooses at each start."},
    {.name = "broker.advertise",
     .type = Type::address,
     .doc = "HOST:PORT at which upstream's kube-apiserver reaches broker.listen. Default: the host "
            "of advertise, and the port of broker.listen."},
    {.name = "broker.servers",
     .type = Type::list,
     .doc = "HOST:PORT of each of upstream's API servers, where there are several: room counts "
            "when all of them know of it. Default: those of EndpointSlice default/kubernetes."},
    {.name = "compression",
     .type = Type::boolean,
     .default_text = "true",
     .doc =
         "Whether answers of more than 128 KiB go out as gzip to clients that take it, as from "
         "kube-apiserver. It saves nine bytes of ten on the wire, and more processor time than it "
         "costs.",
     .reloadable = true},
    {.name = "limits.body",
     .type = Type::size,
     .default_text = "3Mi",
     .doc = "The largest body of a request.",
     .reloadable = true,
     .minimum = k_ki,
     .maximum = 1024 * k_mi},
    {.name = "limits.header",
     .type = Type::size,
     .default_text = "64Ki",
     .doc = "The largest head of a request: line and headers together.",
     .reloadable = true,
     .minimum = 4 * k_ki,
     .maximum = k_mi},
    {.name = "limits.object",
     .type = Type::size,
     .default_text = "8Mi",
     .doc = "The largest single object of an answer that zood holds in memory to translate it.",
     .reloadable = true,
     .minimum = 64 * k_ki,
     .maximum = 1024 * k_mi},
    {.name = "limits.connections",
     .type = Type::integer,
     .default_text = "10000",
     .doc = "Connections at the same time; for those beyond, the longest idle makes room.",
     .reloadable = true,
     .minimum = 1,
     .maximum = 1'000'000},
    {.name = "limits.streams",
     .type = Type::integer,
     .default_text = "250",
     .doc = "HTTP/2 streams at the same time on one connection.",
     .reloadable = true,
     .minimum = 1,
     .maximum = 10'000},
    {.name = "limits.idle_timeout",
     .type = Type::duration,
     .default_text = "1h",
     .doc = "How long a connection may be without a request before it is closed. A stream (watch, "
            "log, exec) may be silent as long as it likes: a peer that is gone is found by TCP.",
     .reloadable = true,
     .minimum = k_second,
     .maximum = 7 * 24 * k_hour},
    {.name = "limits.requests_inflight",
     .type = Type::integer,
     .default_text = "400",
     .doc = "Requests of one tenant at the same time, watches not counted; those beyond are "
            "answered 429. spec.flow of a Tenant holds instead of this and the next three.",
     .reloadable = true,
     .minimum = 1,
     .maximum = 1'000'000},
    {.name = "limits.mutations_inflight",
     .type = Type::integer,
     .default_text = "200",
     .doc = "Of these, writes.",
     .reloadable = true,
     .minimum = 1,
     .maximum = 1'000'000},
    {.name = "limits.long_running",
     .type = Type::integer,
     .default_text = "2000",
     .doc = "Watches, logs, exec and port-forward of one tenant at the same time.",
     .reloadable = true,
     .minimum = 1,
     .maximum = 1'000'000},
    {.name = "limits.buffered",
     .type = Type::size,
     .default_text = "64Mi",
     .doc = "Bytes of request bodies, and of answers that its clients have not read, that are "
            "held for one tenant at the same time. Its /openapi/v2 must fit in; a watch that "
            "would hold more ends.",
     .reloadable = true,
     .minimum = k_mi},
    {.name = "limits.total_inflight",
     .type = Type::integer,
     .default_text = "600",
     .doc = "Requests of all tenants at the same time, long-running ones not counted. Beyond it "
            "they wait in a queue for each tenant, which are served in turn by weight.",
     .reloadable = true,
     .minimum = 1,
     .maximum = 1'000'000},
    {.name = "limits.queue",
     .type = Type::integer,
     .default_text = "100",
     .doc = "Requests of one tenant that may wait so.",
     .reloadable = true,
     .maximum = 100'000},
    {.name = "limits.queue_wait",
     .type = Type::duration,
     .default_text = "10s",
     .doc = "How long one may wait before it is answered 429.",
     .reloadable = true,
     .minimum = 10,
     .maximum = 60 * k_second},
    {.name = "timeouts.upstream_connect",
     .type = Type::duration,
     .default_text = "5s",
     .doc = "How long a TCP connection to upstream may take; with TLS it has as long again.",
     .reloadable = true,
     .minimum = 100,
     .maximum = 120 * k_second},
    {.name = "timeouts.request",
     .type = Type::duration,
     .default_text = "60s",
     .doc = "How long upstream may take to begin its answer, and between its bytes; watches, logs "
            "and exec are not limited.",
     .reloadable = true,
     .minimum = k_second,
     .maximum = k_hour},
    {.name = "audit.output",
     .type = Type::choice,
     .default_text = "file",
     .doc =
         "Where a line of JSON goes for each request: file (audit.log in audit.dir), stderr (for "
         "journald) or none.",
     .choices = k_audit_outputs},
    {.name = "audit.dir",
     .type = Type::path,
     .doc = "Directory of the audit files. Default: audit in dir. /var/log/zood is there for it "
            "with zood.service; others need ReadWritePaths= in a drop-in."},
    {.name = "audit.level",
     .type = Type::choice,
     .default_text = "all",
     .doc = "Which requests of administrators, and of tenants that say nothing in "
            "spec.audit.level: none, denied, writes (and denied) or all.",
     .reloadable = true,
     .choices = k_audit_levels},
    {.name = "audit.max_size",
     .type = Type::size,
     .default_text = "64Mi",
     .doc = "An audit file that is larger is put aside as audit.log.1, .2, ... 0: none is; "
            "logrotate does "
            "it, and sends SIGHUP.",
     .reloadable = true,
     .maximum = 16 * 1024 * k_mi},
    {.name = "audit.max_files",
     .type = Type::integer,
     .default_text = "8",
     .doc = "How many audit files are kept, the current one included.",
     .reloadable = true,
     .minimum = 1,
     .maximum = 1000},
    {.name = "audit.overflow",
     .type = Type::choice,
     .default_text = "drop",
     .doc = "When lines come faster than they can be written: drop (counted, and said in the log "
            "and by zooctl status) or refuse (requests are answered 503 until there is room).",
     .reloadable = true,
     .choices = k_audit_overflows},
    {.name = "clusters.enabled",
     .type = Type::boolean,
     .default_text = "false",
     .doc =
         "Whether zood makes virtual clusters: VirtualCluster of kosmos.io/v1alpha1, each with a "
         "kube-apiserver, kube-controller-manager, kube-scheduler and etcd of its own."},
    {.name = "clusters.binaries",
     .type = Type::path,
     .default_text = "/usr/lib/zood/kubernetes",
     .doc = "The programs of control planes: a directory for each version of Kubernetes, such as "
            "1.36.3, with etcd, kube-apiserver, kube-controller-manager and kube-scheduler in it. "
            "packaging/control-planes makes one."},
    {.name = "clusters.version",
     .type = Type::string,
     .doc = "The version of Kubernetes of clusters that name none. Default: the newest in "
            "clusters.binaries."},
    {.name = "clusters.domain",
     .type = Type::string,
     .doc = "Each cluster's server name is its ID in this domain, whose names DNS leads to "
            "advertise; kubeconfigs name it. Default: vc.zood.internal, which DNS does not know: "
            "kubeconfigs name advertise, and that name as tls-server-name."},
    {.name = "clusters.ports",
     .type = Type::string,
     .default_text = "7500-8499",
     .doc = "The range of ports, on the host of listen, of which each cluster has one, for clients "
            "that send no server name."},
    {.name = "clusters.addresses",
     .type = Type::string,
     .default_text = "127.64.0.0/16",
     .doc = "The network of loopback addresses of which each cluster has one, with fixed ports. "
            "zoods that share a machine need networks that do not overlap."},
    {.name = "clusters.service_range",
     .type = Type::string,
     .doc = "The range of ClusterIPs of clusters that are made from then on. Default: that of the "
            "upstream's ServiceCIDR kubernetes; 10.0.0.0/16 where it has none."},
    {.name = "clusters.node_ports",
     .type = Type::string,
     .default_text = "30000-32767",
     .doc = "The range of ports of Services of type NodePort: that of the upstream."},
    {.name = "clusters.service_limit",
     .type = Type::integer,
     .default_text = "1000",
     .doc = "How many Services a cluster may have, all its namespaces together, unless its "
            "spec.limits.services says otherwise: each takes a ClusterIP of the upstream.",
     .maximum = 10'000},
    {.name = "clusters.node_port_limit",
     .type = Type::integer,
     .default_text = "50",
     .doc = "How many nodePorts the Services of a cluster may have together, unless its "
            "spec.limits.nodePorts says otherwise: all clusters and tenants share "
            "clusters.node_ports, which are 2768 as a rule.",
     .maximum = 10'000},
    {.name = "clusters.quota_fence",
     .type = Type::boolean,
     .default_text = "true",
     .doc = "Whether the upstream holds shares of virtual clusters, too: by ResourceQuota "
            "zoo-share in "
            "each of their namespaces, should zood's own count be wrong."},
    {.name = "clusters.coredns_image",
     .type = Type::string,
     .default_text = "registry.k8s.io/coredns/coredns:v1.14.7",
     .doc = "The image of the CoreDNS that zood runs in virtual clusters, but for those of "
            "spec.dns: none."},
    {.name = "clusters.memory",
     .type = Type::size,
     .default_text = "1Gi",
     .doc = "What the programs of one control plane try to keep below together, and are held to "
            "where the keeper has a cgroup of its own (zood-keeper.service).",
     .minimum = 256 * k_mi},
    {.name = "clusters.memory_reserve",
     .type = Type::size,
     .default_text = "1Gi",
     .doc = "Memory that stays free on zood's machine: with less than that and 350 MiB no control "
            "plane is started, and its cluster is Pending."},
    {.name = "clusters.etcd_quota",
     .type = Type::size,
     .default_text = "512Mi",
     .doc = "How large the database of a cluster's etcd may become. One that is full takes "
            "deletions alone, until an administrator of zood ends its alarm "
            "(docs/virtual-clusters.md). Another size starts the etcds anew.",
     .minimum = 64 * k_mi,
     .maximum = 8 * 1024 * k_mi},
    {.name = "clusters.disk_reserve",
     .type = Type::size,
     .default_text = "1Gi",
     .doc = "Room that stays free on the disk that dir is on: with less than that and 256 MiB no "
            "control plane is started, and its cluster is Pending."},
    {.name = "clusters.uid_base",
     .type = Type::integer,
     .default_text = "0",
     .doc = "Where the keeper of control planes is root: each control plane runs as a user of its "
            "own, whose number is this one and that of the cluster's address in clusters.addresses "
            "together. So many numbers behind it must be nobody else's: 1900000000 is above what "
            "Debian and systemd give away. It is at least 65536. 0: all run as zood's user. What "
            "runs keeps its user until it is paused and resumed.",
     .maximum = 2'147'483'646},
    {.name = "clusters.connections",
     .type = Type::integer,
     .default_text = "1000",
     .doc = "How many connections a cluster may have through zood, waiting ones included.",
     .minimum = 1,
     .maximum = 1'000'000},
    {.name = "clusters.egress_allow",
     .type = Type::list,
     .doc = "Where the API servers of clusters are connected to although it is refused else: "
            "loopback, addresses of this machine and of the upstream, pods and Services that are "
            "not the cluster's own. Each is a network such as 10.1.0.0/16, or a host and a port "
            "such as hooks.example.com:443. "
            "The administrators of all clusters reach what is listed."},
    {.name = "clusters.certificate_validity",
     .type = Type::duration,
     .default_text = "8760h",
     .doc = "How long the certificates of control planes and of their administrators are valid. "
            "They are made anew at two thirds of that.",
     .minimum = 600 * k_second,
     .maximum = 10 * 366 * 24 * k_hour},
    {.name = "clusters.upstream_crd",
     .type = Type::boolean,
     .default_text = "true",
     .doc = "Whether zood installs the CustomResourceDefinition of VirtualCluster in the upstream, "
            "and makes the clusters that are ordered there with kubectl."},
    {.name = "clusters.kubeconfig_in_cr",
     .type = Type::boolean,
     .default_text = "true",
     .doc = "Whether zood writes spec.kubeconfig of those: whoever may read the object upstream is "
            "then an administrator of the cluster."},
    {.name = "workers",
     .type = Type::integer,
     .default_text = "0",
     .doc = "Threads that serve tenants; 0 means one a core.",
     .maximum = 1024},
    {.name = "log.level",
     .type = Type::choice,
     .default_text = "info",
     .doc = "The least important lines that are logged.",
     .reloadable = true,
     .choices = k_levels},
    {.name = "drain_timeout",
     .type = Type::duration,
     .default_text = "30s",
     .doc = "How long requests may go on after SIGTERM before they are cut. With zood.service less "
            "than its TimeoutStopSec= less drain.delay.",
     .reloadable = true,
     .maximum = k_hour},
    {.name = "drain.delay",
     .type = Type::duration,
     .default_text = "5s",
     .doc =
         "How long the doors stay open after SIGTERM, while /readyz says 503 already: as long as "
         "load balancers need to hear of it, their interval times the failures that they wait "
         "for. Without health.listen nobody is waited for.",
     .reloadable = true,
     .maximum = 600 * k_second},
    {.name = "drain.watches",
     .type = Type::duration,
     .default_text = "10s",
     .doc = "Over how long the ends of watches are spread, so that not all of them begin anew at "
            "once; at most a half of drain_timeout.",
     .reloadable = true,
     .maximum = 600 * k_second},
};

} // namespace

std::span<const Key> zood_keys() { return k_keys; }

} // namespace zoo::config
