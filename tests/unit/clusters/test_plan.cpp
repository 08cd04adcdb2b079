// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/plan.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

using namespace zoo;
using namespace zoo::clusters;

namespace {

PlanInput some_input() {
  PlanInput out;
  out.id = "abc123";
  out.version = "1.36.3";
  out.address = "127.64.0.7";
  out.directory = "/var/lib/zood/clusters/abc123";
  out.service_range = "10.96.0.0/12";
  out.node_ports = "30000-32767";
  out.memory = 1'000;
  out.number = 7;
  return out;
}

const keeper::Component& component(const keeper::Plan& plan, std::string_view name) {
  const auto found = std::find_if(plan.components.begin(), plan.components.end(),
                                  [name](const auto& each) { return each.name == name; });
  REQUIRE(found != plan.components.end());
  return *found;
}

std::string flag(const keeper::Component& component, const std::string& name) {
  for (const auto& each : component.arguments)
    if (each.starts_with("--" + name + "=")) return each.substr(name.size() + 3);
  return "<none>";
}

} // namespace

TEST_CASE("a control plane is four programs, each after what it needs") {
  const auto plan = plan_for(some_input());
  CHECK(plan.id == "abc123");
  CHECK(plan.run);
  std::vector<std::string> names;
  for (const auto& each : plan.components)
    names.push_back(each.name);
  CHECK(names == std::vector<std::string>{"etcd", "kube-apiserver", "kube-controller-manager",
                                          "kube-scheduler"});
  CHECK(component(plan, "kube-apiserver").after == std::vector<std::string>{"etcd"});
  CHECK(component(plan, "kube-scheduler").after == std::vector<std::string>{"kube-apiserver"});
  // What the keeper takes, and what it gives back.
  const auto read = keeper::plan_of(keeper::to_json(plan));
  REQUIRE(read);
  CHECK(*read == plan);
  CHECK(plan_for(some_input()) == plan); // the same again: nothing is started anew
}

TEST_CASE("etcd is held to its quota, and to few writes between two snapshots") {
  auto input = some_input();
  CHECK(flag(component(plan_for(input), "etcd"), "quota-backend-bytes") == "<none>");
  input.etcd_quota = 512ULL << 20;
  const auto plan = plan_for(input);
  const auto& etcd = component(plan, "etcd");
  CHECK(flag(etcd, "quota-backend-bytes") == "536870912");
  CHECK(flag(etcd, "snapshot-count") == "1000");
}

TEST_CASE("the ports of programs are those of their components, and etcd's for its peers") {
  const auto plan = plan_for(some_input());
  for (const auto& each : plan.components) {
    const auto ports = ports_of(each.name);
    CHECK(std::find(ports.begin(), ports.end(), each.port) != ports.end());
  }
  CHECK(ports_of("etcd") == std::vector<std::uint16_t>{k_etcd_port, k_etcd_peer_port});
  CHECK(ports_of("").size() == 5);
  CHECK(ports_of("kubelet").empty());
}

TEST_CASE("the first two start alone, as they will go on") {
  auto input = some_input();
  const auto whole = plan_for(input);
  input.whole = false;
  const auto first = plan_for(input);
  REQUIRE(first.components.size() == 2);
  CHECK(first.components[0] == whole.components[0]);
  CHECK(first.components[1] == whole.components[1]);
}

TEST_CASE("another authority starts those anew that read once whom they trust") {
  auto input = some_input();
  const auto before = plan_for(input);
  input.authority_turn = 1;
  const auto after = plan_for(input);
  for (const auto* name : {"etcd", "kube-apiserver"})
    CHECK(component(before, name) == component(after, name));
  for (const auto* name : {"kube-controller-manager", "kube-scheduler"}) {
    CHECK(component(before, name).arguments == component(after, name).arguments);
    CHECK(component(after, name).environment.back() == "ZOO_AUTHORITY_TURN=1");
  }
  const auto& controllers = component(after, "kube-controller-manager");
  CHECK(flag(controllers, "cluster-signing-cert-file").ends_with("/pki/ca-signing.crt"));
  CHECK(flag(controllers, "root-ca-file").ends_with("/pki/ca.crt"));
}

