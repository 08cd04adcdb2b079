// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/instance_writes.hpp"

#include "daemon/accounts/json_reads.hpp"
#include "daemon/accounts/objects.hpp"
#include "daemon/accounts/paths.hpp"
#include "daemon/accounts/user_requests.hpp"
#include "daemon/templates/deployer.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace zoo::accounts {
namespace {

using nlohmann::json;
using resources::Written;
using templates::instance_path;

/// A refusal for want of a right says which right it is, and that is one of config.kiosk.sh.
Error error_of_instance(const Error& error) {
  return error.code() == Code::forbidden ? error : as_tenancy(error, "TemplateInstance");
}

/// As it goes upstream.
json stored_form(json instance) {
  auto out = in_config(std::move(instance));
  out.erase("status");
  return out;
}

} // namespace

std::unique_ptr<upstream::ActingApi> InstanceWrites::connect(const resources::Who& who) const {
  auto api = parts_.connect_as();
  api->act_as(who.name, who.groups);
  return api;
}

/// Waits until the views have heard of the write before it answers: the client's next read shows
/// what it has written.
Result<Written> InstanceWrites::written(const resources::Key& key, const json& stored,
                                        const resources::WriteOptions& options, bool gone) const {
  const auto instance = read_space_instance(text_of(stored));
  const auto name = instance_key(key.space, key.name);
  const auto seen = [&](const State& state) {
    const auto known = state.instances.find(name);
    return instance && !gone ? known && known->revision >= instance->revision
                             : !known || (instance && known->revision >= instance->revision);
  };
  if (!options.dry_run) parts_.wait(seen, parts_.seen_within);
  if (!instance) return Written{};
  return Written{resources::make_object(tenancy_instance(*instance))};
}

Result<Written> InstanceWrites::create(const resources::Who& who, json instance,
                                       const resources::WriteOptions& options) {
  const auto key = resources::key_of(instance);
  const auto made = connect(who)->create(instances_path(key.space) + query_of(options),
                                         stored_form(std::move(instance)));
  if (!made) return fail(error_of_instance(made.error()));
  return written(key, *made, options);
}

Result<Written> InstanceWrites::update(const resources::Who& who, json instance,
                                       const resources::WriteOptions& options) {
  const auto key = resources::key_of(instance);
  const auto path = instance_path(key.space, key.name);
  const auto api = connect(who);
  if (text_at(instance, "/metadata/resourceVersion").empty()) {
    const auto live = api->get(path); // upstream replaces no custom object without one
    if (!live) return fail(error_of_instance(live.error()));
    instance["metadata"]["resourceVersion"] = text_at(*live, "/metadata/resourceVersion");
  }
  const auto done = api->update(path + query_of(options), stored_form(std::move(instance)));
  if (!done) return fail(error_of_instance(done.error()));
  return written(key, *done, options);
}

Result<Written> InstanceWrites::apply(const resources::Who& who, const resources::Key& key,
                                      json config, const resources::WriteOptions& options) {
  auto done = apply_for_user(*connect(who), instance_path(key.space, key.name),
                             stored_form(std::move(config)), options);
  if (!done) return fail(error_of_instance(done.error()));
  ZOO_TRY(auto out, written(key, done->object, options));
  out.created = done->created;
  return out;
}

Result<Written> InstanceWrites::remove(const resources::Who& who, const resources::Key& key,
                                       const resources::Preconditions& expected,
                                       const resources::WriteOptions& options) {
  const auto gone =
      remove_for_user(*connect(who), instance_path(key.space, key.name), expected, options);
  if (!gone) return fail(error_of_instance(gone.error()));
  return written(key, text_at(*gone, "/kind") == "TemplateInstance" ? *gone : json(), options,
                 true);
}

} // namespace zoo::accounts
