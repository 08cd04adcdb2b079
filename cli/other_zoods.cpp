// SPDX-License-Identifier: Apache-2.0
#include "cli/other_zoods.hpp"

#include "cli/context.hpp"
#include "common/kube/json_reads.hpp"

#include <utility>

namespace zoo::cli {

using nlohmann::json;

Result<AllZoods> AllZoods::find(Context& context, bool alone) {
  ZOO_TRY(auto* client, context.client());
  AllZoods out(context, *client);
  out.found_ = alone;
  return out;
}

Result<std::unique_ptr<AdminClient>> AllZoods::client_of(const json& replica) {
  auto url = kube::text_at(replica, "/admin");
  if (url.empty())
    return fail(Code::unavailable, "it has no door for other machines: set admin.listen there");
  ZOO_TRY(auto credentials, administrators_credentials(*context_));
  return context_->client_of(Door{std::move(url), {}, std::move(credentials)});
}

Result<void> AllZoods::find_others() {
  const auto state = first_->store();
  if (!state && state.error().code() == Code::not_found)
    return {}; // of a zood before there was any
  if (!state) return fail(Error(state.error()).context("while asking who else has the store"));
  if (kube::text_at(*state, "/driver") == "sqlite") return {};
  name_ = kube::text_at(*state, "/name");
  for (const auto& each : kube::list_at(*state, "/replicas")) {
    auto name = kube::text_at(each, "/name");
    if (name != name_) others_.push_back({std::move(name), client_of(each)});
  }
  return {};
}

Result<std::vector<ZoodAnswer>> AllZoods::ask(const Ask& ask) {
  std::vector<ZoodAnswer> out;
  ZOO_TRY(auto own, ask(name_, *first_));
  out.push_back({name_, std::move(own)});
  if (!found_) {
    const auto found = find_others();
    found_ = found.has_value();
    out.front().zood = name_;
    if (!found) out.push_back({"others", fail(found.error())});
  }
  for (auto& [name, client] : others_)
    out.push_back({name, client ? ask(name, **client) : Result<json>(fail(client.error()))});
  return out;
}

} // namespace zoo::cli
