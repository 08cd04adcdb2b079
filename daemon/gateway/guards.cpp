// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/guards.hpp"

#include "common/base/json_text.hpp"
#include "common/base/text.hpp"
#include "daemon/gateway/definitions.hpp"
#include "daemon/gateway/scope.hpp"
#include "daemon/translate/discovery_json.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <span>

namespace zoo::gateway {
namespace {

using translate::JsonNode;
using translate::JsonType;
using Path = std::span<const std::string_view>;
using Visit = std::function<Result<void>(JsonNode)>;

constexpr std::string_view k_all = "*";

/// Every value at a path, through all occurrences of its members; "[]" is each element.
Result<void> each(JsonNode node, Path path, const Visit& visit) {
  if (path.empty()) return visit(node);
  const bool element = path.front() == "[]";
  if (!node.is(element ? JsonType::array : JsonType::object)) return {};
  for (auto child = node.first(); child; child = child.next()) {
    if (!element && child.key() != path.front()) continue;
    ZOO_TRY_VOID(each(child, path.subspan(1), visit));
  }
  return {};
}

/// Where a kind has a pod's spec. Templates of revisions count: controllers make pods of them.
struct PodPlace {
  std::string_view group, resource;
  std::array<std::string_view, 5> path; ///< ends at the first empty one
};
constexpr PodPlace k_pods[] = {
    {"", "pods", {"spec"}},
    {"", "podtemplates", {"template", "spec"}},
    {"", "replicationcontrollers", {"spec", "template", "spec"}},
    {"apps", "controllerrevisions", {"data", "spec", "template", "spec"}},
    {"apps", "daemonsets", {"spec", "template", "spec"}},
    {"apps", "deployments", {"spec", "template", "spec"}},
    {"apps", "replicasets", {"spec", "template", "spec"}},
    {"apps", "statefulsets", {"spec", "template", "spec"}},
    {"batch", "cronjobs", {"spec", "jobTemplate", "spec", "template", "spec"}},
    {"batch", "jobs", {"spec", "template", "spec"}},
};

const PodPlace* pod_place(const translate::Target& target) {
  for (const auto& place : k_pods) {
    if (target.is(place.group, place.resource)) return &place;
  }
  return nullptr;
}

bool is_endpoints(const translate::Target& target) {
  return target.is("", "endpoints") || target.is("discovery.k8s.io", "endpointslices");
}

bool is_claim(const translate::Target& target) {
  return target.is("resource.k8s.io", "resourceclaims") ||
         target.is("resource.k8s.io", "resourceclaimtemplates");
}

bool is_webhooks(const translate::Target& target) {
  return target.is("admissionregistration.k8s.io", "mutatingwebhookconfigurations") ||
         target.is("admissionregistration.k8s.io", "validatingwebhookconfigurations");
}

class GuardCheck {
public:
  GuardCheck(const api::Guards& guards, const translate::Mapping& mapping,
             const translate::Target& target, JsonNode object, bool creates)
      : guards_(guards), mapping_(mapping), target_(target), object_(object), creates_(creates) {}

  Result<void> run() const {
    if (const auto* place = pod_place(target_)) return pods(*place);
    if (target_.is("", "persistentvolumes")) return volume();
    if (is_claim(target_)) return claim();
    if (target_.is("scheduling.k8s.io", "priorityclasses")) return priority();
    if (target_.is("networking.k8s.io", "ingresses")) return ingress();
    if (target_.is("storage.k8s.io", "csistoragecapacities")) return capacity();
    if (is_definition(target_)) return definition();
    if (is_webhooks(target_)) return webhooks();
    if (is_endpoints(target_) && !guards_.endpoints) {
      return refuse("endpoints", "addresses are written by the platform's controllers alone: give "
                                 "the Service a selector");
    }
    return {};
  }

private:
  tl::unexpected<Error> refuse(std::string_view rule, const std::string& why) const {
    auto name = target_.name;
    if (name.empty()) name = object_["metadata"]["name"].string();
    return fail(Code::forbidden,
                "{}{} {} is forbidden: {} (rule guards.{}; the platform's administrator may allow "
                "it for a tenant)",
                target_.resource, target_.group.empty() ? "" : "." + target_.group,
                json_quote(name), why, rule);
  }

