// SPDX-License-Identifier: Apache-2.0
#include "daemon/templates/follower.hpp"

#include "daemon/net/loop.hpp"
#include "daemon/upstream/change_follower.hpp"
#include "daemon/upstream/upstream.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace zoo::templates {
namespace {

using nlohmann::json;
using translate::EventType;

std::string version_of(const json& object) {
  return object.value("/metadata/resourceVersion"_json_pointer, std::string());
}

} // namespace

Follower::Follower(upstream::Upstream& upstream, net::Loop& loop, Keeper& keeper)
    : loop_(loop), keeper_(keeper),
      drift_(upstream, loop,
             {[&keeper](const std::string& name_space, const std::string& mark) {
                keeper.drifted(name_space, mark);
              },
              [&keeper](const auto& instances) { keeper.missed_of(instances); }}) {
  keeper.on_deployed([this](const Instance& instance, const std::vector<Applied>& applied) {
    drift_.applied(instance.name_space, mark_of(instance.name), applied);
  });
  const auto follow = [&](const char* resource, upstream::ChangeFollower::Hears hears) {
    return std::make_unique<upstream::ChangeFollower>(
        upstream, loop, upstream.caller(loop),
        fmt::format("/apis/{}/{}/{}", k_group, k_version, resource), "", std::move(hears));
  };
  upstream::ChangeFollower::Hears templates;
  templates.looks = [this] { templates_found_.clear(); };
  templates.found = [this](std::string_view name, std::string_view object) {
    templates_found_.emplace(name);
    if (const auto read = json::parse(object, nullptr, false); read.is_object())
      keeper_.heard_template(std::string(name), version_of(read));
  };
  templates.began = [this] {
    for (const auto& name : keeper_.table().keep_templates(std::exchange(templates_found_, {})))
      keeper_.lost_template(name);
  };
  templates.changed = [this](EventType type, const translate::ObjectKey& key, std::string_view) {
    if (type == EventType::deleted) return keeper_.lost_template(key.name);
    keeper_.heard_template(key.name, std::string(key.resource_version));
  };
  templates_ = follow("templates", std::move(templates));

  upstream::ChangeFollower::Hears instances;
  instances.whole = true;
  instances.looks = [this] { instances_found_.clear(); };
  instances.found = [this](std::string_view, std::string_view object) {
    const auto read = json::parse(object, nullptr, false);
    const auto instance = read_instance(read);
    if (!instance) return;
    instances_found_.insert(instance->key());
    keeper_.heard_instance(read);
  };
  instances.began = [this] {
    for (const auto& [space, name] :
         keeper_.table().keep_instances(std::exchange(instances_found_, {})))
      drift_.forget(space, mark_of(name));
  };
  instances.changed = [this](EventType type, const translate::ObjectKey& key,
                             std::string_view object) {
    if (type == EventType::deleted) {
      keeper_.table().remove_instance(key.name_space, key.name);
      drift_.forget(std::string(key.name_space), mark_of(key.name));
      return;
    }
    if (const auto read = json::parse(object, nullptr, false); read.is_object())
      keeper_.heard_instance(read);
  };
  instances_ = follow("templateinstances", std::move(instances));
}

Follower::~Follower() { keeper_.on_deployed(nullptr); }

void Follower::start() {
  loop_.post([this] {
    templates_->start();
    instances_->start();
  });
}

} // namespace zoo::templates
