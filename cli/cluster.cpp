// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster.hpp"

#include "cli/door.hpp"
#include "cli/kubeconfig_file.hpp"
#include "cli/output/printer.hpp"
#include "cli/output/table.hpp"
#include "common/base/text.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace zoo::cli {
namespace {

using nlohmann::json;

constexpr std::size_t k_most_pages = 10'000;
constexpr std::string_view k_json = "application/json";

/// `299 - "text"` (RFC 7234 5.5) -> text
std::string warning_text(std::string_view header) {
  const auto first = header.find('"'), last = header.rfind('"');
  if (first == std::string_view::npos || last <= first) return std::string(header);
  std::string out;
  for (auto i = first + 1; i < last; ++i) {
    if (header[i] == '\\' && i + 1 < last) ++i;
    out += header[i];
  }
  return out;
}

/// An object is not there, or nobody serves its kind: the Status of the former names the object.
bool names_an_object(const std::string& body) {
  const auto status = json::parse(body, nullptr, false);
  return status.is_object() && !text_at(status, "/details/name").empty();
}

Error not_served(const kube::ClusterAccess& access, std::string_view path) {
  const auto group = text::split(path, '/')[2];
  return Error(Code::unavailable,
               fmt::format("{} does not serve {}: {}", http_client::display_url(access.server),
                           group,
                           group == "config.kiosk.sh"
                               ? "zood installs it in the upstream cluster when accounts.enabled "
                                 "is true in zood.yaml"
                               : "zood's account door does (accounts.listen in zood.yaml), and the "
                                 "upstream after `zooctl account aggregated on`"));
}

} // namespace

kube::Query write_query(bool dry_run) {
  kube::Query query = {{"fieldManager", "zooctl"}, {"fieldValidation", "Strict"}};
  if (dry_run) query.emplace_back("dryRun", "All");
  return query;
}

Cluster::Cluster(Context& context, kube::ClusterAccess access, std::filesystem::path file,
                 std::chrono::milliseconds timeout)
    : context_(&context), access_(std::move(access)), file_(std::move(file)), timeout_(timeout),
      transport_(context.connect(access_.credentials.clone())) {}

Result<Cluster> Cluster::open(Context& context, const std::string& context_name) {
  const auto& globals = context.globals;
  if (!globals.socket.empty() || !globals.server.empty())
    return fail(Code::usage, "this command asks the cluster that your kubeconfig names, not zood's "
                             "admin API: leave out --socket and --server");
  if (!globals.kubeconfig.empty()) return open_file(context, globals.kubeconfig, context_name);
  ZOO_TRY(const auto file, default_kubeconfig_file(context));
  return open_file(context, file, context_name);
}

Result<Cluster> Cluster::open_file(Context& context, const std::filesystem::path& file,
                                   const std::string& context_name) {
  ZOO_TRY(const auto timeout,
          option_duration("--request-timeout", context.globals.request_timeout));
  ZOO_TRY(auto access, kube::load_kubeconfig(file, context_name));
  return Cluster(context, std::move(access), file, timeout);
}

Result<http_client::Response> Cluster::raw(std::string_view method, std::string_view path,
                                           std::string_view content_type, std::string body) {
  http_client::Request request;
  request.method = method;
  request.url = access_.server + std::string(path);
  request.timeout = timeout_;
  request.headers = {{"Accept", std::string(k_json)}, {"User-Agent", "zooctl/" ZOO_VERSION}};
  if (!body.empty()) request.headers.emplace_back("Content-Type", std::string(content_type));
  request.body = std::move(body);
  auto response = transport_->perform(request);
  if (!response)
    return fail(std::move(response).error().context("while asking {}",
                                                    http_client::display_url(access_.server)));
  for (const auto& [name, value] : response->headers)
    if (text::iequals(name, "warning")) context_->say("warning: " + printable(warning_text(value)));
  return response;
}

Result<json> Cluster::send(std::string_view method, std::string_view path,
                           std::string_view content_type, const json* body) {
  ZOO_TRY(const auto response,
          raw(method, path, content_type,
              body == nullptr ? std::string()
                              : body->dump(-1, ' ', false, json::error_handler_t::replace)));
  if (response.status < 200 || response.status > 299) {
    if (response.status == 404 && path.starts_with("/apis/") && !names_an_object(response.body))
      return fail(not_served(access_, path));
    return fail(kube::error_of(response));
  }
  auto value = json::parse(response.body, nullptr, false);
  if (!value.is_object())
    return fail(Code::unavailable, "{} answered something that is not a JSON object",
                http_client::display_url(access_.server));
  return value;
}

Result<json> Cluster::get(std::string_view path, const kube::Query& query) {
  return send("GET", kube::with_query(path, query), {}, nullptr);
}

Result<json> Cluster::list(std::string_view path, const kube::Query& query) {
  json out;
  std::string next;
  for (std::size_t page = 0; page < k_most_pages; ++page) {
    auto asked = query;
    asked.emplace_back("limit", "500");
    if (!next.empty()) asked.emplace_back("continue", next);
    ZOO_TRY(auto answer, get(path, asked));
    auto items = answer.value("items", json::array());
    next = text_at(answer, "/metadata/continue");
    if (page == 0) {
      out = std::move(answer);
      out["items"] = json::array();
      if (out.contains("metadata") && out["metadata"].is_object()) {
        out["metadata"].erase("continue");
        out["metadata"].erase("remainingItemCount");
      }
    }
    if (items.is_array())
      for (auto& item : items)
        out["items"].push_back(std::move(item));
    if (next.empty()) return out;
  }
  return fail(Code::too_large, "the list {} has no end", path);
}

Result<json> Cluster::create(std::string_view path, const json& object, bool dry_run) {
  return send("POST", kube::with_query(path, write_query(dry_run)), k_json, &object);
}

Result<json> Cluster::update(std::string_view path, const json& object, bool dry_run) {
  return send("PUT", kube::with_query(path, write_query(dry_run)), k_json, &object);
}

Result<json> Cluster::merge_patch(std::string_view path, const json& patch, bool dry_run) {
  return send("PATCH", kube::with_query(path, write_query(dry_run)), "application/merge-patch+json",
              &patch);
}

Result<json> Cluster::apply(std::string_view path, const json& object, bool dry_run) {
  auto query = write_query(dry_run);
  query.emplace_back("force", "true");
  return send("PATCH", kube::with_query(path, query), "application/apply-patch+yaml", &object);
}

Result<json> Cluster::remove(std::string_view path, bool dry_run) {
  return send("DELETE", dry_run ? kube::with_query(path, {{"dryRun", "All"}}) : std::string(path),
              {}, nullptr);
}

void add_context_option(CLI::App& app, std::string& value) {
  app.add_option("--context", value, "The context of the kubeconfig; else its current one")
      ->type_name("CONTEXT");
}

Error suggest_name(Cluster& cluster, Error error, std::string_view path, std::string_view what,
                   std::string_view name, std::string_view command) {
  if (error.code() != Code::not_found) return error;
  const auto list = cluster.list(path);
  if (!list) return error;
  std::vector<std::string> names;
  for (const auto& item : (*list)["items"])
    names.push_back(text_at(item, "/metadata/name"));
  const std::vector<std::string_view> views(names.begin(), names.end());
  const auto near = text::nearest(name, views);
  return Error(Code::not_found,
               fmt::format("there is no {} '{}' that you may see{}", what, name,
                           near ? fmt::format("; did you mean '{}'?", *near)
                                : fmt::format("; `{}` shows those there are", command)));
}

} // namespace zoo::cli
