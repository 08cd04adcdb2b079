// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/table.hpp"

#include "common/base/json_text.hpp"
#include "common/base/text.hpp"
#include "daemon/translate/actions.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/dns_name.hpp"
#include "daemon/translate/known_words.hpp"
#include "daemon/translate/query.hpp"
#include "daemon/translate/rewrite.hpp"
#include "daemon/translate/target.hpp"
#include "daemon/translate/text.hpp"

#include <array>
#include <optional>
#include <utility>

namespace zoo::translate {
namespace {

struct ColumnRow {
  std::string_view resource; ///< of a built-in group
  std::string_view column;
  CellRule rule;
};

constexpr std::array k_columns = {
    ColumnRow{"persistentvolumes", "Claim", CellRule::claim},
    ColumnRow{"persistentvolumes", "StorageClass", CellRule::storage_class},
    ColumnRow{"persistentvolumes", "VolumeAttributesClass", CellRule::attributes_class},
    ColumnRow{"persistentvolumes", "Reason", CellRule::text},
    ColumnRow{"persistentvolumeclaims", "Volume", CellRule::volume},
    ColumnRow{"persistentvolumeclaims", "StorageClass", CellRule::storage_class},
    ColumnRow{"persistentvolumeclaims", "VolumeAttributesClass", CellRule::attributes_class},
    ColumnRow{"rolebindings", "Role", CellRule::role},
    ColumnRow{"rolebindings", "Users", CellRule::inert_list},
    ColumnRow{"rolebindings", "Groups", CellRule::inert_list},
    ColumnRow{"rolebindings", "ServiceAccounts", CellRule::inert_accounts},
    ColumnRow{"clusterrolebindings", "Role", CellRule::role},
    ColumnRow{"clusterrolebindings", "Users", CellRule::inert_list},
    ColumnRow{"clusterrolebindings", "Groups", CellRule::inert_list},
    ColumnRow{"clusterrolebindings", "ServiceAccounts", CellRule::inert_accounts},
    ColumnRow{"events", "Object", CellRule::event_object},
    ColumnRow{"events", "Message", CellRule::text},
    ColumnRow{"clustertrustbundles", "SignerName", CellRule::signer},
    ColumnRow{"certificatesigningrequests", "SignerName", CellRule::signer},
    ColumnRow{"certificatesigningrequests", "Requestor", CellRule::requester},
    ColumnRow{"podcertificaterequests", "SignerName", CellRule::signer},
    ColumnRow{"resourcequotas", "Request", CellRule::text},
    ColumnRow{"resourcequotas", "Limit", CellRule::text},
    ColumnRow{"controllerrevisions", "Controller", CellRule::text},
    ColumnRow{"ingressclasses", "Controller", CellRule::class_driver},
    ColumnRow{"ingressclasses", "Parameters", CellRule::text},
    ColumnRow{"runtimeclasses", "Handler", CellRule::class_driver},
    ColumnRow{"storageclasses", "Provisioner", CellRule::class_driver},
    ColumnRow{"volumeattributesclasses", "DriverName", CellRule::class_driver},
    ColumnRow{"ingresses", "Class", CellRule::ingress_class},
    ColumnRow{"ipaddresses", "ParentRef", CellRule::text},
    ColumnRow{"services", "External-IP", CellRule::external_name},
    ColumnRow{"csistoragecapacities", "StorageClassName", CellRule::storage_class},
    ColumnRow{"validatingadmissionpolicybindings", "PolicyName", CellRule::private_name},
    ColumnRow{"validatingadmissionpolicybindings", "ParamRef", CellRule::claim},
    ColumnRow{"mutatingadmissionpolicybindings", "PolicyName", CellRule::private_name},
    ColumnRow{"mutatingadmissionpolicybindings", "ParamRef", CellRule::claim},
    ColumnRow{"validatingadmissionpolicies", "ParamKind", CellRule::api_version_kind},
    ColumnRow{"mutatingadmissionpolicies", "ParamKind", CellRule::api_version_kind},
};

std::string or_blank(std::optional<std::string_view> value) {
  return std::string(value.value_or(std::string_view()));
}

/// Lower-case kind of an event's object -> facts ("namespace/foofoo-x").
const KindFacts* facts_of_lower_kind(std::string_view kind) {
  static constexpr std::array<std::string_view, 22> k_kinds = {"Namespace",
                                                               "PersistentVolume",
                                                               "ClusterRole",
                                                               "ClusterRoleBinding",
                                                               "CustomResourceDefinition",
                                                               "StorageClass",
                                                               "IngressClass",
                                                               "RuntimeClass",
                                                               "PriorityClass",
                                                               "VolumeAttributesClass",
                                                               "DeviceClass",
                                                               "ClusterTrustBundle",
                                                               "ValidatingWebhookConfiguration",
                                                               "MutatingWebhookConfiguration",
                                                               "ValidatingAdmissionPolicy",
                                                               "ValidatingAdmissionPolicyBinding",
                                                               "MutatingAdmissionPolicy",
                                                               "MutatingAdmissionPolicyBinding",
                                                               "Node",
                                                               "CSINode",
                                                               "CSIDriver",
                                                               "ServiceCIDR"};
  for (const auto each : k_kinds) {
    if (text::iequals(each, kind)) return find_facts_of_kind("", each);
  }
  return nullptr;
}

/// Who asked for a certificate, as the tenant knows him.
std::string requester_of(std::string_view object) {
  const auto tree = JsonTree::parse(object);
  if (!tree) return "";
  const auto named = tree->root()["spec"]["extra"][k_requester_extra].strings();
  return named.empty() ? "" : percent_decode(named.front(), false).value_or("");
}

template <class Each>
std::string each_of_list(std::string_view list, Each each) {
  std::string out;
  for (const auto part : text::split(list, ',')) {
    if (!out.empty()) out += ", ";
    out += each(text::trim(part));
  }
  return out;
}

/// Is this the apiVersion of one of the object's owners?
bool names_owner(std::string_view object, std::string_view api_version) {
  const auto tree = JsonTree::parse(object);
  if (!tree) return false;
  for (auto owner = tree->root()["metadata"]["ownerReferences"].first(); owner;
       owner = owner.next())
    if (owner["apiVersion"].string() == api_version) return true;
  return false;
}

} // namespace

CellRule cell_rule(std::string_view group, std::string_view resource, std::string_view column,
                   std::size_t index) {
  if (index == 0) return CellRule::own_name;
  if (!builtin_group(group)) return CellRule::own_metadata;
  for (const auto& row : k_columns) {
    if (row.resource == resource && row.column == column) return row.rule;
  }
  return CellRule::keep;
}

std::string closed_head(std::string_view head) {
  std::string whole(head);
  if (head.ends_with('[')) whole += "]}";
  return whole;
}

std::string columns_out(std::string_view group, std::string_view resource,
                        std::string_view columns) {
  std::string out(columns);
  if (group != k_rbac_group || resource != "clusterrolebindings") return out;
  // Kubernetes pkg/printers/internalversion.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> k_words = {{
      {"in the roleBinding", "in the clusterRoleBinding"},
      {"can reference a Role in the current namespace or a ClusterRole",
       "can only reference a ClusterRole"},
  }};
  for (const auto& [from, to] : k_words)
    replace_all(out, from, to);
  return out;
}

