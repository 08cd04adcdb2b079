// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/resources/backing.hpp"
#include "daemon/resources/owners.hpp"
#include "daemon/resources/request.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// A kind that zood serves itself is one row: a Kind. Paths, verbs, patches, watches, tables,
/// selectors, discovery and OpenAPI follow from it.
namespace zoo::resources {

/// One field of a kind's schema.
struct Field {
  enum class Type {
    text,
    flag,
    number, ///< 64 bits
    map,    ///< of strings
    object, ///< with the members in `fields`
    open,   ///< an object with any members, which are kept
    list,   ///< of what fields[0] says
  };
  std::string name;
  Type type = Type::text;
  std::string description;
  std::vector<Field> fields = {};
  /// Of a list: the member that tells its elements apart, if each element can have an owner of its
  /// own. Without it the list is replaced as a whole.
  std::string merge_key = {};
};

/// One column of a Table.
struct Column {
  std::string name;
  std::string format; ///< "name" for the name's; else empty
  int priority = 0;   ///< above 0: shown by -o wide alone
  std::string description;
  /// The cell. `now`: Unix seconds, for ages.
  std::function<std::string(const nlohmann::json& object, std::int64_t now)> cell;
};

/// The text at a dotted path ("spec.displayName"); `otherwise` where there is none, or "".
std::string text_at(const nlohmann::json& object, std::string_view path,
                    std::string_view otherwise = {});
/// Cells that show such a text, and how long ago the time at a path was.
std::function<std::string(const nlohmann::json&, std::int64_t)>
cell_of(std::string path, std::string otherwise = "<none>");
std::function<std::string(const nlohmann::json&, std::int64_t)>
age_of(std::string path = "metadata.creationTimestamp");

/// Something that is asked of one object: a subresource.
struct Action {
  std::string name;   ///< of the path's last segment
  std::string kind;   ///< of its answer, for discovery
  std::string method; ///< "GET" or "POST"
  /// Empty: answers the object itself, as GET of the subresource status does.
  std::function<Result<Answer>(const Request& request, const Key& key)> answer = {};
  std::string_view verb() const { return method == "GET" ? "get" : "create"; }
};

/// What is particular to a kind's objects. Each function may be empty.
struct Strategy {
  /// Why a name must be given ("it is the tenant's ID"); empty: generateName makes one up.
  std::string no_generated_names = {};
  /// Takes out what a client must not store, before the object is looked at.
  std::function<void(nlohmann::json& object)> scrub = {};
  /// Judges apiVersion, kind and the types of all fields; empty: check_shape() does by the schema.
  std::function<Result<void>(nlohmann::json& object)> shape = {};
  /// Fills in what the client left out. `before` is null for a create.
  std::function<void(const Who& caller, nlohmann::json& object, const nlohmann::json* before)>
      defaults = {};
  /// Judges an object that is to be written, and gives it in its canonical form: equal objects are
  /// equal JSON. `before` is null for a create. Warnings go to the client. Code::invalid with the
  /// field first ("spec.x must ..."), or Code::forbidden.
  std::function<Result<nlohmann::json>(const Who& caller, nlohmann::json object,
                                       const nlohmann::json* before,
                                       std::vector<std::string>& warnings)>
      accept = {};
  /// Why a write that changes status is refused, with the field first; empty: what a client writes
  /// there is left out without a word, as upstream does.
  std::string own_status = {};
  /// Fields that had another name once, as dotted paths, and what they are called. Who writes one
  /// is told.
  std::vector<std::pair<std::string, std::string>> former = {};
  /// Adds to an object that is shown as a whole what only GET of one object shows.
  std::function<void(const Who& caller, nlohmann::json& object, std::vector<std::string>& warnings)>
      decorate = {};
};

struct Kind {
  std::string group; ///< "": the core group, whose paths begin with /api/<version>
  std::string version, resource, kind, singular;
  std::vector<std::string> short_names = {}, categories = {};
  bool namespaced = false;
  std::string description;           ///< of the kind, for `kubectl explain`
  std::string name_description = {}; ///< of the name in a path
  std::vector<Verb> verbs;
  /// Verbs that are served, and of which discovery does not tell: what upstream's controllers find
  /// there they use on their own account.
  std::vector<Verb> untold = {};
  std::vector<Field> metadata; ///< standard_metadata(), with what is particular
  std::string metadata_description = "Standard object metadata.";
  std::vector<Field> fields; ///< beside apiVersion, kind and metadata: mostly spec and status
  std::vector<Column> columns;
  /// Of fieldSelector, beside metadata.name (and metadata.namespace): dotted paths.
  std::vector<std::string> selectable = {};
  std::vector<Action> actions = {};
  Strategy strategy = {};
  /// metadata.managedFields is kept, and server-side apply asks who owns a field. Without it an
  /// applied object is laid over the stored one, lists are replaced and nothing is taken away.
  bool owners = false;
  /// The backing does server-side apply itself (Backing::apply); managedFields are its own.
  bool applies = false;
  bool strategic = false;           ///< strategic merge patches are taken
  bool finalizers = false;          ///< metadata.finalizers and ownerReferences mean something
  std::shared_ptr<Backing> backing; ///< never null

  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  /// "tenants.tenant.kubezoo.io"
  std::string title() const { return group.empty() ? resource : resource + "." + group; }
  bool has(Verb verb) const;
  bool has_status() const;
  std::vector<ListRule> lists() const; ///< refers into this row
};
using KindPtr = std::shared_ptr<const Kind>;

/// The metadata that every kind has, for its schema.
std::vector<Field> standard_metadata();
/// An element of status.conditions: what `type` and `status` may be, in words.
Field condition_field(std::string description, std::string types, std::string statuses);

/// The Status of a failure that concerns one object of a kind; an empty name: the collection.
Answer failure_of(const Kind& kind, const Error& error, std::string_view name);

} // namespace zoo::resources
