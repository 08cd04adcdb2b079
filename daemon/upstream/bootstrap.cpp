// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/bootstrap.hpp"

#include "common/base/log.hpp"
#include "common/crypto/certificate.hpp"
#include "common/crypto/key.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json.hpp>

#include <array>

namespace zoo::upstream {
namespace {

using State = ObjectState::State;

ObjectState examine_one(ControlApi& api, const Manifest& manifest) {
  ObjectState out{State::equal, &manifest, {}};
  const auto actual = api.get(manifest.path);
  if (!actual) {
    const bool missing = actual.error().code() == Code::not_found;
    out.state = missing ? State::missing : State::unreadable;
    out.message = missing ? "it is not there" : actual.error().message();
    return out;
  }
  std::string where;
  if (!covers(*actual, nlohmann::json::parse(manifest.json), where)) {
    out.state = State::different;
    out.message = fmt::format("it differs at {}", where);
  }
  return out;
}

Error cannot_install(const Manifest& manifest, const Error& cause) {
  if (cause.code() == Code::forbidden) {
    return Error(Code::forbidden,
                 fmt::format("zood may not install {} upstream: {}; give an administrator's "
                             "kubeconfig, or have one run: zood {} | kubectl apply --server-side "
                             "-f -",
                             manifest.title(), cause.message(), manifest.printed_by));
  }
  if (cause.code() == Code::not_found) {
    return Error(cause.code(),
                 fmt::format("the upstream does not serve {} ({}): zood needs the kubeconfig of a "
                             "cluster, of Kubernetes 1.33 or newer",
                             manifest.kind, manifest.path));
  }
  return Error(cause.code(), cause.text()).context("while installing {}", manifest.title());
}

} // namespace

bool covers(const nlohmann::json& actual, const nlohmann::json& wanted, std::string& where) {
  const auto inside = [&where](const std::string& step, bool good) {
    if (!good) where = "/" + step + where;
    return good;
  };
  if (wanted.is_object()) {
    if (!actual.is_object()) return false;
    for (const auto& [key, value] : wanted.items()) {
      const auto found = actual.find(key);
      // The server leaves out what is empty; a false or an empty list equals nothing.
      if (found == actual.end()) {
        if (value.is_null() || value == false || (value.is_array() && value.empty())) continue;
        return inside(key, false);
      }
      if (!inside(key, covers(*found, value, where))) return false;
    }
    return true;
  }
  if (wanted.is_array()) {
    if (!actual.is_array() || actual.size() != wanted.size()) return false;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (!inside(std::to_string(i), covers(actual[i], wanted[i], where))) return false;
    return true;
  }
  return actual == wanted;
}

std::vector<ObjectState> examine(ControlApi& api, const std::vector<Manifest>& all) {
  std::vector<ObjectState> out;
  for (const auto& manifest : all)
    out.push_back(examine_one(api, manifest));
  return out;
}

Result<std::vector<ObjectState>> bootstrap(ControlApi& api, bool own,
                                           const std::vector<Manifest>& all) {
  std::vector<ObjectState> out;
  for (const auto& manifest : all) {
    auto state = examine_one(api, manifest);
    if (state.state != State::equal) {
      const auto wanted = nlohmann::json::parse(manifest.json);
      auto applied = api.apply(manifest.path, wanted);
      // A binding's roleRef cannot be changed (RBAC validation): one of ours that points elsewhere
      // is made anew.
      if (!applied && applied.error().code() == Code::invalid && wanted.contains("roleRef")) {
        const auto gone = api.remove_unless(manifest.path, [&](const nlohmann::json& actual) {
          return actual.value("roleRef", nlohmann::json()) == wanted["roleRef"];
        });
        if (gone) applied = api.apply(manifest.path, wanted);
      }
      if (applied) {
        log::info("upstream", "installed {}: {}", manifest.title(), state.message);
        state = {State::equal, &manifest, {}};
      } else if (!own || manifest.need == Need::fence || applied.error().code() == Code::timeout ||
                 applied.error().code() == Code::unavailable) {
        return fail(cannot_install(manifest, applied.error()));
      } else {
        state.message += ", and zood may not repair it: " + applied.error().message();
        log::warning("upstream", "{}: {}", manifest.title(), state.message);
      }
    }
    out.push_back(std::move(state));
  }
  return out;
}

Result<void> refuse_trusted_ca(ControlApi& api, const crypto::Certificate& ca,
                               const crypto::PrivateKey& ca_key) {
  auto map = api.get("/api/v1/namespaces/kube-system/configmaps/"
                     "extension-apiserver-authentication");
  if (!map) {
    if (map.error().code() == Code::not_found) return {};
    return fail(std::move(map).error().context(
        "while checking that the upstream does not trust the tenants' CA"));
  }
  const auto data = map->value("data", nlohmann::json::object());
  constexpr std::array<std::string_view, 2> keys{"client-ca-file", "requestheader-client-ca-file"};
  for (const auto key : keys) {
    const auto pem = data.value(std::string(key), std::string());
    if (pem.empty()) continue;
    ZOO_TRY(const auto trusted, crypto::Certificate::bundle_from_pem(pem));
    for (const auto& one : trusted) {
      if (one.belongs_to(ca_key) || one.sha256() == ca.sha256() || ca.issued_by(one)) {
        return fail(Code::invalid,
                    "the upstream trusts the tenants' CA for its own clients ({}): a tenant's "
                    "certificate would be a login there; give another pki.ca_certificate, or none "
                    "and zood makes one",
                    key);
      }
    }
  }
  return {};
}

} // namespace zoo::upstream