TableRewriter::TableRewriter(const Mapping& mapping, const Root& root, Options options)
    : mapping_(mapping), root_(root), options_(std::move(options)) {}

Result<void> TableRewriter::set_head(std::string_view head) {
  std::string whole(text::trim(head));
  const bool envelope = whole.starts_with('{');
  if (envelope && whole.ends_with('[')) whole += "]}";
  const auto tree = JsonTree::parse(whole);
  if (!tree) return fail(Code::internal, "the upstream's Table does not begin as a Table");
  const auto columns = envelope ? tree->root()["columnDefinitions"] : tree->root();
  if (!columns.is(JsonType::array))
    return fail(Code::internal, "the upstream's Table has no column definitions");
  rules_.clear();
  blanks_.clear();
  for (auto column = columns.first(); column; column = column.next()) {
    rules_.push_back(
        cell_rule(options_.group, options_.resource, column["name"].string(), rules_.size()));
    const auto type = column["type"].string();
    if (!blanks_.empty()) blanks_ += ',';
    blanks_ += type == "integer" || type == "number" ? "0" : type == "boolean" ? "false" : "\"\"";
  }
  return {};
}

std::string TableRewriter::cell(CellRule rule, std::string_view text, const ObjectKey& key,
                                WordSource& words) const {
  // Placeholders of the printers: <none>, <unset>, <unknown>.
  if (text.empty() || text.front() == '<') return std::string(text);
  switch (rule) {
  case CellRule::keep:
    break;
  case CellRule::requester:
    return ""; // cells() knows
  case CellRule::own_name: {
    if (key.name.empty() || !text.starts_with(key.name)) return std::string(text);
    const auto* facts =
        options_.namespaced ? nullptr : find_facts(options_.group, options_.resource);
    const auto own = object_name_out(mapping_, facts, key.name);
    return own ? *own + std::string(text.substr(key.name.size())) : "";
  }
  case CellRule::own_metadata:
    if (text == key.name_space) return or_blank(mapping_.name_out(text));
    if (text.substr(0, text.find('/')) == mapping_.group_in(options_.group))
      return mapping_.api_version_out(text).value_or("");
    break;
  case CellRule::text:
    return text_out(mapping_, text, &words);
  case CellRule::claim: {
    const auto slash = text.find('/');
    if (slash == std::string_view::npos) return std::string(text);
    const auto own = mapping_.name_out(text.substr(0, slash));
    return own ? std::string(*own) + std::string(text.substr(slash)) : "";
  }
  case CellRule::volume:
    return or_blank(mapping_.volume_out(text));
  case CellRule::storage_class:
    return or_blank(mapping_.overlay_out(Overlay::storage_class, text));
  case CellRule::attributes_class:
    return or_blank(mapping_.overlay_out(Overlay::volume_attributes_class, text));
  case CellRule::ingress_class:
    return or_blank(mapping_.overlay_out(Overlay::ingress_class, text));
  case CellRule::role: {
    constexpr std::string_view k_cluster = "ClusterRole/";
    if (!text.starts_with(k_cluster)) return std::string(text);
    auto name = text.substr(k_cluster.size());
    // A copy of a system role, as the rewriter stores a reference to it.
    constexpr std::string_view k_system = "zoo:system:";
    if (name.starts_with(k_system)) {
      name.remove_prefix(k_system.size());
      return std::string(k_cluster) + std::string(name);
    }
    const auto own = object_name_out(mapping_, find_facts(k_rbac_group, "clusterroles"), name);
    return own ? std::string(k_cluster) + *own : "";
  }
  case CellRule::inert_list:
    return each_of_list(text,
                        [&](std::string_view name) { return or_blank(mapping_.inert_out(name)); });
  case CellRule::inert_accounts:
    return each_of_list(text, [&](std::string_view account) -> std::string {
      const auto slash = account.rfind('/');
      if (slash == std::string_view::npos) return std::string(account);
      const auto own = mapping_.inert_out(account.substr(0, slash));
      return own ? std::string(*own) + std::string(account.substr(slash)) : "";
    });
  case CellRule::event_object: {
    const auto slash = text.find('/');
    if (slash == std::string_view::npos) return std::string(text);
    const auto* facts = facts_of_lower_kind(text.substr(0, slash));
    const auto own = object_name_out(mapping_, facts, text.substr(slash + 1));
    return own ? std::string(text.substr(0, slash + 1)) + *own : "";
  }
  case CellRule::external_name:
    return service_name_out(mapping_, text).value_or(std::string(text));
  case CellRule::private_name:
    return or_blank(mapping_.name_out(text));
  case CellRule::api_version_kind: {
    const auto slash = text.rfind('/');
    if (slash == std::string_view::npos) return std::string(text);
    const auto own = mapping_.api_version_out(text.substr(0, slash));
    return own ? *own + std::string(text.substr(slash)) : "";
  }
  case CellRule::signer:
    return or_blank(mapping_.signer_out(text));
  case CellRule::class_driver:
    return std::string(text.substr(text.starts_with(k_inert_driver) ? k_inert_driver.size() : 0));
  }
  return std::string(text);
}

