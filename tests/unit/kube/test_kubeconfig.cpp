// SPDX-License-Identifier: Apache-2.0
#include "common/base/file.hpp"
#include "common/crypto/digest.hpp"
#include "common/crypto/issue.hpp"
#include "common/kube/kubeconfig.hpp"
#include "common/kube/yaml.hpp"
#include "tests/unit/base/temporary_directory.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace zoo;
using namespace zoo::kube;
using Json = nlohmann::json;

namespace {

struct Pki {
  crypto::PrivateKey key = crypto::PrivateKey::generate_p256().value();
  crypto::Certificate ca = crypto::make_ca(key, "CA", std::chrono::hours(1)).value();
};

KubeconfigParts parts(const Pki& pki) {
  KubeconfigParts out;
  out.cluster = "zood";
  out.server = "https://127.0.0.1:7443";
  out.ca_pem = pki.ca.to_pem();
  out.user = "123456";
  out.client_cert_pem = pki.ca.to_pem();
  out.client_key_pem = pki.key.to_pem();
  out.default_namespace = "default";
  return out;
}

Json base() {
  return Json::parse(R"({"apiVersion":"v1","kind":"Config","current-context":"c",
    "contexts":[{"name":"c","context":{"cluster":"k","user":"u","namespace":"n"}}],
    "clusters":[{"name":"k","cluster":{"server":"https://host:6443/"}}],
    "users":[{"name":"u","user":{"token":"abc"}}]})");
}

std::string error(const Json& config, Code code = Code::invalid,
                  const std::filesystem::path& directory = ".") {
  const auto parsed = parse_kubeconfig(config.dump(), directory);
  if (parsed) return "no error";
  CHECK(parsed.error().code() == code);
  return parsed.error().text();
}

std::string with_cluster(const Json& cluster) {
  auto config = base();
  config["clusters"][0]["cluster"] = cluster;
  return error(config);
}

std::string with_user(const Json& user) {
  auto config = base();
  config["users"][0]["user"] = user;
  return error(config);
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

} // namespace

TEST_CASE("what is written is read back") {
  const Pki pki;
  const auto yaml = write_kubeconfig(parts(pki));
  const auto access = parse_kubeconfig(yaml).value();
  CHECK(access.server == "https://127.0.0.1:7443");
  CHECK(access.credentials.ca_pem == pki.ca.to_pem());
  CHECK(access.credentials.client_cert_pem == pki.ca.to_pem());
  CHECK(access.credentials.client_key_pem.view() == pki.key.to_pem().view());
  CHECK(access.context == "123456@zood");
  CHECK(access.user == "123456");
  CHECK(access.default_namespace == "default");
  CHECK(contains(yaml, "- name: \"123456\"\n  user:\n    client-certificate-data: "));
  CHECK(access.clone().credentials.client_key_pem.view() ==
        access.credentials.client_key_pem.view());
}

TEST_CASE("a token and a server without certificates") {
  KubeconfigParts given;
  given.cluster = "c";
  given.server = "http://127.0.0.1:1";
  given.user = "u";
  given.token = Secret::copy_of("1e1000");
  given.context = "yes";
  given.tls_server_name = "name";
  const auto access = parse_kubeconfig(write_kubeconfig(given)).value();
  CHECK(access.credentials.bearer_token.view() == "1e1000");
  CHECK(access.context == "yes");
  CHECK(access.credentials.tls_server_name == "name");
}

TEST_CASE("another context than the current one can be named") {
  auto config = base();
  config["contexts"].push_back(Json::parse(R"({"name":"other","context":{"cluster":"k"}})"));
  const auto access = parse_kubeconfig(config.dump(), ".", "other").value();
  CHECK(access.context == "other");
  CHECK(access.user.empty());
  CHECK(access.credentials.bearer_token.empty());
  CHECK(access.server == "https://host:6443");
  const auto missing = parse_kubeconfig(config.dump(), ".", "othr");
  CHECK(missing.error().code() == Code::not_found);
  CHECK(contains(missing.error().message(), "did you mean 'other'?"));
}

