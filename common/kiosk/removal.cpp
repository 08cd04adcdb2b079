// SPDX-License-Identifier: Apache-2.0
#include "common/kiosk/removal.hpp"

#include "common/kube/client.hpp"
#include "common/kube/json_reads.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <optional>

namespace zoo::kiosk {
namespace {

using nlohmann::json;

constexpr std::string_view k_merge_patch = "application/merge-patch+json";
constexpr std::string_view k_definition = "CustomResourceDefinition";
constexpr std::string_view k_accounts = "/apis/config.kiosk.sh/v1alpha1/accounts";
constexpr std::size_t k_most_pages = 10'000;
constexpr std::size_t k_most_named = 5; ///< accounts in a refusal
constexpr int k_looks = 600;            ///< at a definition that is going, each after k_pause
constexpr int k_fence_tries = 200;
constexpr std::chrono::milliseconds k_pause{100};
constexpr std::string_view k_fenced = "ValidatingAdmissionPolicy 'zoo-accounts-";

#define ZOO_RBAC "/apis/rbac.authorization.k8s.io/v1"
#define ZOO_ADMISSION "/apis/admissionregistration.k8s.io/v1"
#define ZOO_DEFINITIONS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

constexpr std::array k_order{
    Object{"APIService", "v1alpha1.tenancy.kiosk.sh",
           "/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.tenancy.kiosk.sh"},
    Object{"ValidatingWebhookConfiguration", "zoo-quota",
           ZOO_ADMISSION "/validatingwebhookconfigurations/zoo-quota"},
    Object{"Service", "zood-accounts", "/api/v1/namespaces/zoo-system/services/zood-accounts"},
    Object{"ClusterRoleBinding", "zoo:accounts-self-service",
           ZOO_RBAC "/clusterrolebindings/zoo%3Aaccounts-self-service"},
    Object{"ClusterRoleBinding", "kiosk-view", ZOO_RBAC "/clusterrolebindings/kiosk-view"},
    Object{"ValidatingAdmissionPolicyBinding", "zoo-accounts-config",
           ZOO_ADMISSION "/validatingadmissionpolicybindings/zoo-accounts-config"},
    Object{"ValidatingAdmissionPolicy", "zoo-accounts-config",
           ZOO_ADMISSION "/validatingadmissionpolicies/zoo-accounts-config"},
    Object{"ValidatingAdmissionPolicyBinding", "zoo-accounts-objects",
           ZOO_ADMISSION "/validatingadmissionpolicybindings/zoo-accounts-objects"},
    Object{"ValidatingAdmissionPolicy", "zoo-accounts-objects",
           ZOO_ADMISSION "/validatingadmissionpolicies/zoo-accounts-objects"},
    Object{"ValidatingAdmissionPolicyBinding", "zoo-tenants-furniture",
           ZOO_ADMISSION "/validatingadmissionpolicybindings/zoo-tenants-furniture"},
    Object{"ValidatingAdmissionPolicy", "zoo-tenants-furniture",
           ZOO_ADMISSION "/validatingadmissionpolicies/zoo-tenants-furniture"},
    Object{"ValidatingAdmissionPolicyBinding", "zoo-accounts-roles",
           ZOO_ADMISSION "/validatingadmissionpolicybindings/zoo-accounts-roles"},
    Object{"ValidatingAdmissionPolicy", "zoo-accounts-roles",
           ZOO_ADMISSION "/validatingadmissionpolicies/zoo-accounts-roles"},
    Object{"ValidatingAdmissionPolicyBinding", "zoo-accounts-templates",
           ZOO_ADMISSION "/validatingadmissionpolicybindings/zoo-accounts-templates"},
    Object{"ValidatingAdmissionPolicy", "zoo-accounts-templates",
           ZOO_ADMISSION "/validatingadmissionpolicies/zoo-accounts-templates"},
    Object{"ValidatingAdmissionPolicyBinding", "zoo-accounts-names",
           ZOO_ADMISSION "/validatingadmissionpolicybindings/zoo-accounts-names"},
    Object{"ValidatingAdmissionPolicy", "zoo-accounts-names",
           ZOO_ADMISSION "/validatingadmissionpolicies/zoo-accounts-names"},
    Object{"ValidatingAdmissionPolicyBinding", "zoo-accounts-quotas",
           ZOO_ADMISSION "/validatingadmissionpolicybindings/zoo-accounts-quotas"},
    Object{"ValidatingAdmissionPolicy", "zoo-accounts-quotas",
           ZOO_ADMISSION "/validatingadmissionpolicies/zoo-accounts-quotas"},
    Object{"CustomResourceDefinition", "accounts.config.kiosk.sh",
           ZOO_DEFINITIONS "/accounts.config.kiosk.sh"},
    Object{"CustomResourceDefinition", "accountquotas.config.kiosk.sh",
           ZOO_DEFINITIONS "/accountquotas.config.kiosk.sh"},
    Object{"CustomResourceDefinition", "accountquotasets.config.kiosk.sh",
           ZOO_DEFINITIONS "/accountquotasets.config.kiosk.sh"},
    Object{"CustomResourceDefinition", "templates.config.kiosk.sh",
           ZOO_DEFINITIONS "/templates.config.kiosk.sh"},
    Object{"CustomResourceDefinition", "templateinstances.config.kiosk.sh",
           ZOO_DEFINITIONS "/templateinstances.config.kiosk.sh"},
    Object{"ValidatingAdmissionPolicyBinding", "zoo-accounts-namespaces",
           ZOO_ADMISSION "/validatingadmissionpolicybindings/zoo-accounts-namespaces"},
    Object{"ValidatingAdmissionPolicy", "zoo-accounts-namespaces",
           ZOO_ADMISSION "/validatingadmissionpolicies/zoo-accounts-namespaces"},
    Object{"ClusterRole", "kiosk-view", ZOO_RBAC "/clusterroles/kiosk-view"},
    Object{"ClusterRole", "kiosk-edit", ZOO_RBAC "/clusterroles/kiosk-edit"},
    Object{"ClusterRole", "kiosk-namespace-delete",
           ZOO_RBAC "/clusterroles/kiosk-namespace-delete"},
    Object{"ClusterRole", "kiosk-template-instances",
           ZOO_RBAC "/clusterroles/kiosk-template-instances"},
    Object{"ClusterRole", "kiosk-space-admin", ZOO_RBAC "/clusterroles/kiosk-space-admin"},
    Object{"ClusterRole", "zoo:templates", ZOO_RBAC "/clusterroles/zoo%3Atemplates"},
    Object{"ClusterRoleBinding", "zoo:zood-accounts",
           ZOO_RBAC "/clusterrolebindings/zoo%3Azood-accounts"},
    Object{"ClusterRole", "zoo:zood-accounts", ZOO_RBAC "/clusterroles/zoo%3Azood-accounts"},
};

#undef ZOO_RBAC
#undef ZOO_ADMISSION
#undef ZOO_DEFINITIONS

std::string name_of(const json& object) { return kube::text_at(object, "/metadata/name"); }

class Remover {
public:
  Remover(const Ask& ask, const RemovalWish& wish,
          const std::function<void(std::chrono::milliseconds)>& pause)
      : ask_(ask), wish_(wish), pause_(pause) {}

