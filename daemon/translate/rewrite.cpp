// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/rewrite.hpp"

#include "common/base/json_text.hpp"
#include "daemon/translate/admission_fence.hpp"
#include "daemon/translate/definition.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/json.hpp"
#include "daemon/translate/proof.hpp"
#include "daemon/translate/query.hpp"
#include "daemon/translate/relay_form.hpp"
#include "daemon/translate/rewrite_walk.hpp"

#include <vector>

namespace zoo::translate {
namespace {

// Some kinds hold members back that would act for the whole cluster: zood keeps them in an
// annotation of its own and shows them in their place (DESIGN 8; reference 2.3, 4.6, 5.5).

struct Held {
  std::string_view member, annotation;
};

std::optional<Held> held_member(Form form) {
  if (form == Form::cluster_role) return Held{"aggregationRule", k_aggregation_annotation};
  if (form == Form::priority_class) return Held{"globalDefault", k_global_default_annotation};
  return std::nullopt;
}

/// Adds a member of metadata's `map`, labels or annotations, to the edits of `root`.
void put(JsonEdits& edits, JsonNode root, std::string_view map, std::string_view key,
         std::string_view value) {
  const auto metadata = root["metadata"];
  const auto there = metadata[map];
  const auto alone = '{' + json_quote(key) + ':' + std::string(value) + '}';
  if (there.is(JsonType::object)) {
    edits.append(there, key, value);
  } else if (there) {
    edits.replace(there, alone);
  } else if (metadata.is(JsonType::object)) {
    edits.append(metadata, map, alone);
  } else if (!metadata) {
    edits.append(root, "metadata", '{' + json_quote(map) + ':' + alone + '}');
  }
}

/// A definition with the tenant's label; nullopt: it has one, whose value the proof looks at.
Result<std::optional<std::string>> labelled(const Mapping& mapping, std::string_view definition) {
  ZOO_TRY(const auto tree, JsonTree::parse(definition));
  if (tree.root()["metadata"]["labels"][k_tenant_label]) return std::nullopt;
  JsonEdits edits;
  put(edits, tree.root(), "labels", k_tenant_label, json_quote(mapping.id()));
  return std::optional(edits.apply(definition));
}

/// `stored` with the annotations of its webhooks that a patch has taken away.
Result<std::string> with_held(const Mapping& mapping, Hook hook, std::string_view stored,
                              std::string_view before) {
  if (!may_be_relayed(before)) return std::string(stored);
  ZOO_TRY(auto is, JsonValue::parse(stored));
  ZOO_TRY(auto was, JsonValue::parse(before));
  return restore_held(mapping, hook, is, was) ? is.written() : std::string(stored);
}

/// A definition as it is to be stored, if something of it is missing; see settle().
Result<std::optional<std::string>> settle_definition(const Mapping& mapping,
                                                     std::string_view stored, const Relay* relay,
                                                     std::string_view before) {
  ZOO_TRY(auto held, with_held(mapping, Hook::conversion, stored, before));
  ZOO_TRY(auto settled, repair_definition(mapping, std::move(held)));
  ZOO_TRY(auto made, labelled(mapping, settled));
  if (made) settled = *std::move(made);
  if (relay != nullptr || may_be_relayed(settled)) {
    ZOO_TRY(auto restated, restate(mapping, Hook::conversion, relay, settled));
    if (restated) settled = *std::move(restated);
  }
  if (settled == stored) return std::nullopt;
  return std::optional(std::move(settled));
}

struct AdmissionRule {
  JsonNode node;
  bool by_url; ///< of a webhook that is named by its URL: never effective (docs/decisions/086)
};

/// The rules of an admission object, always in the same order.
std::vector<AdmissionRule> rules_of(JsonNode root) {
  std::vector<AdmissionRule> out;
  const auto add = [&out](JsonNode list, bool by_url = false) {
    for (auto rule = list.first(); rule; rule = rule.next())
      out.push_back({rule, by_url});
  };
  for (auto hook = root["webhooks"].first(); hook; hook = hook.next())
    add(hook["rules"], calls_url(hook));
  for (const auto* where : {"matchConstraints", "matchResources"}) {
    add(root["spec"][where]["resourceRules"]);
    add(root["spec"][where]["excludeResourceRules"]);
  }
  return out;
}

bool matches_nothing(JsonNode rule) {
  return rule["apiGroups"].raw() == R"(["cluster.zoo.kubezoo.io"])";
}

/// `tenant`: the document as the tenant wrote it; `after`: the same, translated. One entry of the
/// annotation for each rule: 0 where nothing was changed, else [scope or null, apiGroups or null].
std::string hold_scopes(JsonNode tenant, const JsonTree& after) {
  const auto wished = rules_of(tenant);
  const auto made = rules_of(after.root());
  JsonEdits edits;
  std::string kept;
  bool any = false;
  for (std::size_t i = 0; i < wished.size() && i < made.size(); ++i) {
    const auto scope = wished[i].node["scope"];
    const bool inert = wished[i].by_url || scope.string() == "Cluster";
    kept += i == 0 ? "" : ",";
    if (!inert && scope.string() == "Namespaced") {
      kept += '0';
      continue;
    }
    any = true;
    const auto groups = wished[i].node["apiGroups"];
    kept += fmt::format("[{},{}]", scope ? scope.raw() : "null",
                        inert && groups ? groups.raw() : "null");
    if (const auto stored = made[i].node["apiGroups"]; inert && stored)
      edits.replace(stored, "[" + json_quote(k_no_group) + "]");
  }
  if (any)
    put(edits, after.root(), "annotations", k_scopes_annotation, json_quote('[' + kept + ']'));
  return edits.apply(after.text());
}

/// The inverse, on what the upstream has (names still its own; the groups are the tenant's, so
/// they are put in after the walk).
Result<std::string> show_scopes(std::string_view upstream, std::string walked) {
  ZOO_TRY(const auto before, JsonTree::parse(upstream));
  const auto text = before.root()["metadata"]["annotations"][k_scopes_annotation].string();
  if (text.empty()) return walked;
  const auto kept = JsonTree::parse(text);
  if (!kept) return walked;
  const auto entries = kept->root().children();
  ZOO_TRY(const auto after, JsonTree::parse(walked));
  const auto rules = rules_of(after.root());
  if (entries.size() != rules.size()) return walked; // patched since: what is stored is shown
  JsonEdits edits;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const auto rule = rules[i].node;
    if (!entries[i].is(JsonType::array) || rule["scope"].string() != "Namespaced") continue;
    const auto groups = entries[i].at(1);
    // A patch since then has its own groups.
    if (groups.is(JsonType::array) && !matches_nothing(rule)) continue;
    // apiserver's default is shown where there was none.
    const auto scope = entries[i].at(0);
    edits.replace(rule["scope"], scope.is(JsonType::string) ? std::string(scope.raw()) : R"("*")");
    if (groups.is(JsonType::array)) edits.replace(rule["apiGroups"], std::string(groups.raw()));
  }
  return edits.apply(walked);
}

/// Moves the member into the annotation.
Result<std::string> hold_member(const Held& held, std::string walked) {
  ZOO_TRY(const auto tree, JsonTree::parse(walked));
  const auto member = tree.root()[held.member];
  if (!member) return walked;
  JsonEdits edits;
  edits.remove(tree.root(), member);
  put(edits, tree.root(), "annotations", held.annotation,
      member.is(JsonType::null) ? "null" : json_quote(member.raw()));
  return edits.apply(walked);
}

Result<std::string> show_member(const Held& held, std::string_view upstream, std::string walked) {
  ZOO_TRY(const auto before, JsonTree::parse(upstream));
  const auto value = before.root()["metadata"]["annotations"][held.annotation].string();
  if (value.empty() || !check_json(value)) return walked;
  ZOO_TRY(const auto after, JsonTree::parse(walked));
  JsonEdits edits;
  if (const auto stored = after.root()[held.member]) {
    edits.replace(stored, value);
  } else {
    edits.append(after.root(), held.member, value);
  }
  return edits.apply(walked);
}

/// Upstream reads the parameters of a policy as itself, cluster-scoped ones out of all that there
/// are: with a selector those of every tenant. `document` in upstream's names.
Result<void> check_parameters(JsonNode root, const Mapping& mapping) {
  const auto kind = root["spec"]["paramKind"];
  if (!kind.is(JsonType::object)) return {};
  const auto api_version = kind["apiVersion"].string();
  const auto slash = api_version.find('/');
  const auto group = slash == std::string::npos ? std::string() : api_version.substr(0, slash);
  if (group.starts_with(mapping.prefix()) && group.size() > mapping.prefix().size()) return {};
  const auto name = kind["kind"].string();
  if (name.empty()) return {}; // upstream demands one
  const auto* known = find_root(group, name);
  if (known != nullptr && known->namespaced) return {};
  return fail(Code::forbidden,
              "spec.paramKind: parameters of kind {} would be taken from the whole cluster: use a "
              "built-in kind that lives in namespaces, or a custom resource of your own",
              json_quote(name));
}

Result<void> prove_form(const Root& root, const Mapping& mapping, std::string_view document) {
  if (root.form == Form::definition) return prove_definition(mapping, document);
  const auto held = held_member(root.form);
  if (root.form != Form::admission && !held) return {};
  ZOO_TRY(const auto tree, JsonTree::parse(document));
  ZOO_TRY_VOID(members_once(tree.root()));
  if (root.form == Form::admission) {
    ZOO_TRY_VOID(check_parameters(tree.root(), mapping));
    if (has_fence(root.kind)) {
      ZOO_TRY_VOID(prove_fence(root.kind, mapping, tree.root()));
    }
    for (const auto& rule : rules_of(tree.root())) {
      // Without groups it is for the upstream to refuse: it demands them.
      if (rule.by_url && rule.node["apiGroups"] && !matches_nothing(rule.node))
        return fail(Code::forbidden,
                    "a webhook that is named by its URL must not be called: name a Service");
    }
    return {};
  }
  const auto member = tree.root()[held->member];
  if (!member || member.is(JsonType::null) || member.raw() == "false") return {};
  return fail(Code::forbidden, "{} would act for all tenants", held->member);
}

/// metadata of a Table's row or of a metadata-only answer: has no members to show.
bool partial(JsonNode root) { return root["kind"].string().starts_with("PartialObjectMetadata"); }

/// Who asked for a certificate: upstream wrote down the tenant's user `zoo:<id>`, and the words of
/// the tenant in its extras, percent-encoded (gateway/upstream_request.cpp).
Result<std::string> show_requester(std::string walked) {
  ZOO_TRY(const auto tree, JsonTree::parse(walked));
  const auto spec = tree.root()["spec"];
  if (!spec.is(JsonType::object)) return walked; // metadata alone
  const auto words = [&](std::string_view key) {
    std::vector<std::string> out;
    for (const auto& each : spec["extra"][key].strings())
      out.push_back(percent_decode(each, false).value_or(""));
    return out;
  };
  const auto users = words(k_requester_extra);
  constexpr std::string_view k_everybody = "system:authenticated"; // asked as what it is, or added
  std::string groups = "[";
  for (const auto& group : words(k_requester_group_extra))
    if (group != k_everybody) groups += json_quote(group) + ",";
  groups += json_quote(k_everybody) + ']';
  JsonEdits edits;
  for (const auto* member : {"extra", "uid"})
    if (const auto node = spec[member]) edits.remove(spec, node);
  if (const auto node = spec["username"]) edits.quote(node, users.empty() ? "" : users.front());
  if (const auto node = spec["groups"]) edits.replace(node, users.empty() ? "[]" : groups);
  return edits.apply(walked);
}

/// A whole object; a merge patch never names its kind.
bool names_its_kind(JsonNode root) {
  return !root["kind"].string().empty() && !root["apiVersion"].string().empty();
}

/// A definition's schemas speak of the group of its objects.
Result<std::string> reform_definition(const RewriteContext& context, std::string walked) {
  if (context.direction == Direction::inward) {
    ZOO_TRY(const auto tree, JsonTree::parse(walked));
    ZOO_TRY_VOID(members_once(tree.root()));
    return definition_in(context.mapping, std::move(walked));
  }
  if (!definition_may_change(context.mapping, walked)) return walked;
  return definition_out(context.mapping, std::move(walked));
}

Result<std::string> reform(const Root& root, const RewriteContext& context,
                           std::string_view document, std::string walked) {
  if (root.form == Form::definition) return reform_definition(context, std::move(walked));
  if (root.form == Form::signing_request) {
    if (context.direction == Direction::inward) return walked; // upstream writes its own
    return show_requester(std::move(walked));
  }
  const auto held = held_member(root.form);
  if (context.direction == Direction::inward) {
    // What follows reads members that no rule of the walk names.
    ZOO_TRY(const auto tree, JsonTree::parse(document));
    ZOO_TRY_VOID(members_once(tree.root()));
    if (held) return hold_member(*held, std::move(walked));
    // Of an apply patch each rule is there, with its scope.
    if (context.patch && !names_its_kind(tree.root())) return walked;
    ZOO_TRY(const auto after, JsonTree::parse(walked));
    ZOO_TRY_VOID(check_parameters(after.root(), context.mapping));
    auto stored = hold_scopes(tree.root(), after);
    return has_fence(root.kind) ? fence_in(root.kind, context.mapping, std::move(stored)) : stored;
  }
  if (has_fence(root.kind)) {
    ZOO_TRY(walked, fence_out(std::move(walked)));
  }
  // Most objects have nothing held back: they are not parsed again.
  if (document.find(held ? held->annotation : k_scopes_annotation) == std::string_view::npos)
    return walked;
  ZOO_TRY(const auto tree, JsonTree::parse(walked));
  if (partial(tree.root())) return walked;
  return held ? show_member(*held, document, std::move(walked))
              : show_scopes(document, std::move(walked));
}

/// The object as upstream calls its webhooks through the relay. Of a patch that names no kind only
/// who knows the stored object can say what it leads to (relay_patch.hpp).
Result<std::string> relayed(const RewriteContext& context, Hook hook, std::string direct) {
  ZOO_TRY(auto object, JsonValue::parse(direct));
  const auto names = [&object](std::string_view member) {
    const auto* value = object.find(member);
    return value != nullptr && !value->unquoted().empty();
  };
  if (context.patch && !(names("kind") && names("apiVersion"))) return direct;
  ZOO_TRY_VOID(relay_in(context.mapping, *context.relay, hook, !context.patch, object));
  return object.written();
}

/// What the caller wants to know where nothing is mapped.
Result<void> look(RewriteContext& context, std::string_view document) {
  ZOO_TRY(const auto tree, JsonTree::parse(document));
  const auto metadata = tree.root()["metadata"];
  context.name = metadata["name"].string();
  context.name_space = metadata["namespace"].string();
  return {};
}

} // namespace