TEST_CASE("files are relative to the kubeconfig, and data is preferred") {
  const Pki pki;
  const test::TemporaryDirectory temporary;
  const auto& directory = temporary.path();
  REQUIRE(file::write_secret(directory / "ca.pem", pki.ca.to_pem()));
  REQUIRE(file::write_secret(directory / "key.pem", pki.key.to_pem().view()));
  REQUIRE(file::write_secret(directory / "token", "from-file\n"));
  auto config = base();
  config["clusters"][0]["cluster"]["certificate-authority"] = "ca.pem";
  config["users"][0]["user"] = {{"client-certificate", (directory / "ca.pem").string()},
                                {"client-key", "key.pem"},
                                {"tokenFile", "token"}};
  REQUIRE(file::write_secret(directory / "config", config.dump()));
  const auto access = load_kubeconfig(directory / "config").value();
  CHECK(access.credentials.ca_pem == pki.ca.to_pem());
  CHECK(access.credentials.client_key_pem.view() == pki.key.to_pem().view());
  CHECK(access.credentials.bearer_token.view() == "from-file");
  CHECK(access.token_file == (directory / "token").string());
  config["clusters"][0]["cluster"]["certificate-authority"] = "missing.pem";
  CHECK(contains(error(config, Code::not_found, directory), "missing.pem"));
  config["clusters"][0]["cluster"]["certificate-authority-data"] =
      crypto::base64_encode(pki.ca.to_pem());
  CHECK(parse_kubeconfig(config.dump(), directory));
  REQUIRE(file::write_secret(directory / "token", " \n"));
  CHECK(contains(error(config, Code::invalid, directory), "is empty"));
}

TEST_CASE("credential plugins and what zood does not do are refused with a way out") {
  for (const auto* key : {"exec", "auth-provider"})
    CHECK(contains(with_user({{key, {{"command", "aws"}}}}), "kubectl create token"));
  CHECK(contains(with_user({{"username", "a"}, {"password", "b"}}), "no longer knows passwords"));
  CHECK(contains(with_user({{"token", "a"}, {"as", "b"}}), "users[0].user.as"));
  CHECK(contains(with_cluster({{"server", "https://h"}, {"proxy-url", "http://p"}}),
                 "reached without a proxy"));
}

TEST_CASE("every broken server is told") {
  CHECK(contains(with_cluster({}), "clusters[0].cluster.server is missing"));
  for (const auto* server :
       {"host:6443", "https://", "ftp://h", "https://h?x", "https://h h", "https://h#x"}) {
    CAPTURE(server);
    CHECK(contains(with_cluster({{"server", server}}), "must be a URL"));
  }
  const auto hidden = with_cluster({{"server", "https://u:geheim@h"}});
  CHECK(contains(hidden, "must be a URL"));
  CHECK_FALSE(contains(hidden, "geheim"));
  CHECK(contains(with_cluster({{"server", 5}}), "must be a string"));
  CHECK(contains(with_cluster({{"server", "https://h"}, {"insecure-skip-tls-verify", "yes"}}),
                 "must be true or false"));
  CHECK(contains(with_cluster({{"server", "https://h"}, {"certificate-authority-data", "%%"}}),
                 "is not base64"));
  CHECK(
      contains(with_cluster({{"server", "https://h"}, {"certificate-authority-data", "aGFsbG8="}}),
               "certificate-authority"));
  const Pki pki;
  CHECK(contains(
      with_cluster({{"server", "https://h"},
                    {"insecure-skip-tls-verify", true},
                    {"certificate-authority-data", crypto::base64_encode(pki.ca.to_pem())}}),
      "remove one"));
}

