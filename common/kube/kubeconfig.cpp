// SPDX-License-Identifier: Apache-2.0
#include "common/kube/kubeconfig.hpp"

#include "common/base/file.hpp"
#include "common/base/text.hpp"
#include "common/crypto/certificate.hpp"
#include "common/crypto/digest.hpp"
#include "common/crypto/key.hpp"
#include "common/kube/yaml.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace zoo::kube {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

/// A mapping of the file with the words that name it in errors.
struct Section {
  const Json& json;
  std::string name;

  Result<std::string> text(const char* key) const {
    const auto found = json.find(key);
    if (found == json.end() || found->is_null()) return std::string();
    if (!found->is_string()) {
      return fail(Code::invalid, "kubeconfig: {}.{} must be a string (put it in quotes), not {}",
                  name, key, found->type_name());
    }
    return found->get<std::string>();
  }

  Result<bool> flag(const char* key) const {
    const auto found = json.find(key);
    if (found == json.end() || found->is_null()) return false;
    if (!found->is_boolean()) {
      return fail(Code::invalid, "kubeconfig: {}.{} must be true or false, not {}", name, key,
                  found->type_name());
    }
    return found->get<bool>();
  }

  bool has(const char* key) const {
    const auto found = json.find(key);
    return found != json.end() && !found->is_null() &&
           !(found->is_string() && found->get_ref<const std::string&>().empty());
  }
};

/// The inner mapping of the entry of that name in one of the three lists.
Result<Section> entry(const Json& config, const char* list, const char* inner,
                      std::string_view name) {
  const auto found = config.find(list);
  static const Json k_nothing = Json::array();
  const auto& entries = found == config.end() || found->is_null() ? k_nothing : *found;
  if (!entries.is_array()) return fail(Code::invalid, "kubeconfig: {} must be a list", list);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto& each = entries[i];
    if (!each.is_object())
      return fail(Code::invalid, "kubeconfig: {}[{}] must be a mapping", list, i);
    ZOO_TRY(const auto its_name, Section{each, fmt::format("{}[{}]", list, i)}.text("name"));
    if (its_name != name) {
      names.push_back(its_name);
      continue;
    }
    const auto body = each.find(inner);
    auto shown = fmt::format("{}[{}].{}", list, i, inner);
    if (body == each.end() || body->is_null()) {
      // client-go takes an empty user; an empty cluster or context is of no use.
      static const Json k_empty = Json::object();
      return Section{k_empty, std::move(shown)};
    }
    if (!body->is_object()) return fail(Code::invalid, "kubeconfig: {} must be a mapping", shown);
    return Section{*body, std::move(shown)};
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  const auto near = text::nearest(name, views);
  return fail(Code::not_found, "kubeconfig: no entry named '{}' in {}{}", name, list,
              near ? fmt::format("; did you mean '{}'?", *near) : "");
}

/// KEY-data (base64), else the file that KEY names, else nothing.
Result<Secret> data_or_file(const Section& section, const char* key, const fs::path& directory) {
  const auto data_key = std::string(key) + "-data";
  ZOO_TRY(auto data, section.text(data_key.c_str()));
  if (!data.empty()) {
    const Secret encoded(std::move(data));
    std::string packed; // base64 may be folded over lines
    for (const char c : encoded.view()) {
      if (c != '\n' && c != '\r' && c != ' ') packed += c;
    }
    auto decoded = crypto::base64_decode(packed);
    const Secret wiped(std::move(packed));
    if (!decoded) {
      return fail(Code::invalid, "kubeconfig: {}.{} is not base64", section.name, data_key);
    }
    return Secret(std::move(*decoded));
  }
  ZOO_TRY(const auto file, section.text(key));
  if (file.empty()) return Secret();
  auto read = file::read_secret(directory / file);
  if (!read) {
    return fail(std::move(read).error().context("kubeconfig: {}.{}", section.name, key));
  }
  return read;
}

