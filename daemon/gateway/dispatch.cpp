// SPDX-License-Identifier: Apache-2.0
#include "common/base/json_text.hpp"
#include "daemon/authz/system_roles.hpp"
#include "daemon/gateway/continue_token.hpp"
#include "daemon/gateway/flows/applied_selectors.hpp"
#include "daemon/gateway/flows/ceilings.hpp"
#include "daemon/gateway/flows/definition_update.hpp"
#include "daemon/gateway/flows/flows.hpp"
#include "daemon/gateway/flows/further_rights.hpp"
#include "daemon/gateway/flows/hidden_members.hpp"
#include "daemon/gateway/flows/quotas.hpp"
#include "daemon/gateway/flows/relayed_patch.hpp"
#include "daemon/gateway/flows/standing.hpp"
#include "daemon/gateway/flows/virtual.hpp"
#include "daemon/gateway/grants.hpp"
#include "daemon/gateway/guards.hpp"
#include "daemon/gateway/notes.hpp"
#include "daemon/gateway/scope.hpp"
#include "daemon/gateway/system_roles.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/hidden_members.hpp"
#include "daemon/translate/json.hpp"
#include "daemon/translate/own_name.hpp"
#include "daemon/translate/patch.hpp"
#include "daemon/translate/proof.hpp"
#include "daemon/translate/relay_patch.hpp"
#include "daemon/translate/reviews.hpp"
#include "daemon/translate/rewrite.hpp"
#include "daemon/translate/rules.hpp"
#include "daemon/translate/selector.hpp"
#include "daemon/translate/status_text.hpp"
#include "daemon/translate/watch_event.hpp"
#include "daemon/upstream/owner_index.hpp"
#include "daemon/upstream/shared_watches.hpp"
#include "daemon/upstream/upstream.hpp"

namespace zoo::gateway {
namespace {

using translate::BodyFormat;
using translate::Representation;

/// Query parameters that go upstream; selectors are translated, limit and continue are set by
/// whoever pages.
Result<translate::Params> params_in(const Exchange& exchange, bool paged_by_upstream) {
  const auto& target = exchange.target();
  const translate::SelectorScope scope{target.group, target.resource,
                                       exchange.resource().namespaced, target.name_space};
  const bool selects =
      target.verb == "list" || target.verb == "watch" || target.verb == "deletecollection";
  translate::Params out;
  for (const auto& param : target.params) {
    if (param.key == "fieldSelector" || param.key == "labelSelector") continue;
    if (paged_by_upstream && selects && param.key == "continue" && !param.value.empty() &&
        exchange.view().shows_own_keys()) {
      ZOO_TRY(auto token, open_upstream_token(exchange, param.value));
      out.push_back({param.key, std::move(token)});
      continue;
    }
    if (!paged_by_upstream &&
        (param.key == "limit" || param.key == "continue" || param.key == "resourceVersion" ||
         param.key == "resourceVersionMatch" || param.key == "watch" ||
         param.key == "sendInitialEvents" || param.key == "allowWatchBookmarks" ||
         param.key == "timeoutSeconds")) {
      continue;
    }
    out.push_back(param);
  }
  if (!selects) return out;
  if (paged_by_upstream && target.legacy_watch) translate::set_param(out, "watch", "true");
  // Of two that are wrong the upstream tells of the labels.
  ZOO_TRY(const auto label,
          translate::label_selector_in(exchange.mapping(), scope, target.list.label_selector));
  ZOO_TRY(auto field,
          translate::field_selector_in(exchange.mapping(), scope, target.list.field_selector));
  if (const auto own = paged_by_upstream ? own_field_selector(exchange) : ""; !own.empty())
    field += (field.empty() ? "" : ",") + own;
  if (!field.empty()) translate::set_param(out, "fieldSelector", field);
  if (!label.empty()) translate::set_param(out, "labelSelector", label);
  return out;
}

/// The body of a create or update: translated, then proven, so that no mistake of the translation
/// leaves the tenant.
Result<std::string> object_in(Exchange& exchange) {
  ZOO_TRY_VOID(translate::check_json(exchange.body()));
  std::string out;
  translate::RewriteContext inward{exchange.mapping(), translate::Direction::inward,
                                   exchange.target().name_space};
  inward.relay = exchange.view().relay.get();
  ZOO_TRY_VOID(translate::rewrite(root_of(exchange), inward, exchange.body(), out));
  translate::RewriteContext proof{exchange.mapping(), translate::Direction::prove,
                                  exchange.target().name_space};
  proof.relay = inward.relay;
  std::string none;
  ZOO_TRY_VOID(translate::rewrite(root_of(exchange), proof, out, none));
  return out;
}

Result<Rendering> rendering_of(Exchange& exchange) {
  const auto& target = exchange.target();
  const auto* include = translate::find_param(target.params, "includeObject");
  Rendering rendering;
  ZOO_TRY(rendering.wanted,
          translate::choose_accept(exchange.head().headers.get("accept"),
                                   include == nullptr ? std::string_view() : *include));
  rendering.shown_key = key_filter_of(exchange);
  rendering.shown = filter_of(exchange, rendering.shown_key);
  rendering.left = left_filter_of(exchange);
  rendering.decided = decided_filter_of(exchange);
  auto& as = rendering.wanted.representation;
  rendering.strips = rendering.shown && needs_whole_object(exchange) &&
                     (as == Representation::partial || as == Representation::partial_list);
  if (rendering.strips) {
    as = Representation::object;
    rendering.wanted.upstream_accept = "application/json";
    rendering.complete = [](std::string& object) {
      if (const auto tree = translate::JsonTree::parse(object))
        object = metadata_alone(tree->root());
    };
  } else if (as == Representation::object) {
    rendering.complete = completion_of(exchange);
  }
  return rendering;
}

/// 422, with what is wrong.
class Refusal final : public Flow {
public:
  Refusal(Exchange& exchange, std::string status)
      : exchange_(exchange), status_(std::move(status)) {}
  void start() override { exchange_.send_status(422, status_); }

private:
  Exchange& exchange_;
  std::string status_;
};

class Chooser {
public:
  explicit Chooser(Exchange& exchange, bool standing_made = false)
      : exchange_(exchange), target_(exchange.target()), resource_(exchange.resource()),
        standing_made_(standing_made) {}

