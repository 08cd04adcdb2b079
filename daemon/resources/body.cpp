// SPDX-License-Identifier: Apache-2.0
#include "daemon/resources/body.hpp"

#include "common/base/text.hpp"
#include "common/kube/yaml.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace zoo::resources {
namespace {

/// Checks depth and finds duplicate keys before anything is built: what is built is later walked
/// by recursion.
class Inspector final : public nlohmann::json::json_sax_t {
public:
  explicit Inspector(std::vector<std::string>& duplicates) : duplicates_(duplicates) {}
  const std::string& problem() const { return problem_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool key(string_t& name) override {
    auto& level = levels_.back();
    level.key = name;
    if (!level.seen.insert(name).second && duplicates_.size() < 16) {
      std::string path;
      for (const auto& each : levels_)
        if (!each.key.empty()) path.append(path.empty() ? "" : ".").append(each.key);
      duplicates_.push_back(std::move(path));
    }
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception& error) override {
    // The library's own prefix ("[json.exception.parse_error.101] ") says nothing to a person.
    std::string_view words = error.what();
    if (const auto at = words.find("] "); at != std::string_view::npos) words.remove_prefix(at + 2);
    problem_ = fmt::format("the body is not valid JSON (near byte {}): {}", position, words);
    return false;
  }

private:
  struct Level {
    std::string key;
    std::set<std::string> seen;
  };
  bool enter() {
    if (levels_.size() >= k_depth_limit) {
      problem_ = fmt::format("the body is nested deeper than {} levels", k_depth_limit);
      return false;
    }
    levels_.emplace_back();
    return true;
  }
  bool leave() {
    levels_.pop_back();
    return true;
  }

  std::vector<Level> levels_;
  std::vector<std::string>& duplicates_;
  std::string problem_;
};

} // namespace

std::string media_type(std::string_view content_type) {
  std::string out(text::trim(content_type.substr(0, content_type.find(';'))));
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

Result<nlohmann::json> parse_body(std::string_view text, std::string_view content_type,
                                  std::vector<std::string>& duplicates) {
  const auto type = media_type(content_type);
  const bool yaml = type == "application/yaml" || type == "application/apply-patch+yaml";
  if (!yaml && !type.empty() && type != "application/json" && !type.ends_with("+json"))
    return fail(Code::unsupported_media_type,
                "the body's type '{}' is not supported; send application/json or application/yaml",
                type);
  if (text::trim(text).empty())
    return fail(Code::bad_request, "the request has no body; send the object as JSON or YAML");

  std::string converted;
  const auto trimmed = text::trim(text);
  if (yaml && trimmed.front() != '{') {
    kube::YamlLimits limits;
    limits.bytes = k_body_limit;
    limits.output = 4 * k_body_limit;
    limits.depth = k_depth_limit;
    ZOO_TRY(converted, kube::yaml_to_json(text, limits));
    text = converted;
  }
  Inspector inspector(duplicates);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &inspector))
    return fail(Code::bad_request, "{}", inspector.problem());
  auto value = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  if (value.is_discarded()) return fail(Code::bad_request, "the body is not valid JSON");
  return value;
}

} // namespace zoo::resources
