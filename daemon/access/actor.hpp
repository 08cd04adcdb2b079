// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace zoo::access {

/// Why a request goes upstream with zood's own rights. Each is a proof that zood has made itself,
/// since upstream's RBAC cannot make it: RBAC knows neither prefixes nor key ranges, and filters no
/// lists. View::allows()
/// says which of them a view may use at all.
enum class Reason : std::uint8_t {
  own_keys,        ///< a list or a shared watch that shows nothing but the view's own keys
  own_group,       ///< every object of this API group is the view's own
  cluster_read,    ///< a read of a cluster-scoped object whose name was proven to be the view's own
  inert,           ///< a write of an object that is stored without effect upstream
  stored_versions, ///< a definition drops versions in which no object is stored any more
  signing,         ///< an approval or status of a certificate request; its signer was judged here
  room,            ///< the namespace and the RoleBinding that give the tenant's user its rights
  documents,       ///< discovery, OpenAPI, version and health: what zood answers from
  look,            ///< a read that a decision of zood's rests on; nothing of it is shown
  namespace_gone,  ///< the tenant's own user has no rights yet or any more, and the namespace was
                   ///< proven to be the tenant's
  own_rights,      ///< a list or a shared watch of many namespaces; it shows only objects in those
                   ///< where upstream's RBAC, evaluated by zood, lets the caller read that kind
};

/// Is the proof behind this reason that keys or groups begin with the view's prefix?
constexpr bool rests_on_prefix(Reason reason) {
  return reason != Reason::signing && reason != Reason::documents && reason != Reason::look &&
         reason != Reason::own_rights;
}

/// As whom one request goes upstream. Every flow says it for every request; there is no default.
class Actor {
public:
  /// The client, as his view's passage says.
  static constexpr Actor client() { return Actor(Who::client); }
  /// The client with his rights in namespaces that have no RoleBinding for his tenant's user: those
  /// that do not exist, and those that are being deleted. Upstream's admission policies hold him as
  /// they hold Actor::client(). The same as client() for a view that goes as its caller.
  static constexpr Actor client_anywhere() { return Actor(Who::anywhere); }
  /// zood itself, for a reason. In a view that does not allow the reason it is client().
  static constexpr Actor zood(Reason reason) { return Actor(Who::zood, reason); }

  constexpr bool is_client() const { return who_ == Who::client; }
  constexpr bool is_client_anywhere() const { return who_ == Who::anywhere; }
  /// Set if the request goes as zood.
  constexpr std::optional<Reason> reason() const { return reason_; }

private:
  enum class Who : std::uint8_t { client, anywhere, zood };
  constexpr explicit Actor(Who who, std::optional<Reason> reason = {})
      : who_(who), reason_(reason) {}

  Who who_;
  std::optional<Reason> reason_;
};

} // namespace zoo::access
