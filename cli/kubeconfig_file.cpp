// SPDX-License-Identifier: Apache-2.0
#include "cli/kubeconfig_file.hpp"

#include "common/base/file.hpp"
#include "common/base/text.hpp"
#include "common/kube/kubeconfig.hpp"
#include "common/kube/yaml.hpp"

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <vector>

namespace zoo::cli {
namespace {

namespace fs = std::filesystem;

Error io_error(std::string_view what, const fs::path& path) {
  return Error(Code::io,
               fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(errno)));
}

/// Where writing really happens: links are followed, also one to a file that is not there yet.
fs::path target_of(const fs::path& file) {
  std::error_code ec;
  auto target = fs::weakly_canonical(file, ec);
  if (ec) return file;
  if (fs::is_symlink(fs::symlink_status(file, ec)) && !fs::exists(file, ec)) {
    auto link = fs::read_symlink(file, ec);
    if (!ec) target = link.is_absolute() ? link : file.parent_path() / link;
  }
  return target;
}

Result<void> write_through(const fs::path& path, std::string_view text) {
  const file::Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd) return fail(io_error("open", path));
  while (!text.empty()) {
    const auto n = ::write(fd.get(), text.data(), text.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return fail(io_error("write", path));
    }
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

/// kubectl's lock: k8s.io/client-go/tools/clientcmd/config.go makes <file>.lock with O_EXCL.
class Lock {
public:
  static Result<Lock> take(const fs::path& file) {
    auto path = fs::path(file).concat(".lock");
    const file::Fd fd(::open(path.c_str(), O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (fd) return Lock(std::move(path));
    if (errno == EEXIST) {
      return fail(Code::conflict,
                  "another program changes {} now: {} exists. Try again; if no kubectl runs, "
                  "remove that file",
                  file.string(), path.string());
    }
    return fail(io_error("create", path));
  }
  Lock(Lock&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  Lock& operator=(Lock&&) = delete;
  ~Lock() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }

private:
  explicit Lock(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

/// An extension of a context: where `zooctl space use -` goes back to.
constexpr std::string_view k_previous_namespace = "zoo.kubezoo.io/previous-namespace";
/// Another one, of contexts of virtual clusters: which context was current before.
constexpr std::string_view k_previous_context = "zoo.kubezoo.io/previous-context";
/// Of clusters and users that connect_in_file() has put there: what has it may be replaced.
constexpr std::string_view k_connected = "zoo.kubezoo.io/connected";

/// One of the three lists of a kubeconfig.
struct Part {
  const char* list;
  const char* body; ///< of an entry; contexts name clusters and users by the same word
};
constexpr Part k_contexts{"contexts", "context"};
constexpr Part k_parts[] = {k_contexts, {"clusters", "cluster"}, {"users", "user"}};

using nlohmann::ordered_json;

/// A text in a kubeconfig, which people write by hand: "" where it is none.
std::string member_text(const ordered_json& object, std::string_view key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool is_extension(const ordered_json& extension, std::string_view name) {
  return member_text(extension, "name") == name;
}

void set_extension(ordered_json& body, std::string_view name, ordered_json content) {
  auto& extensions = body["extensions"];
  if (!extensions.is_array()) extensions = ordered_json::array();
  std::erase_if(extensions.get_ref<ordered_json::array_t&>(),
                [name](const ordered_json& each) { return is_extension(each, name); });
  extensions.push_back({{"name", name}, {"extension", std::move(content)}});
}

/// Null: there is no such extension.
const ordered_json* find_extension(const ordered_json& body, std::string_view name) {
  const auto extensions = body.find("extensions");
  if (extensions == body.end() || !extensions->is_array()) return nullptr;
  for (const auto& each : *extensions)
    if (is_extension(each, name) && each.contains("extension")) return &each["extension"];
  return nullptr;
}

Result<ordered_json> read_yaml(const fs::path& file, const std::string& yaml) {
  auto text = kube::yaml_to_json(yaml);
  if (!text) return fail(std::move(text).error().context("while reading {}", file.string()));
  auto value = ordered_json::parse(*text, nullptr, false);
  if (!value.is_object()) return fail(Code::invalid, "{} is no kubeconfig", file.string());
  return value;
}

/// The entry of the list `contexts`; null if there is none that can be changed.
ordered_json* context_in(ordered_json& config, std::string_view name) {
  const auto list = config.find("contexts");
  if (list == config.end() || !list->is_array()) return nullptr;
  for (auto& each : *list)
    if (each.is_object() && each.value("name", std::string()) == name && each.contains("context") &&
        each["context"].is_object())
      return &each;
  return nullptr;
}

void remove_named(ordered_json& config, std::string_view list, std::string_view name) {
  const auto found = config.find(list);
  if (found == config.end() || !found->is_array()) return;
  std::erase_if(found->get_ref<ordered_json::array_t&>(),
                [name](const ordered_json& each) { return member_text(each, "name") == name; });
}

/// Does a context name that cluster, or that user?
bool is_used(const ordered_json& config, std::string_view key, std::string_view name) {
  const auto contexts = config.find("contexts");
  if (contexts == config.end() || !contexts->is_array()) return false;
  return std::any_of(contexts->begin(), contexts->end(), [&](const ordered_json& each) {
    return each.is_object() && each.contains("context") &&
           member_text(each["context"], key) == name;
  });
}

/// The entries of a list of a kubeconfig; none where that is no list.
ordered_json::array_t entries_of(const ordered_json& config, const Part& part) {
  const auto found = config.find(part.list);
  if (found == config.end() || !found->is_array()) return {};
  return found->get_ref<const ordered_json::array_t&>();
}

bool has_extension(const ordered_json& entry, const Part& part, std::string_view name) {
  if (!entry.is_object()) return false;
  const auto body = entry.find(part.body);
  return body != entry.end() && body->is_object() && find_extension(*body, name) != nullptr;
}

/// Did connect_in_file() put this entry there? A cluster and a user of a version before have no
/// mark of their own, but are named by a context that has one.
bool is_connected(const ordered_json& config, const Part& part, const ordered_json& entry) {
  if (has_extension(entry, k_contexts, k_previous_context)) return true;
  if (has_extension(entry, part, k_connected)) return true;
  const auto name = member_text(entry, "name");
  const auto contexts = entries_of(config, k_contexts);
  return std::any_of(contexts.begin(), contexts.end(), [&](const ordered_json& each) {
    return has_extension(each, k_contexts, k_previous_context) &&
           member_text(each[k_contexts.body], part.body) == name;
  });
}

/// Code::conflict if `added` would take the place of something that somebody else has put there.
Result<void> replaces_own(const fs::path& file, const ordered_json& config,
                          const ordered_json& added) {
  for (const auto& part : k_parts)
    for (const auto& wanted : entries_of(added, part)) {
      const auto name = member_text(wanted, "name");
      for (const auto& there : entries_of(config, part)) {
        if (member_text(there, "name") != name || is_connected(config, part, there)) continue;
        return fail(Code::conflict,
                    "{} has a {} '{}' that was not made by `zooctl cluster connect`, and stays as "
                    "it is: rename it, or have the kubeconfig in another file by --kubeconfig-file",
                    file.string(), part.body, name);
      }
    }
  return {};
}

/// The entries of `config` that `added` has brought get the mark of connect_in_file().
void mark_connected(ordered_json& config, const ordered_json& added) {
  for (const auto& part : k_parts) {
    if (std::string_view(part.list) == k_contexts.list) continue; // these have one of their own
    for (const auto& wanted : entries_of(added, part))
      for (auto& there : config[part.list])
        if (member_text(there, "name") == member_text(wanted, "name") && there.contains(part.body))
          set_extension(there[part.body], k_connected, {{"by", "zooctl"}});
  }
}

Result<std::string> merged_into(const fs::path& file, const std::string& existing,
                                std::string_view added) {
  auto merged = kube::merge_kubeconfig(existing, added);
  if (!merged)
    return fail(std::move(merged).error().context("while merging into {}", file.string()));
  return merged;
}

/// Replaces the text of `file` by what `with` makes of it, under the lock.
Result<void> change(const fs::path& file,
                    const std::function<Result<std::string>(const std::string&)>& with) {
  const auto target = target_of(file);
  if (target.has_parent_path()) ZOO_TRY_VOID(file::ensure_private_directory(target.parent_path()));
  ZOO_TRY(const auto lock, Lock::take(target));
  std::string existing;
  if (auto bytes = file::read(target)) {
    existing = *std::move(bytes);
  } else if (bytes.error().code() != Code::not_found) {
    return fail(std::move(bytes).error());
  }
  ZOO_TRY(const auto text, with(existing));
  return write_kubeconfig_file(target, text);
}

} // namespace

Result<void> write_kubeconfig_file(const fs::path& file, std::string_view text) {
  struct stat facts{};
  const bool exists = ::stat(file.c_str(), &facts) == 0;
  if (exists && S_ISDIR(facts.st_mode)) {
    return fail(Code::io, "{} is a directory: name the file to write", file.string());
  }
  if (exists && !S_ISREG(facts.st_mode)) return write_through(file, text);
  const auto target = target_of(file);
  ZOO_TRY_VOID(file::write_secret(target, text));
  // Under sudo the file must stay its user's.
  if (exists && (facts.st_uid != ::geteuid() || facts.st_gid != ::getegid()) &&
      ::chown(target.c_str(), facts.st_uid, facts.st_gid) != 0 && ::geteuid() == 0) {
    return fail(io_error("give back to its owner", target));
  }
  return {};
}

Result<fs::path> default_kubeconfig_file(const Context& context) {
  if (const auto list = context.env("KUBECONFIG")) {
    fs::path last;
    for (const auto name : text::split(*list, ':')) {
      if (name.empty()) continue;
      last = fs::path(name);
      std::error_code ec;
      if (fs::exists(last, ec)) return last;
    }
    if (!last.empty()) return last;
  }
  const auto home = context.env("HOME");
  if (!home) {
    return fail(Code::usage, "there is neither KUBECONFIG nor HOME in the environment: say where "
                             "to write with -o FILE");
  }
  return fs::path(*home) / ".kube" / "config";
}

Result<void> merge_into_file(const fs::path& file, std::string_view added) {
  return change(file,
                [&](const std::string& existing) { return merged_into(file, existing, added); });
}

Result<std::string> connect_in_file(const fs::path& file, std::string_view added) {
  std::string name;
  ZOO_TRY(const auto fresh, read_yaml("the new kubeconfig", std::string(added)));
  const auto done = change(file, [&](const std::string& existing) -> Result<std::string> {
    ZOO_TRY(const auto merged, merged_into(file, existing, added));
    ZOO_TRY(auto config, read_yaml(file, merged));
    name = member_text(config, "current-context");
    auto* entry = context_in(config, name);
    if (entry == nullptr) return fail(Code::invalid, "what is merged names no context");
    std::string before;
    if (auto earlier = read_yaml(file, existing)) { // not of a file that is empty
      ZOO_TRY_VOID(replaces_own(file, *earlier, fresh));
      before = member_text(*earlier, "current-context");
      // Connected once more: what was there before the first time counts.
      const auto* same = before == name ? context_in(*earlier, name) : nullptr;
      const auto* known =
          same == nullptr ? nullptr : find_extension((*same)["context"], k_previous_context);
      if (before == name) before = known == nullptr ? "" : member_text(*known, "context");
    }
    set_extension((*entry)["context"], k_previous_context, {{"context", before}});
    mark_connected(config, fresh);
    return kube::json_to_yaml(config);
  });
  if (!done) return fail(done.error());
  return name;
}

Result<std::string> disconnect_in_file(const fs::path& file, std::string_view context) {
  const auto missing = [&] {
    return fail(Code::not_found, "{} has no context '{}'", file.string(), context);
  };
  std::error_code error;
  if (!fs::exists(file, error)) return missing();
  std::string current;
  ZOO_TRY_VOID(change(file, [&](const std::string& existing) -> Result<std::string> {
    ZOO_TRY(auto config, read_yaml(file, existing));
    const auto* entry = context_in(config, context);
    if (entry == nullptr) return missing();
    const auto* known = find_extension((*entry)["context"], k_previous_context);
    if (known == nullptr)
      return fail(Code::conflict,
                  "context '{}' of {} was not made by `zooctl cluster connect`, and stays", context,
                  file.string());
    const auto before = member_text(*known, "context");
    const auto cluster = member_text((*entry)["context"], "cluster");
    const auto user = member_text((*entry)["context"], "user");
    remove_named(config, "contexts", context);
    if (!is_used(config, "cluster", cluster)) remove_named(config, "clusters", cluster);
    if (!is_used(config, "user", user)) remove_named(config, "users", user);
    current = member_text(config, "current-context");
    if (current == context) {
      current = context_in(config, before) == nullptr ? "" : before;
      config["current-context"] = current;
    }
    return kube::json_to_yaml(config);
  }));
  return current;
}

Result<std::string> current_context(const fs::path& file) {
  const auto text = file::read(file);
  if (!text && text.error().code() == Code::not_found) return std::string();
  if (!text) return fail(text.error());
  ZOO_TRY(const auto config, read_yaml(file, *text));
  return member_text(config, "current-context");
}

Result<void> set_namespace(const fs::path& file, std::string_view context,
                           std::string_view name_space) {
  return change(file, [&](const std::string& existing) -> Result<std::string> {
    ZOO_TRY(auto config, read_yaml(file, existing));
    auto* found = context_in(config, context);
    if (found == nullptr)
      return fail(Code::not_found, "{} has no context '{}'", file.string(), context);
    auto& body = (*found)["context"];
    const auto before = body.value("namespace", std::string("default"));
    if (before == name_space) return existing;
    body["namespace"] = name_space;
    set_extension(body, k_previous_namespace, {{"namespace", before}});
    return kube::json_to_yaml(config);
  });
}

Result<std::string> previous_namespace(const fs::path& file, std::string_view context) {
  ZOO_TRY(const auto text, file::read(file));
  ZOO_TRY(auto config, read_yaml(file, text));
  const auto* found = context_in(config, context);
  if (found == nullptr) return std::string();
  const auto* extension = find_extension((*found)["context"], k_previous_namespace);
  return extension == nullptr ? std::string() : member_text(*extension, "namespace");
}

} // namespace zoo::cli
