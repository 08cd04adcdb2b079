// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/templates/instance.hpp"

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zoo::templates {

/// What is known of one instance without asking for it.
struct KnownInstance {
  std::string name_space, name, uid, template_name;
  std::int64_t generation = 0;
  bool follows = false, kept = false;
  bool deployed = false, failed = false;
  bool stands = false; ///< Instance::stands()
  std::string reason;  ///< why it failed
};

/// Which instances and templates there are. Filled by watches; any thread.
class Table {
public:
  using Names = std::set<std::string, std::less<>>;
  struct Counts {
    std::size_t deployed = 0, failed = 0, pending = 0;
  };

  /// A TemplateInstance as upstream stores it. True: it is new, or to be deployed otherwise than it
  /// was.
  bool put_instance(const nlohmann::json& object);
  void remove_instance(std::string_view name_space, std::string_view name);
  /// A Template. True: it is new, or has changed.
  bool put_template(const std::string& name, const std::string& version);
  void remove_template(const std::string& name);

  /// All were read: keys ("namespace/name") or names that are not among these are no more. Answers
  /// those that have gone, of instances namespace and name.
  std::vector<std::pair<std::string, std::string>> keep_instances(const Names& keys);
  std::vector<std::string> keep_templates(const Names& names);

  std::optional<KnownInstance> find(std::string_view key) const; ///< "namespace/name"
  std::vector<KnownInstance> of_template(std::string_view name) const;
  std::vector<KnownInstance> in(std::string_view name_space) const;
  std::vector<KnownInstance> all() const;
  std::vector<KnownInstance> failed() const;
  Counts counts() const;
  std::size_t templates() const;

private:
  mutable std::mutex mutex_;
  std::map<std::string, KnownInstance, std::less<>> instances_; ///< by "namespace/name"
  std::map<std::string, std::string, std::less<>> templates_;   ///< name, resourceVersion
  std::map<std::string, Names, std::less<>> of_template_;       ///< keys of instances
};

} // namespace zoo::templates
