// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flows/further_rights.hpp"

#include "common/base/json_text.hpp"
#include "daemon/gateway/flows/standing.hpp"
#include "daemon/gateway/render.hpp"
#include "daemon/gateway/scope.hpp"
#include "daemon/translate/patch.hpp"
#include "daemon/translate/rewrite.hpp"
#include "daemon/translate/status_text.hpp"
#include "daemon/upstream/upstream.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace zoo::gateway {
namespace {

constexpr std::array<std::string_view, 3> k_members{"paramKind", "paramRef", "policyName"};
constexpr std::string_view k_bindings = "policybindings";
constexpr std::string_view k_metadata_alone =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/// What a PUT makes where there is none: AllowCreateOnUpdate() of the strategies in
/// k8s.io/kubernetes pkg/registry.
bool made_by_update(const translate::Target& target) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 12> k_kinds{{
      {"", "endpoints"},
      {"", "events"},
      {"", "limitranges"},
      {"", "services"},
      {"coordination.k8s.io", "leasecandidates"},
      {"coordination.k8s.io", "leases"},
      {"events.k8s.io", "events"},
      {"node.k8s.io", "runtimeclasses"},
      {translate::k_rbac_group, "clusterrolebindings"},
      {translate::k_rbac_group, "clusterroles"},
      {translate::k_rbac_group, "rolebindings"},
      {translate::k_rbac_group, "roles"},
  }};
  return std::any_of(k_kinds.begin(), k_kinds.end(),
                     [&](const auto& kind) { return target.is(kind.first, kind.second); });
}

bool may_make(const Exchange& exchange) {
  const auto& target = exchange.target();
  if (!target.subresource.empty()) return false;
  if (target.verb == "update") return made_by_update(target);
  if (target.verb != "patch") return false;
  const auto format =
      translate::choose_body(target.verb, exchange.head().headers.get("content-type"));
  return format && *format == translate::BodyFormat::apply_patch;
}

bool opened_by_get(const translate::Target& target) {
  return target.verb == "get" && target.is("", "pods") &&
         (target.subresource == "exec" || target.subresource == "attach" ||
          target.subresource == "portforward");
}

/// "apps/v1" -> apps, v1; "v1" -> "", v1.
std::pair<std::string_view, std::string_view> split(std::string_view api_version) {
  const auto slash = api_version.find('/');
  if (slash == std::string_view::npos) return {{}, api_version};
  return {api_version.substr(0, slash), api_version.substr(slash + 1)};
}

class FurtherRights final : public Steps {
public:
  FurtherRights(Exchange& exchange, std::function<Result<std::unique_ptr<Flow>>()> next)
      : Steps(exchange), next_(std::move(next)) {}

  void start() override {
    const auto& target = exchange_.target();
    if (opened_by_get(target) || may_make(exchange_)) return ask_create();
    parameters_ = std::make_unique<ParameterRights>(exchange_, exchange_.body(), [this] { go(); });
    parameters_->start();
  }

private:
  void ask_create() {
    auto wanted = exchange_.asked();
    wanted.verb = "create";
    may(wanted, [this, wanted](const Decision& decision) {
      if (decision.allowed) return go();
      if (exchange_.target().connect) return exchange_.refuse(wanted, decision);
      hold_to_what_is(wanted, decision);
    });
  }

  /// He may change it, if it is there.
  void hold_to_what_is(const Attributes& create, const Decision& refusal) {
    const auto& resource = exchange_.resource();
    const auto& target = exchange_.target();
    if (resource.facts != nullptr && (resource.facts->treatment == translate::Treatment::kept ||
                                      resource.facts->treatment == translate::Treatment::mixed)) {
      exchange_.forbid_creation({create, refusal});
      return go();
    }
    auto path = translate::upstream_path(target, resource.namespaced, exchange_.view().viewer());
    if (!path) return exchange_.fail(path.error());
    const bool standing = target.is("", "namespaces") && is_standing(target.name);
    if (standing) return go(); // it appears to be there
    auto look = Outgoing::get(Reason::look, *std::move(path));
    if (resource.namespaced) look.actor = Actor::client();
    look_at(std::move(look), create, refusal);
  }

  void look_at(Outgoing look, const Attributes& create, const Decision& refusal) {
    ask(
        look,
        [this, look, create, refusal](const upstream::Answer& answer) {
          if (look.actor.is_client() &&
              refuses_our_user(exchange_, answer.head.status, answer.body)) {
            // Its fence is not known yet where it was just raised; the write goes as the tenant.
            if (auto ours = check_namespace_is_ours(exchange_); !ours)
              return exchange_.fail(ours.error());
            auto again = look;
            again.actor = Actor::zood(Reason::namespace_gone);
            return look_at(std::move(again), create, refusal);
          }
          if (answer.head.status == 404) return exchange_.refuse(create, refusal);
          if (!answer.ok()) return refuse(answer);
          const auto found = translate::JsonTree::parse(answer.body);
          if (!found) return exchange_.fail(found.error());
          auto body = translate::with_uid(translate::BodyFormat::json, exchange_.body(),
                                          found->root()["metadata"]["uid"].string());
          if (!body) return exchange_.fail(body.error());
          exchange_.body() = *std::move(body);
          go();
        },
        k_metadata_alone);
  }

  void go() {
    auto flow = next_();
    if (!flow) return exchange_.fail(flow.error());
    exchange_.run(*std::move(flow));
  }

  std::function<Result<std::unique_ptr<Flow>>()> next_;
  std::unique_ptr<ParameterRights> parameters_;
};

} // namespace

bool object_needs_rights(const translate::Target& target) {
  return is_admission_policy(target) && target.subresource.empty();
}

