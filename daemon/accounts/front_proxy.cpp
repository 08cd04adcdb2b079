// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/front_proxy.hpp"

#include "common/base/log.hpp"
#include "common/base/text.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/authz/rule.hpp"
#include "daemon/upstream/change_follower.hpp"
#include "daemon/upstream/upstream.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace zoo::accounts {
namespace {

using nlohmann::json;

/// A list of strings, which stands in the ConfigMap as JSON text. Absent or empty: none.
Result<std::vector<std::string>> read_list(const json& data, const char* key) {
  std::vector<std::string> out;
  const auto found = data.find(key);
  if (found == data.end()) return out;
  const auto broken = [key] {
    return fail(Code::invalid, "{} of ConfigMap kube-system/{} is no list of strings", key,
                k_authentication_map);
  };
  if (!found->is_string()) return broken();
  const auto& text = found->get_ref<const std::string&>();
  if (text.empty()) return out;
  const auto list = json::parse(text, nullptr, false);
  if (list.is_null()) return out;
  if (!list.is_array()) return broken();
  for (const auto& one : list) {
    if (!one.is_string()) return broken();
    out.push_back(one.get<std::string>());
  }
  return out;
}

/// The same of names of headers, of which none is empty.
Result<std::vector<std::string>> read_headers(const json& data, const char* key) {
  ZOO_TRY(auto names, read_list(data, key));
  for (auto& name : names) {
    name = std::string(text::trim(name));
    if (name.empty())
      return fail(Code::invalid, "{} of ConfigMap kube-system/{} names an empty header", key,
                  k_authentication_map);
  }
  return names;
}

std::string first_value(const http::Headers& headers, const std::vector<std::string>& names) {
  for (const auto& name : names) {
    if (const auto value = headers.get(name); !value.empty()) return std::string(value);
  }
  return {};
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Percent-decoded; as it stands if it is not well encoded, as url.PathUnescape's callers do.
std::string unescaped(std::string key) {
  std::string out;
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (key[i] != '%') {
      out += key[i];
      continue;
    }
    const int high = i + 2 < key.size() ? digit(key[i + 1]) : -1;
    const int low = high >= 0 ? digit(key[i + 2]) : -1;
    if (low < 0) return key;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

void add_extra(resources::Who& who, const http::Headers& headers, std::string_view prefix) {
  for (const auto& header : headers) {
    if (header.name.size() < prefix.size() ||
        !text::iequals(header.name.substr(0, prefix.size()), prefix))
      continue;
    auto key = unescaped(text::lower(header.name.substr(prefix.size())));
    auto at = std::find_if(who.extra.begin(), who.extra.end(),
                           [&](const auto& entry) { return entry.first == key; });
    if (at == who.extra.end()) at = who.extra.insert(at, {std::move(key), {}});
    at->second.emplace_back(header.value);
  }
}

} // namespace

Result<FrontProxyTerms> read_front_proxy_terms(std::string_view config_map) {
  const auto map = json::parse(config_map, nullptr, false);
  if (!map.is_object())
    return fail(Code::invalid, "ConfigMap kube-system/{} is no JSON object", k_authentication_map);
  FrontProxyTerms out;
  const auto found = map.find("data");
  if (found == map.end() || !found->is_object()) return out;
  const auto& data = *found;
  const auto ca = data.find("requestheader-client-ca-file");
  if (ca == data.end() || !ca->is_string() || ca->get_ref<const std::string&>().empty()) return out;
  out.client_ca_pem = ca->get<std::string>();
  auto bundle = crypto::Certificate::bundle_from_pem(out.client_ca_pem);
  if (!bundle)
    return fail(std::move(bundle).error().context(
        "while reading requestheader-client-ca-file of ConfigMap kube-system/{}",
        k_authentication_map));
  out.authorities = *std::move(bundle);
  ZOO_TRY(out.allowed_names, read_list(data, "requestheader-allowed-names"));
  ZOO_TRY(out.user_headers, read_headers(data, "requestheader-username-headers"));
  ZOO_TRY(out.uid_headers, read_headers(data, "requestheader-uid-headers"));
  ZOO_TRY(out.group_headers, read_headers(data, "requestheader-group-headers"));
  ZOO_TRY(out.extra_prefixes, read_headers(data, "requestheader-extra-headers-prefix"));
  return out;
}

Result<void> believe_front_proxy(const FrontProxyTerms& terms, const http::ConnectionInfo& peer,
                                 std::chrono::system_clock::time_point now) {
  if (terms.client_ca_pem.empty())
    return fail(Code::unauthorized,
                "the upstream names no authority of front proxies "
                "(requestheader-client-ca-file in ConfigMap kube-system/{}): nobody is believed "
                "here",
                k_authentication_map);
  if (peer.peer_certificate_der.empty())
    return fail(Code::unauthorized,
                "this door is for the upstream's kube-apiserver alone, which shows a client "
                "certificate: ask the upstream for tenancy.kiosk.sh");
  const auto refused = [] {
    return fail(Code::unauthorized,
                "the client certificate is not that of the upstream's front proxy: ask the "
                "upstream for tenancy.kiosk.sh");
  };
  if (!peer.peer_certificate_verified) return refused();
  const auto certificate = crypto::Certificate::from_der(peer.peer_certificate_der);
  if (!certificate) return refused();
  if (now < certificate->not_before() || now > certificate->not_after()) return refused();
  // By the authority itself, or by intermediates that the handshake has followed to it.
  if (std::none_of(terms.authorities.begin(), terms.authorities.end(), [&](const auto& authority) {
        return certificate->issued_by(authority) ||
               crypto::view(authority.sha256()) == peer.peer_authority;
      }))
    return refused();
  if (terms.allowed_names.empty()) return {};
  const auto name = certificate->common_name();
  if (!name || std::find(terms.allowed_names.begin(), terms.allowed_names.end(), *name) ==
                   terms.allowed_names.end())
    return refused();
  return {};
}

Result<resources::Who> front_proxy_user(const FrontProxyTerms& terms,
                                        const http::Headers& headers) {
  resources::Who who;
  who.name = first_value(headers, terms.user_headers);
  if (who.name.empty()) return fail(Code::unauthorized, "the front proxy does not say who asks");
  who.uid = first_value(headers, terms.uid_headers);
  for (const auto& name : terms.group_headers) {
    for (const auto value : headers.all(name)) {
      if (!value.empty()) who.groups.emplace_back(value);
    }
  }
  for (const auto& prefix : terms.extra_prefixes)
    add_extra(who, headers, prefix);
  const auto says = [&](std::string_view group) {
    return std::find(who.groups.begin(), who.groups.end(), group) != who.groups.end();
  };
  if (who.name != authz::k_anonymous && !says(authz::k_authenticated) &&
      !says(authz::k_unauthenticated))
    who.groups.emplace_back(authz::k_authenticated);
  return who;
}

FrontProxy::FrontProxy(upstream::Upstream& upstream, net::Loop& loop, FrontProxyTerms first,
                       std::function<void(const FrontProxyTerms&)> changed)
    : changed_(std::move(changed)),
      terms_(std::make_shared<const FrontProxyTerms>(std::move(first))) {
  upstream::ChangeFollower::Hears hears;
  hears.whole = true;
  hears.looks = [this] { seen_ = false; };
  hears.found = [this](std::string_view name, std::string_view object) {
    if (name == k_authentication_map || name.ends_with("/" + std::string(k_authentication_map)))
      take(object);
  };
  hears.began = [this] {
    if (!seen_) take("{}");
  };
  hears.changed = [this](translate::EventType type, const translate::ObjectKey&,
                         std::string_view object) {
    take(type == translate::EventType::deleted ? "{}" : object);
  };
  follower_ = std::make_unique<upstream::ChangeFollower>(
      upstream, loop, upstream.caller(loop), std::string(k_authentication_maps),
      "metadata.name=" + std::string(k_authentication_map), std::move(hears));
}

FrontProxy::~FrontProxy() = default;

void FrontProxy::start() { follower_->start(); }

FrontProxyTermsPtr FrontProxy::terms() const { return terms_.load(); }

void FrontProxy::take(std::string_view config_map) {
  seen_ = true;
  auto read = read_front_proxy_terms(config_map);
  if (!read) {
    log::error("accounts", "nobody is believed at the aggregated door: {}", read.error().text());
    read = FrontProxyTerms{};
  }
  const auto before = terms_.load();
  const bool same =
      before->client_ca_pem == read->client_ca_pem &&
      before->allowed_names == read->allowed_names && before->user_headers == read->user_headers &&
      before->uid_headers == read->uid_headers && before->group_headers == read->group_headers &&
      before->extra_prefixes == read->extra_prefixes;
  if (same) return;
  const auto now = std::make_shared<const FrontProxyTerms>(*std::move(read));
  terms_.store(now);
  if (now->client_ca_pem.empty())
    log::warning("accounts", "the upstream names no front proxy any more: the aggregated door "
                             "believes nobody");
  changed_(*now);
}

} // namespace zoo::accounts