  Result<std::unique_ptr<Flow>> choose() {
    if (auto answered = review(exchange_)) {
      if (target_.verb != "create") return translate::not_allowed();
      ZOO_TRY(const auto rendering, rendering_of(exchange_));
      if (rendering.wanted.representation != Representation::object) {
        return fail(Code::not_acceptable, "only the following media types are accepted: "
                                          "application/json");
      }
      ZOO_TRY_VOID(exchange_.answer_as(rendering.wanted, false));
      return answered;
    }
    if (target_.connect) return connect();
    const bool kept =
        resource_.facts != nullptr && resource_.facts->treatment == translate::Treatment::kept;
    if (kept && view().serves(Local::kept_kinds)) return virtual_kind(exchange_);
    if (view().holds(Fence::kinds)) ZOO_TRY_VOID(refuse_fixed());
    if (view().shows_own_keys() && writes_definition())
      exchange_.upstream().definitions().expect_write(mapping().id());
    if (const auto& told = exchange_.gateway().shared().on_webhooks; told && writes_webhooks())
      told(mapping().id());
    const bool looks = !target_.writes() || mixed();
    if (view().shows_own_keys() && looks && exchange_.own_names() == nullptr) {
      const bool attachments =
          resource_.facts != nullptr && resource_.facts->names == translate::NameRule::attachment;
      if (attachments) return attached_volumes(exchange_);
      if (lists_volumes_by_name(exchange_)) return own_volumes(exchange_);
      // A watch follows them itself.
      const bool own_nodes_alone =
          names_nodes(target_) && exchange_.gateway().shared().nodes == Nodes::own;
      if (own_nodes_alone && target_.verb != "watch") {
        return own_nodes(exchange_);
      }
      if (lists_addresses_by_name(exchange_)) return own_addresses(exchange_);
    }
    if (target_.subresource == "log") return log();
    ZOO_TRY(exchange_.own_spaces(), own_spaces_of(exchange_));
    ZOO_TRY(rendering_, rendering_of(exchange_));
    if (rendering_.wanted.protobuf && !translate::builtin_group(target_.group)) {
      return fail(Code::not_acceptable, "only the following media types are accepted: "
                                        "application/json, application/json;stream=watch");
    }
    ZOO_TRY_VOID(exchange_.answer_as(rendering_.wanted, target_.verb == "watch"));
    if (target_.writes() && mixed()) return beside_write(exchange_, std::move(rendering_));
    if (target_.verb == "deletecollection") return collection();
    if (auto name = standing_to_be_made()) {
      // What follows chooses again, once it is there.
      return make_standing(exchange_, *std::move(name),
                           [&exchange = exchange_] { return Chooser(exchange, true).choose(); });
    }
    if (target_.verb == "list" || target_.verb == "watch") return list_or_watch();
    if (target_.verb == "patch") return patch();
    return one();
  }

private:
  /// The platform's objects, and beside them the tenant's own.
  bool mixed() const {
    return view().serves(Local::kept_kinds) && resource_.facts != nullptr &&
           resource_.facts->treatment == translate::Treatment::mixed;
  }

