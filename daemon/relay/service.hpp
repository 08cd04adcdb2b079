// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/http/stream.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/relay/hooks.hpp"
#include "daemon/relay/limits.hpp"
#include "daemon/relay/lines.hpp"
#include "daemon/relay/places.hpp"
#include "daemon/relay/tally.hpp"
#include "daemon/translate/mapping.hpp"
#include "daemon/translate/webhook_relay.hpp"
#include "daemon/upstream/call.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace zoo::relay {

/// What the relay of one loop stands on; all of it outlives it.
struct Parts {
  net::Loop& loop;
  upstream::Caller& caller; ///< to upstream, on this loop
  /// Whose paths are taken; null: none yet.
  std::function<std::shared_ptr<const translate::Relay>()> relay;
  /// The names of a tenant that there is, suspended or not; nullopt for an ID that is nobody's.
  std::function<std::optional<translate::Mapping>(const std::string& id)> mapping_of;
  std::function<bool()> hears; ///< Hooks' of the same name
  /// Is this path zood's own question whether upstream reaches the door? Null: there is none.
  std::function<bool(std::string_view path)> reaches;
  Tally& tally;
  Reviews reviews{};
  Limits limits{};
};

/// What the requests of the door share. On one loop.
struct Room {
  explicit Room(Parts given);

  const Parts parts;
  Places places;
  Hooks hooks;
  Lines lines;
  /// Tells of a failure, at most once a second; how many were passed over stands in the next line.
  void tell(const translate::HookName& name, int status, std::string_view why);

private:
  std::chrono::steady_clock::time_point told_{};
  std::uint64_t untold_ = 0;
};

/// The door at which upstream's kube-apiserver calls tenants' webhooks: it takes reviews at the
/// paths that zood itself has made (their MAC is the key; upstream shows no certificate), asks the
/// webhook in the tenant's pod, in the tenant's words, and answers in upstream's. Whatever else is
/// asked is 404. Failures are a metav1.Status whose message upstream shows. One a loop.
class RelayService final : public http::Service {
public:
  explicit RelayService(Parts parts) : room_(std::make_shared<Room>(std::move(parts))) {}

  std::unique_ptr<http::StreamHandler> on_request(http::RequestHead head,
                                                  http::ServerStream& stream) override;
  /// An object that names webhooks has changed; loop thread.
  void changed(std::string_view object) { room_->hooks.changed(object); }
  void all_changed() { room_->hooks.all_changed(); }

private:
  std::shared_ptr<Room> room_;
};

} // namespace zoo::relay
