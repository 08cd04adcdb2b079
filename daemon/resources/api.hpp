// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/resources/discovery.hpp"
#include "daemon/resources/kind.hpp"
#include "daemon/resources/negotiate.hpp"
#include "daemon/resources/openapi.hpp"
#include "daemon/resources/request.hpp"
#include "daemon/resources/table.hpp"
#include "daemon/resources/watch.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::resources {

/// A small API server for kinds that zood serves itself: paths to verbs, verbs to calls of the
/// kinds' backings, and their answers into Kubernetes' forms. Any thread; it blocks as long as the
/// backings do. Holds no state but the rows.
class Api {
public:
  struct Parts {
    std::vector<KindPtr> kinds;
    std::vector<ServedGroup> others = {}; ///< discovery tells of them; somebody else answers them
    std::string name;                     ///< for people: "zood's admin API"
    std::string title;                    ///< of the OpenAPI documents
    Later later;                          ///< puts an ended watch's subscription away
    std::function<std::int64_t()> now;    ///< Unix seconds
  };
  explicit Api(Parts parts);

  /// Discovery, OpenAPI, and whatever stands below a group and version of the kinds; nothing for
  /// other paths.
  std::optional<Answer> handle(const Request& request) const;

  bool has_group(std::string_view group) const;

private:
  /// What a path under /apis/<group>/<version> or /api/<version> names.
  struct Target {
    KindPtr kind;
    Key key;         ///< empty name: the collection
    std::string sub; ///< subresource; empty: none
  };
  /// Of a write, what its query and headers ask for.
  struct Write {
    WriteOptions options;
    Representation representation;
    RowObject row = RowObject::metadata;
    bool force = false; ///< of an apply
  };
  struct Input {
    nlohmann::json object;
    std::vector<std::string> warnings;
  };

  /// Fills `target`, or says what is wrong with the path, whose segment `version` is one of the
  /// group's.
  std::optional<Answer> find(const Request& request, std::string_view group, std::size_t version,
                             Target& target) const;
  Answer serve(const Request& request, const Target& target) const;
  Answer collection(const Request& request, const Target& target) const;
  Answer subresource(const Request& request, const Target& target) const;

  Result<Answer> list(const Request& request, const Target& target) const;
  Result<Answer> watch(const Request& request, const Target& target) const;
  Result<WatchPlan> plan_watch(const Request& request, const Target& target) const;
  Result<std::vector<ObjectPtr>> all(const Request& request, const Target& target,
                                     std::string_view only, std::int64_t& revision) const;
  Result<Answer> get(const Request& request, const Target& target, bool decorated) const;

  Result<Answer> create(const Request& request, const Target& target) const;
  Result<Answer> update(const Request& request, const Target& target) const;
  Result<Answer> patch(const Request& request, const Target& target) const;
  Result<Answer> apply(const Request& request, const Target& target, const Write& write) const;
  Result<Answer> remove(const Request& request, const Target& target) const;

  static Result<Write> write_of(const Request& request);
  Writer writer(const Kind& kind, const Write& write) const;
  /// `stored`: as of judge_fields(). `before` is null for a create.
  static Result<Input> accept(const Request& request, const Kind& kind, nlohmann::json object,
                              const nlohmann::json* before,
                              const std::vector<std::string>& duplicates,
                              const std::vector<std::string>& stored = {});
  /// One object in the wanted form.
  Answer show(int status, const Kind& kind, const nlohmann::json& object, const Write& write,
              std::vector<std::string> warnings = {}) const;

  /// The same of what a write made, with the backing's warnings behind the room's.
  Answer done(int status, const Kind& kind, const Written& written, const Write& write,
              std::vector<std::string> warnings = {}) const;

  Parts parts_;
  std::vector<ServedGroup> groups_;
  std::shared_ptr<const OpenApi> openapi_;
};

} // namespace zoo::resources
