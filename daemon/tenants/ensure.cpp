// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/ensure.hpp"

#include "common/kube/client.hpp"
#include "daemon/upstream/bootstrap.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json.hpp>

namespace zoo::tenants {

using nlohmann::json;
using upstream::ControlApi;

Result<void> ensure(ControlApi& api, const std::string& collection, const json& object) {
  auto made = api.create(collection, object);
  if (made) return {};
  if (made.error().code() != Code::already_exists) {
    return fail(std::move(made).error().context("while making {}", collection));
  }
  const auto name = object.at("metadata").at("name").get<std::string>();
  auto applied = api.apply(collection + kube::path({name}), object);
  if (applied) return {};
  return fail(std::move(applied).error().context("while repairing {}/{}", collection, name));
}

Result<void> repair(ControlApi& api, const std::string& collection, const json& object) {
  const auto path = collection + kube::path({object.at("metadata").at("name").get<std::string>()});
  const auto actual = api.get(path);
  std::string where;
  if (actual && upstream::covers(*actual, object, where)) return {};
  if (!actual && actual.error().code() != Code::not_found) return fail(actual.error());
  auto applied = api.apply(path, object);
  if (!applied) return fail(std::move(applied).error().context("while repairing {}", path));
  return {};
}

} // namespace zoo::tenants
