// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/target.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

/// A CustomResourceDefinition decides whether upstream can read the objects that are stored under
/// it. While it cannot read one of them, it lists that kind for nobody, and since its controllers
/// list every kind, no namespace of anybody is deleted (docs/decisions/160).
namespace zoo::gateway {

/// At most so many places with x-kubernetes-embedded-resource in all schemas of a definition.
inline constexpr std::size_t k_max_embedded = 128;

/// Could upstream come to refuse to read an object that is stored under this definition?
///
/// It does where `metadata`, `kind` or `apiVersion` of an embedded resource is malformed. So
/// a field that is an embedded resource in one version must be one in each version that keeps the
/// field, and must have been one since the definition was created. Upstream also refuses where it
/// cannot evaluate the path of a selectable field: it reads the path as a JSONPath, in which some
/// characters of property names have a meaning. `after`, `before`: the `spec` of the definition;
/// `before` is absent where it is created. Code::forbidden with the rule (definition-schemas) and
/// the way out.
Result<void> check_schemas(translate::JsonNode after, translate::JsonNode before);

/// A tenant's update of a definition, held against what is stored.
struct DefinitionWrite {
  std::string body;                 ///< what is stored instead; "": what was asked for
  std::vector<std::string> dropped; ///< versions taken from status.storedVersions
};

/// May `after` replace `before`? Both whole, in upstream's names; `target` says whether the
/// definition or its status is written.
///
/// In the status, what upstream's own controllers write stays as it is: the accepted names and
/// the conditions by which they serve the kind and clean up behind it. A write that drops stored
/// versions writes nothing else.
/// Code::forbidden with the rule: a finalizer by which upstream removes the objects is taken away
/// (definition-cleanup), or the storage version is dropped (stored-versions). check_schemas() too.
Result<DefinitionWrite> judge_definition(const translate::Target& target, std::string_view before,
                                         std::string_view after);

/// For each definition, when this zood first saw its present generation. Any thread.
class DefinitionAges {
public:
  using Clock = std::chrono::steady_clock;
  /// A write that upstream began under an earlier definition stores its object in the earlier
  /// storage version. It ends within upstream's --request-timeout (60 s unless set); the rest is
  /// for API servers that hear of the definition later than others.
  static constexpr std::chrono::seconds k_settled{65};

  /// How long ago the definition was first seen in this generation, which is now at the latest.
  /// Upstream counts a generation for each change of its `spec`.
  Clock::duration age(const std::string& uid, std::int64_t generation, Clock::time_point now);

private:
  struct Seen {
    std::int64_t generation;
    Clock::time_point since;
  };
  static constexpr std::size_t k_most = 4096; ///< beyond it the longest known is forgotten
  std::mutex mutex_;
  std::map<std::string, Seen> seen_; ///< by UID
};

} // namespace zoo::gateway
