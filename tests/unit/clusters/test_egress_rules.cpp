// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/egress_rules.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace zoo;
using namespace zoo::clusters;

namespace {

net::Networks networks(const std::vector<std::string>& texts) {
  return net::Networks::parse(texts).value();
}

EgressPlaces places() {
  return {networks({"203.0.113.7"}),
          networks({"198.51.100.1", "10.30.0.0/24"}),
          networks({"10.96.0.0/12"}),
          networks({"10.244.0.0/16"}),
          {"api.example.com", "bastion.example.com"}};
}

std::string judged(const std::string& address, const EgressAllowed& allowed = {}) {
  const auto parsed = net::numeric_address(address, 443);
  REQUIRE(!parsed.empty());
  const auto verdict =
      judge_address(parsed.front(), allowed, places(), networks({"10.20.0.5", "2001:db8::7"}));
  return verdict ? "" : verdict.error().message();
}

} // namespace

TEST_CASE("addresses that nobody is connected to") {
  struct Row {
    std::string address;
    std::string_view says; ///< "": one may
  };
  const std::vector<Row> rows = {
      {"0.0.0.0", "unspecified"},
      {"0.1.2.3", "unspecified"},
      {"::", "unspecified"},
      {"127.0.0.1", "loopback"},
      {"127.64.0.1", "loopback"}, // other clusters' API servers
      {"127.255.255.254", "loopback"},
      {"::1", "loopback"},
      {"169.254.169.254", "link-local"},
      {"fe80::1", "link-local"},
      {"febf::1", "link-local"},
      {"fec0::1", "link-local"},
      {"224.0.0.1", "of a group"},
      {"239.255.255.255", "of a group"},
      {"240.0.0.1", "of a group"},
      {"255.255.255.255", "of a group"},
      {"ff02::1", "of a group"},
      {"::ffff:127.0.0.1", "another address in it"},
      {"::ffff:8.8.8.8", "another address in it"},
      {"::ffff:0.0.0.0", "another address in it"},
      {"::127.0.0.1", "another address in it"},
      {"64:ff9b::7f00:1", "another address in it"},
      {"64:ff9b:1::a00:1", "another address in it"},
      {"2002:7f00:1::1", "another address in it"},
      {"2001:0:7f00:1::", "another address in it"},
      {"168.63.129.16", "a cloud"},
      {"100.100.100.200", "a cloud"},
      {"100.96.0.96", "a cloud"},
      {"100.80.80.80", "a cloud"},
      {"192.80.8.124", "a cloud"},
      {"fd20:ce::254", "a cloud"},
      {"fd00:c1::a9fe:a9fe", "a cloud"},
      {"fd00:42::42", "a cloud"},
      {"fd00:a9fe:a9fe::1", "a cloud"},
      {"fd00:100::100:200", "a cloud"},
      {"192.0.0.192", "a cloud"},
      {"fd00:ec2::254", "a cloud"},
      {"203.0.113.7", "zood's own machine"},
      {"10.20.0.5", "zood's own machine"},
      {"2001:db8::7", "zood's own machine"},
      {"198.51.100.1", "the upstream's API"},
      {"10.30.0.9", "one of its nodes"},
      {"10.100.0.1", "of a Service"},
      {"10.244.3.4", "of a pod"},
      {"203.0.113.8", ""},
      {"168.63.129.17", ""},
      {"100.100.100.201", ""},
      {"10.20.0.6", ""},
      {"192.168.1.1", ""},
      {"8.8.8.8", ""},
      {"2001:db8::8", ""},
      {"fd12::1", ""},
  };
  for (const auto& row : rows) {
    CAPTURE(row.address);
    const auto says = judged(row.address);
    CHECK(says.empty() == row.says.empty());
    CHECK(says.find(row.says) != std::string::npos);
  }
}

TEST_CASE("what is refused says which address, and which key opens it") {
  CHECK(judged("127.0.0.1") ==
        "127.0.0.1 is of loopback: the API server of a virtual cluster is not connected to it "
        "(clusters.egress_allow)");
}

TEST_CASE("an administrator opens networks, and hosts with their port") {
  const std::vector<std::string> texts = {"127.0.0.0/30", "10.96.0.10", "Hooks.Example.com:8443",
                                          "[2001:db8::7]:443", "127.0.0.1:9443"};
  const auto allowed = parse_egress_allow(texts);
  REQUIRE(allowed);
  CHECK(judged("127.0.0.1", *allowed).empty());
  CHECK(!judged("127.0.0.9", *allowed).empty());
  CHECK(judged("10.96.0.10", *allowed).empty());
  CHECK(!judged("::ffff:127.0.0.1", *allowed).empty()); // it has another spelling
  CHECK(allowed->targets.contains("hooks.example.com:8443"));
  CHECK(allowed->targets.contains("[2001:db8::7]:443"));
  for (const auto* bad : {"", "hooks.example.com", "10.1.0.1/8", "host:0", "host:65536", ":443",
                          "::1:443x", "a/b:1", "u@h:1"}) {
    CAPTURE(bad);
    const auto wrong = parse_egress_allow(std::vector<std::string>{bad});
    REQUIRE(!wrong);
    CHECK(wrong.error().code() == Code::usage);
  }
}

TEST_CASE("names that are not looked up") {
  for (const auto* name :
       {"localhost", "localhost.", "a.localhost", "zood.internal", "x.zood.internal",
        "api.example.com", "api.example.com.", "bastion.example.com"}) {
    CAPTURE(name);
    CHECK(!judge_name(name, places()));
  }
  for (const auto* name : {"hooks.example.com", "localhost.example.com", "notzood.internal"}) {
    CAPTURE(name);
    CHECK(judge_name(name, places()).has_value());
  }
}
