// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/account_door.hpp"

#include "common/base/log.hpp"
#include "common/kube/age.hpp"
#include "daemon/accounts/account_api.hpp"
#include "daemon/upstream/control_api.hpp"
#include "daemon/upstream/credential.hpp"

#include <nlohmann/json.hpp>

namespace zoo::app {
namespace {

constexpr std::size_t k_threads = 16;

Result<std::string> authorities_now(const AccountDoorParts& parts) {
  const auto map = parts.credential.api()->get(
      fmt::format("{}/{}", accounts::k_authentication_path, accounts::k_authentication_name));
  if (!map && map.error().code() == Code::not_found) return std::string();
  auto out = map ? accounts::client_authorities(map->dump(), parts.tenants_ca) : fail(map.error());
  if (!out)
    return fail(
        Error(out.error()).context("while asking the upstream whose client certificates it takes"));
  return out;
}

} // namespace

Result<std::unique_ptr<AccountDoor>> AccountDoor::open(AccountDoorParts parts) {
  ZOO_TRY(const auto client_ca, authorities_now(parts));
  std::unique_ptr<AccountDoor> out(new AccountDoor(std::move(parts), client_ca));
  ZOO_TRY_VOID(out->listen());
  return out;
}

AccountDoor::AccountDoor(AccountDoorParts parts, const std::string& client_ca)
    : parts_(std::move(parts)),
      workers_(std::make_shared<resources::Workers>("accounts", k_threads)),
      api_(std::make_shared<const accounts::AccountApi>(
          resources::Api::Parts{
              .kinds = parts_.kinds,
              .name = "zood's account door",
              .title = "zood accounts",
              .later = [workers = workers_](auto job) { workers->put_away(std::move(job)); },
              .now = kube::unix_now},
          *workers_, parts_.rights)),
      views_{parts_.upstream,
             parts_.rights,
             api_,
             parts_.known_space,
             [this](auto sha256) { return authority_.authorities()->include(sha256); },
             parts_.share_of},
      authority_(parts_.upstream, *parts_.loops.front(), client_ca, parts_.tenants_ca,
                 [this] { renew(); }) {}

AccountDoor::~AccountDoor() { close(); }

Result<void> AccountDoor::listen() {
  ZOO_TRY(const auto options, parts_.identity(authority_.authorities()->pem()));
  ZOO_TRY(tls_, net::TlsServerContext::create(options));
  ZOO_TRY(listener_,
          net::Listener::tcp(
              parts_.loops, parts_.listen, tls_, parts_.listener_limits, [this](net::Loop& loop) {
                auto source =
                    std::make_unique<accounts::AccountViewSource>(loop, views_, parts_.flow);
                auto* const kept = source.get();
                auto made = std::make_unique<gateway::Gateway>(loop, parts_.gateway,
                                                               std::move(source), parts_.limits);
                on_loops_.push_back({&loop, made.get(), kept});
                return made;
              }));
  authority_.start();
  log::info("app", "the account door listens on {}", listener_->address());
  return {};
}

void AccountDoor::close() {
  listener_.reset();
  workers_->stop();
}

void AccountDoor::renew() {
  const std::scoped_lock lock(renewing_);
  const auto options = parts_.identity(authority_.authorities()->pem());
  const auto done = options ? tls_->reload(*options) : Result<void>(fail(options.error()));
  if (!done)
    log::error("app",
               "the account door goes on with the certificate that it has, and lets nobody in by a "
               "client authority that is new: {}",
               done.error().text());
}

void AccountDoor::set_limits(const gateway::GatewayLimits& limits, const api::Flow& flow) {
  for (const auto& each : on_loops_)
    each.loop->post([gateway = each.gateway, source = each.source, limits, flow] {
      gateway->set_limits(limits);
      source->set_flow(flow);
    });
}

} // namespace zoo::app