template <class T>
Result<void> usable(const Result<T>& parsed, const Section& section, const char* key) {
  if (parsed) return {};
  return fail(Code::invalid, "kubeconfig: {}.{}: {}", section.name, key, parsed.error().message());
}

Result<void> refuse_keys(const Section& section,
                         std::initializer_list<std::pair<const char*, const char*>> refused) {
  for (const auto& [key, instead] : refused) {
    if (section.has(key)) {
      return fail(Code::invalid, "kubeconfig: {}.{} is not supported: {}", section.name, key,
                  instead);
    }
  }
  return {};
}

Result<void> read_cluster(const Section& section, const fs::path& directory, ClusterAccess& out) {
  ZOO_TRY(out.server, section.text("server"));
  if (out.server.empty()) {
    return fail(Code::invalid, "kubeconfig: {}.server is missing", section.name);
  }
  while (out.server.ends_with('/'))
    out.server.pop_back();
  const bool https = out.server.starts_with("https://");
  const auto rest =
      std::string_view(out.server).substr(https ? 8 : std::min<std::size_t>(7, out.server.size()));
  if ((!https && !out.server.starts_with("http://")) || rest.empty() ||
      rest.find_first_of(" ?#@\t\n\"") != rest.npos) {
    return fail(Code::invalid,
                "kubeconfig: {}.server must be a URL like https://HOST:PORT, not "
                "'{}'",
                section.name, http_client::display_url(out.server));
  }
  ZOO_TRY_VOID(refuse_keys(
      section, {{"proxy-url", "name a server that is reached without a proxy, and remove it"}}));
  ZOO_TRY(out.credentials.insecure, section.flag("insecure-skip-tls-verify"));
  ZOO_TRY(out.credentials.tls_server_name, section.text("tls-server-name"));
  ZOO_TRY(const auto ca, data_or_file(section, "certificate-authority", directory));
  if (!ca.empty()) {
    if (out.credentials.insecure) {
      return fail(Code::invalid,
                  "kubeconfig: {} has both a certificate authority and "
                  "insecure-skip-tls-verify: remove one",
                  section.name);
    }
    ZOO_TRY_VOID(
        usable(crypto::Certificate::bundle_from_pem(ca.view()), section, "certificate-authority"));
    out.credentials.ca_pem = ca.view();
  }
  return {};
}

Result<void> read_user(const Section& section, const fs::path& directory, ClusterAccess& out) {
  ZOO_TRY_VOID(refuse_keys(
      section,
      {{"exec", "zood runs no credential plugin; give a client certificate, or a token of a "
                "ServiceAccount (kubectl create token)"},
       {"auth-provider", "give a client certificate, or a token of a ServiceAccount "
                         "(kubectl create token)"},
       {"username", "Kubernetes no longer knows passwords; give a client certificate or a token"},
       {"password", "Kubernetes no longer knows passwords; give a client certificate or a token"},
       {"as", "give the credential of that user itself"},
       {"as-uid", "give the credential of that user itself"},
       {"as-groups", "give a credential of a member itself"},
       {"as-user-extra", "give the credential of that user itself"}}));
  auto& credentials = out.credentials;
  ZOO_TRY(const auto certificate, data_or_file(section, "client-certificate", directory));
  ZOO_TRY(credentials.client_key_pem, data_or_file(section, "client-key", directory));
  credentials.client_cert_pem = certificate.view();
  if (certificate.empty() != credentials.client_key_pem.empty()) {
    return fail(Code::invalid, "kubeconfig: {} has a client {} without its {}", section.name,
                certificate.empty() ? "key" : "certificate",
                certificate.empty() ? "certificate" : "key");
  }
  if (!certificate.empty()) {
    const auto parsed = crypto::Certificate::from_pem(certificate.view());
    ZOO_TRY_VOID(usable(parsed, section, "client-certificate"));
    const auto key = crypto::PrivateKey::from_pem(credentials.client_key_pem.view());
    ZOO_TRY_VOID(usable(key, section, "client-key"));
    if (!parsed->belongs_to(*key)) {
      return fail(Code::invalid,
                  "kubeconfig: {}: the client key does not belong to the client "
                  "certificate",
                  section.name);
    }
  }
  ZOO_TRY(auto token, section.text("token"));
  credentials.bearer_token = Secret(std::move(token));
  ZOO_TRY(const auto token_file, section.text("tokenFile"));
  if (!token_file.empty() && credentials.bearer_token.empty()) {
    out.token_file = (directory / token_file).string();
    auto read = file::read_secret(out.token_file);
    if (!read) {
      return fail(std::move(read).error().context("kubeconfig: {}.tokenFile", section.name));
    }
    credentials.bearer_token = Secret::copy_of(text::trim(read->view()));
    if (credentials.bearer_token.empty()) {
      return fail(Code::invalid, "kubeconfig: {}.tokenFile: {} is empty", section.name,
                  out.token_file);
    }
  }
  const auto shown = credentials.bearer_token.view();
  if (shown.find_first_of(" \t\r\n") != shown.npos) {
    return fail(Code::invalid, "kubeconfig: {}: the token holds blanks", section.name);
  }
  return {};
}

