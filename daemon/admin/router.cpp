// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/router.hpp"

#include "common/base/text.hpp"
#include "daemon/admin/audit.hpp"
#include "daemon/admin/metrics.hpp"
#include "daemon/admin/reviews.hpp"
#include "daemon/admin/tenant_kind.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <optional>
#include <span>

namespace zoo::admin {
namespace {

using resources::reads;

constexpr std::string_view k_name = "zood's admin API"; ///< in what is said of it
constexpr std::string_view k_roots[] = {"api",    "apis",    "healthz", "livez", "metrics",
                                        "readyz", "openapi", "version", "zoo"};
constexpr std::string_view k_groups[] = {"tenant.kubezoo.io", "authentication.k8s.io",
                                         "authorization.k8s.io"};
constexpr std::string_view k_zoo[] = {"status",     "doctor", "audit",
                                      "aggregated", "backup", "invitation",
                                      "quotas",     "store",  "uninstall-accounts"};

Answer nothing_here(std::string_view what, std::string_view word,
                    std::span<const std::string_view> known) {
  return resources::nothing_here(k_name, what, word, known);
}

Answer version() {
  // What kubectl compares itself with: the Kubernetes version whose conventions this API follows.
  return json_answer(200, {{"major", "1"},
                           {"minor", "36"},
                           {"gitVersion", "v1.36.0+zood." ZOO_VERSION},
                           {"gitCommit", ""},
                           {"gitTreeState", "clean"},
                           {"buildDate", "1970-01-01T00:00:00Z"},
                           {"goVersion", ""},
                           {"compiler", "gc++"},
                           {"platform", "linux/amd64"}});
}

const std::vector<resources::ServedGroup>& review_groups() {
  static const std::vector<resources::ServedGroup> all = {
      {"authentication.k8s.io",
       "v1",
       {{"selfsubjectreviews", "SelfSubjectReview", {"create"}, "selfsubjectreview"}}},
      {"authorization.k8s.io",
       "v1",
       {{"selfsubjectaccessreviews",
         "SelfSubjectAccessReview",
         {"create"},
         "selfsubjectaccessreview"},
        {"selfsubjectrulesreviews",
         "SelfSubjectRulesReview",
         {"create"},
         "selfsubjectrulesreview"}}},
  };
  return all;
}

resources::Api own_api(tenants::TenantService& tenants, Workers& workers,
                       std::function<std::int64_t()> now, std::vector<resources::KindPtr> kinds) {
  kinds.insert(kinds.begin(), tenant_kind(tenants));
  return resources::Api(
      {.kinds = std::move(kinds),
       .others = review_groups(),
       .name = std::string(k_name),
       .title = "zood admin API",
       .later = [&workers](std::function<void()> job) { workers.put_away(std::move(job)); },
       .now = std::move(now)});
}

} // namespace

Router::Router(tenants::TenantService& tenants, StatusSource& status, Workers& workers,
               std::function<std::int64_t()> now, const audit::Log* audit,
               AggregatedSwitch* aggregated, std::vector<resources::KindPtr> kinds)
    : tenants_(tenants), status_(status), audit_(audit), aggregated_(aggregated),
      api_(own_api(tenants, workers, std::move(now), std::move(kinds))) {}

bool Router::is_health(const Request& request) {
  if (request.segments.empty() || !reads(request)) return false;
  const auto& first = request.segments.front();
  return request.segments.size() == 1 &&
         (first == "healthz" || first == "livez" || first == "readyz");
}

Answer Router::health(const Request& request) {
  return health_answer(status_, request.segments.front() == "readyz");
}

Workers::Kind Router::kind(const Request& request) {
  const bool own = !request.segments.empty() && request.segments.front() == "zoo";
  return own || !reads(request) ? Workers::Kind::slow : Workers::Kind::quick;
}

Answer Router::handle(const Request& request) {
  const auto& path = request.segments;
  if (path.empty()) {
    Answer answer;
    answer.body =
        "{\"paths\":[\"/api\",\"/apis\",\"/apis/tenant.kubezoo.io/v1alpha1\",\"/healthz\","
        "\"/livez\",\"/metrics\",\"/openapi/v2\",\"/openapi/v3\",\"/readyz\",\"/version\",\"/zoo/"
        "v1/aggregated\",\"/zoo/v1/audit\",\"/zoo/v1/backup\","
        "\"/zoo/v1/doctor\",\"/zoo/v1/invitation\",\"/zoo/v1/quotas\",\"/zoo/v1/status\",\"/zoo/v1/"
        "store\",\"/zoo/v1/"
        "uninstall-accounts\"]}\n";
    return reads(request) ? std::move(answer) : wrong_method(request, "GET");
  }
  if (path[0] == "zoo") return zoo(request);
  if (path[0] == "metrics" && path.size() == 1)
    return reads(request) ? metrics_answer(status_, tenants_) : wrong_method(request, "GET");
  if (is_health(request)) return health(request);
  if (path[0] == "version" && path.size() == 1)
    return reads(request) ? version() : wrong_method(request, "GET");
  if (auto answer = api_.handle(request)) return *std::move(answer);
  if (path[0] == "apis" && path.size() > 1) {
    if (path[1] == "authentication.k8s.io" || path[1] == "authorization.k8s.io")
      return reviews(request);
    return nothing_here("API group", path[1], k_groups);
  }
  if (path[0] == "api" || path[0] == "openapi") return nothing_here("resource", request.path(), {});
  return nothing_here("path", path[0], k_roots);
}

Answer Router::zoo(const Request& request) {
  const auto& path = request.segments;
  if (path.size() != 3 || path[1] != "v1")
    return nothing_here("path", path.size() > 2 ? path[2] : request.path(), k_zoo);
  if (path[2] == "status")
    return reads(request) ? status_answer(status_, tenants_, store_) : wrong_method(request, "GET");
  if (path[2] == "audit")
    return reads(request) ? audit_answer(request, audit_) : wrong_method(request, "GET");
  if (path[2] == "backup") return backup_answer(request, backup_);
  if (path[2] == "store") return store_answer(request, store_);
  if (path[2] == "invitation") return invitation_answer(request, store_);
  if (path[2] == "quotas") return quotas_answer(request, quotas_);
  if (path[2] == "aggregated") return aggregated_answer(request, aggregated_);
  if (path[2] == "uninstall-accounts") return uninstall_accounts_answer(request, uninstall_);
  if (path[2] == "doctor")
    return reads(request) ? doctor_answer(tenants_) : wrong_method(request, "GET");
  return nothing_here("path", path[2], k_zoo);
}

Answer Router::reviews(const Request& request) {
  const auto& path = request.segments;
  using Function = Answer (*)(const Request&);
  constexpr std::array<std::pair<std::string_view, Function>, 3> known = {{
      {"selfsubjectaccessreviews", access_review},
      {"selfsubjectrulesreviews", rules_review},
      {"selfsubjectreviews", self_review},
  }};
  if (path.size() == 4 && path[2] == "v1")
    for (const auto& [name, answer] : known) {
      const bool authentication = name == "selfsubjectreviews";
      if (path[3] != name || authentication != (path[1] == "authentication.k8s.io")) continue;
      return request.method == "POST" ? answer(request) : wrong_method(request, "POST");
    }
  return nothing_here("resource", request.path(), {});
}

} // namespace zoo::admin
