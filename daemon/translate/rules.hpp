// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/translate/mapping.hpp"

#include <cstdint>
#include <span>
#include <string_view>

/// The rule table (DESIGN 5 and 14): an automaton over schema positions, generated at build time
/// from rules/api-references.json and rules/api-resources.json by rules/build_table.py. Constant
/// data that lives for ever; any thread. The meaning of each action: actions.hpp.
namespace zoo::translate {

/// What happens to the value at a position. `overlay` has the Overlay in Node::parameter.
enum class Action : std::uint8_t {
  none,
  name_space,             ///< namespace name
  namespace_name,         ///< metadata.name of a Namespace: as name_space, with its length checked
  cluster_name,           ///< name of a private cluster-scoped object
  overlay,                ///< name of an overlay kind
  class_name,             ///< metadata.name of an overlay kind
  volume,                 ///< PersistentVolume name
  crd_name,               ///< <plural>.<group>
  group,                  ///< API group
  source_group,           ///< API group of what a claim's volume is filled from
  api_version,            ///< group/version
  signer,                 ///< signer name
  class_driver,           ///< who acts for a class: nobody of the platform's for a tenant's own
  by_kind,                ///< name of what the siblings kind, apiVersion or apiGroup say
  by_resource,            ///< name of what the siblings resource and group say
  role_name,              ///< metadata.name of a ClusterRole
  role_ref,               ///< name, with sibling kind: a ClusterRole's own or a system role
  inert_subject,          ///< name of a User or Group subject
  inert_namespace,        ///< namespace of a ServiceAccount subject
  verb,                   ///< RBAC verb
  binding_kind,           ///< ClusterRoleBinding <-> RoleBinding
  binding_name,           ///< x <-> zoo:crb:x
  binding_namespace,      ///< injected inward, dropped outward
  label_namespace,        ///< value of label kubernetes.io/metadata.name
  selector_values,        ///< same, if sibling key says so
  quota_scope,            ///< class names, if sibling scopeName says so
  resource_key,           ///< a resource name as value: see KeyAction::resource
  parameter,              ///< StorageClass parameter: namespace, if the key says so
  secret_namespace,       ///< base64 of a namespace, in a service account token Secret
  plain_secret_namespace, ///< the same in stringData
  event_namespace,        ///< namespace of an Event's object: filled inward, blanked outward
  text,                   ///< words for people: the prefix is stripped outward
  cel,                    ///< an expression of an admission object (cel.hpp)
  rule_scope,             ///< scope of an admission rule: forced to Namespaced inward
  embedded,               ///< a string that contains JSON of Node::element's rules
  last_applied,           ///< kubectl's annotation: outward where upstream wrote it
  managed_fields,         ///< fieldsV1: the keys of this root's own positions
  selector_key,           ///< key of a selector's expression: the tenant label is refused
  external_name,          ///< DNS name of a Service: its namespace (dns_name.hpp)
  pod_field,              ///< fieldPath of a pod: shown as the namespace (pod_fields.hpp)
  root_ca,                ///< name of a ConfigMap that a pod reads: of the authorities
  namespace_source,       ///< source of a projected volume: shown as the namespace's field
  reserved_name,          ///< name of a kind of hidden_names.hpp: zood's own are refused
  authorities,            ///< data of a ConfigMap: in kube-root-ca.crt the authorities of zood
  refuse,                 ///< a tenant may not set it: forbidden inward
  hide,                   ///< the member is left out outward
};

/// What happens to the keys of a map.
enum class KeyAction : std::uint8_t {
  none,
  quota,               ///< ResourceQuota: count/<resource>.<group>, classes
  resource,            ///< resource names: deviceclass.resource.kubernetes.io/<class>
  annotations,         ///< zood's own are refused inward and left out outward
  class_annotations,   ///< also: is-default-class is held back
  namespace_labels,    ///< tenant label, pod security, kubernetes.io/metadata.name
  selector_labels,     ///< matchLabels over namespaces: tenant label
  definition_labels,   ///< of a definition: tenant label
  cluster_role_labels, ///< aggregate-to-* is held back
};

struct Node;

struct Edge {
  std::string_view key; ///< JSON name
  const Node* to;
  std::uint16_t field;   ///< protobuf number; 0: none, or it differs between versions
  std::uint16_t inlined; ///< protobuf number of the message that JSON inlines; 0: none
  bool inject;           ///< must exist upstream: added inward where the tenant has none
};

struct Node {
  enum Flag : std::uint8_t {
    siblings = 1,     ///< actions below need kind, apiVersion, key... of this object
    inject_label = 2, ///< the tenant label is one of this map's members
    has_keys = 4,     ///< a key action stands here or below
  };