  Result<Removal> run() {
    ZOO_TRY_VOID(each(k_accounts, {}, [&](const json& account) -> Result<void> {
      accounts_.push_back(account);
      const auto owned = account.value("/status/namespaces"_json_pointer, json::array());
      out_.spaces += owned.is_array() ? owned.size() : 0;
      return {};
    }));
    out_.accounts = accounts_.size();
    ZOO_TRY_VOID(refuse_loss());
    for (const auto& object : k_order) {
      // The members' access goes, and the Accounts go, when no policy guards them any more.
      if (object.name == "accounts.config.kiosk.sh") {
        ZOO_TRY_VOID(remove_each("rbac.authorization.k8s.io", "", "rolebindings",
                                 "zoo.kubezoo.io/managed=true", "RoleBinding",
                                 "of members in spaces"));
        ZOO_TRY_VOID(remove_each_account());
      }
      ZOO_TRY_VOID(remove(object));
      if (object.kind == "Service")
        ZOO_TRY_VOID(remove_each("discovery.k8s.io", "zoo-system", "endpointslices",
                                 "kubernetes.io/service-name=zood-accounts", "EndpointSlice",
                                 "of Service zood-accounts"));
    }
    ZOO_TRY_VOID(wait_for_definitions());
    return std::move(out_);
  }

private:
  /// Nothing: it is not there.
  Result<std::optional<json>> ask(std::string_view method, std::string_view path,
                                  std::string_view content_type = {}, std::string body = {}) {
    ZOO_TRY(const auto response, ask_(method, path, content_type, std::move(body)));
    if (response.status == 404) return std::optional<json>();
    if (response.status < 200 || response.status > 299) return fail(kube::error_of(response));
    auto object = json::parse(response.body, nullptr, false);
    if (!object.is_object())
      return fail(Code::unavailable, "the upstream answered {} {} with something that is not JSON",
                  method, path);
    return std::optional(std::move(object));
  }

  Result<void> each(std::string_view path, kube::Query query,
                    const std::function<Result<void>(const json&)>& what) {
    query.emplace_back("limit", "500");
    std::string next;
    for (std::size_t page = 0; page < k_most_pages; ++page) {
      auto asked = query;
      if (!next.empty()) asked.emplace_back("continue", next);
      ZOO_TRY(const auto list, ask("GET", kube::with_query(path, asked)));
      if (!list) return {};
      const auto items = list->value("items", json::array());
      if (items.is_array()) {
        for (const auto& item : items)
          ZOO_TRY_VOID(what(item));
      }
      next = kube::text_at(*list, "/metadata/continue");
      if (next.empty()) return {};
    }
    return fail(Code::too_large, "the list {} has no end", path);
  }

