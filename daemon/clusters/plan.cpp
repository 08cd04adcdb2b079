// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/plan.hpp"

#include "common/base/text.hpp"
#include "daemon/keeper/users.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>

namespace zoo::clusters {
namespace {

template <class Number>
bool read_number(std::string_view text, Number& out) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), out);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && !text.empty();
}

/// Go's collector works more often for less memory: 276 MiB a control plane instead of 334, at the
/// price of a few percent of CPU. GOMEMLIMIT is a wish, which a program that needs more exceeds.
std::vector<std::string> go_environment(std::uint64_t memory, unsigned percent) {
  std::vector<std::string> out = {"GOGC=50", "GOMAXPROCS=2"};
  if (memory != 0) out.push_back(fmt::format("GOMEMLIMIT={}", memory / 100 * percent));
  return out;
}

std::array<unsigned, 3> numbers_of(std::string_view version) {
  std::array<unsigned, 3> out{};
  const auto parts = text::split(version, '.');
  for (std::size_t i = 0; i < out.size() && i < parts.size(); ++i)
    read_number(parts[i], out[i]);
  return out;
}

} // namespace

keeper::Plan plan_for(const PlanInput& input) {
  const auto pki = [&input](std::string_view name) {
    return fmt::format("{}/pki/{}", input.directory, name);
  };
  const auto flag = [](std::string_view name, std::string_view value) {
    return fmt::format("--{}={}", name, value);
  };
  const auto url = [&input](std::uint16_t port) {
    return fmt::format("https://{}:{}", input.address, port);
  };
  const auto component = [&input](std::string name, std::uint16_t port, unsigned memory_percent) {
    keeper::Component out;
    out.name = std::move(name);
    out.address = input.address;
    out.port = port;
    out.environment = go_environment(input.memory, memory_percent);
    return out;
  };
  // kube-apiserver, and the clients of it in its own process, read again what they trust; these do
  // not.
  const auto trusts_once = [&input](keeper::Component& program) {
    if (input.authority_turn != 0)
      program.environment.push_back(fmt::format("ZOO_AUTHORITY_TURN={}", input.authority_turn));
  };
  // Of what works beside kube-apiserver: how it gets in there, and where it is asked itself.
  const auto beside_apiserver = [&](std::string_view kubeconfig, std::uint16_t port) {
    const auto access = fmt::format("{}/{}", input.directory, kubeconfig);
    return std::vector<std::string>{flag("kubeconfig", access),
                                    flag("authentication-kubeconfig", access),
                                    flag("authorization-kubeconfig", access),
                                    flag("bind-address", input.address),
                                    flag("secure-port", std::to_string(port)),
                                    flag("tls-cert-file", pki("apiserver.crt")),
                                    flag("tls-private-key-file", pki("apiserver.key")),
                                    "--leader-elect=false",
                                    "--profiling=false"};
  };
  keeper::Plan plan{input.id,    input.version, input.run, {}, {input.memory, input.weight},
                    input.number};

  auto etcd = component("etcd", k_etcd_port, 12);
  etcd.arguments = {
      flag("data-dir", input.directory + "/etcd"), "--log-level=warn",
      flag("listen-client-urls", url(k_etcd_port)), flag("advertise-client-urls", url(k_etcd_port)),
      flag("listen-peer-urls", url(k_etcd_peer_port)),
      flag("initial-advertise-peer-urls", url(k_etcd_peer_port)),
      flag("initial-cluster", "default=" + url(k_etcd_peer_port)), "--client-cert-auth=true",
      "--peer-client-cert-auth=true", flag("cert-file", pki("etcd-server.crt")),
      flag("key-file", pki("etcd-server.key")), flag("trusted-ca-file", pki("etcd-ca.crt")),
      flag("peer-cert-file", pki("etcd-server.crt")), flag("peer-key-file", pki("etcd-server.key")),
      flag("peer-trusted-ca-file", pki("etcd-ca.crt")), "--auto-compaction-mode=periodic",
      "--auto-compaction-retention=1h",
      // Beside the database there is the log of writes since the last snapshot, each
      // of 1.5 MiB at most: with the usual ten thousand it would be many gigabytes.
      "--snapshot-count=1000"};
  if (input.etcd_quota != 0)
    etcd.arguments.push_back(flag("quota-backend-bytes", std::to_string(input.etcd_quota)));
  etcd.writes = {"etcd"};
  plan.components.push_back(std::move(etcd));

  auto apiserver = component("kube-apiserver", k_api_port, 60);
  apiserver.after = {"etcd"};
  apiserver.arguments = {flag("etcd-servers", url(k_etcd_port)),
                         flag("etcd-cafile", pki("etcd-ca.crt")),
                         flag("etcd-certfile", pki("etcd-client.crt")),
                         flag("etcd-keyfile", pki("etcd-client.key")),
                         flag("bind-address", input.address),
                         flag("advertise-address", input.address),
                         flag("secure-port", std::to_string(k_api_port)),
                         flag("tls-cert-file", pki("apiserver.crt")),
                         flag("tls-private-key-file", pki("apiserver.key")),
                         flag("client-ca-file", pki("ca.crt")),
                         "--authorization-mode=Node,RBAC",
                         "--allow-privileged=true",
                         "--profiling=false",
                         "--endpoint-reconciler-type=none",
                         flag("service-cluster-ip-range", input.service_range),
                         flag("service-node-port-range", input.node_ports),
                         "--service-account-issuer=https://kubernetes.default.svc",
                         flag("service-account-key-file", pki("sa.key")),
                         flag("service-account-signing-key-file", pki("sa.key")),
                         flag("requestheader-client-ca-file", pki("front-proxy-ca.crt")),
                         "--requestheader-allowed-names=front-proxy",
                         "--requestheader-username-headers=X-Remote-User",
                         "--requestheader-group-headers=X-Remote-Group",
                         "--requestheader-extra-headers-prefix=X-Remote-Extra-",
                         flag("proxy-client-cert-file", pki("front-proxy.crt")),
                         flag("proxy-client-key-file", pki("front-proxy.key")),
                         flag("egress-selector-config-file", input.directory + "/egress.yaml")};
  // Where pods find the keys of tokens: by itself it would name an address of loopback.
  apiserver.arguments.push_back(
      "--service-account-jwks-uri=https://kubernetes.default.svc/openid/v1/jwks");
  plan.components.push_back(std::move(apiserver));

  if (!input.whole) return plan;

  auto controllers = component("kube-controller-manager", k_controllers_port, 12);
  controllers.after = {"kube-apiserver"};
  controllers.arguments = beside_apiserver("controller-manager.kubeconfig", k_controllers_port);
  controllers.arguments.insert(
      controllers.arguments.end(),
      {"--use-service-account-credentials=true",
       // Its first start makes some forty accounts and tokens: with 20 a second, the default, a
       // cluster would be there five seconds later.
       "--kube-api-qps=300", "--kube-api-burst=600",
       // Nodes are told dead by zood alone: its own absence must not evict pods.
       "--node-monitor-grace-period=1h",
       "--controllers=*,-nodeipam,-attachdetach,-persistentvolume-binder,"
       "-persistentvolume-expander,-cloud-node-lifecycle,-ttl",
       flag("service-account-private-key-file", pki("sa.key")), flag("root-ca-file", pki("ca.crt")),
       flag("cluster-signing-cert-file", pki("ca-signing.crt")),
       flag("cluster-signing-key-file", pki("ca.key"))});
  trusts_once(controllers);
  plan.components.push_back(std::move(controllers));

  auto scheduler = component("kube-scheduler", k_scheduler_port, 8);
  scheduler.after = {"kube-apiserver"};
  scheduler.arguments = beside_apiserver("scheduler.kubeconfig", k_scheduler_port);
  trusts_once(scheduler);
  plan.components.push_back(std::move(scheduler));
  return plan;
}