  bool writes_definition() const {
    const bool stores =
        target_.verb == "create" || target_.verb == "update" || target_.verb == "patch";
    return stores && is_definition(target_);
  }

  bool writes_webhooks() const {
    const bool dry_run = translate::find_param(target_.params, "dryRun") != nullptr;
    return target_.writes() && !dry_run && view().holds(Fence::objects) &&
           calls_out(exchange_.view().guards, target_);
  }

  /// What is refused whatever the tenant's own rights are.
  Result<void> refuse_fixed() {
    if (target_.is("", "pods") && target_.subresource == "binding") {
      return fail(Code::forbidden, "pods/binding is not served (rule bindings): the platform's "
                                   "scheduler places pods; use a nodeSelector or an affinity");
    }
    if (target_.is("", "bindings")) {
      return fail(Code::forbidden, "bindings are not served (rule bindings): the platform's "
                                   "scheduler places pods; use a nodeSelector or an affinity");
    }
    if (target_.writes() && target_.is(translate::k_rbac_group, "clusterrolebindings") &&
        targets_own_object(exchange_)) {
      return fail(
          Code::forbidden,
          "clusterrolebindings.rbac.authorization.k8s.io {} is forbidden: this "
          "ClusterRoleBinding is a copy that the platform provides (rule system-roles): bind "
          "the role under another name",
          json_quote(target_.name));
    }
    const bool fixed_namespace = target_.is("", "namespaces") && target_.verb == "delete" &&
                                 (target_.name == "default" || target_.name == "kube-system" ||
                                  target_.name == "kube-public");
    if (fixed_namespace) {
      return fail(Code::forbidden,
                  "namespaces \"{}\" is forbidden: this namespace may not be deleted (rule "
                  "standing-namespaces): "
                  "delete what is in it",
                  target_.name);
    }
    return {};
  }

  /// The upstream name of a namespace that this writes and that only appears to exist so far.
  std::optional<std::string> standing_to_be_made() const {
    const bool writes = target_.is("", "namespaces") && target_.writes();
    const bool dry_run = translate::find_param(target_.params, "dryRun") != nullptr;
    if (!writes || dry_run || standing_made_ || !view().serves(Local::namespaces))
      return std::nullopt;
    auto name = target_.name;
    if (target_.verb == "create" && target_.subresource.empty()) {
      const auto key = translate::object_key(exchange_.body());
      if (key) name = key->name;
    }
    if (!is_standing(name)) return std::nullopt;
    return mapping().name_in(name);
  }

  Outgoing outgoing(Actor actor, std::string path, translate::Params params) const {
    return {actor, exchange_.head().method, std::move(path), std::move(params)};
  }

  Result<std::unique_ptr<Flow>> connect() {
    if (view().holds(Fence::kinds) && target_.is("", "nodes")) {
      return fail(Code::forbidden,
                  "nodes/{} is forbidden: a node's kubelet serves the pods of all tenants (rule "
                  "nodes-proxy): use pods/log, pods/exec or pods/portforward",
                  target_.subresource);
    }
    ZOO_TRY(auto path, translate::upstream_path(target_, resource_.namespaced, view().viewer()));
    auto request = outgoing(Actor::client(), std::move(path), target_.params);
    if (exchange_.head().upgrade) return tunnel(exchange_, std::move(request));
    request.body = std::move(exchange_.body());
    request.content_type = std::string(exchange_.head().headers.get("content-type"));
    return forward(exchange_, std::move(request), AnswerShape::verbatim, {});
  }

