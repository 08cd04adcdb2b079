// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/account_events.hpp"

#include "common/api/tenant.hpp"
#include "common/base/log.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/accounts/paths.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace zoo::accounts {
namespace {

constexpr std::size_t k_longest_message = 1'024; // of an Event
constexpr std::size_t k_longest_account = 200;   // so that the whole name has 253 at most
constexpr std::size_t k_digits = 16;

} // namespace

void tell_event(upstream::ControlApi& api, const Account& account, std::string_view reason,
                std::string_view message, std::int64_t now) {
  const auto time = api::rfc3339(now);
  const auto what = fmt::format("{} {} {} {}", account.uid, reason, message, now);
  const auto digest = crypto::hex_encode(crypto::view(crypto::sha256(what))).substr(0, k_digits);
  const nlohmann::json event{
      {"apiVersion", "v1"},
      {"kind", "Event"},
      {"metadata",
       {{"name", fmt::format("{}.{}", account.name.substr(0, k_longest_account), digest)},
        {"namespace", "default"}}},
      {"involvedObject",
       {{"apiVersion", config_api_version()},
        {"kind", "Account"},
        {"name", account.name},
        {"uid", account.uid}}},
      {"type", "Warning"},
      {"reason", reason},
      {"message", message.substr(0, k_longest_message)},
      {"source", {{"component", "zood"}}},
      {"firstTimestamp", time},
      {"lastTimestamp", time},
      {"count", 1}};
  const auto done = api.create("/api/v1/namespaces/default/events", event);
  if (done || done.error().code() == Code::already_exists) return;
  log::warning("accounts", "account {} has no Event {}: {}", account.name, reason,
               done.error().text());
}

} // namespace zoo::accounts
