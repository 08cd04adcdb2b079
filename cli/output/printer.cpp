// SPDX-License-Identifier: Apache-2.0
#include "cli/output/printer.hpp"

#include "cli/output/table.hpp"
#include "common/api/tenant.hpp"
#include "common/kube/yaml.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <ctime>

namespace zoo::cli {
namespace {

using nlohmann::json;

const json* value_at(const json& object, std::string_view pointer) {
  const json* at = &object;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const auto end = std::min(pointer.find('/'), pointer.size());
    const auto key = std::string(pointer.substr(0, end));
    if (!at->is_object() || !at->contains(key)) return nullptr;
    at = &(*at)[key];
    pointer.remove_prefix(end);
  }
  return at;
}

std::string text_of(const json* value) {
  if (value == nullptr || value->is_null()) return {};
  if (value->is_string()) return value->get<std::string>();
  return value->dump(-1, ' ', false, json::error_handler_t::replace);
}

Colour colour_of(std::string_view phase) {
  if (phase == "Ready") return Colour::good;
  if (phase == "Pending") return Colour::waiting;
  if (phase == "Suspended") return Colour::dim;
  return phase.empty() ? Colour::none : Colour::bad;
}

std::int64_t now_of(const Context& context) {
  return std::chrono::duration_cast<std::chrono::seconds>(context.now().time_since_epoch()).count();
}

std::string expiry_of(const Context& context, std::string_view expiry) {
  const auto time = unix_time(expiry);
  if (!time) return {};
  return *time <= now_of(context) ? "expired" : human_span(*time - now_of(context));
}

Table tenant_table(bool wide) {
  Table table;
  table.headers = {"NAME", "STATUS", "DISPLAY NAME", "EXPIRES", "AGE"};
  if (wide) {
    for (const auto* header : {"ACCOUNT", "UID", "WAITING FOR"})
      table.headers.emplace_back(header);
  }
  return table;
}

std::vector<Cell> tenant_row(const Context& context, const json& tenant, bool wide) {
  const auto phase = text_at(tenant, "/status/phase");
  const auto expires = expiry_of(context, text_at(tenant, "/status/certificateExpiry"));
  std::vector<Cell> row = {
      {text_at(tenant, "/metadata/name"), Colour::none},
      {phase, colour_of(phase)},
      {text_at(tenant, "/spec/displayName"), Colour::none},
      {expires, expires == "expired" ? Colour::bad : Colour::none},
      {age_of(context, text_at(tenant, "/metadata/creationTimestamp")), Colour::none}};
  if (wide) {
    row.push_back({text_at(tenant, "/spec/account"), Colour::none});
    row.push_back({text_at(tenant, "/metadata/uid"), Colour::none});
    row.push_back({text_at(tenant, "/status/waitingFor"), Colour::none});
  }
  return row;
}

void line(Context& context, std::string_view name, std::string_view value) {
  context.out << fmt::format("{:<21} {}\n", fmt::format("{}:", name),
                             value.empty() ? "<none>" : printable(value));
}

/// {"flow":{"queued":0,"longRunning":{"used":1,"limit":9}}} as "flow.queued": "0" and
/// "flow.longRunning": "1/9"; "?/9" where nothing was counted yet.
void flatten(const json& object, const std::string& prefix, json& out) {
  for (const auto& [key, value] : object.items()) {
    if (!value.is_object()) {
      out[prefix + key] = value.is_null() ? "unlimited" : text_of(&value);
    } else if (value.contains("limit")) {
      out[prefix + key] =
          (value.contains("used") ? text_of(&value["used"]) : "?") + "/" + text_of(&value["limit"]);
    } else {
      flatten(value, prefix + key + ".", out);
    }
  }
}

void map_lines(Context& context, std::string_view name, const json* map) {
  bool first = true;
  if (map != nullptr && map->is_object()) {
    for (const auto& [key, value] : map->items()) {
      const auto text = key == api::k_kubeconfig_annotation
                            ? std::string("<hidden: see zooctl kubeconfig export>")
                            : text_of(&value);
      if (first) {
        line(context, name, fmt::format("{}={}", key, text));
      } else {
        context.out << std::string(22, ' ') << printable(fmt::format("{}={}", key, text)) << '\n';
      }
      first = false;
    }
  }
  if (first) line(context, name, "");
}

} // namespace

Format format_of(std::string_view name) {
  if (name == "table") return Format::table;
  if (name == "wide") return Format::wide;
  if (name == "json") return Format::json;
  if (name == "yaml") return Format::yaml;
  if (name == "name") return Format::name;
  return Format::standard;
}

std::string text_at(const json& object, std::string_view pointer) {
  return text_of(value_at(object, pointer));
}

std::optional<std::int64_t> unix_time(std::string_view rfc3339) {
  std::tm parts{};
  const std::string text(rfc3339);
  const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (end == nullptr) return std::nullopt;
  if (*end == '.') {
    do {
      ++end;
    } while (*end >= '0' && *end <= '9');
  }
  if (std::string_view(end) != "Z") return std::nullopt;
  return static_cast<std::int64_t>(::timegm(&parts));
}