  Result<void> refuse_loss() const {
    if (accounts_.empty() || wish_.force) return {};
    std::string names;
    for (std::size_t i = 0; i < accounts_.size() && i < k_most_named; ++i)
      names += (i > 0 ? ", " : "") + name_of(accounts_[i]);
    if (accounts_.size() > k_most_named) names += ", ...";
    return fail(Code::conflict,
                "there {} {} account{} ({}) with {} space{}: all accounts, quotas and templates of "
                "config.kiosk.sh would be lost, and the members' access to their spaces; the "
                "namespaces would stay. Delete the accounts first, or say --force",
                accounts_.size() == 1 ? "is" : "are", accounts_.size(),
                accounts_.size() == 1 ? "" : "s", names, out_.spaces, out_.spaces == 1 ? "" : "s");
  }

  /// What a selector selects, in all namespaces (`name_space` empty) or in one. `what`:
  /// "RoleBinding", `why`: "of members in spaces".
  Result<void> remove_each(std::string_view group, std::string_view name_space,
                           std::string_view resource, std::string_view selector,
                           std::string_view what, std::string_view why) {
    std::size_t count = 0;
    ZOO_TRY_VOID(each(
        name_space.empty() ? kube::path({"apis", group, "v1", resource})
                           : kube::path({"apis", group, "v1", "namespaces", name_space, resource}),
        {{"labelSelector", std::string(selector)}}, [&](const json& object) -> Result<void> {
          ++count;
          if (wish_.dry_run) return {};
          const auto space = kube::text_at(object, "/metadata/namespace");
          return gone(
              kube::path({"apis", group, "v1", "namespaces", space, resource, name_of(object)}));
        }));
    if (count > 0)
      out_.removed.push_back(fmt::format("{} {}{} {}", count, what, count == 1 ? "" : "s", why));
    return {};
  }

  /// One by one, for zood's finalizers would hold the definition.
  Result<void> remove_each_account() {
    for (const auto& account : accounts_) {
      const auto name = name_of(account);
      const auto path = kube::path({"apis", "config.kiosk.sh", "v1alpha1", "accounts", name});
      if (!wish_.dry_run) {
        if (account.contains("/metadata/finalizers"_json_pointer)) {
          ZOO_TRY(const auto freed,
                  ask("PATCH", path, k_merge_patch, R"({"metadata":{"finalizers":null}})"));
        }
        ZOO_TRY_VOID(gone(path));
      }
      out_.removed.push_back("Account " + name);
    }
    return {};
  }

  Result<void> remove(const Object& object) {
    ZOO_TRY(const auto there, ask("GET", object.path));
    if (!there) return {};
    const auto title = fmt::format("{} {}", object.kind, object.name);
    if (!is_zoods(*there)) {
      out_.left.push_back(title);
      return {};
    }
    if (!wish_.dry_run) ZOO_TRY_VOID(gone(object.path));
    out_.removed.push_back(title);
    if (object.kind == k_definition) definitions_.push_back(object);
    return {};
  }

  /// A policy that was removed just now may be in force for a moment.
  Result<void> gone(std::string_view path) {
    for (int tries = 1;; ++tries) {
      const auto answer = ask("DELETE", path);
      if (answer) return {};
      const bool fenced = answer.error().code() == Code::forbidden &&
                          answer.error().message().find(k_fenced) != std::string::npos;
      if (!fenced || tries == k_fence_tries) return fail(Error(answer.error()));
      pause_(k_pause);
    }
  }

  Result<void> wait_for_definitions() {
    if (wish_.dry_run) return {};
    for (const auto& definition : definitions_) {
      for (int look = 0;; ++look) {
        ZOO_TRY(const auto there, ask("GET", definition.path));
        if (!there) break;
        if (look == k_looks)
          return fail(Code::timeout,
                      "the definition {} is still there: an object of it has a finalizer that "
                      "nobody takes away. Find it with `kubectl get {} -A`, and run this again",
                      definition.name, definition.name);
        pause_(k_pause);
      }
    }
    return {};
  }

  const Ask& ask_;
  const RemovalWish& wish_;
  const std::function<void(std::chrono::milliseconds)>& pause_;
  std::vector<json> accounts_;
  std::vector<Object> definitions_;
  Removal out_;
};

} // namespace

std::span<const Object> removal_order() { return k_order; }

bool is_zoods(const json& object) {
  const auto labels = object.value("/metadata/labels"_json_pointer, json::object());
  return labels.is_object() && (kube::text_at(labels, "/zoo.kubezoo.io~1managed") == "true" ||
                                kube::text_at(labels, "/app.kubernetes.io~1managed-by") == "zood");
}

json to_json(const Removal& removal) {
  return {{"removed", removal.removed},
          {"left", removal.left},
          {"accounts", removal.accounts},
          {"spaces", removal.spaces}};
}

Result<Removal> remove_accounts(const Ask& ask, const RemovalWish& wish,
                                const std::function<void(std::chrono::milliseconds)>& pause) {
  return Remover(ask, wish, pause).run();
}

} // namespace zoo::kiosk
