// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/resources/request.hpp"

#include <nlohmann/json_fwd.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::resources {

/// One object of a kind as its clients see it, whole. Immutable; any thread.
using ObjectPtr = std::shared_ptr<const nlohmann::json>;
ObjectPtr make_object(nlohmann::json object);

/// Which object: `space` is its namespace, empty for a kind of the whole cluster. Objects are
/// listed in the order of their keys.
struct Key {
  std::string space, name;
  auto operator<=>(const Key&) const = default;
};
Key key_of(const nlohmann::json& object);
/// metadata.resourceVersion as a number; 0 if it is none.
std::int64_t version_of(const nlohmann::json& object);

struct Page {
  std::vector<ObjectPtr> items; ///< by key
  std::int64_t revision = 0;    ///< of the moment: a watch from here misses nothing
  std::optional<Key> next;      ///< go on behind this one; nothing: that is all
};

/// One change that a watch tells of, as the watching caller sees it.
struct Change {
  /// passed: nothing has changed for this caller up to `revision`; there is no object.
  enum class Type { added, modified, deleted, passed } type = Type::added;
  ObjectPtr object; ///< of one that is deleted its last state; null if it is `passed`
  /// Where the watch stands behind this change; it never falls. Mostly the object's own
  /// resourceVersion. One that a grant brought to light is older than the grant: a bookmark then
  /// tells the client how far it has come.
  std::int64_t revision = 0;
};

/// A running watch; destroying it ends it and waits for a callback in progress.
class Subscription {
public:
  virtual ~Subscription() = default;
};

enum class Verb { get, list, watch, create, update, patch, remove };
std::string_view verb_name(Verb verb); ///< as RBAC spells it: "get", ..., "delete"

struct WriteOptions {
  bool dry_run = false; ///< everything is checked, nothing is written
  std::string manager;  ///< fieldManager, or the first word of User-Agent
  bool force = false;   ///< of an apply: fields that others own are taken from them
};

/// What a write made.
struct Written {
  ObjectPtr object; ///< as it is now; null: it is gone
  std::vector<std::string> warnings = {};
  bool created = false; ///< by an apply of what was not there
};

/// What an object must be at the moment of a write; empty: it does not matter.
struct Preconditions {
  std::string uid, resource_version;
};

/// Where the objects of one kind come from: records of zood's store, views computed for each
/// caller, another API server. The room judges requests and renders answers; a backing says what
/// there is for a caller and carries writes out. Thread-safe. Calls may block unless the backing
/// says otherwise; `on_change` comes on any thread, in order, and must not block.
///
/// Errors carry a sentence for the caller. What a caller may not see does not exist for him:
/// Code::not_found, and it is absent from lists.
class Backing {
public:
  virtual ~Backing() = default;

  /// Asked before anything else of a request, and before it is said whether the object exists.
  /// Code::forbidden. `key.name` is empty for lists, watches and creates whose name is not known.
  virtual Result<void> admit(const Who& caller, Verb verb, const Key& key);

  /// Code::not_found.
  virtual Result<ObjectPtr> get(const Who& caller, const Key& key) = 0;
  /// At most `limit` objects behind `after` (an empty key: from the first on) of one namespace, or
  /// of all if `space` is empty.
  virtual Result<Page> list(const Who& caller, std::string_view space, const Key& after,
                            std::size_t limit) = 0;
  /// Every change behind `revision` (0: from now on) that concerns what the caller may see, and
  /// each change of what he may see: Change::Type::added for an object that a grant shows him,
  /// deleted for one that a revocation hides. Code::expired if that is too long ago.
  virtual Result<std::unique_ptr<Subscription>>
  watch(const Who& caller, std::int64_t revision, std::function<void(const Change&)> on_change) = 0;

  // Writes. The default of each is Code::method_not_allowed; a kind names in its verbs what it has.

  /// Code::already_exists.
  virtual Result<Written> create(const Who& caller, nlohmann::json object,
                                 const WriteOptions& options);
  /// Replaces all but what the server writes. metadata.uid and resourceVersion, if they are there,
  /// are compared by the write itself: Code::conflict.
  virtual Result<Written> update(const Who& caller, nlohmann::json object,
                                 const WriteOptions& options);
  /// The same as admit() of a server-side apply, which may make the object: asked instead of it
  /// where Kind::applies. By default it is what Verb::patch is.
  virtual Result<void> admit_apply(const Who& caller, const Key& key);
  /// Server-side apply of what a client wrote, where Kind::applies says that the backing does it.
  /// Code::conflict where others own fields, unless options.force.
  virtual Result<Written> apply(const Who& caller, const Key& key, nlohmann::json config,
                                const WriteOptions& options);
  /// The object as it goes, or null where it is gone. Preconditions are compared by the write
  /// itself: Code::conflict.
  virtual Result<Written> remove(const Who& caller, const Key& key, const Preconditions& expected,
                                 const WriteOptions& options);
};

} // namespace zoo::resources
