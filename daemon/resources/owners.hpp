// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <nlohmann/json.hpp>

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Who owns which field: metadata.managedFields, and server-side apply over them
/// (sigs.k8s.io/structured-merge-diff, as far as the kinds that zood serves itself need it: a list
/// is atomic unless a rule names it). Pure, any thread.
namespace zoo::resources {

/// A field as fieldsV1 spells it: {"f:metadata","f:labels","f:app"}.
using FieldPath = std::vector<std::string>;
using FieldSet = std::set<FieldPath>;
using Leaves = std::map<FieldPath, nlohmann::json>;

/// A list whose elements have owners of their own. It stands in a member of the object itself.
struct ListRule {
  std::string_view parent, list; ///< "status", "conditions"
  std::string_view key;          ///< the member that tells elements apart; empty: a set of values
};
/// The rules of a kind; those of metadata hold for every kind and are not among them.
using ListRules = std::span<const ListRule>;

/// Every owned field of an object with its value; `status`: of the status subresource alone, else
/// all but status. What the server writes into metadata is nobody's.
Leaves leaves_of(const nlohmann::json& object, bool status, ListRules lists);

nlohmann::json fields_v1(const FieldSet& fields);
FieldSet parse_fields_v1(const nlohmann::json& fields);

/// Elements of a list that is merged by its elements (finalizers, conditions, ...): merging looks
/// at each of both sides. Code::invalid for an object, or a patch of one, with more.
inline constexpr std::size_t k_max_elements = 1'000;
Result<void> check_lists(const nlohmann::json& object, ListRules lists);

/// Who owns a field is kept by its whole path: of what is merged they are this long together, or it
/// is Code::too_large.
inline constexpr std::size_t k_max_field_bytes = 8u << 20;
Result<void> check_fields(const nlohmann::json& object, ListRules lists);

/// Sets, or removes, one field of an object; elements of keyed lists are made as needed.
void put_field(nlohmann::json& object, const FieldPath& path, const nlohmann::json& value);
void remove_field(nlohmann::json& object, const FieldPath& path);

struct Writer {
  std::string manager, api_version;
  std::string time;     ///< RFC 3339
  bool status = false;  ///< writes the subresource status, and nothing but status
  ListRules lists = {}; ///< of the object's kind
};

/// managedFields of `now`, after `writer` made it out of `old` (null: created it).
void own_update(const nlohmann::json& old, nlohmann::json& now, const Writer& writer);

/// Server-side apply of `config` over `live` (null: it is made). Code::conflict lists the fields
/// that others own and that would change, unless `force`.
Result<nlohmann::json> apply(const nlohmann::json& live, const nlohmann::json& config,
                             const Writer& writer, bool force);

/// Strategic merge patch, with $patch, $setElementOrder, $deleteFromPrimitiveList, $retainKeys.
Result<nlohmann::json> strategic_merge(const nlohmann::json& object, const nlohmann::json& patch,
                                       ListRules lists);

} // namespace zoo::resources