Result<std::string> TableRewriter::object(std::string_view object) const {
  RewriteContext context{mapping_, Direction::outward, {}, false, {}, {}, 0};
  std::string out;
  ZOO_TRY_VOID(rewrite(root_, context, object, out));
  return out;
}

namespace {

/// What the other cells of a row, and its object, tell about the words of its texts.
class RowWords final : public WordSource {
public:
  RowWords(const Mapping& mapping, std::string_view object, std::string_view own_object)
      : mapping_(mapping), object_(object), own_object_(own_object) {}

  KnownWords& words() override {
    if (words_) return *words_;
    words_.emplace(mapping_.prefix());
    words_->upstream(object_);
    words_->shown(own_object_);
    for (const auto& [upstream, shown] : cells_) {
      words_->upstream(upstream);
      words_->shown(shown);
    }
    return *words_;
  }
  void add(std::string upstream, std::string shown) {
    cells_.emplace_back(std::move(upstream), std::move(shown));
  }

private:
  const Mapping& mapping_;
  const std::string_view object_, own_object_;
  std::vector<std::pair<std::string, std::string>> cells_;
  std::optional<KnownWords> words_;
};

} // namespace

/// Texts come last, since the other cells tell whose their words are.
Result<std::string> TableRewriter::cells(const TableRow& row, const ObjectKey& key,
                                         std::string_view own_object) const {
  if (mapping_.identity()) return std::string(row.cells);
  ZOO_TRY(const auto tree, JsonTree::parse(row.cells));
  JsonEdits edits;
  RowWords words(mapping_, row.object, own_object);
  const auto each_cell = [&](auto take) {
    std::size_t index = 0;
    for (auto each = tree.root().first(); each; each = each.next(), ++index) {
      if (each.is(JsonType::string))
        take(each, index < rules_.size() ? rules_[index] : CellRule::text);
    }
  };
  bool texts = false;
  each_cell([&](JsonNode, CellRule rule) { texts = texts || rule == CellRule::text; });
  each_cell([&](JsonNode each, CellRule rule) {
    if (rule == CellRule::text || (rule == CellRule::keep && !texts)) return;
    const auto before = each.string();
    const bool of_owner = rule == CellRule::own_metadata && before.starts_with(mapping_.prefix()) &&
                          names_owner(row.object, before);
    auto after = rule == CellRule::requester ? requester_of(row.object)
                 : of_owner                  ? mapping_.api_version_out(before).value_or("")
                                             : cell(rule, before, key, words);
    if (after != before) edits.quote(each, after);
    if (texts) words.add(before, std::move(after));
  });
  if (texts) {
    each_cell([&](JsonNode each, CellRule rule) {
      if (rule != CellRule::text) return;
      const auto before = each.string();
      if (auto after = cell(rule, before, key, words); after != before) edits.quote(each, after);
    });
  }
  return edits.apply(row.cells);
}

