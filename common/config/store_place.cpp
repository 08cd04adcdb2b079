// SPDX-License-Identifier: Apache-2.0
#include "common/config/store_place.hpp"

#include "common/base/file.hpp"
#include "common/base/text.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace zoo::config {
namespace {

using nlohmann::json;

Result<Secret> read_file(const Values& values, std::string_view key) {
  const auto path = values.path(key);
  if (path.empty()) return Secret();
  auto text = file::read_secret(path);
  if (!text) return fail(std::move(text).error().context("{}", key));
  return text;
}

} // namespace

std::string StorePlace::text() const {
  if (driver == "sqlite") return file;
  return fmt::format("etcd {} {}", fmt::join(endpoints, ","), prefix);
}

Result<StorePlace> store_place(const Values& values) {
  StorePlace out;
  out.driver = values.string("store.driver");
  if (out.driver == "sqlite") {
    out.file = values.is_set("store.path") ? values.path("store.path").string()
                                           : (values.path("dir") / "zood.db").string();
    return out;
  }
  out.endpoints = values.list("store.etcd.endpoints");
  out.prefix = values.string("store.etcd.prefix");
  out.server_name = values.string("store.etcd.server_name");
  out.username = values.string("store.etcd.username");
  ZOO_TRY(const auto ca, read_file(values, "store.etcd.ca"));
  ZOO_TRY(const auto certificate, read_file(values, "store.etcd.certificate"));
  out.ca_pem = ca.view();
  out.certificate_pem = certificate.view();
  ZOO_TRY(out.key_pem, read_file(values, "store.etcd.key"));
  ZOO_TRY(const auto password, read_file(values, "store.etcd.password_file"));
  const auto line = password.view().substr(0, password.view().find('\n'));
  out.password = Secret::copy_of(text::trim(line));
  return out;
}

json to_json(const StorePlace& place) {
  if (place.driver == "sqlite") return json{{"driver", "sqlite"}, {"file", place.file}};
  return json{{"driver", place.driver},
              {"endpoints", place.endpoints},
              {"prefix", place.prefix},
              {"serverName", place.server_name},
              {"username", place.username},
              {"ca", place.ca_pem},
              {"certificate", place.certificate_pem},
              {"key", place.key_pem.view()},
              {"password", place.password.view()}};
}

Result<StorePlace> store_place_of(const json& object) {
  if (!object.is_object()) return fail(Code::invalid, "a place of a store is an object");
  const auto text = [&](const char* name) -> Result<std::string> {
    const auto found = object.find(name);
    if (found == object.end()) return std::string();
    if (!found->is_string()) return fail(Code::invalid, "{} of a store's place is no string", name);
    return found->get<std::string>();
  };
  StorePlace out;
  ZOO_TRY(out.driver, text("driver"));
  if (out.driver != "sqlite" && out.driver != "etcd")
    return fail(Code::invalid, "the driver of a store is sqlite or etcd, not '{}'", out.driver);
  ZOO_TRY(out.file, text("file"));
  ZOO_TRY(out.prefix, text("prefix"));
  ZOO_TRY(out.server_name, text("serverName"));
  ZOO_TRY(out.username, text("username"));
  ZOO_TRY(out.ca_pem, text("ca"));
  ZOO_TRY(out.certificate_pem, text("certificate"));
  ZOO_TRY(auto key, text("key"));
  out.key_pem = Secret(std::move(key));
  ZOO_TRY(auto password, text("password"));
  out.password = Secret(std::move(password));
  for (const auto& each : object.value("endpoints", json::array())) {
    if (!each.is_string()) return fail(Code::invalid, "an endpoint is a string");
    out.endpoints.push_back(each);
  }
  return out;
}

} // namespace zoo::config