  const Edge* edges;
  std::uint16_t edge_count;
  Action action;
  KeyAction key_action;
  std::uint8_t parameter;
  std::uint8_t flags;
  const Node* element;  ///< of an array; of Action::embedded: the document within
  const Node* value;    ///< of a map: every value that has no edge
  std::uint64_t filter; ///< edge_bit() of every edge: most keys need no more than one test
  /// Outward nothing acts here or below unless one of these words occurs (structure.hpp).
  std::uint16_t words;
  std::uint16_t words_inward; ///< the same of the way inward; a proof asks for nothing

  std::span<const Edge> members() const { return {edges, edge_count}; }
  /// The edge of an unescaped key, or null.
  const Edge* find(std::string_view key) const {
    if (key.empty() || (filter >> edge_bit(key) & 1U) == 0) return nullptr;
    for (std::uint16_t i = 0; i < edge_count; ++i) {
      if (edges[i].key == key) return &edges[i];
    }
    return nullptr;
  }
  static unsigned edge_bit(std::string_view key) {
    return (static_cast<unsigned char>(key.front()) * 5U +
            static_cast<unsigned char>(key.back()) * 3U + static_cast<unsigned>(key.size())) &
           63U;
  }
  /// Where one step by key (or index: "[]") leads; null where no rule stands below.
  const Node* step(std::string_view key) const;
};

/// How the kinds of a resource live among tenants: column `mode` of api-resources.json.
enum class Mode : std::uint8_t {
  none, ///< namespaced: the namespace's prefix isolates it
  private_kind,
  private_guard,
  overlay,
  shared_ro,
  hybrid,
  filter,
  proxy_eval,
  virtual_kind,
  self,
  hidden,
  refused,
};

/// What stands around the walk for a kind that holds members back (see actions.hpp).
enum class Form : std::uint8_t {
  plain,
  cluster_role,
  priority_class,
  admission,
  signing_request,
  definition
};

/// The rules of one kind.
struct Root {
  std::string_view group, kind;
  const Node* object;
  Mode mode;
  Form form;
  bool namespaced;
  /// A PATCH must be proven by its result (DESIGN 5).
  bool guarded;
};

/// A built-in kind, all its versions in one; null for custom and unknown kinds.
const Root* find_root(std::string_view group, std::string_view kind);
/// Custom resources, and kinds that zood does not know: metadata and apiVersion.
const Root& custom_root();
/// metav1.Status.
const Root& status_root();
/// Whatever a request sends or receives as `kind` of `group`: find_root(), else custom_root().
const Root& root_of(std::string_view group, std::string_view kind);

/// How the name of a cluster-scoped object maps.
enum class Naming : std::uint8_t { keep, prefixed, overlay, volume, crd, role, binding };

struct ResourceRow {
  std::string_view group, version, resource; ///< resource may be "pods/status"
  std::string_view kind, kind_group;
  bool namespaced;
  Mode mode;
  Naming naming;
  Overlay overlay;                                 ///< if naming says so
  bool by_default;                                 ///< served without a switch of the API server
  std::string_view verbs, short_names, categories; ///< separated by commas
};

/// `version` "" is any. Null: not built in.
const ResourceRow* find_resource(std::string_view group, std::string_view version,
                                 std::string_view resource);
/// The resource (never a subresource) of a kind. `group` "*" is any built-in group.
const ResourceRow* find_kind(std::string_view group, std::string_view kind);
std::span<const ResourceRow> resources();

} // namespace zoo::translate
