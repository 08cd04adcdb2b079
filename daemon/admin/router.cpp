// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/router.hpp"

#include "common/base/text.hpp"
#include "daemon/admin/audit.hpp"
#include "daemon/admin/discovery.hpp"
#include "daemon/admin/metrics.hpp"
#include "daemon/admin/openapi.hpp"
#include "daemon/admin/reviews.hpp"

#include <array>
#include <optional>
#include <span>

namespace zoo::admin {
namespace {

constexpr std::string_view k_roots[] = {"api",    "apis",    "healthz", "livez", "metrics",
                                        "readyz", "openapi", "version", "zoo"};
constexpr std::string_view k_groups[] = {"tenant.kubezoo.io", "authentication.k8s.io",
                                         "authorization.k8s.io"};
constexpr std::string_view k_versions[] = {"v1alpha1"};
constexpr std::string_view k_resources[] = {"tenants"};
constexpr std::string_view k_subresources[] = {"status", "kubeconfig", "certificates", "revoke",
                                               "rotate"};
constexpr std::string_view k_zoo[] = {"status", "doctor", "audit"};

Answer wrong_method(const Request& request, std::string_view allowed) {
  auto answer = failure(Error(Code::method_not_allowed,
                              fmt::format("the server does not allow {} on {}; it allows {}",
                                          request.method, request.path(), allowed)));
  answer.headers.add("Allow", allowed);
  return answer;
}

/// "there is no tenats in tenant.kubezoo.io/v1alpha1; did you mean "tenants"?"
Answer nothing_here(std::string_view what, std::string_view word,
                    std::span<const std::string_view> known) {
  auto words = fmt::format("the server could not find the requested resource: zood's admin API has "
                           "no {} \"{}\"",
                           what, word);
  if (const auto meant = text::nearest(word, known))
    words += fmt::format("; did you mean \"{}\"?", *meant);
  return failure(Error(Code::not_found, words));
}

bool reads(const Request& request) { return request.method == "GET" || request.method == "HEAD"; }

} // namespace

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

Answer Router::get_or_405(const Request& request, std::optional<Answer> answer) {
  return reads(request) ? *std::move(answer) : wrong_method(request, "GET");
}

Answer Router::handle(const Request& request) {
  const auto& path = request.segments;
  if (path.empty()) {
    Answer answer;
    answer.body =
        "{\"paths\":[\"/api\",\"/apis\",\"/apis/tenant.kubezoo.io/v1alpha1\",\"/healthz\","
        "\"/livez\",\"/metrics\",\"/openapi/v2\",\"/openapi/v3\",\"/readyz\",\"/version\",\"/zoo/"
        "v1/audit\","
        "\"/zoo/v1/doctor\",\"/zoo/v1/status\"]}\n";
    return get_or_405(request, std::move(answer));
  }
  if (path[0] == "zoo") return zoo(request);
  if (path[0] == "metrics" && path.size() == 1)
    return reads(request) ? metrics_answer(status_, tenants_) : wrong_method(request, "GET");
  if (is_health(request)) return health(request);
  if (auto answer = discovery_answer(request)) return get_or_405(request, std::move(answer));
  if (auto answer = openapi_answer(request)) return get_or_405(request, std::move(answer));
  if (path[0] == "apis" && path.size() > 1) {
    if (path[1] == "authentication.k8s.io" || path[1] == "authorization.k8s.io")
      return reviews(request);
    if (path[1] != api::k_tenant_group) return nothing_here("API group", path[1], k_groups);
    if (path.size() < 4) return nothing_here("path", request.path(), {});
    if (path[2] != "v1alpha1") return nothing_here("version", path[2], k_versions);
    return tenants(request);
  }
  if (path[0] == "api" || path[0] == "openapi") return nothing_here("resource", request.path(), {});
  return nothing_here("path", path[0], k_roots);
}

Answer Router::tenants(const Request& request) {
  const auto& path = request.segments;
  if (path[3] != api::k_tenant_resource) {
    if (path[3] == "namespaces" && path.size() > 4)
      return failure(Error(Code::not_found, "Tenants have no namespace: ask for "
                                            "/apis/tenant.kubezoo.io/v1alpha1/tenants"));
    // `watch/tenants`: the deprecated form, which nothing has sent since 2018.
    return nothing_here("resource", path[3], k_resources);
  }
  if (path.size() == 4) {
    if (reads(request)) {
      const auto watch = request.flag("watch");
      if (!watch) return tenant_failure(watch.error(), "");
      return *watch ? api_.watch(request) : api_.list(request);
    }
    if (request.method == "POST") return api_.create(request);
    return wrong_method(request, "GET, POST");
  }
  const auto& id = path[4];
  if (path.size() == 5) {
    if (reads(request)) {
      return api_.get(request, id, request.method == "GET");
    }
    if (request.method == "PUT") return api_.update(request, id);
    if (request.method == "PATCH") return api_.patch(request, id);
    if (request.method == "DELETE") return api_.remove(request, id);
    return wrong_method(request, "GET, PUT, PATCH, DELETE");
  }
  if (path.size() == 6 && path[5] == "status")
    return reads(request) ? api_.get(request, id, false) : wrong_method(request, "GET");
  if (path.size() == 6 && path[5] == "kubeconfig")
    return request.method == "POST" ? api_.kubeconfig(request, id) : wrong_method(request, "POST");
  if (path.size() == 6 && path[5] == "certificates")
    return reads(request) ? api_.certificates(request, id) : wrong_method(request, "GET");
  if (path.size() == 6 && path[5] == "rotate")
    return request.method == "POST" ? api_.rotate(request, id) : wrong_method(request, "POST");
  if (path.size() == 6 && path[5] == "revoke")
    return request.method == "POST" ? api_.revoke(request, id) : wrong_method(request, "POST");
  return nothing_here("subresource", path[5], k_subresources);
}

Answer Router::zoo(const Request& request) {
  const auto& path = request.segments;
  if (path.size() != 3 || path[1] != "v1")
    return nothing_here("path", path.size() > 2 ? path[2] : request.path(), k_zoo);
  if (path[2] == "status")
    return reads(request) ? status_answer(status_, tenants_) : wrong_method(request, "GET");
  if (path[2] == "audit")
    return reads(request) ? audit_answer(request, audit_) : wrong_method(request, "GET");
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