std::vector<std::uint16_t> ports_of(std::string_view component) {
  constexpr std::pair<std::string_view, std::uint16_t> k_ports[] = {
      {"kube-apiserver", k_api_port},
      {"etcd", k_etcd_port},
      {"etcd", k_etcd_peer_port},
      {"kube-controller-manager", k_controllers_port},
      {"kube-scheduler", k_scheduler_port}};
  std::vector<std::uint16_t> out;
  for (const auto& [name, port] : k_ports)
    if (component.empty() || component == name) out.push_back(port);
  return out;
}

std::string egress_configuration() {
  nlohmann::json selections = nlohmann::json::array();
  for (const char* name : {"cluster", "controlplane"})
    selections.push_back(
        {{"name", name},
         {"connection",
          {{"proxyProtocol", "HTTPConnect"},
           {"transport",
            {{"uds", {{"udsName", fmt::format("{}/egress.sock", keeper::k_here)}}}}}}}});
  return nlohmann::json{{"apiVersion", "apiserver.k8s.io/v1beta1"},
                        {"kind", "EgressSelectorConfiguration"},
                        {"egressSelections", std::move(selections)}}
      .dump(2);
}

std::string AddressRange::text(std::uint32_t number) const {
  const auto address = first + number;
  return fmt::format("{}.{}.{}.{}", address >> 24U, address >> 16U & 255U, address >> 8U & 255U,
                     address & 255U);
}