bool calls_url(JsonNode webhook) {
  const auto url = webhook["clientConfig"]["url"];
  return url && !url.is(JsonType::null);
}

Result<void> rewrite(const Root& root, RewriteContext& context, std::string_view document,
                     std::string& out) {
  if (context.mapping.identity()) {
    ZOO_TRY_VOID(look(context, document));
    if (context.direction != Direction::prove) out += document;
    return {};
  }
  std::string direct;
  const auto hook = root.form == Form::plain ? std::nullopt : hook_of(root);
  if (hook && context.direction != Direction::inward && may_be_relayed(document)) {
    ZOO_TRY(auto object, JsonValue::parse(document));
    if (context.direction == Direction::prove)
      ZOO_TRY_VOID(prove_relayed(context.mapping, context.relay, *hook, object));
    relay_out(context.mapping, *hook, object, true);
    direct = object.written();
    document = direct;
  }
  if (context.direction == Direction::prove) {
    if (!k_proves) return {};
    ZOO_TRY_VOID(Walker(root, context, document, out).run());
    return prove_form(root, context.mapping, document);
  }
  if (root.form == Form::plain) {
    const auto before = out.size();
    auto done = Walker(root, context, document, out).run();
    if (!done) out.resize(before);
    return done;
  }
  std::string walked;
  ZOO_TRY_VOID(Walker(root, context, document, walked).run());
  ZOO_TRY(auto reformed, reform(root, context, document, std::move(walked)));
  if (hook && context.direction == Direction::inward && context.relay != nullptr) {
    ZOO_TRY(reformed, relayed(context, *hook, std::move(reformed)));
  }
  out += reformed;
  return {};
}

