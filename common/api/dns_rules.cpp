// SPDX-License-Identifier: Apache-2.0
#include "common/api/dns_rules.hpp"

#include "common/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace zoo::api {
namespace {

constexpr std::size_t k_longest_domain = 180;
constexpr std::size_t k_longest_label = 63;

constexpr std::string_view k_rules =
    R"(# Rules for CoreDNS in a cluster with tenants of zood. Put them into the server block that has
# `kubernetes @D@`, as ConfigMap kube-system/coredns has it; all else stays as it is. Where they
# stand among the other plugins does not matter: CoreDNS has an order of its own, in which rewrite
# comes before cache, so that the cache holds upstream's names.

# The API server inside a tenant is zood, whatever namespace asks.
rewrite stop name regex ^kubernetes\.default\.svc\.@E@\.[a-z0-9]{6}\.zoo\.@E@\.$ zood.zoo-system.svc.@D@ answer auto
# NAME.NAMESPACE.svc.@D@.ID.zoo.@D@ is NAME.ID-NAMESPACE.svc.@D@. On the way back the names in the
# answer are the tenant's again: owners, and targets of SRV and CNAME.
rewrite stop {
    name regex ^(.+)\.([^.]+)\.(svc|pod)\.@E@\.([a-z0-9]{6})\.zoo\.@E@\.$ {1}.{4}-{2}.{3}.@D@
    answer name (.+)\.([a-z0-9]{6})-([^.]+)\.(svc|pod)\.@E@\. {1}.{3}.{4}.@D@.{2}.zoo.@D@
    answer value (.+)\.([a-z0-9]{6})-([^.]+)\.(svc|pod)\.@E@\. {1}.{3}.{4}.@D@.{2}.zoo.@D@
}
)";

// Without a cache: one tenant's answer is not another's.
constexpr std::string_view k_second_layer =
    R"(# A server block of its own, before the one of `.:53` that is there: full names with a dot at the
# end, and clients that do not search, such as nginx and HAProxy. It goes by the address of the pod
# that asks, so that it sees nothing behind NodeLocal DNSCache, and keeps all pods in memory. A name
# that is not there is answered without an error, and SRV stops at the CNAME. Lines of `forward`,
# `errors` and others that your block has belong into this one, too, but no cache.
.:53 {
    errors
    metadata
    view tenants {
        expr metadata('kubernetes/client-namespace') matches '^[a-z0-9]{6}-.' && !(metadata('kubernetes/client-namespace') matches '^(@R@)-')
    }
    rewrite stop name regex ^kubernetes\.default\.svc\.@E@\.([a-z0-9]{6}\.zoo\.@E@\.)?$ zood.zoo-system.svc.zoo.internal answer auto
    rewrite stop name regex ^(.+)\.([^.]+)\.(svc|pod)\.@E@\.([a-z0-9]{6})\.zoo\.@E@\.$ {1}.{4}-{2}.{3}.zoo.internal answer auto
    template IN ANY @D@ {
        match ^(?P<n>.+)\.(?P<ns>[^.]+)\.(?P<k>svc|pod)\.@E@\.$
        answer "{{ .Name }} 5 IN CNAME {{ .Group.n }}.{{ slice (.Meta `kubernetes/client-namespace`) 0 7 }}{{ .Group.ns }}.{{ .Group.k }}.zoo.internal."
        fallthrough
    }
    kubernetes zoo.internal @D@ in-addr.arpa ip6.arpa {
        pods verified
        fallthrough in-addr.arpa ip6.arpa
        ttl 30
    }
    forward . /etc/resolv.conf
}
)";

std::string replaced(std::string_view text, std::string_view mark, std::string_view by) {
  std::string out;
  for (;;) {
    const auto at = text.find(mark);
    out += text.substr(0, at);
    if (at == std::string_view::npos) return out;
    out += by;
    text.remove_prefix(at + mark.size());
  }
}

std::string for_domain(std::string_view text, std::string_view domain) {
  return replaced(replaced(text, "@D@", domain), "@E@", replaced(domain, ".", "\\."));
}

bool is_label(std::string_view label) {
  return !label.empty() && label.size() <= k_longest_label && label.front() != '-' &&
         label.back() != '-' && std::all_of(label.begin(), label.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

} // namespace

bool is_cluster_domain(std::string_view text) {
  if (text.size() > k_longest_domain) return false;
  const auto labels = text::split(text, '.');
  return std::all_of(labels.begin(), labels.end(), is_label);
}

std::string corefile_rules(std::string_view domain) { return for_domain(k_rules, domain); }

std::string corefile_second_layer(std::string_view domain, std::string_view reserved_ids) {
  std::vector<std::string_view> ids;
  for (auto each : text::split(reserved_ids, ',')) {
    while (each.starts_with(' '))
      each.remove_prefix(1);
    if (is_label(each)) ids.push_back(each);
  }
  if (ids.empty()) ids.push_back("system");
  return for_domain(replaced(k_second_layer, "@R@", fmt::format("{}", fmt::join(ids, "|"))),
                    domain);
}

} // namespace zoo::api