  Result<void> pods(const PodPlace& place) const {
    auto length = place.path.size();
    while (place.path[length - 1].empty())
      --length;
    const bool template_of_pods = length > 1;
    return each(object_, Path(place.path).first(length), [&](JsonNode spec) -> Result<void> {
      constexpr std::array<std::string_view, 1> k_node{"nodeName"}, k_class{"priorityClassName"};
      // Of a pod that is there, the scheduler has set it and every client sends it back.
      if (!guards_.node_names && (creates_ || template_of_pods)) {
        ZOO_TRY_VOID(each(spec, k_node, [&](JsonNode node) -> Result<void> {
          if (node.string().empty()) return {};
          return refuse("node_names", "spec.nodeName goes past the scheduler: use a nodeSelector "
                                      "or an affinity");
        }));
      }
      if (!creates_ && !template_of_pods) return {};
      return each(spec, k_class, [&](JsonNode node) { return system_class(node.string()); });
    });
  }

  Result<void> system_class(std::string_view name) const {
    if (name.starts_with(mapping_.prefix())) name.remove_prefix(mapping_.prefix().size());
    if (!name.starts_with("system-") ||
        mapping_.shared_class(translate::Overlay::priority_class, name)) {
      return {};
    }
    return fail(Code::forbidden,
                "{} is forbidden: priorityClassName {} is the platform's own pods': choose another "
                "PriorityClass, or none",
                target_.resource, json_quote(name));
  }

  Result<void> volume() const {
    // The source of a volume cannot be changed later, and others send it back.
    if (!creates_ || text::contains(guards_.volume_drivers, k_all)) return {};
    constexpr std::array<std::string_view, 3> k_driver{"spec", "csi", "driver"};
    bool named = false;
    ZOO_TRY_VOID(each(object_, k_driver, [&](JsonNode driver) -> Result<void> {
      named = true;
      if (text::contains(guards_.volume_drivers, driver.string())) return {};
      return refuse("volume_drivers",
                    fmt::format("a volume handle of driver {} can name anybody's volume: let a "
                                "PersistentVolumeClaim with a storageClassName provision one",
                                json_quote(driver.string())));
    }));
    if (named) return {};
    return refuse("volume_drivers", "a volume without a CSI driver can be anybody's storage: let a "
                                    "PersistentVolumeClaim with a storageClassName provision one");
  }

  Result<void> claim() const {
    if (guards_.admin_access) return {};
    constexpr std::array<std::string_view, 6> k_v1{"spec", "devices", "requests",
                                                   "[]",   "exactly", "adminAccess"};
    constexpr std::array<std::string_view, 5> k_beta{"spec", "devices", "requests", "[]",
                                                     "adminAccess"};
    constexpr std::array<std::string_view, 1> k_spec{"spec"};
    const auto asks = [&](JsonNode node) -> Result<void> {
      if (!node.boolean()) return {};
      return refuse("admin_access", "adminAccess reaches devices that others use: ask without it");
    };
    const auto whole = [&](JsonNode object) -> Result<void> {
      ZOO_TRY_VOID(each(object, k_v1, asks));
      return each(object, k_beta, asks);
    };
    if (target_.resource == "resourceclaims") return whole(object_);
    return each(object_, k_spec, whole);
  }

  Result<void> priority() const {
    constexpr std::array<std::string_view, 1> k_value{"value"};
    return each(object_, k_value, [&](JsonNode value) -> Result<void> {
      const auto number = value.integer();
      if (!number || *number <= guards_.priority) return {}; // what is no integer upstream refuses
      return refuse("priority",
                    fmt::format("value {} is above {}, the highest that a tenant may give its pods",
                                *number, guards_.priority));
    });
  }

  /// The scheduler takes them from all namespaces, by the name of their class.
  Result<void> capacity() const {
    constexpr std::array<std::string_view, 1> k_class{"storageClassName"};
    return each(object_, k_class, [&](JsonNode name) -> Result<void> {
      if (!mapping_.shared_class(translate::Overlay::storage_class, name.string())) return {};
      return fail(Code::forbidden,
                  "csistoragecapacities is forbidden: the capacity of class {} is told by the "
                  "platform's driver: name a class of your own",
                  json_quote(name.string()));
    });
  }

  /// Visits a list, which may have so many elements.
  auto few(std::string_view whose, std::string_view what, std::size_t most) const {
    return [this, whose, what, most](JsonNode list) -> Result<void> {
      if (list.children().size() <= most) return {};
      return fail(Code::forbidden, "{} is forbidden: {} has at most {} {}", target_.resource, whose,
                  most, what);
    };
  }

