// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/output/printer.hpp"
#include "cli/output/table.hpp"
#include "common/kube/age.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cctype>

namespace zoo::cli {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// "adminListen" -> "admin listen".
std::string words_of(std::string_view key) {
  std::string out;
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isupper(byte) != 0) {
      if (!out.empty()) out += ' ';
      out += static_cast<char>(std::tolower(byte));
    } else {
      out += c;
    }
  }
  return out;
}

/// Every value of zood's status on a line, in zood's order: what a later zood adds is shown too.
void flatten(const ordered_json& value, const std::string& name,
             std::vector<std::pair<std::string, std::string>>& out) {
  constexpr std::string_view k_seconds = " seconds";
  if (value.is_object()) {
    if (value.empty()) out.emplace_back(name, "none");
    for (const auto& [key, inner] : value.items())
      flatten(inner, name.empty() ? words_of(key) : name + " " + words_of(key), out);
  } else if (name.ends_with(k_seconds) && value.is_number()) {
    out.emplace_back(name.substr(0, name.size() - k_seconds.size()),
                     human_span(static_cast<std::int64_t>(value.get<double>())));
  } else if (value.is_boolean()) {
    out.emplace_back(name, value.get<bool>() ? "yes" : "no");
  } else if (value.is_string()) {
    out.emplace_back(name, value.get<std::string>());
  } else if (!value.is_null()) {
    out.emplace_back(name, value.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
  }
}

std::pair<std::string, std::string> line_of_replica(const json& replica) {
  auto text = text_at(replica, "/version");
  if (replica.value("leads", false)) text += ", leads";
  if (const auto started = replica.value("started", std::int64_t{0}); started > 0)
    text += fmt::format(", started {} ago", human_span(kube::unix_now() - started));
  return {fmt::format("replica {}", text_at(replica, "/name")), std::move(text)};
}

struct Status final : Command {
  std::string format;

  void define(CLI::App& app) override {
    add_format_option(app, format, "table|json|yaml");
    add_examples(app, "  zooctl status\n  zooctl --dir ./zoo status -o json");
  }

  Result<int> run(Context& context) override {
    context.patient();
    ZOO_TRY(auto* client, context.client());
    ZOO_TRY(auto status, client->status());
    if (format == "json" || format == "yaml") {
      print_record(context, json(status), format_of(format));
      return 0;
    }
    std::vector<std::pair<std::string, std::string>> lines;
    // For programs; a reader has no use for it.
    if (const auto door = status.find("accountDoor"); door != status.end())
      door->erase("certificateAuthorityData");
    const auto replicas = status.find("replicas");
    const auto zoods = replicas == status.end() ? ordered_json::array() : *replicas;
    status.erase("replicas");
    flatten(status, "", lines);
    for (const auto& each : zoods)
      lines.push_back(line_of_replica(json(each)));
    std::size_t width = 0;
    for (auto& [name, value] : lines) {
      name = printable(name) + ":";
      if (name[0] >= 'a' && name[0] <= 'z') name[0] = static_cast<char>(name[0] - 'a' + 'A');
      width = std::max(width, display_width(name));
    }
    for (const auto& [name, value] : lines) {
      context.out << name << std::string(width - display_width(name) + 2, ' ')
                  << (value.empty() ? "<none>" : printable(value)) << '\n';
    }
    return 0;
  }
};

} // namespace

std::unique_ptr<Command> make_status() { return std::make_unique<Status>(); }

} // namespace zoo::cli
