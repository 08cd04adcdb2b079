// SPDX-License-Identifier: Apache-2.0
#include "daemon/resources/negotiate.hpp"

#include "common/base/text.hpp"
#include "common/kube/yaml.hpp"
#include "daemon/resources/body.hpp"

#include <nlohmann/json.hpp>

namespace zoo::resources {

std::vector<AcceptEntry> parse_accept(std::string_view header) {
  std::vector<AcceptEntry> out;
  for (const auto part : text::split(header, ',')) {
    AcceptEntry entry;
    entry.type = media_type(part);
    if (entry.type.empty()) continue;
    const auto parameters = text::split(part, ';');
    for (std::size_t i = 1; i < parameters.size(); ++i) {
      const auto parameter = text::trim(parameters[i]);
      const auto equals = parameter.find('=');
      if (equals == std::string_view::npos) continue;
      const auto key = parameter.substr(0, equals);
      const std::string value(parameter.substr(equals + 1));
      if (key == "as") entry.as = value;
      if (key == "g") entry.group = value;
      if (key == "v") entry.version = value;
    }
    out.push_back(std::move(entry));
    if (out.size() == 32) break;
  }
  return out;
}

Result<Representation> negotiate(std::string_view accept, bool tables) {
  if (text::trim(accept).empty()) return Representation{};
  for (const auto& entry : parse_accept(accept)) {
    Representation out;
    out.yaml = entry.type == "application/yaml";
    const bool known = out.yaml || entry.type == "application/json" ||
                       entry.type == "application/*" || entry.type == "*/*";
    if (!known) continue;
    if (entry.as.empty()) return out;
    if (entry.group != "meta.k8s.io" || (entry.version != "v1" && entry.version != "v1beta1"))
      continue;
    out.version = entry.version;
    if (entry.as == "Table" && tables) {
      out.shape = Shape::table;
      return out;
    }
    if (entry.as == "PartialObjectMetadata" || entry.as == "PartialObjectMetadataList") {
      out.shape = Shape::metadata;
      return out;
    }
  }
  return fail(Code::not_acceptable, "only these can be had: application/json, application/yaml{}",
              tables ? ", and meta.k8s.io/v1 Table and PartialObjectMetadata as JSON" : "");
}

Answer render(int status, const nlohmann::json& body, const Representation& representation) {
  if (!representation.yaml) return json_answer(status, body);
  Answer answer;
  answer.status = status;
  answer.content_type = "application/yaml";
  answer.body = kube::json_to_yaml(body);
  return answer;
}

} // namespace zoo::resources
