// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/yaml_manifests.hpp"

#include "common/kube/yaml.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace zoo::upstream {

std::vector<std::string_view> documents(std::string_view text) {
  std::vector<std::string_view> out;
  if (text.starts_with(k_licence_line)) text.remove_prefix(k_licence_line.size());
  for (;;) {
    const auto end = text.find(std::string("\n") += k_between_documents);
    out.push_back(text.substr(0, end == std::string_view::npos ? end : end + 1));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1 + k_between_documents.size());
  }
}

Manifest manifest_of_yaml(Need need, std::string_view printed_by, std::string_view document) {
  auto json = kube::yaml_to_json(document);
  if (!json) throw std::logic_error(json.error().text());
  return manifest_of(need, printed_by, *std::move(json));
}

} // namespace zoo::upstream