Result<AddressRange> parse_addresses(std::string_view text) {
  const auto bad = [text] {
    return fail(Code::usage,
                "clusters.addresses must be a network of 127.0.0.0/8 such as 127.64.0.0/16, not "
                "'{}'",
                text);
  };
  const auto slash = text.find('/');
  if (slash == text.npos) return bad();
  unsigned bits = 0;
  if (!read_number(text.substr(slash + 1), bits) || bits < 8 || bits > 30) return bad();
  const auto parts = text::split(text.substr(0, slash), '.');
  if (parts.size() != 4) return bad();
  AddressRange out;
  for (const auto part : parts) {
    unsigned value = 0;
    if (!read_number(part, value) || value > 255) return bad();
    out.first = out.first << 8U | value;
  }
  out.size = std::uint32_t{1} << (32 - bits);
  if (out.first >> 24U != 127 || (out.first & (out.size - 1)) != 0) return bad();
  return out;
}

Result<void> check_uid_base(std::uint64_t base, const AddressRange& addresses) {
  const auto most = keeper::k_highest_uid - addresses.size;
  if (base == 0 || (base >= keeper::k_lowest_uid && base <= most)) return {};
  return fail(Code::usage,
              "clusters.uid_base must be 0, or a number from {} to {}, behind which {} user "
              "numbers are nobody else's, as many as clusters.addresses has addresses; not {}",
              keeper::k_lowest_uid, most, addresses.size, base);
}

Result<PortRange> parse_ports(std::string_view key, std::string_view text) {
  const auto dash = text.find('-');
  PortRange out;
  if (dash == text.npos || !read_number(text.substr(0, dash), out.first) ||
      !read_number(text.substr(dash + 1), out.last) || out.first == 0 || out.last < out.first)
    return fail(Code::usage, "{} must be a range such as 7500-8499, not '{}'", key, text);
  return out;
}

bool older_version(std::string_view a, std::string_view b) { return numbers_of(a) < numbers_of(b); }

Result<std::string> choose_version(std::string_view wanted,
                                   const std::vector<std::string>& present) {
  if (present.empty())
    return fail(Code::not_found, "there is no version of Kubernetes in clusters.binaries: "
                                 "`packaging/control-planes VERSION` builds one");
  if (wanted.empty()) return *std::max_element(present.begin(), present.end(), older_version);
  if (std::find(present.begin(), present.end(), wanted) != present.end())
    return std::string(wanted);
  auto sorted = present;
  std::sort(sorted.begin(), sorted.end(), older_version);
  return fail(Code::not_found,
              "Kubernetes {} is not in clusters.binaries, which has {}: "
              "`packaging/control-planes {}` builds it",
              wanted, fmt::join(sorted, ", "), wanted);
}

} // namespace zoo::clusters
