// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/joining.hpp"

#include "common/base/file.hpp"
#include "common/base/text.hpp"
#include "daemon/app/stores.hpp"
#include "daemon/store/keyring.hpp"

#include <nlohmann/json.hpp>

#include <system_error>
#include <utility>
#include <vector>

namespace zoo::app {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::string_view k_form = "zood replica 1";
constexpr std::string_view k_kind = "meta";
constexpr std::string_view k_upstream = "upstream";

Result<void> check_empty(const fs::path& directory) {
  std::error_code failed;
  const auto begin = fs::directory_iterator(directory, failed);
  if (failed == std::errc::no_such_file_or_directory) return {};
  if (failed) return fail(Code::io, "cannot read {}: {}", directory.string(), failed.message());
  if (begin == fs::directory_iterator()) return {};
  return fail(Code::conflict, "{} is not empty: name a new directory for this zood",
              directory.string());
}

/// A scalar of YAML for any text: JSON's strings are YAML's.
std::string yaml_text(std::string_view text) { return json(text).dump(); }

Result<void> write_files(const config::StorePlace& place, std::string_view master,
                         const fs::path& directory) {
  ZOO_TRY_VOID(file::ensure_private_directory(directory));
  ZOO_TRY_VOID(file::ensure_private_directory(directory / "etcd"));
  std::string yaml = fmt::format("# Written by zood --join.\ndir: {}\nstore:\n  driver: etcd\n  "
                                 "etcd:\n    endpoints: {}\n    prefix: {}\n",
                                 yaml_text(directory.string()), json(place.endpoints).dump(),
                                 yaml_text(place.prefix));
  const auto keep = [&](const char* key, const char* name, std::string_view bytes) -> Result<void> {
    if (bytes.empty()) return {};
    yaml += fmt::format("    {}: etcd/{}\n", key, name);
    return file::write_secret(directory / "etcd" / name, bytes);
  };
  ZOO_TRY_VOID(keep("ca", "ca.crt", place.ca_pem));
  ZOO_TRY_VOID(keep("certificate", "client.crt", place.certificate_pem));
  ZOO_TRY_VOID(keep("key", "client.key", place.key_pem.view()));
  ZOO_TRY_VOID(keep("password_file", "password", place.password.view()));
  if (!place.username.empty()) yaml += fmt::format("    username: {}\n", yaml_text(place.username));
  if (!place.server_name.empty())
    yaml += fmt::format("    server_name: {}\n", yaml_text(place.server_name));
  ZOO_TRY_VOID(file::write_secret(directory / "master.key", master));
  return file::write_secret(directory / "zood.yaml", yaml);
}

} // namespace

Result<Secret> invitation(const config::StorePlace& place, const fs::path& directory) {
  if (place.driver != "etcd") {
    return fail(Code::conflict,
                "this zood keeps its records in a file of its machine, which no other "
                "zood can have: move them into an etcd first (zooctl store migrate)");
  }
  ZOO_TRY(const auto master, file::read_secret(directory / "master.key"));
  const json out{{"form", k_form}, {"store", config::to_json(place)}, {"masterKey", master.view()}};
  return Secret(out.dump() + "\n");
}

Result<std::string> join(const config::Values& values, const fs::path& file) {
  const auto directory = fs::absolute(values.path("dir"));
  ZOO_TRY_VOID(check_empty(directory));
  ZOO_TRY(const auto text, file::read_secret(file));
  const auto parts = json::parse(text.view(), nullptr, false);
  if (!parts.is_object() || parts.value("form", "") != k_form)
    return fail(Code::invalid, "{} is no invitation of `zooctl replica invite`", file.string());
  ZOO_TRY(const auto place, config::store_place_of(parts.value("store", json())));
  const Secret master(parts.value("masterKey", std::string()));
  ZOO_TRY_VOID(write_files(place, master.view(), directory));
  const auto config_file = directory / "zood.yaml";
  ZOO_TRY(const auto written, config::load_file(config_file));
  ZOO_TRY(const auto opened, open_store(written));
  ZOO_TRY(auto keyring, store::Keyring::open(*opened.store, directory));
  ZOO_TRY([[maybe_unused]] const auto key, keyring.key("tenant-credentials"));
  return fmt::format(
      "{} has what this zood shares with the others, and the store answers: start it "
      "with `zood --config {} --upstream KUBECONFIG`, or take the keys of store: into a "
      "configuration of your own. Remove {}: it holds keys",
      directory.string(), config_file.string(), file.string());
}

Result<void> check_upstream(store::Store& store, const std::string& uid) {
  const auto put = store.put(k_kind, k_upstream, json{{"kubeSystem", uid}}.dump(), 0);
  if (put || put.error().code() != Code::already_exists)
    return put ? Result<void>() : fail(put.error());
  ZOO_TRY(const auto record, store.get(k_kind, k_upstream));
  const auto parts = json::parse(record.value, nullptr, false);
  const auto known = parts.is_object() ? parts.value("kubeSystem", "") : std::string();
  if (known == uid) return {};
  return fail(
      Code::conflict,
      "the store belongs to zoods in front of another cluster: its kube-system is {}, and that "
      "of upstream.kubeconfig is {}: name that cluster, or another store.etcd.prefix",
      known, uid);
}

} // namespace zoo::app
