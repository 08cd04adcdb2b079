// SPDX-License-Identifier: Apache-2.0
#include "common/crypto/digest.hpp"
#include "common/kube/kubeconfig.hpp"
#include "common/kube/yaml.hpp"

#include <nlohmann/json.hpp>

namespace zoo::kube {
namespace {

using Ordered = nlohmann::ordered_json;

constexpr const char* k_lists[] = {"clusters", "contexts", "users"};

Result<Ordered> read(std::string_view yaml, std::string_view which) {
  const auto bad = [&](std::string_view why) {
    return fail(Code::invalid, "the {} kubeconfig cannot be merged: {}", which, why);
  };
  auto text = yaml_to_json(yaml);
  if (!text) return bad(text.error().message());
  auto config = Ordered::parse(*text, nullptr, false);
  if (config.is_null()) config = Ordered::object();
  if (!config.is_object()) return bad("it is not a mapping");
  if (const auto kind = config.find("kind");
      kind != config.end() && (!kind->is_string() || *kind != "Config")) {
    return bad("its kind is not Config");
  }
  for (const auto* list : k_lists) {
    const auto entries = config.find(list);
    if (entries == config.end() || entries->is_null()) continue;
    if (!entries->is_array()) return bad(fmt::format("{} is not a list", list));
    for (const auto& entry : *entries) {
      if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string()) {
        return bad(fmt::format("an entry of {} has no name, or one that is not a string", list));
      }
    }
  }
  return config;
}

void merge_list(Ordered& into, const Ordered& from) {
  if (!into.is_array()) into = Ordered::array();
  for (const auto& entry : from) {
    bool replaced = false;
    for (auto& present : into) {
      if (present["name"] != entry["name"]) continue;
      present = entry;
      replaced = true;
      break;
    }
    if (!replaced) into.push_back(entry);
  }
}

} // namespace

std::string write_kubeconfig(const KubeconfigParts& parts) {
  Ordered cluster = Ordered::object();
  if (!parts.ca_pem.empty()) {
    cluster["certificate-authority-data"] = crypto::base64_encode(parts.ca_pem);
  }
  cluster["server"] = parts.server;
  if (!parts.tls_server_name.empty()) cluster["tls-server-name"] = parts.tls_server_name;
  Ordered user = Ordered::object();
  if (!parts.client_cert_pem.empty()) {
    user["client-certificate-data"] = crypto::base64_encode(parts.client_cert_pem);
  }
  if (!parts.client_key_pem.empty()) {
    user["client-key-data"] = crypto::base64_encode(parts.client_key_pem.view());
  }
  if (!parts.token.empty()) user["token"] = std::string(parts.token.view());
  Ordered context = {{"cluster", parts.cluster}};
  if (!parts.default_namespace.empty()) context["namespace"] = parts.default_namespace;
  context["user"] = parts.user;
  const auto name = parts.context.empty() ? parts.user + "@" + parts.cluster : parts.context;
  Ordered config;
  config["apiVersion"] = "v1";
  config["kind"] = "Config";
  const auto list_of_one = [](const std::string& entry_name, const char* inner, Ordered body) {
    Ordered entry;
    entry["name"] = entry_name;
    entry[inner] = std::move(body);
    Ordered list = Ordered::array();
    list.push_back(std::move(entry));
    return list;
  };
  config["clusters"] = list_of_one(parts.cluster, "cluster", std::move(cluster));
  config["contexts"] = list_of_one(name, "context", std::move(context));
  config["users"] = list_of_one(parts.user, "user", std::move(user));
  config["current-context"] = name;
  return json_to_yaml(config);
}

Result<std::string> merge_kubeconfig(std::string_view existing_yaml, std::string_view added_yaml) {
  ZOO_TRY(auto config, read(existing_yaml, "existing"));
  ZOO_TRY(const auto added, read(added_yaml, "new"));
  if (!config.contains("apiVersion")) config["apiVersion"] = "v1";
  if (!config.contains("kind")) config["kind"] = "Config";
  for (const auto* list : k_lists) {
    const auto entries = added.find(list);
    merge_list(config[list],
               entries == added.end() || entries->is_null() ? Ordered::array() : *entries);
  }
  if (const auto current = added.find("current-context"); current != added.end()) {
    config["current-context"] = *current;
  }
  return json_to_yaml(config);
}

} // namespace zoo::kube