TEST_CASE("all of it listens on the cluster's own address, with keys of its own directory") {
  const auto plan = plan_for(some_input());
  for (const auto& each : plan.components) {
    CHECK(each.address == "127.64.0.7");
    for (const auto& argument : each.arguments) {
      CHECK(argument.find("0.0.0.0") == std::string::npos);
      if (argument.find("/pki/") != std::string::npos)
        CHECK(argument.find("/var/lib/zood/clusters/abc123/pki/") != std::string::npos);
      CHECK(argument.find("token-auth-file") == std::string::npos);
    }
  }
  const auto& etcd = component(plan, "etcd");
  CHECK(flag(etcd, "listen-client-urls") == "https://127.64.0.7:23790");
  CHECK(flag(etcd, "client-cert-auth") == "true");
  CHECK(flag(etcd, "peer-client-cert-auth") == "true");
  const auto& api = component(plan, "kube-apiserver");
  CHECK(flag(api, "bind-address") == "127.64.0.7");
  CHECK(flag(api, "secure-port") == "26443");
  CHECK(flag(api, "service-cluster-ip-range") == "10.96.0.0/12");
  CHECK(flag(api, "authorization-mode") == "Node,RBAC");
  CHECK(flag(api, "profiling") == "false");
  // Pods reach that, and no address of the cluster's own.
  CHECK(flag(api, "service-account-jwks-uri") ==
        flag(api, "service-account-issuer") + "/openid/v1/jwks");
  CHECK(flag(api, "egress-selector-config-file") == "/var/lib/zood/clusters/abc123/egress.yaml");
  for (const auto* name : {"kube-controller-manager", "kube-scheduler"}) {
    CHECK(flag(component(plan, name), "bind-address") == "127.64.0.7");
    CHECK(flag(component(plan, name), "leader-elect") == "false");
  }
  const auto& environment = api.environment;
  CHECK(std::find(environment.begin(), environment.end(), "GOMEMLIMIT=600") != environment.end());
}

TEST_CASE("a plan says which number is its cluster's") {
  CHECK(plan_for(some_input()).number == 7);
}

TEST_CASE("whatever a kube-apiserver asks outside goes to one socket") {
  const auto value = nlohmann::json::parse(egress_configuration());
  CHECK(value["egressSelections"].size() == 2);
  for (const auto& each : value["egressSelections"]) {
    CHECK(each["connection"]["proxyProtocol"] == "HTTPConnect");
    CHECK(each["connection"]["transport"]["uds"]["udsName"] == "/proc/self/cwd/egress.sock");
  }
}

TEST_CASE("addresses are networks of loopback") {
  const auto range = parse_addresses("127.64.0.0/16");
  REQUIRE(range);
  CHECK(range->text(1) == "127.64.0.1");
  CHECK(range->text(300) == "127.64.1.44");
  CHECK(range->size == 65'536);
  for (const auto* text : {"", "127.64.0.0", "10.0.0.0/16", "127.64.0.1/16", "127.64.0.0/31",
                           "127.64.0.0/7", "127.64.0/16", "127.64.0.256/24", "127.64.0.0/x"})
    CHECK_FALSE(parse_addresses(text));
}

TEST_CASE("users of control planes are as many as addresses, and nobody else's") {
  const auto range = parse_addresses("127.64.0.0/16").value();
  for (const auto base : {0ULL, 65'536ULL, 1'900'000'000ULL, 2'147'418'110ULL})
    CHECK(check_uid_base(base, range));
  for (const auto base : {1ULL, 1'000ULL, 65'535ULL, 2'147'418'111ULL, 1ULL << 32U})
    CHECK_FALSE(check_uid_base(base, range));
  CHECK(check_uid_base(7, range).error().message() ==
        "clusters.uid_base must be 0, or a number from 65536 to 2147418110, behind which 65536 "
        "user numbers are nobody else's, as many as clusters.addresses has addresses; not 7");
}

TEST_CASE("ports are a range") {
  const auto range = parse_ports("clusters.ports", "7500-8499");
  REQUIRE(range);
  CHECK(range->first == 7'500);
  CHECK(range->last == 8'499);
  for (const auto* text : {"", "7500", "8499-7500", "0-5", "1-65536", "a-b"})
    CHECK_FALSE(parse_ports("clusters.ports", text));
  CHECK(parse_ports("clusters.node_ports", "7").error().message() ==
        "clusters.node_ports must be a range such as 7500-8499, not '7'");
}

TEST_CASE("a version is the one that is wished, or the newest") {
  const std::vector<std::string> present = {"1.9.0", "1.36.3", "1.33.13"};
  CHECK(choose_version("", present) == "1.36.3");
  CHECK(choose_version("1.33.13", present) == "1.33.13");
  const auto missing = choose_version("1.34.0", present);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message() == "Kubernetes 1.34.0 is not in clusters.binaries, which has "
                                     "1.9.0, 1.33.13, 1.36.3: `packaging/control-planes 1.34.0` "
                                     "builds it");
  CHECK_FALSE(choose_version("", {}));
  CHECK(older_version("1.9.0", "1.36.3"));
  CHECK_FALSE(older_version("1.36.3", "1.36.3"));
}