Result<void> TableRewriter::row(std::string_view row, std::string& out) const {
  ZOO_TRY(const auto parts, split_row(row));
  ZOO_TRY(const auto key, object_key(parts.object));
  ZOO_TRY(auto own_object, object(parts.object));
  ZOO_TRY(const auto own_cells, cells(parts, key, own_object));
  // A bookmark's object stays whatever the client asked for: it carries the annotation.
  if (options_.include == IncludeObject::none && !key.name.empty()) own_object = "null";
  std::array<std::pair<std::string_view, std::string_view>, 2> pieces = {
      {{parts.cells, own_cells}, {parts.object, own_object}}};
  if (parts.object.data() < parts.cells.data()) std::swap(pieces[0], pieces[1]);
  const char* at = row.data();
  for (const auto& [from, to] : pieces) {
    out.append(at, from.data());
    out += to;
    at = from.data() + from.size();
  }
  out.append(at, row.data() + row.size());
  return {};
}

Result<void> TableRewriter::event(std::string_view event, const StatusContext& context,
                                  std::string& out) {
  ZOO_TRY(const auto parsed, parse_event(event));
  if (parsed.type == EventType::error) {
    append_event(out, parsed.type, status_out(mapping_, context, parsed.object, 500));
    return {};
  }
  const auto tree = JsonTree::parse(parsed.object);
  if (!tree || tree->root()["kind"].string() != "Table")
    return fail(Code::internal, "the upstream's watch sent something that is no Table");
  const auto root = tree->root();
  const auto columns = root["columnDefinitions"];
  if (columns.is(JsonType::array)) ZOO_TRY_VOID(take_columns(columns.raw()));
  JsonEdits edits;
  const auto rows = root["rows"];
  if (!rows.first()) return {}; // nothing has come
  std::string kept = "[";
  for (auto each = rows.first(); each; each = each.next()) {
    if (kept.size() > 1) kept += ',';
    ZOO_TRY_VOID(row(each.raw(), kept));
  }
  edits.replace(rows, kept + ']');
  // The first event has them, whichever upstream sent them with; later ones do not repeat them.
  const auto shown_columns = next_columns();
  if (columns) {
    edits.replace(columns, shown_columns);
  } else {
    edits.append(root, "columnDefinitions", shown_columns);
  }
  append_event(out, parsed.type, edits.apply(parsed.object));
  return {};
}

Result<void> TableRewriter::take_columns(std::string_view columns) {
  ZOO_TRY_VOID(set_head(columns));
  columns_ = mapping_.identity() ? std::string(columns)
                                 : columns_out(options_.group, options_.resource, columns);
  return {};
}

std::string TableRewriter::bare_row(std::string_view name, std::string_view object) const {
  const auto comma = blanks_.find(',');
  const auto rest = comma == std::string::npos ? std::string() : blanks_.substr(comma);
  return fmt::format(R"({{"cells":[{}{}],"object":{}}})", json_quote(name), rest, object);
}

std::string TableRewriter::bookmark(std::string_view api_version, std::string_view kind,
                                    std::string_view resource_version, bool initial_events_end) {
  const bool whole = options_.include == IncludeObject::object;
  const auto object =
      bookmark_object(whole ? api_version : "meta.k8s.io/v1",
                      whole ? kind : "PartialObjectMetadata", resource_version, initial_events_end);
  return make_event(EventType::bookmark,
                    fmt::format(R"({{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":)"
                                R"({{"resourceVersion":{}}},"columnDefinitions":{},"rows":)"
                                R"([{{"cells":[{}],"object":{}}}]}})",
                                json_quote(resource_version), next_columns(), blanks_, object));
}

std::string TableRewriter::next_columns() {
  if (columns_.empty() || std::exchange(columns_sent_, true)) return "null";
  return columns_;
}

} // namespace zoo::translate
