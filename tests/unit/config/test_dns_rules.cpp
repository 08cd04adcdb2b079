// SPDX-License-Identifier: Apache-2.0
#include "common/api/dns_rules.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace zoo;

namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a cluster's domain is labels of DNS names") {
  for (const auto* good : {"cluster.local", "k8s", "a-1.example.com"})
    CHECK(api::is_cluster_domain(good));
  for (const std::string bad :
       {"", ".", "a..b", "a.", ".a", "-a.b", "a-.b", "A.b", "a b", "a\nb", "a{}", "*.a"})
    CHECK(!api::is_cluster_domain(bad));
  CHECK(!api::is_cluster_domain(std::string(64, 'a')));
  std::string longest(60, 'a');
  longest = longest + "." + longest + "." + longest;
  CHECK(!api::is_cluster_domain(longest));
}

TEST_CASE("the rules are for the domain that is given, with its points as points") {
  const auto rules = api::corefile_rules("k8s.example");
  CHECK(has(rules,
            "rewrite stop name regex "
            "^kubernetes\\.default\\.svc\\.k8s\\.example\\.[a-z0-9]{6}\\.zoo\\.k8s\\.example\\.$ "
            "zood.zoo-system.svc.k8s.example answer auto\n"));
  CHECK(has(rules, "name regex ^(.+)\\.([^.]+)\\.(svc|pod)\\.k8s\\.example\\.([a-z0-9]{6})\\.zoo\\."
                   "k8s\\.example\\.$ {1}.{4}-{2}.{3}.k8s.example\n"));
  CHECK(has(rules, "answer value (.+)\\.([a-z0-9]{6})-([^.]+)\\.(svc|pod)\\.k8s\\.example\\. "
                   "{1}.{3}.{4}.k8s.example.{2}.zoo.k8s.example\n"));
  CHECK(!has(rules, "cluster.local"));
  CHECK(!has(rules, "@"));
}

TEST_CASE("the second layer leaves the platform's own namespaces alone") {
  const auto layer = api::corefile_second_layer("cluster.local", "system, calico,  argocd, a\"b");
  CHECK(has(layer, "matches '^(system|calico|argocd)-')"));
  CHECK(has(layer, "slice (.Meta `kubernetes/client-namespace`) 0 7"));
  CHECK(!has(layer, "cache 30"));
  CHECK(!has(layer, "@"));
}