  Result<std::unique_ptr<Flow>> log() {
    ZOO_TRY(auto path, translate::upstream_path(target_, resource_.namespaced, view().viewer()));
    auto request = outgoing(Actor::client(), std::move(path), target_.params);
    if (exchange_.head().upgrade) return tunnel(exchange_, std::move(request));
    return forward(exchange_, std::move(request), AnswerShape::verbatim, {});
  }

  /// A system role or binding; null: it lies upstream.
  Result<std::unique_ptr<Flow>> own() {
    ZOO_TRY(auto objects, own_objects(exchange_));
    for (auto& object : objects) {
      if (object.name == target_.name) return own_object(exchange_, std::move(object), rendering_);
    }
    // Upstream's own roles of such names are the platform's business.
    if (target_.is(translate::k_rbac_group, "clusterroles") &&
        translate::system_role(target_.name)) {
      return fail(Code::not_found, "clusterroles.rbac.authorization.k8s.io {} not found",
                  json_quote(target_.name));
    }
    return nullptr;
  }

  /// What a created or replaced object must not be, whatever the rights of who writes it.
  Result<void> check_object() {
    if (!view().holds(Fence::objects)) return {};
    ZOO_TRY_VOID(refuse_token_secret(target_, exchange_.body()));
    ZOO_TRY_VOID(refuse_signer(target_, exchange_.body()));
    if (is_definition(target_)) {
      ZOO_TRY(const auto tree, translate::JsonTree::parse(exchange_.body()));
      ZOO_TRY_VOID(translate::members_once(tree.root())); // all that is read of it is read once
    }
    ZOO_TRY_VOID(check_guards(exchange_.view().guards, mapping(), target_, exchange_.body(),
                              target_.verb == "create"));
    const bool counted = target_.is("", "services") && target_.subresource.empty();
    if (target_.group != translate::k_rbac_group && !counted) return {};
    ZOO_TRY(const auto tree, translate::JsonTree::parse(exchange_.body()));
    if (counted) return translate::members_once(tree.root()); // its ports are read (ceilings)
    const auto name = tree.root()["metadata"]["name"].string();
    if (target_.resource == "clusterrolebindings" && authz::system_binding(name)) {
      return fail(Code::already_exists,
                  "clusterrolebindings.rbac.authorization.k8s.io {} already exists",
                  json_quote(name));
    }
    return check_grant(exchange_, exchange_.body());
  }

  /// TokenRequest: whatever was asked for is made of its parts anew, for our audience alone.
  Result<std::unique_ptr<Flow>> token(Outgoing request) {
    if (target_.verb != "create") {
      return translate::not_allowed();
    }
    ZOO_TRY(request.body, translate::token_request_in(exchange_.body(), target_.name,
                                                      target_.name_space, access::k_audience));
    request.content_type = "application/json";
    return forward(exchange_, std::move(request), AnswerShape::object, rendering_);
  }