  /// Upstream repeats all names for each version in what everybody reads: discovery.
  Result<void> definition() const {
    constexpr std::size_t k_versions = 16, k_names = 32, k_name_bytes = 8192;
    constexpr std::array<std::string_view, 3> k_strategy{"spec", "conversion", "strategy"};
    if (!guards_.conversion_webhooks) {
      ZOO_TRY_VOID(each(object_, k_strategy, [&](JsonNode strategy) -> Result<void> {
        if (strategy.string() != "Webhook") return {};
        return refuse("conversion_webhooks",
                      "while a conversion webhook does not answer, no namespace of the platform is "
                      "deleted: serve one version, or versions of one schema (strategy None)");
      }));
    }
    constexpr std::array<std::string_view, 2> k_all_versions{"spec", "versions"};
    constexpr std::array<std::string_view, 2> k_all_names{"spec", "names"};
    constexpr std::array<std::string_view, 3> k_short{"spec", "names", "shortNames"};
    constexpr std::array<std::string_view, 3> k_categories{"spec", "names", "categories"};
    constexpr std::string_view k_what = "a definition";
    ZOO_TRY_VOID(each(object_, k_all_versions, few(k_what, "versions", k_versions)));
    ZOO_TRY_VOID(each(object_, k_short, few(k_what, "short names", k_names)));
    ZOO_TRY_VOID(each(object_, k_categories, few(k_what, "categories", k_names)));
    ZOO_TRY_VOID(check_schemas(object_["spec"], {})); // of few versions: it compares each with each
    std::size_t versions = 0;
    ZOO_TRY_VOID(each(object_, k_all_versions, [&](JsonNode list) -> Result<void> {
      versions = std::max(versions, list.children().size());
      return {};
    }));
    return each(object_, k_all_names, [&](JsonNode names) -> Result<void> {
      std::size_t bytes = 0;
      for (const auto name : names.children()) {
        bytes += name.string().size();
        for (const auto each : name.children())
          bytes += each.string().size();
      }
      bytes *= versions;
      if (bytes <= k_name_bytes) return {};
      return fail(Code::forbidden,
                  "customresourcedefinitions is forbidden: spec.names has at most {} bytes, times "
                  "the number of versions, and this has {}: serve fewer versions, or leave out "
                  "short names and categories",
                  k_name_bytes, bytes);
    });
  }

  /// Upstream asks each webhook there is, whoever's, at each write whether it is meant.
  Result<void> webhooks() const {
    constexpr std::size_t k_webhooks = 64, k_rules = 64;
    constexpr std::array<std::string_view, 1> k_hooks{"webhooks"};
    constexpr std::array<std::string_view, 3> k_all_rules{"webhooks", "[]", "rules"};
    ZOO_TRY_VOID(each(object_, k_hooks, few("a configuration", "webhooks", k_webhooks)));
    return each(object_, k_all_rules, few("a webhook", "rules", k_rules));
  }

  Result<void> ingress() const {
    if (text::contains(guards_.ingress_hosts, k_all)) return {};
    constexpr std::array<std::string_view, 3> k_rules{"spec", "rules", "[]"};
    constexpr std::array<std::string_view, 1> k_host{"host"};
    constexpr std::array<std::string_view, 5> k_tls{"spec", "tls", "[]", "hosts", "[]"};
    constexpr std::array<std::string_view, 2> k_backend{"spec", "defaultBackend"};
    const auto ours = [&](JsonNode host) -> Result<void> {
      const auto name = host.string();
      for (const auto& pattern : guards_.ingress_hosts) {
        if (host_matches(pattern, name, mapping_.id())) return {};
      }
      return refuse("ingress_hosts", fmt::format("host {} is not among the tenant's: {}",
                                                 json_quote(name), hosts()));
    };
    const auto everything = [&] {
      return refuse("ingress_hosts",
                    fmt::format("a rule without host takes the traffic of all hosts: name one of "
                                "{}",
                                hosts()));
    };
    const auto one = [&](JsonNode rule) -> Result<void> {
      bool named = false;
      ZOO_TRY_VOID(each(rule, k_host, [&](JsonNode host) -> Result<void> {
        if (host.string().empty()) return everything();
        named = true;
        return ours(host);
      }));
      if (!named) return everything();
      return {};
    };
    ZOO_TRY_VOID(each(object_, k_rules, one));
    ZOO_TRY_VOID(each(object_, k_tls, ours));
    // It takes what matches no rule of any Ingress (IngressSpec in k8s.io/api networking/v1),
    // beside rules as well.
    return each(object_, k_backend, [&](JsonNode backend) -> Result<void> {
      if (backend.is(JsonType::null)) return {};
      return refuse("ingress_hosts",
                    fmt::format("a default backend takes the traffic of all hosts: "
                                "give a rule of {} the path /",
                                hosts()));
    });
  }