Result<ClusterAccess> resolve(const Json& config, const fs::path& directory,
                              std::string_view wanted) {
  if (!config.is_object()) {
    return fail(Code::invalid, "this is not a kubeconfig: it must be a mapping with clusters, "
                               "users and contexts");
  }
  const Section top{config, "the file"};
  ZOO_TRY(const auto kind, top.text("kind"));
  if (!kind.empty() && kind != "Config") {
    return fail(Code::invalid, "this is not a kubeconfig: its kind is '{}', not 'Config'", kind);
  }
  ClusterAccess out;
  out.context = wanted;
  if (out.context.empty()) {
    ZOO_TRY(out.context, top.text("current-context"));
    if (out.context.empty()) {
      return fail(Code::invalid, "kubeconfig: current-context is not set: name a context, or "
                                 "kubectl config use-context NAME");
    }
  }
  ZOO_TRY(const auto context, entry(config, "contexts", "context", out.context));
  ZOO_TRY(out.cluster, context.text("cluster"));
  ZOO_TRY(out.user, context.text("user"));
  ZOO_TRY(out.default_namespace, context.text("namespace"));
  if (out.cluster.empty()) {
    return fail(Code::invalid, "kubeconfig: {}.cluster is missing", context.name);
  }
  ZOO_TRY(const auto cluster, entry(config, "clusters", "cluster", out.cluster));
  ZOO_TRY_VOID(read_cluster(cluster, directory, out));
  if (!out.user.empty()) {
    ZOO_TRY(const auto user, entry(config, "users", "user", out.user));
    ZOO_TRY_VOID(read_user(user, directory, out));
  }
  return out;
}

} // namespace

ClusterAccess ClusterAccess::clone() const {
  return {server, credentials.clone(), context, cluster, user, default_namespace, token_file};
}

Result<ClusterAccess> parse_kubeconfig(std::string_view yaml, const fs::path& directory,
                                       std::string_view context) {
  auto json = yaml_to_json(yaml);
  if (!json) {
    return fail(Code::invalid, "this is not a kubeconfig: {}", json.error().message());
  }
  const Secret wiped(std::move(*json));
  const auto config = Json::parse(wiped.view(), nullptr, false);
  if (config.is_discarded()) return fail(Code::internal, "the kubeconfig cannot be read as JSON");
  return resolve(config, directory, context);
}

Result<ClusterAccess> load_kubeconfig(const fs::path& file, std::string_view context) {
  ZOO_TRY(const auto yaml, file::read_secret(file));
  auto parsed = parse_kubeconfig(yaml.view(), file.parent_path(), context);
  if (!parsed) return fail(std::move(parsed).error().context("in {}", file.string()));
  return parsed;
}

} // namespace zoo::kube
