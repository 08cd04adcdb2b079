// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/accounts_manifests.hpp"

#include "daemon/upstream/yaml_manifests.hpp"

#include <fmt/format.h>

#include <utility>

namespace zoo::upstream {
namespace {

constexpr std::string_view k_accounts_option = "--print-upstream-accounts";
constexpr std::string_view k_policy = "ValidatingAdmissionPolicy";

/// Policies hold tenants and members to what they may; the rest is zood's own and the users'.
Need need_of(std::string_view kind) {
  return kind.starts_with(k_policy) ? Need::fence : Need::identity;
}

Manifest read(std::string_view yaml) {
  auto out = manifest_of_yaml(Need::identity, k_accounts_option, yaml);
  out.need = need_of(out.kind);
  return out;
}

/// Every document, and the binding behind each policy.
std::vector<std::pair<std::string, Manifest>> all() {
  std::vector<std::pair<std::string, Manifest>> out;
  for (const auto text : account_manifest_texts()) {
    for (const auto document : documents(text)) {
      out.emplace_back(document, read(document));
      if (const auto& policy = out.back().second; policy.kind == k_policy) {
        const auto binding = fmt::format("apiVersion: admissionregistration.k8s.io/v1\n"
                                         "kind: ValidatingAdmissionPolicyBinding\n"
                                         "metadata:\n"
                                         "  name: {0}\n"
                                         "  labels:\n"
                                         "    {1}: \"true\"\n"
                                         "spec:\n"
                                         "  policyName: {0}\n"
                                         "  validationActions: [Deny]\n",
                                         policy.name, k_managed_label);
        out.emplace_back(binding, read(binding));
      }
    }
  }
  return out;
}

} // namespace

const std::vector<Manifest>& account_manifests(bool self_service) {
  static const auto without = [] {
    std::vector<Manifest> out;
    for (auto& [text, manifest] : all())
      out.push_back(std::move(manifest));
    return out;
  }();
  static const auto with = [] {
    auto out = without;
    out.push_back(self_service_manifest());
    return out;
  }();
  return self_service ? with : without;
}

const Manifest& self_service_manifest() {
  static const auto manifest = read(documents(self_service_text()).front());
  return manifest;
}

std::string account_manifests_yaml() {
  std::string out(k_licence_line);
  out += "# What accounts and spaces need in the upstream cluster, beside upstream-rbac.yaml, for "
         "those\n"
         "# who install it themselves:\n"
         "#   kubectl apply --server-side -f upstream-accounts.yaml\n"
         "# Printed by `zood --print-upstream-accounts`.\n";
  for (const auto& [text, manifest] : all())
    out.append(k_between_documents).append(text);
  return out;
}

} // namespace zoo::upstream