std::unique_ptr<Flow> further_rights(Exchange& exchange,
                                     std::function<Result<std::unique_ptr<Flow>>()> next) {
  const auto& target = exchange.target();
  const bool stores = target.verb == "create" || target.verb == "update";
  const bool asks =
      opened_by_get(target) || may_make(exchange) || (stores && object_needs_rights(target));
  if (!asks || !exchange.view().holds(Fence::objects) ||
      exchange.view().authorizer->super_user(exchange.route().principal()))
    return nullptr;
  return std::make_unique<FurtherRights>(exchange, std::move(next));
}

// ---- ParameterRights ----

ParameterRights::ParameterRights(Exchange& exchange, std::string object, std::function<void()> then)
    : Asking(exchange), object_(std::move(object)), then_(std::move(then)) {}

void ParameterRights::start() {
  const auto tree = translate::JsonTree::parse(object_);
  if (!tree) return exchange_.fail(tree.error());
  if (auto once = translate::members_once(tree->root()); !once) return exchange_.fail(once.error());
  const auto spec = tree->root()["spec"];
  if (exchange_.target().resource.ends_with(k_bindings)) return binding(spec);
  policy(spec);
}

void ParameterRights::policy(translate::JsonNode spec) {
  const auto kind = spec["paramKind"];
  if (!kind || kind.is(translate::JsonType::null)) return then_();
  const auto api_version = kind["apiVersion"].string();
  const auto [group, version] = split(api_version);
  auto wanted = read_of(exchange_.mapping().group_in(group), version, kind["kind"].string());
  wanted.name = "*";
  wanted.name_space = "*";
  demand(wanted, fmt::format("user {} must have \"get\" permission on all objects of the "
                             "referenced paramKind (kind={}, apiVersion={})",
                             json_quote(exchange_.route().principal().user), kind["kind"].string(),
                             api_version));
}

void ParameterRights::binding(translate::JsonNode spec) {
  const auto reference = spec["paramRef"];
  if (!reference || reference.is(translate::JsonType::null)) return then_();
  auto ask_for = [this, name = reference["name"].string(),
                  name_space = reference["namespace"].string()](Attributes wanted) {
    wanted.verb = name.empty() ? "list" : "get";
    wanted.name = name;
    wanted.name_space = name_space;
    demand(wanted, fmt::format("user {} does not have \"{}\" permission on the object referenced "
                               "by paramRef",
                               json_quote(exchange_.route().principal().user), wanted.verb));
  };
  auto policy = exchange_.target();
  policy.verb = "get";
  policy.name = spec["policyName"].string();
  policy.resource.resize(policy.resource.size() - k_bindings.size());
  policy.resource += "policies";
  const auto path = translate::upstream_path(policy, false, exchange_.view().viewer());
  if (policy.name.empty() || !path) return ask_for(read_of("", "", ""));
  ask(Outgoing::get(Reason::look, *path), [this, ask_for](const upstream::Answer& answer) {
    const auto tree = translate::JsonTree::parse(answer.body);
    if (!answer.ok() || !tree) return ask_for(read_of("", "", ""));
    const auto kind = tree->root()["spec"]["paramKind"];
    const auto api_version = kind["apiVersion"].string();
    const auto [group, version] = split(api_version);
    ask_for(read_of(group, version, kind["kind"].string()));
  });
}

Attributes ParameterRights::read_of(std::string_view group, std::string_view version,
                                    std::string_view kind) const {
  Attributes out{"get", true, "*", "*", "*", "", "", "", ""};
  const auto own = exchange_.mapping().group_out(group);
  if (version.empty() || !own) return out;
  out.group = *own;
  out.version = version;
  const auto* found = exchange_.resource().catalog->find_group(group);
  if (found == nullptr) return out;
  for (const auto& each : found->versions) {
    if (each.version != version) continue;
    for (const auto& resource : each.resources) {
      if (resource.kind == kind) out.resource = resource.name;
    }
  }
  return out;
}

void ParameterRights::demand(const Attributes& attributes, std::string otherwise) {
  may(attributes, [this, otherwise = std::move(otherwise)](const Decision& decision) {
    if (decision.allowed) return then_();
    refused(otherwise);
  });
}

void ParameterRights::refused(const std::string& otherwise) {
  const auto& target = exchange_.target();
  auto forbid = [this, otherwise] {
    const auto& asked = exchange_.target();
    exchange_.send_status(
        403, translate::forbidden_status(asked.group, asked.resource, asked.name, otherwise));
  };
  if (target.verb == "create") return forbid();
  auto of = target;
  of.verb = "get";
  auto path = translate::upstream_path(of, false, exchange_.view().viewer());
  if (!path) return exchange_.fail(path.error());
  ask(Outgoing::get(Reason::look, *std::move(path)),
      [this, forbid](const upstream::Answer& answer) {
        if (!answer.ok() || changes(answer.body)) return forbid();
        then_();
      });
}

bool ParameterRights::changes(std::string_view stored) const {
  translate::RewriteContext outward{exchange_.mapping(), translate::Direction::outward, {}};
  std::string own;
  if (!translate::rewrite(root_of(exchange_), outward, stored, own)) return true;
  const auto before = translate::JsonTree::parse(own), after = translate::JsonTree::parse(object_);
  if (!before || !after) return true;
  // As upstream writes them: what a patch leads to has the same bytes where nothing has changed.
  const auto spec = [](const auto& tree) { return tree->root()["spec"]; };
  return std::any_of(k_members.begin(), k_members.end(), [&](auto member) {
    return spec(before)[member].raw() != spec(after)[member].raw();
  });
}

} // namespace zoo::gateway
