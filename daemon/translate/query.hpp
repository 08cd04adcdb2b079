// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Query strings of the Kubernetes API (k8s.io/apimachinery ListOptions, PatchOptions and kin):
/// values without state, any thread.
namespace zoo::translate {

/// One parameter, decoded. Repeats and order matter (exec's `command`), so they are kept.
struct Param {
  std::string key, value;
  bool operator==(const Param&) const = default;
};
using Params = std::vector<Param>;

/// Decodes `application/x-www-form-urlencoded` as Go's url.ParseQuery. Code::bad_request for an
/// escape that is none, a `;` as separator, bytes that are not UTF-8, NUL, or more than 1,000
/// parameters.
Result<Params> parse_query(std::string_view raw);

/// The reverse, with Go's escaping. Empty for no parameters.
std::string serialize_query(const Params& params);

/// Percent-decodes once; `plus` reads '+' as a space. nullopt for a wrong escape.
std::optional<std::string> percent_decode(std::string_view text, bool plus);
/// Escapes all but unreserved characters and `keep`.
std::string percent_encode(std::string_view text, std::string_view keep);
void append_percent_encoded(std::string& out, std::string_view text, std::string_view keep);

/// The first value, as the API server reads a parameter that may stand once.
const std::string* find_param(const Params& params, std::string_view key);
void set_param(Params& params, std::string_view key, std::string_view value); ///< replaces all
void remove_param(Params& params, std::string_view key);

enum class VersionMatch : std::uint8_t { none, exact, not_older_than };

/// The options of list, watch and deletecollection.
struct ListOptions {
  bool watch = false;
  std::int64_t limit = 0;
  std::string continue_token;
  std::string resource_version; ///< "" or a decimal number
  VersionMatch match = VersionMatch::none;
  std::optional<bool> send_initial_events;
  bool allow_watch_bookmarks = false;
  std::optional<std::int64_t> timeout_seconds;
  std::string label_selector, field_selector;

  /// Does a watch begin with the current state (apiserver's watch semantics)?
  bool begins_with_state() const {
    const bool from_now = resource_version.empty() || resource_version == "0";
    return send_initial_events.value_or(from_now);
  }
  /// Does a watch say where its first events end? One from no version asks for them without saying
  /// so (SetListOptionsDefaults in apimachinery/pkg/apis/meta/internalversion/defaults.go).
  bool marks_initial_events() const {
    const bool from_now = resource_version.empty() || resource_version == "0";
    return allow_watch_bookmarks && send_initial_events.value_or(from_now);
  }
};

/// Reads and validates them in the API server's words. Code::bad_request for a number that is
/// none; Code::invalid for combinations that internalversion/validation forbids. `force_watch`:
/// the path had the legacy /watch/ prefix.
Result<ListOptions> parse_list_options(const Params& params, bool force_watch = false);

/// The options of create, update, patch and delete that zood itself has to know.
struct WriteOptions {
  bool dry_run = false;
  bool force = false;
  std::string field_manager, field_validation;
};

/// `apply`: the body is an apply patch, which needs fieldManager. Code::bad_request or
/// Code::invalid, as k8s.io/apimachinery meta/v1/validation.
Result<WriteOptions> parse_write_options(const Params& params, bool patch, bool apply);

} // namespace zoo::translate