  /// get, create, update, delete of one object.
  Result<std::unique_ptr<Flow>> one() {
    if (target_.verb == "get") {
      ZOO_TRY(auto made, own());
      if (made) return made;
      ZOO_TRY(made, beside_get(exchange_, rendering_));
      if (made) return made;
    }
    ZOO_TRY(auto path, translate::upstream_path(target_, resource_.namespaced, view().viewer()));
    ZOO_TRY(auto params, params_in(exchange_, true));
    if (rendering_.wanted.representation == Representation::table) raise_include(params);
    auto request = outgoing(actor_of(exchange_), std::move(path), std::move(params));
    const bool standing = target_.is("", "namespaces") && is_standing(target_.name);
    if (target_.verb == "get" && standing && view().serves(Local::namespaces)) {
      return get_standing(exchange_, std::move(request), rendering_);
    }
    if (view().holds(Fence::tokens) && target_.is("", "serviceaccounts") &&
        target_.subresource == "token")
      return token(std::move(request));
    if (target_.verb == "create" || target_.verb == "update") {
      ZOO_TRY(const auto format,
              translate::choose_body(target_.verb, exchange_.head().headers.get("content-type")));
      if (auto invalid = invalidity(exchange_, exchange_.body()))
        return std::make_unique<Refusal>(exchange_, *std::move(invalid));
      if (view().holds(Fence::objects))
        exchange_.warn(note_of(target_, mapping(), exchange_.body(), view().relay != nullptr));
      ZOO_TRY(request.body, object_in(exchange_));
      ZOO_TRY_VOID(check_object());
      spoil_name(request);
      request.content_type = std::string(translate::upstream_content_type(format));
      if (view().serves(Local::namespaces) && target_.is("", "namespaces") &&
          target_.verb == "create" && target_.subresource.empty()) {
        return create_namespace(exchange_, std::move(request), rendering_);
      }
      if (writes_signing()) return approval(exchange_, std::move(request), format, rendering_);
      if (is_definition(target_) && target_.verb == "update")
        return update_definition(exchange_, std::move(request), std::move(rendering_));
      if (target_.verb == "update" && !mapping().identity() &&
          translate::may_hold_hidden(root_of(exchange_), target_.subresource, exchange_.body())) {
        const auto send = [exchange = &exchange_, rendering = rendering_](Outgoing ready) {
          return forward(*exchange, std::move(ready), AnswerShape::object, Rendering(rendering));
        };
        return hidden_members(exchange_, std::move(request), BodyFormat::json, send);
      }
    } else if (target_.verb == "delete") {
      request.body = std::move(exchange_.body());
      if (!request.body.empty()) {
        ZOO_TRY_VOID(translate::check_json(request.body));
        request.content_type = "application/json";
      }
    }
    rendering_.wire = target_.verb == "get" && stays_protobuf(exchange_, rendering_);
    return forward(exchange_, std::move(request), AnswerShape::object, std::move(rendering_));
  }

  Result<std::unique_ptr<Flow>> patch() {
    ZOO_TRY(auto path, translate::upstream_path(target_, resource_.namespaced, view().viewer()));
    ZOO_TRY(auto params, params_in(exchange_, true));
    if (rendering_.wanted.representation == Representation::table) raise_include(params);
    ZOO_TRY(const auto format,
            translate::choose_body(target_.verb, exchange_.head().headers.get("content-type")));
    ZOO_TRY_VOID(translate::check_json(exchange_.body()));
    if (view().holds(Fence::objects)) {
      ZOO_TRY_VOID(refuse_token_secret(target_, exchange_.body()));
      ZOO_TRY_VOID(refuse_signer(target_, exchange_.body()));
    }
    // Lists of subjects are patched as a whole; upstream's own policy would refuse the trial. And
    // what is applied has its name in it.
    if ((format != BodyFormat::json_patch && target_.resource == "clusterrolebindings") ||
        (format == BodyFormat::apply_patch && target_.resource == "priorityclasses")) {
      if (auto invalid = invalidity(exchange_, exchange_.body(), false))
        return std::make_unique<Refusal>(exchange_, *std::move(invalid));
    }
    auto request = outgoing(actor_of(exchange_), std::move(path), std::move(params));
    const auto translated = [&](bool lean) {
      return translate::patch_in(root_of(exchange_), mapping(), format, exchange_.body(),
                                 target_.name_space, lean, view().relay.get());
    };
    const bool relayed = view().relay != nullptr && target_.subresource.empty() &&
                         translate::needs_stored(root_of(exchange_), format);
    if (relayed) {
      request.body = exchange_.body();
    } else {
      ZOO_TRY(request.body, translated(false));
    }
    const bool applies = format == BodyFormat::apply_patch;
    const bool selects = root_of(exchange_).form == translate::Form::admission;
    if (applies && (selects || target_.is("", "namespaces"))) {
      ZOO_TRY(request.lean_body, translated(true));
      if (request.lean_body == request.body) request.lean_body.clear();
    }
    request.content_type = std::string(translate::upstream_content_type(format));
    if (applies) spoil_name(request); // it may make one
    if (writes_signing()) return approval(exchange_, std::move(request), format, rendering_);
    const bool guards = view().holds(Fence::objects) &&
                        (root_of(exchange_).guarded || guarded(view().guards, target_) ||
                         is_definition(target_) || object_needs_rights(target_));
    const auto judged = [exchange = &exchange_, rendering = rendering_, format,
                         guards](Outgoing ready) {
      if (guards) return guarded_patch(*exchange, std::move(ready), format, rendering);
      return forward(*exchange, std::move(ready), AnswerShape::object, Rendering(rendering));
    };
    if (relayed) return relayed_patch(exchange_, std::move(request), format, judged);
    const auto send = [exchange = &exchange_, selects, judged](Outgoing ready) {
      if (!selects || ready.lean_body.empty()) return judged(std::move(ready));
      return applied_selectors(*exchange, std::move(ready), judged);
    };
    if (!mapping().identity() && translate::patches_whole_maps(format, exchange_.body()))
      return hidden_members(exchange_, std::move(request), format, send);
    const auto* manager = translate::find_param(target_.params, "fieldManager");
    if (applies && manager != nullptr && *manager == "kubectl-last-applied")
      return returned_annotation(exchange_, std::move(request), send);
    return send(std::move(request));
  }

