// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/accounts/reservations.hpp"
#include "daemon/accounts/saga.hpp"
#include "daemon/accounts/space_judge.hpp"
#include "daemon/resources/backing.hpp"
#include "daemon/upstream/connections.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace zoo::accounts {

/// Writes of spaces: Spaces of tenancy.kiosk.sh, and the same as Namespaces at the account door.
/// zood makes them as itself, so who may do what is judged here (docs/accounts.md). Any thread;
/// calls block, a creation for as long as WriteParts::answer_within says.
///
/// Errors are for the user: Code::forbidden is the same whether the space exists or not, unless he
/// has the right.
class SpaceWrites {
public:
  /// `once`: of WriteParts::connect_once.
  SpaceWrites(const WriteParts& parts, Saga& saga, upstream::Connections& connections,
              upstream::Connections& once)
      : parts_(parts), saga_(saga), connections_(connections), once_(once) {}

  /// Backing::admit() of both forms: may he ask for this at all?
  Result<void> admit(const resources::Who& who, resources::Verb verb, std::string_view name) const;

  /// A Space; answers the Space. One that is not ready in time has status.phase Initializing, and a
  /// warning says so.
  Result<resources::Written> create(const resources::Who& who, nlohmann::json space,
                                    const resources::WriteOptions& options);
  /// The whole wanted Space, of an update and of a patch alike.
  Result<resources::Written> update(const resources::Who& who, nlohmann::json space,
                                    const resources::WriteOptions& options);
  Result<resources::Written> remove(const resources::Who& who, const resources::Key& key,
                                    const resources::Preconditions& expected,
                                    const resources::WriteOptions& options);

  /// Server-side apply of a Space, or of a Namespace as create_namespace() takes one. Upstream
  /// merges it and keeps who owns which field; what comes of it is judged as an update is. A space
  /// that is not there is made. Code::conflict names the fields that others own.
  Result<resources::Written> apply(const resources::Who& who, std::string_view name,
                                   nlohmann::json space, const resources::WriteOptions& options);
  Result<resources::Written> apply_namespace(const resources::Who& who, std::string_view name,
                                             nlohmann::json object,
                                             const resources::WriteOptions& options);
  /// May he ask for apply_namespace()? Whoever may make spaces may, and members of a space's owner.
  Result<void> admit_apply(const resources::Who& who, std::string_view name) const;

  /// `kubectl create namespace` at the account door: a Namespace in, a Namespace out. Its owner
  /// stands in the label or in the annotation kiosk.sh/account.
  Result<resources::Written> create_namespace(const resources::Who& who, nlohmann::json object,
                                              const resources::WriteOptions& options);

private:
  enum class Form { space, name_space };
  Result<resources::Written> create_as(Form form, const resources::Who& who, nlohmann::json space,
                                       const resources::WriteOptions& options);
  Result<resources::Written> make(Form form, const SpaceMoment& moment, nlohmann::json object,
                                  const std::string& owner, const resources::WriteOptions& options,
                                  std::vector<std::string> warnings);
  Result<nlohmann::json> move(upstream::ControlApi& api, const SpaceMoment& moment,
                              nlohmann::json object, const resources::WriteOptions& options);
  Result<resources::Written> apply_as(Form form, const resources::Who& who, std::string_view name,
                                      nlohmann::json space, const resources::WriteOptions& options);
  Result<resources::Written> apply_once(Form form, const SpaceMoment& moment,
                                        const nlohmann::json& live, const nlohmann::json& space,
                                        const resources::WriteOptions& options);
  static resources::Written written(Form form, nlohmann::json name_space,
                                    std::vector<std::string> warnings = {});
  Result<resources::Written> update_once(const resources::Who& who, const nlohmann::json& space,
                                         const resources::WriteOptions& options);
  bool seen(const SpaceMoment& moment, const nlohmann::json& object, bool by_its_maker) const;

  const WriteParts& parts_;
  Saga& saga_;
  upstream::Connections& connections_;
  upstream::Connections& once_;
};

} // namespace zoo::accounts