TEST_CASE("every broken user is told, and no key is shown") {
  const Pki pki, other;
  const auto certificate = crypto::base64_encode(pki.ca.to_pem());
  const auto key = crypto::base64_encode(pki.key.to_pem().view());
  const auto foreign = crypto::base64_encode(other.key.to_pem().view());
  CHECK(contains(with_user({{"client-certificate-data", certificate}}), "without its key"));
  CHECK(contains(with_user({{"client-key-data", key}}), "without its certificate"));
  const auto mixed =
      with_user({{"client-certificate-data", certificate}, {"client-key-data", foreign}});
  CHECK(contains(mixed, "does not belong"));
  CHECK_FALSE(contains(mixed, foreign));
  CHECK(contains(with_user({{"client-certificate-data", key}, {"client-key-data", key}}),
                 "client-certificate"));
  CHECK(contains(with_user({{"token", 123}}), "put it in quotes"));
  CHECK(contains(with_user({{"token", "a\nb"}}), "blanks"));
  CHECK(contains(with_user(5), "must be a mapping"));
}

TEST_CASE("what is no kubeconfig is told") {
  for (const auto* text : {"", "hello", "[]", "5"})
    CHECK(contains(parse_kubeconfig(text).error().message(), "not a kubeconfig"));
  CHECK(contains(parse_kubeconfig("a: [").error().message(), "line "));
  CHECK(contains(error(Json{{"kind", "Pod"}}), "'Pod'"));
  CHECK(contains(error(Json::object()), "current-context is not set"));
  auto config = base();
  config["contexts"] = "x";
  CHECK(contains(error(config), "contexts must be a list"));
  config["contexts"] = Json::array({5});
  CHECK(contains(error(config), "contexts[0] must be a mapping"));
  config = base();
  config["current-context"] = 123456;
  CHECK(contains(error(config), "put it in quotes"));
  config = base();
  config["clusters"] = nullptr;
  CHECK(contains(error(config, Code::not_found), "no entry named 'k' in clusters"));
  config = base();
  config["contexts"][0].erase("context");
  CHECK(contains(error(config), "cluster is missing"));
  CHECK(load_kubeconfig("/nonexistent/config").error().code() == Code::not_found);
}

TEST_CASE("merging replaces equal names, keeps all else and changes the current context") {
  const std::string existing = R"(apiVersion: v1
kind: Config
preferences: {colors: true}
current-context: mine
clusters:
- name: theirs
  cluster: {server: "https://theirs"}
- name: zood
  cluster: {server: "https://old", extensions: [{name: x}]}
contexts: null
users:
- name: theirs
  user: {exec: {command: aws, args: ["1e1000", "yes"]}}
)";
  const Pki pki;
  const auto merged = merge_kubeconfig(existing, write_kubeconfig(parts(pki))).value();
  const auto json = Json::parse(yaml_to_json(merged).value());
  CHECK(json["current-context"] == "123456@zood");
  CHECK(json["preferences"]["colors"] == true);
  CHECK(json["clusters"].size() == 2);
  CHECK(json["clusters"][0]["cluster"]["server"] == "https://theirs");
  CHECK(json["clusters"][1]["cluster"]["server"] == "https://127.0.0.1:7443");
  CHECK_FALSE(json["clusters"][1]["cluster"].contains("extensions"));
  CHECK(json["users"][0]["user"]["exec"]["args"] == Json::parse(R"(["1e1000","yes"])"));
  CHECK(json["users"].size() == 2);
  CHECK(json["contexts"].size() == 1);
  CHECK(merge_kubeconfig(merged, write_kubeconfig(parts(pki))).value() == merged);
}

TEST_CASE("merging into nothing gives what was added; into something else, an error") {
  const Pki pki;
  const auto added = write_kubeconfig(parts(pki));
  CHECK(parse_kubeconfig(merge_kubeconfig("", added).value())->user == "123456");
  for (const auto* broken :
       {"hello", "[1]", "a: [", "kind: Pod", "clusters: 5", "users: [5]", "users: [{name: 5}]"}) {
    CAPTURE(broken);
    CHECK(merge_kubeconfig(broken, added).error().code() == Code::invalid);
    CHECK(contains(merge_kubeconfig(added, broken).error().message(), "new kubeconfig"));
  }
}