  /// An object that cannot be called so must not be made because its name has our prefix.
  void spoil_name(Outgoing& request) {
    if (resource_.namespaced || !target_.subresource.empty() || target_.verb == "update") return;
    auto name = target_.name;
    if (target_.verb == "create") {
      const auto key = translate::object_key(exchange_.body());
      if (key) name = key->name;
    }
    auto found = translate::misnamed(mapping(), resource_.facts, name);
    if (!found) return;
    request.body = translate::with_upstream_name(*found, std::move(request.body));
    request.lean_body.clear(); // refused in any case
    const auto path = '/' + found->prefixed;
    if (request.path.ends_with(path))
      request.path.replace(request.path.size() - path.size(), path.size(), '/' + found->upstream);
    exchange_.set_misnamed(*std::move(found));
  }

  bool writes_signing() const {
    return view().holds(Fence::objects) && !target_.subresource.empty() &&
           target_.is("certificates.k8s.io", "certificatesigningrequests");
  }

  void raise_include(translate::Params& params) const {
    // Rows are filtered by their object, of hybrid kinds by its spec.
    const auto include = needs_whole_object(exchange_)
                             ? std::string_view("Object")
                             : translate::upstream_include(rendering_.wanted.include);
    translate::set_param(params, "includeObject", include);
  }

  Result<std::unique_ptr<Flow>> list_or_watch() {
    ZOO_TRY(const auto reach, reach_of(exchange_));
    if (reach.straight) {
      ZOO_TRY(auto path, translate::upstream_path(target_, resource_.namespaced, view().viewer()));
      ZOO_TRY(auto params, params_in(exchange_, true));
      if (rendering_.wanted.representation == Representation::table) raise_include(params);
      auto request = outgoing(reach.actor, std::move(path), std::move(params));
      if (target_.verb != "watch") {
        rendering_.wire = stays_protobuf(exchange_, rendering_);
        return forward(exchange_, std::move(request), AnswerShape::list, rendering_);
      }
      ZOO_TRY(auto shared, shared_watch(request));
      if (shared) return shared;
      request.place = exchange_.upstream().watches().take_place(exchange_.route().principal().id);
      if (!request.place) {
        return fail(Code::too_many_requests,
                    "too many watches that cannot share an upstream one; try again later");
      }
      return forward(exchange_, std::move(request), AnswerShape::watch, rendering_);
    }
    ZOO_TRY(auto plan, plan_of(reach));
    exchange_.set_own_names(nullptr); // who asks them later has them
    if (target_.verb == "watch") return watch(exchange_, std::move(plan));
    return list(exchange_, std::move(plan));
  }

  /// A watch of a path that is the tenant's alone, from the kind's shared one; null: it needs a
  /// stream of its own.
  Result<std::unique_ptr<Flow>> shared_watch(const Outgoing& request) {
    if (!translate::k_proves || !view().allows(Reason::own_keys)) return nullptr;
    ListPlan plan(request.actor);
    plan.path = request.path;
    ZOO_TRY(plan.params, params_in(exchange_, false));
    plan.ranges = {upstream::KeyRange{}}; // all of the path
    plan.all_namespaces = resource_.namespaced && target_.name_space.empty();
    plan.rendering = rendering_;
    if (!can_share_watch(exchange_, plan)) return nullptr;
    if (resource_.namespaced && !resource_.own_group) {
      // Upstream is asked as zood: that the namespace is the tenant's is known here.
      const auto strangers = exchange_.upstream().unlabelled_namespaces();
      if (!strangers || (*strangers)->contains(mapping().name_in(target_.name_space))) {
        return nullptr;
      }
    }
    return watch(exchange_, std::move(plan));
  }

