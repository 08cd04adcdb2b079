// SPDX-License-Identifier: Apache-2.0
#include "daemon/templates/table.hpp"

#include <fmt/format.h>

#include <utility>

namespace zoo::templates {

bool Table::put_instance(const nlohmann::json& object) {
  const auto read = read_instance(object);
  if (!read) return false;
  KnownInstance now{read->name_space, read->name,      read->uid,   read->template_name,
                    read->generation, read->follows(), read->kept,  read->deployed,
                    read->failed,     read->stands(),  read->reason};
  const auto key = read->key();
  const std::lock_guard lock(mutex_);
  const auto old = instances_.find(key);
  // Another UID: it was deleted and made again while nobody listened.
  const bool other = old == instances_.end() || old->second.uid != now.uid ||
                     old->second.generation != now.generation || old->second.kept != now.kept;
  of_template_[now.template_name].insert(key);
  if (old != instances_.end() && old->second.template_name != now.template_name)
    of_template_[old->second.template_name].erase(key);
  instances_.insert_or_assign(key, std::move(now));
  return other;
}

void Table::remove_instance(std::string_view name_space, std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto found = instances_.find(fmt::format("{}/{}", name_space, name));
  if (found == instances_.end()) return;
  const auto of = of_template_.find(found->second.template_name);
  of->second.erase(found->first);
  if (of->second.empty()) of_template_.erase(of);
  instances_.erase(found);
}

bool Table::put_template(const std::string& name, const std::string& version) {
  const std::lock_guard lock(mutex_);
  auto& known = templates_[name];
  if (known == version && !version.empty()) return false;
  known = version;
  return true;
}

void Table::remove_template(const std::string& name) {
  const std::lock_guard lock(mutex_);
  templates_.erase(name);
}

std::vector<std::pair<std::string, std::string>> Table::keep_instances(const Names& keys) {
  std::vector<std::pair<std::string, std::string>> gone;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, known] : instances_)
      if (!keys.contains(key)) gone.emplace_back(known.name_space, known.name);
  }
  for (const auto& [space, name] : gone)
    remove_instance(space, name);
  return gone;
}

std::vector<std::string> Table::keep_templates(const Names& names) {
  std::vector<std::string> gone;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, version] : templates_)
    if (!names.contains(name)) gone.push_back(name);
  for (const auto& name : gone)
    templates_.erase(name);
  return gone;
}

std::optional<KnownInstance> Table::find(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  const auto found = instances_.find(key);
  return found == instances_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<KnownInstance> Table::of_template(std::string_view name) const {
  std::vector<KnownInstance> out;
  const std::lock_guard lock(mutex_);
  const auto found = of_template_.find(name);
  if (found == of_template_.end()) return out;
  for (const auto& key : found->second)
    out.push_back(instances_.at(key));
  return out;
}

std::vector<KnownInstance> Table::in(std::string_view name_space) const {
  std::vector<KnownInstance> out;
  const auto start = fmt::format("{}/", name_space);
  const std::lock_guard lock(mutex_);
  for (auto at = instances_.lower_bound(start);
       at != instances_.end() && at->first.starts_with(start); ++at)
    out.push_back(at->second);
  return out;
}

std::vector<KnownInstance> Table::all() const {
  std::vector<KnownInstance> out;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, known] : instances_)
    out.push_back(known);
  return out;
}

std::vector<KnownInstance> Table::failed() const {
  std::vector<KnownInstance> out;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, known] : instances_)
    if (known.failed) out.push_back(known);
  return out;
}

Table::Counts Table::counts() const {
  Counts out;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, known] : instances_)
    ++(known.deployed ? out.deployed : known.failed ? out.failed : out.pending);
  return out;
}

std::size_t Table::templates() const {
  const std::lock_guard lock(mutex_);
  return templates_.size();
}

} // namespace zoo::templates
