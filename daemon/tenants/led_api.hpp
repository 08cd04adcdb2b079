// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/store/session.hpp"
#include "daemon/upstream/control_api.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace zoo::tenants {

/// The upstream as the leader asks it: before each request it is made sure that this zood leads
/// still. The upstream knows nothing of leadership; what a request does that was under way when it
/// ended is bound to what was read: deletions name a UID, changes a resourceVersion.
class LedApi final : public upstream::ControlApi {
public:
  /// Both outlive it. `session` null: this zood is alone.
  LedApi(upstream::ControlApi& inner, const store::Session* session)
      : inner_(inner), session_(session) {}

  Result<http_client::Response> request(std::string_view method, std::string_view path,
                                        std::string_view content_type, std::string body,
                                        std::string_view accept) override {
    if (session_ != nullptr && !session_->leads()) return store::not_leading();
    return inner_.request(method, path, content_type, std::move(body), accept);
  }

private:
  upstream::ControlApi& inner_;
  const store::Session* session_;
};

} // namespace zoo::tenants