  Result<ListPlan> plan_of(const Reach& reach) {
    auto listing = target_;
    listing.verb = "list"; // the path of the kind, whatever is done with what it finds
    listing.name.clear();
    if (target_.is("", "namespaces")) listing.name_space.clear();
    ListPlan plan(exchange_.own_spaces() ? reach.actor : Actor::zood(Reason::own_keys));
    plan.spaces = reach.spaces;
    ZOO_TRY(plan.path, translate::upstream_path(listing, resource_.namespaced, view().viewer()));
    ZOO_TRY(plan.params, params_in(exchange_, false));
    if (rendering_.wanted.representation == Representation::table) raise_include(plan.params);
    plan.ranges = reach.ranges;
    plan.watched = reach.watched;
    plan.all_namespaces = reach.all_namespaces;
    plan.rendering = rendering_;
    if (target_.verb == "list" || target_.verb == "watch") {
      ZOO_TRY(plan.own, own_objects(exchange_));
      plan.beside = beside_target(exchange_, rendering_);
      plan.revision = reach.revision;
      // Zood keeps nothing of other versions of the kind. And nobody takes a watch of tables over
      // what upstream forgets.
      const bool tables =
          target_.verb == "watch" && rendering_.wanted.representation == Representation::table;
      if (plan.beside == nullptr || tables) read_whole(plan);
    }
    return plan;
  }

  Result<std::unique_ptr<Flow>> collection() {
    ZOO_TRY(const auto reach, reach_of(exchange_));
    if (reach.straight) {
      ZOO_TRY(auto path, translate::upstream_path(target_, resource_.namespaced, view().viewer()));
      ZOO_TRY(auto params, params_in(exchange_, true));
      auto request = outgoing(reach.actor, std::move(path), std::move(params));
      request.body = std::move(exchange_.body());
      if (!request.body.empty()) request.content_type = "application/json";
      return forward(exchange_, std::move(request), AnswerShape::collection, rendering_);
    }
    // What upstream has no such verb for (namespaces) is not made one by deleting each.
    const auto* found = resource_.catalog->find_visible(view().viewer(), target_.group,
                                                        target_.version, target_.resource);
    if (found == nullptr || !found->has_verb(target_.verb)) return translate::not_allowed();
    auto one = target_;
    one.verb = "delete";
    one.name = "x"; // may such an object be deleted at all?
    ZOO_TRY_VOID(translate::upstream_path(one, resource_.namespaced, view().viewer()));
    ZOO_TRY(auto plan, plan_of(reach));
    // What may not be deleted by its name stays.
    auto to_path = [path = plan.path, one, &resource = resource_,
                    &view = view()](std::string_view key) -> std::optional<std::string> {
      auto named = one;
      named.name =
          translate::object_name_out(view.mapping, resource.facts, key).value_or(std::string(key));
      if (!translate::upstream_path(named, resource.namespaced, view.viewer())) return std::nullopt;
      return path + "/" + translate::percent_encode(key, ":");
    };
    return delete_collection(exchange_, std::move(plan), actor_of(exchange_), std::move(to_path));
  }

  const translate::Mapping& mapping() const { return exchange_.mapping(); }
  const View& view() const { return exchange_.view(); }

  Exchange& exchange_;
  const translate::Target& target_;
  const Resource& resource_;
  const bool standing_made_;
  Rendering rendering_;
};

} // namespace

Result<std::unique_ptr<Flow>> choose_flow(Exchange& exchange) {
  if (!exchange.target().resource_request) return non_resource(exchange);
  auto flow = further_rights(exchange, [&exchange] { return choose_allowed_flow(exchange); });
  if (flow) return flow;
  return choose_allowed_flow(exchange);
}

Result<std::unique_ptr<Flow>> choose_allowed_flow(Exchange& exchange) {
  auto charges = charges_of(exchange); // while the body is there
  auto counted = quota_ask_of(exchange);
  ZOO_TRY(auto flow, Chooser(exchange).choose());
  if (counted) flow = within_quotas(exchange, *std::move(counted), std::move(flow));
  if (charges.empty()) return flow;
  return within_ceilings(exchange, std::move(charges), std::move(flow));
}

} // namespace zoo::gateway
