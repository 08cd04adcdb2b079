// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/status.hpp"

#include "daemon/audit/log.hpp"
#include "daemon/net/listener.hpp"
#include "daemon/upstream/control_api.hpp"
#include "daemon/upstream/credential.hpp"

#include <nlohmann/json.hpp>

namespace zoo::app {

Status::Status(const upstream::Credential& credential, const net::Listener& listener,
               std::size_t workers, std::string advertise, std::string socket,
               const audit::Log& audit)
    : credential_(credential), listener_(listener), audit_(audit), workers_(workers),
      advertise_(std::move(advertise)), socket_(std::move(socket)) {}

void Status::set_admin_listen(std::string address) {
  const std::scoped_lock lock(mutex_);
  admin_listen_ = std::move(address);
}

void Status::set_account_door(std::string server, std::function<std::string()> ca_pem) {
  account_door_ = std::move(server);
  account_ca_ = std::move(ca_pem);
}

admin::ServerStatus Status::status() {
  admin::ServerStatus out;
  out.version = ZOO_VERSION;
  out.listen = listener_.address();
  out.advertise = advertise_;
  out.admin_socket = socket_;
  out.account_door.server = account_door_;
  if (account_ca_) out.account_door.ca_pem = account_ca_();
  {
    const std::scoped_lock lock(mutex_);
    out.admin_listen = admin_listen_;
  }
  out.uptime =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - started_);
  out.workers = workers_;
  out.connections = listener_.connections();
  const auto audit = audit_.counters();
  out.audit.output = audit_.name();
  out.audit.written = audit.written;
  out.audit.lost = audit.lost;
  out.audit.refused = audit.refused;
  out.audit.trouble = audit.trouble;
  out.upstream.server = credential_.server();
  const auto api = credential_.api();
  if (const auto version = api->get("/version"); version) {
    out.upstream.reachable = true;
    out.upstream.version = version->value("gitVersion", "");
  } else {
    out.upstream.message = version.error().message();
  }
  return out;
}

} // namespace zoo::app