std::size_t rewrite_open(const Root& root, RewriteContext& context, std::string_view text,
                         std::string& out) {
  if (root.form != Form::plain || context.mapping.identity() || !text.starts_with('{')) return 0;
  const auto before = out.size();
  const auto size = Walker(root, context, text, out).run_open();
  if (size == 0) out.resize(before);
  return size;
}

Result<std::optional<std::string>> settle(const Root& root, const Mapping& mapping,
                                          std::string_view stored, const Relay* relay,
                                          std::string_view before) {
  if (mapping.identity()) return std::nullopt;
  if (root.kind == "CustomResourceDefinition" && root.group == "apiextensions.k8s.io")
    return settle_definition(mapping, stored, relay, before);
  RewriteContext outward{mapping, Direction::outward, {}}, inward{mapping, Direction::inward, {}};
  std::string shown, settled;
  if (root.form != Form::admission) return std::nullopt;
  const auto hook = hook_of(root);
  std::string held(stored);
  if (hook) {
    ZOO_TRY(held, with_held(mapping, *hook, stored, before));
  }
  ZOO_TRY_VOID(rewrite(root, outward, held, shown));
  ZOO_TRY(const auto view, JsonTree::parse(shown));
  for (const auto& rule : rules_of(view.root())) {
    if (matches_nothing(rule.node)) return std::nullopt; // what it was is not known any more
  }
  inward.relay = relay;
  ZOO_TRY_VOID(rewrite(root, inward, shown, settled));
  ZOO_TRY(const auto was, JsonTree::parse(stored));
  ZOO_TRY(const auto after, JsonTree::parse(settled));
  const auto is = rules_of(was.root()), ought = rules_of(after.root());
  RewriteContext proof{mapping, Direction::prove, {}};
  proof.relay = relay;
  std::string none;
  bool right = held == stored && rewrite(root, proof, stored, none).has_value();
  for (std::size_t i = 0; i < is.size() && i < ought.size(); ++i)
    right = right && matches_nothing(is[i].node) == matches_nothing(ought[i].node);
  if (right && hook && (relay != nullptr || may_be_relayed(stored))) {
    ZOO_TRY(const auto restated, restate(mapping, *hook, relay, stored));
    right = !restated;
  }
  if (right) return std::nullopt;
  return std::optional(std::move(settled));
}

} // namespace zoo::translate