std::string age_of(const Context& context, std::string_view created) {
  const auto time = unix_time(created);
  return time ? human_span(now_of(context) - *time) : std::string("<unknown>");
}

std::string json_text(const json& value, int indent) {
  const auto text = value.dump(indent, ' ', false, json::error_handler_t::replace);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
    if (byte == 0x7f) {
      out += "\\u007f";
    } else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {
      out += fmt::format("\\u{:04x}", next);
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

void print_record(Context& context, const json& value, Format format) {
  if (format == Format::yaml) {
    context.out << (context.printed ? "---\n" : "") << kube::json_to_yaml(value);
  } else {
    context.out << json_text(value, 2) << '\n';
  }
}

void print_tenant(Context& context, const json& tenant, const PrintOptions& options) {
  if (options.format == Format::json || options.format == Format::yaml) {
    auto shown = tenant;
    drop_kubeconfig(shown);
    return print_record(context, shown, options.format);
  }
  print_tenants(context, json{{"items", json::array({tenant})}}, options);
}

void print_tenants(Context& context, const json& list, const PrintOptions& options) {
  if (options.format == Format::json || options.format == Format::yaml) {
    auto shown = list;
    if (shown.contains("items")) {
      for (auto& item : shown["items"])
        drop_kubeconfig(item);
    }
    return print_record(context, shown, options.format);
  }
  const auto* items = value_at(list, "/items");
  if (options.format == Format::name) {
    for (const auto& item : *items) {
      if (const auto id = text_at(item, "/metadata/name"); !id.empty()) {
        context.out << printable(id) << '\n';
      }
    }
    return;
  }
  const bool wide = options.format == Format::wide;
  auto table = tenant_table(wide);
  for (const auto& item : *items)
    table.rows.push_back(tenant_row(context, item, wide));
  if (!table.rows.empty()) print_table(context.out, table, {options.headers, context.colours()});
}

void describe_tenant(Context& context, const json& tenant) {
  const auto phase = text_at(tenant, "/status/phase");
  line(context, "Name", text_at(tenant, "/metadata/name"));
  line(context, "Display name", text_at(tenant, "/spec/displayName"));
  context.out << fmt::format("{:<21} {}\n", "Status:",
                             phase.empty()
                                 ? std::string("<none>")
                                 : paint(printable(phase), colour_of(phase), context.colours()));
  if (const auto waiting = text_at(tenant, "/status/waitingFor"); !waiting.empty()) {
    line(context, "Waiting for", waiting);
  }
  line(context, "UID", text_at(tenant, "/metadata/uid"));
  const auto created = text_at(tenant, "/metadata/creationTimestamp");
  line(context, "Created",
       created.empty() ? "" : fmt::format("{} ({} ago)", created, age_of(context, created)));
  if (const auto deleted = text_at(tenant, "/metadata/deletionTimestamp"); !deleted.empty()) {
    line(context, "Deletion asked for", deleted);
  }
  const auto expiry = text_at(tenant, "/status/certificateExpiry");
  const auto left = expiry_of(context, expiry);
  line(context, "Certificate expires",
       expiry.empty()      ? ""
       : left.empty()      ? expiry
       : left == "expired" ? fmt::format("{} (expired)", expiry)
                           : fmt::format("{} (in {})", expiry, left));
  line(context, "Account", text_at(tenant, "/spec/account"));
  line(context, "Suspended", text_at(tenant, "/spec/suspended") == "true" ? "yes" : "no");
  for (const auto& [name, pointer] :
       {std::pair{"Quota", "/spec/quota"}, std::pair{"Flow", "/spec/flow"},
        std::pair{"Guards", "/spec/guards"}, std::pair{"Usage", "/status/usage"}}) {
    const auto* object = value_at(tenant, pointer);
    if (object == nullptr || !object->is_object() || object->empty()) continue;
    auto pairs = json::object();
    flatten(*object, "", pairs);
    map_lines(context, name, &pairs);
  }
  map_lines(context, "Labels", value_at(tenant, "/metadata/labels"));
  map_lines(context, "Annotations", value_at(tenant, "/metadata/annotations"));

  const auto* conditions = value_at(tenant, "/status/conditions");
  if (conditions == nullptr || !conditions->is_array() || conditions->empty()) return;
  Table table{{"TYPE", "STATUS", "REASON", "SINCE", "MESSAGE"}, {}};
  for (const auto& condition : *conditions) {
    table.rows.push_back(
        {{text_at(condition, "/type"), Colour::none},
         {text_at(condition, "/status"), Colour::none},
         {text_at(condition, "/reason"), Colour::none},
         {age_of(context, text_at(condition, "/lastTransitionTime")), Colour::none},
         {text_at(condition, "/message"), Colour::none}});
  }
  context.out << "\nConditions:\n";
  print_table(context.out, table, {true, context.colours()});
}

void drop_kubeconfig(json& tenant) {
  if (value_at(tenant, "/metadata/annotations") == nullptr) return;
  auto& annotations = tenant["metadata"]["annotations"];
  if (!annotations.is_object()) return;
  annotations.erase(std::string(api::k_kubeconfig_annotation));
  if (annotations.empty()) tenant["metadata"].erase("annotations");
}

} // namespace zoo::cli