  std::string hosts() const {
    if (guards_.ingress_hosts.empty()) return "none";
    std::string out = fmt::format("{}", fmt::join(guards_.ingress_hosts, ", "));
    for (std::size_t at; (at = out.find("{tenant}")) != std::string::npos;)
      out.replace(at, std::string_view("{tenant}").size(), mapping_.id());
    return out;
  }

  const api::Guards& guards_;
  const translate::Mapping& mapping_;
  const translate::Target& target_;
  JsonNode object_;
  bool creates_;
};

} // namespace

Result<void> refuse_token_secret(const translate::Target& target, std::string_view body) {
  if (!target.is("", "secrets")) return {};
  ZOO_TRY(const auto tree, translate::JsonTree::parse(body));
  for (auto member = tree.root().first(); member; member = member.next()) {
    if (member.key() == "type" && member.string() == "kubernetes.io/service-account-token") {
      return fail(Code::forbidden,
                  "secrets {} is forbidden: tokens of type kubernetes.io/service-account-token "
                  "never expire and are not served (rule token-secrets): ask for one that does: "
                  "kubectl create token",
                  json_quote(tree.root()["metadata"]["name"].string()));
    }
  }
  return {};
}

Result<void> refuse_signer(const translate::Target& target, std::string_view body) {
  constexpr std::string_view k_platforms = "kubernetes.io/";
  const bool makes = target.subresource.empty() && target.verb != "update";
  if (!makes || !target.is("certificates.k8s.io", "certificatesigningrequests")) return {};
  ZOO_TRY(const auto tree, translate::JsonTree::parse(body));
  const auto signer = tree.root()["spec"]["signerName"].string();
  if (!signer.starts_with(k_platforms) || signer == "kubernetes.io/kube-apiserver-client")
    return {};
  return fail(Code::forbidden,
              "certificatesigningrequests.certificates.k8s.io {} is forbidden: nobody signs for {} "
              "here, since its certificates are for the platform's nodes (rule signers): ask "
              "kubernetes.io/kube-apiserver-client, or a signer of your own",
              json_quote(tree.root()["metadata"]["name"].string()), json_quote(signer));
}

bool host_matches(std::string_view pattern, std::string_view host, std::string_view id) {
  constexpr std::string_view k_tenant = "{tenant}";
  std::string wanted(pattern);
  for (std::size_t at; (at = wanted.find(k_tenant)) != std::string::npos;)
    wanted.replace(at, k_tenant.size(), id);
  if (host == wanted) return true;
  return wanted.starts_with("*.") && host.size() > wanted.size() - 1 &&
         host.ends_with(std::string_view(wanted).substr(1));
}

bool calls_out(const api::Guards& guards, const translate::Target& target) {
  return is_webhooks(target) || (guards.conversion_webhooks && is_definition(target));
}

bool guarded(const api::Guards& guards, const translate::Target& target) {
  if (!target.subresource.empty()) return false;
  if (target.is("networking.k8s.io", "ingresses"))
    return !text::contains(guards.ingress_hosts, k_all);
  if (is_endpoints(target)) return !guards.endpoints;
  return pod_place(target) != nullptr || target.is("", "persistentvolumes") || is_claim(target) ||
         target.is("scheduling.k8s.io", "priorityclasses") ||
         target.is("storage.k8s.io", "csistoragecapacities") || is_definition(target) ||
         is_webhooks(target);
}

Result<void> check_guards(const api::Guards& guards, const translate::Mapping& mapping,
                          const translate::Target& target, std::string_view object, bool creates) {
  if (!guarded(guards, target)) return {};
  ZOO_TRY(const auto tree, translate::JsonTree::parse(object));
  return GuardCheck(guards, mapping, target, tree.root(), creates).run();
}

} // namespace zoo::gateway
