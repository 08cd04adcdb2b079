// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/inside_manifests.hpp"

#include "daemon/upstream/yaml_manifests.hpp"

#include <fmt/format.h>

namespace zoo::upstream {
namespace {

constexpr std::string_view k_inside_option = "--print-upstream-inside";
constexpr std::string_view k_registration = "admissionregistration.k8s.io/";

} // namespace

std::vector<Manifest> inside_manifests(std::string_view version) {
  std::vector<Manifest> out;
  for (const auto document : documents(inside_text())) {
    std::string text(document);
    const auto line = fmt::format("apiVersion: {}v1\n", k_registration);
    if (const auto at = text.find(line); at != std::string::npos)
      text.replace(at, line.size(), fmt::format("apiVersion: {}{}\n", k_registration, version));
    out.push_back(manifest_of_yaml(Need::identity, k_inside_option, text));
  }
  return out;
}

std::string inside_manifests_yaml() {
  std::string out(k_licence_line);
  out += "# What makes zood the API server inside tenants' pods, for those who install it "
         "themselves\n"
         "# in a cluster of Kubernetes 1.36 or newer, when zood has written ConfigMap zoo-inside "
         "of\n"
         "# namespace zoo-system: without that one, pods of tenants are refused.\n"
         "#   kubectl apply --server-side -f upstream-inside.yaml\n"
         "# Printed by `zood --print-upstream-inside`.\n";
  for (const auto document : documents(inside_text()))
    out.append(k_between_documents).append(document);
  return out;
}

} // namespace zoo::upstream
