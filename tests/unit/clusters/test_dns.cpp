// SPDX-License-Identifier: Apache-2.0
#include "common/kube/json_reads.hpp"
#include "daemon/clusters/dns.hpp"

#include <doctest/doctest.h>

using namespace zoo;
using namespace zoo::clusters;

TEST_CASE("what CoreDNS has in a cluster, in the order in which it is made") {
  const auto all = dns_objects("clu5t3", "image:1");
  std::vector<std::string> paths;
  for (const auto& each : all)
    paths.push_back(each.path());
  CHECK(paths == std::vector<std::string>{
                     "/api/v1/namespaces/kube-system/serviceaccounts/coredns",
                     "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Acoredns",
                     "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/system%3Acoredns",
                     "/api/v1/namespaces/kube-system/configmaps/coredns",
                     "/apis/apps/v1/namespaces/kube-system/deployments/coredns",
                     "/api/v1/namespaces/kube-system/services/kube-dns"});
  const auto& pod = all[4].object["spec"]["template"]["spec"];
  CHECK(pod["containers"][0]["image"] == "image:1");
  CHECK(pod["dnsPolicy"] == "Default"); // it asks the host for other names, not itself
  CHECK_FALSE(all[5].object["spec"].contains("clusterIP"));
  const auto rules = all[3].object["data"]["Corefile"].get<std::string>();
  CHECK(
      rules.find("    errors\n"
                 "    rewrite stop name regex ^(.+)\\.clu5t3-([^.]+)\\.svc\\.cluster\\.local\\.?$ "
                 "{1}.{2}.svc.cluster.local answer auto\n"
                 "    health {\n") != std::string::npos);
  for (const auto& each : all) {
    CHECK(kube::texts_at(each.object, "/metadata/labels").contains(k_dns_label));
    CHECK(kube::texts_at(each.object, "/metadata/annotations").at(k_dns_wish).size() == 16);
  }
}

TEST_CASE("another image is another wish about the Deployment alone") {
  const auto one = dns_objects("clu5t3", "image:1"), other = dns_objects("clu5t3", "image:2");
  REQUIRE(one.size() == other.size());
  for (std::size_t i = 0; i < one.size(); ++i)
    CHECK((one[i].object == other[i].object) == (i != 4));
}
