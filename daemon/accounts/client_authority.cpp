// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/client_authority.hpp"

#include "common/base/log.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/upstream/upstream.hpp"

#include <algorithm>
#include <utility>

namespace zoo::accounts {

Result<std::string> client_authorities(std::string_view config_map,
                                       const crypto::Certificate& never) {
  const auto tree = translate::JsonTree::parse(config_map);
  if (!tree) return fail(Code::invalid, "the ConfigMap cannot be read: {}", tree.error().message());
  const auto text = tree->root()["data"]["client-ca-file"].string();
  if (text.empty()) return std::string();
  auto bundle = crypto::Certificate::bundle_from_pem(text);
  if (!bundle)
    return fail(Code::invalid, "its key client-ca-file cannot be read: {}",
                bundle.error().message());
  std::string out;
  for (const auto& each : *bundle)
    if (each.der() != never.der()) out += each.to_pem();
  return out;
}

Authorities::Authorities(const std::string& pem) : pem_(pem) {
  if (pem.empty()) return;
  const auto bundle = crypto::Certificate::bundle_from_pem(pem);
  if (!bundle) return; // nobody is trusted
  for (const auto& each : *bundle)
    digests_.push_back(each.sha256());
}

bool Authorities::include(std::string_view sha256) const {
  return std::any_of(digests_.begin(), digests_.end(),
                     [&](const auto& digest) { return crypto::view(digest) == sha256; });
}

ClientAuthority::ClientAuthority(upstream::Upstream& upstream, net::Loop& loop,
                                 const std::string& first, const crypto::Certificate& never,
                                 std::function<void()> changed)
    : authorities_(std::make_shared<const Authorities>(first)), never_(never),
      changed_(std::move(changed)) {
  upstream::ChangeFollower::Hears hears;
  hears.whole = true;
  hears.looks = [this] { seen_ = false; };
  hears.found = [this](std::string_view name, std::string_view object) {
    if (name != k_authentication_name) return;
    seen_ = true;
    take(object);
  };
  hears.began = [this] {
    if (!seen_) take("{}");
  };
  hears.changed = [this](translate::EventType type, const auto&, std::string_view object) {
    take(type == translate::EventType::deleted ? "{}" : object);
  };
  follower_ = std::make_unique<upstream::ChangeFollower>(
      upstream, loop, upstream.caller(loop), std::string(k_authentication_path),
      "metadata.name=" + std::string(k_authentication_name), std::move(hears));
}

void ClientAuthority::start() { follower_->start(); }

void ClientAuthority::take(std::string_view config_map) {
  auto pem = client_authorities(config_map, never_);
  if (!pem) {
    log::error("accounts",
               "the account door goes on with the client authorities that it has: {} {}",
               k_authentication_name, pem.error().text());
    return;
  }
  if (*pem == authorities_.load()->pem()) return;
  authorities_.store(std::make_shared<const Authorities>(*pem));
  changed_();
}

} // namespace zoo::accounts
