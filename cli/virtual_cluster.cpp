// SPDX-License-Identifier: Apache-2.0
#include "cli/virtual_cluster.hpp"

#include "cli/cluster.hpp"
#include "cli/output/table.hpp"
#include "cli/progress.hpp"
#include "common/api/virtual_cluster.hpp"
#include "common/base/text.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/client.hpp"
#include "common/kube/json_reads.hpp"

#include <nlohmann/json.hpp>

namespace zoo::cli {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
namespace phases = api::cluster_phase;

std::string cluster_waits(const json& cluster) {
  auto message = text_at(cluster, "/status/message");
  return message.empty() ? std::string("its first step") : message;
}

void hide_kubeconfig(json& cluster) {
  if (cluster.contains("spec") && cluster["spec"].is_object()) cluster["spec"].erase("kubeconfig");
}

Colour cluster_colour(std::string_view phase) {
  if (phase == phases::k_initialized) return Colour::good;
  if (phase == phases::k_paused) return Colour::dim;
  return phase == phases::k_preparing ? Colour::waiting
         : phase.empty()              ? Colour::none
                                      : Colour::bad;
}

std::string share_text(const json& cluster, const char* resource) {
  return text_at(cluster, std::string("/spec/promoteResources/resources/") + resource);
}

std::string nodes_text(const json& cluster) {
  const auto spec = api::cluster_spec(cluster);
  return spec ? fmt::format("{}", fmt::join(spec->nodes, ",")) : std::string();
}

Table cluster_table(const Context& context, const json& items, bool wide, bool namespaces) {
  Table table;
  table.headers = {"NAME", "ID", "PHASE", "VERSION", "NODES", "CPU", "MEMORY", "AGE"};
  if (namespaces) table.headers.insert(table.headers.begin(), "NAMESPACE");
  if (wide) table.headers.insert(table.headers.end(), {"SERVER", "MESSAGE"});
  for (const auto& each : items) {
    const auto phase = text_at(each, "/status/phase");
    std::vector<Cell> row = {{text_at(each, "/metadata/name")},
                             {text_at(each, "/status/id")},
                             {phase, cluster_colour(phase)},
                             {text_at(each, "/status/version")},
                             {nodes_text(each)},
                             {share_text(each, "cpu")},
                             {share_text(each, "memory")},
                             {age_of(context, text_at(each, "/metadata/creationTimestamp"))}};
    if (namespaces) row.insert(row.begin(), {text_at(each, "/metadata/namespace")});
    if (wide) {
      row.push_back({text_at(each, "/status/server")});
      row.push_back({text_at(each, "/status/message")});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

void cluster_line(Context& context, std::string_view name, std::string_view value) {
  context.out << fmt::format("{:<15} {}\n", fmt::format("{}:", name),
                             value.empty() ? "<none>" : printable(value));
}

} // namespace

Result<VirtualClusters> VirtualClusters::open(Context& context, std::string name_space) {
  ZOO_TRY(auto* client, context.client());
  return VirtualClusters(context, *client, std::move(name_space));
}

std::string VirtualClusters::path(std::string_view name, std::string_view sub) const {
  std::string out = fmt::format("/apis/{}", api::k_cluster_api_version);
  if (!space_.empty()) out += "/namespaces/" + kube::percent_encode(space_);
  out += fmt::format("/{}", api::k_cluster_resource);
  if (!name.empty()) out += "/" + kube::percent_encode(name);
  if (!sub.empty()) out += "/" + std::string(sub);
  return out;
}

/// What is not found is the cluster, or the whole of virtual clusters.
Error VirtualClusters::explain(Error error, const std::string& name) {
  if (error.code() != Code::not_found) return error;
  const auto listed = client_.answer_of({.path = path(), .purpose = "listing virtual clusters"});
  if (!listed)
    return Error(Code::not_found,
                 fmt::format("{} serves no virtual clusters: is clusters.enabled of zood.yaml "
                             "true, and this zood's admin API?",
                             client_.door().name()));
  if (name.empty()) return error;
  const auto list = json::parse(*listed, nullptr, false);
  std::vector<std::string> names;
  if (list.is_object())
    for (const auto& each : list.value("items", json::array()))
      names.push_back(text_at(each, "/metadata/name"));
  const std::vector<std::string_view> views(names.begin(), names.end());
  const auto near = text::nearest(name, views);
  return Error(Code::not_found,
               near ? fmt::format("there is no virtual cluster '{}' in namespace {}; did you mean "
                                  "'{}'?",
                                  name, space_, *near)
                    : fmt::format("there is no virtual cluster '{}' in namespace {}; `zooctl "
                                  "cluster list -A` shows those there are",
                                  name, space_));
}

Result<json> VirtualClusters::ask(const AdminClient::Call& call, const std::string& name) {
  auto body = client_.answer_of(call);
  if (!body) return fail(explain(std::move(body).error(), name));
  auto value = json::parse(*body, nullptr, false);
  if (!value.is_object())
    return fail(Code::internal, "while {}, zood answered something that is no object",
                call.purpose);
  return value;
}

Result<json> VirtualClusters::list(std::string_view selector) {
  kube::Query query;
  if (!selector.empty()) query.emplace_back("labelSelector", selector);
  ZOO_TRY(
      auto all,
      ask({.path = kube::with_query(path(), query), .purpose = "listing virtual clusters"}, {}));
  for (auto& each : all["items"]) {
    each["apiVersion"] = api::k_cluster_api_version;
    each["kind"] = api::k_cluster_kind;
  }
  return all;
}

Result<json> VirtualClusters::get(const std::string& name) {
  return ask({.path = path(name), .purpose = fmt::format("asking for virtual cluster '{}'", name)},
             name);
}

Result<json> VirtualClusters::create(const json& cluster, bool dry_run) {
  const auto name = text_at(cluster, "/metadata/name");
  auto made = ask({.method = "POST",
                   .path = kube::with_query(path(), write_query(dry_run)),
                   .body = cluster.dump(),
                   .purpose = fmt::format("creating virtual cluster '{}'", name)},
                  {});
  if (made || made.error().code() != Code::already_exists) return made;
  return fail(
      Code::already_exists,
      "virtual cluster '{}' exists in namespace {}: `zooctl cluster connect {}` connects to "
      "it",
      name, space_, name);
}

Result<json> VirtualClusters::patch(const std::string& name, const json& merge, bool dry_run) {
  return ask({.method = "PATCH",
              .path = kube::with_query(path(name), write_query(dry_run)),
              .content_type = "application/merge-patch+json",
              .body = merge.dump(),
              .purpose = fmt::format("changing virtual cluster '{}'", name)},
             name);
}

Result<void> VirtualClusters::remove(const std::string& name, const std::string& uid,
                                     bool dry_run) {
  json options = {
      {"kind", "DeleteOptions"}, {"apiVersion", "v1"}, {"preconditions", {{"uid", uid}}}};
  kube::Query query;
  if (dry_run) query.emplace_back("dryRun", "All");
  ZOO_TRY_VOID(ask({.method = "DELETE",
                    .path = kube::with_query(path(name), query),
                    .body = options.dump(),
                    .purpose = fmt::format("deleting virtual cluster '{}'", name)},
                   name));
  return {};
}

Result<json> VirtualClusters::certificates(const std::string& name) {
  return ask({.path = path(name, "certificates"),
              .purpose = fmt::format("asking for the certificates of '{}'", name)},
             name);
}

Result<json> VirtualClusters::renew(const std::string& name, const std::string& how) {
  return ask({.method = "POST",
              .path = path(name, how),
              .body = "{}",
              .purpose = fmt::format("making certificates of '{}' anew", name)},
             name);
}

Result<json> VirtualClusters::turn_authority(const std::string& name, const std::string& stage) {
  return ask({.method = "POST",
              .path = kube::with_query(path(name, "authority"), {{"stage", stage}}),
              .body = "{}",
              .purpose = fmt::format("changing the authority of '{}'", name)},
             name);
}

Result<void> VirtualClusters::wake(const std::string& name) {
  ZOO_TRY_VOID(ask({.method = "POST",
                    .path = path(name, "wake"),
                    .body = "{}",
                    .purpose = fmt::format("waking virtual cluster '{}'", name)},
                   name));
  return {};
}

Result<std::string> VirtualClusters::log(const std::string& name, const std::string& component,
                                         unsigned lines) {
  return ask_for_log(name, {{"component", component}, {"tailLines", std::to_string(lines)}});
}

Result<VirtualClusters::LogPart> VirtualClusters::log_part(const std::string& name,
                                                           const std::string& component,
                                                           unsigned lines,
                                                           std::optional<std::uint64_t> position) {
  kube::Query query = {
      {"component", component}, {"follow", "true"}, {"tailLines", std::to_string(lines)}};
  if (position) query.emplace_back("position", std::to_string(*position));
  ZOO_TRY(const auto body, ask_for_log(name, query));
  const auto part = json::parse(body, nullptr, false);
  const auto end = part.is_object() ? part.value("position", json()) : json();
  if (!end.is_number_unsigned())
    return fail(Code::internal, "zood says of a log of '{}' nothing that can be followed", name);
  return LogPart{text_at(part, "/text"), end.get<std::uint64_t>()};
}

/// What is not found may be the component, which zood says.
Result<std::string> VirtualClusters::ask_for_log(const std::string& name,
                                                 const kube::Query& query) {
  auto body = client_.answer_of({.path = kube::with_query(path(name, "log"), query),
                                 .purpose = fmt::format("asking for a log of '{}'", name)});
  if (body) return body;
  const auto there = get(name);
  return fail(there ? std::move(body).error() : there.error());
}

Result<std::string> VirtualClusters::kubeconfig(const json& cluster) const {
  const auto encoded = text_at(cluster, "/spec/kubeconfig");
  if (encoded.empty())
    return fail(Code::unavailable, "virtual cluster '{}' has no kubeconfig yet: zood waits for {}",
                text_at(cluster, "/metadata/name"), printable(cluster_waits(cluster)));
  return crypto::base64_decode(encoded);
}

Result<json> VirtualClusters::wait(const std::string& name, const std::string& phase,
                                   const std::string& uid, milliseconds timeout) {
  Progress progress(context_);
  std::string last = "zood to begin";
  json found;
  const auto each = [&](const json* cluster) -> Result<bool> {
    const bool gone = cluster == nullptr || text_at(*cluster, "/metadata/uid") != uid;
    if (phase.empty()) {
      if (!gone) last = cluster_waits(*cluster);
      progress.show(fmt::format("{}: waiting for {}", name, last));
      return gone;
    }
    if (gone) return fail(Code::conflict, "virtual cluster '{}' was deleted meanwhile", name);
    found = *cluster;
    const auto now = text_at(*cluster, "/status/phase");
    if (now == phase) return true;
    if (now == phases::k_deleting)
      return fail(Code::conflict, "virtual cluster '{}' is being deleted", name);
    last = cluster_waits(*cluster);
    progress.show(fmt::format("{} is {}: waiting for {}", name, now, last));
    return false;
  };
  ZOO_TRY(const bool done,
          client_.follow(
              path(), name, context_.steady() + timeout, each,
              [&](const Error& error) { last = "zood to answer again: " + error.message(); },
              context_.pause));
  if (done) return found;
  return fail(Code::timeout,
              "virtual cluster '{}' is not {} after {}s: waiting for {}. zood goes on with it; see "
              "`zooctl cluster describe {} -n {}`",
              name, phase.empty() ? "gone" : phase, std::chrono::duration<double>(timeout).count(),
              printable(last), name, space_);
}

void print_cluster(Context& context, json cluster, const PrintOptions& options) {
  hide_kubeconfig(cluster);
  switch (options.format) {
  case Format::json:
  case Format::yaml:
    print_record(context, cluster, options.format);
    context.printed = true; // what comes next is a record of its own
    return;
  case Format::name:
    context.out << "virtualcluster/" << printable(text_at(cluster, "/metadata/name")) << '\n';
    return;
  default:
    print_table(
        context.out,
        cluster_table(context, json::array({cluster}), options.format == Format::wide, false),
        {options.headers, context.colours()});
  }
}

void print_clusters(Context& context, json list, const PrintOptions& options, bool namespaces) {
  for (auto& each : list["items"])
    hide_kubeconfig(each);
  if (options.format == Format::json || options.format == Format::yaml)
    return print_record(context, list, options.format);
  if (options.format == Format::name) {
    for (const auto& each : list["items"])
      print_cluster(context, each, options);
    return;
  }
  if (list["items"].empty()) return;
  print_table(context.out,
              cluster_table(context, list["items"], options.format == Format::wide, namespaces),
              {options.headers, context.colours()});
}

void print_cluster_result(Context& context, const json& cluster, std::string_view what,
                          bool dry_run, Format format) {
  if (format != Format::standard) {
    print_cluster(context, cluster, {format, !context.printed});
    context.printed = true;
    return;
  }
  if (context.globals.quiet) return;
  context.out << fmt::format("virtualcluster/{} {}{}\n",
                             printable(text_at(cluster, "/metadata/name")), what,
                             dry_run ? " (dry run)" : "");
}

void describe_cluster(Context& context, const json& cluster) {
  cluster_line(context, "Name", text_at(cluster, "/metadata/name"));
  cluster_line(context, "Namespace", text_at(cluster, "/metadata/namespace"));
  cluster_line(context, "ID", text_at(cluster, "/status/id"));
  cluster_line(context, "UID", text_at(cluster, "/metadata/uid"));
  cluster_line(context, "Phase", text_at(cluster, "/status/phase"));
  for (const auto& [name, pointer] :
       {std::pair("Reason", "/status/reason"), std::pair("Message", "/status/message")})
    if (const auto text = text_at(cluster, pointer); !text.empty())
      cluster_line(context, name, text);
  cluster_line(context, "Version", text_at(cluster, "/status/version"));
  cluster_line(context, "Server", text_at(cluster, "/status/server"));
  if (const auto name = text_at(cluster, "/status/serverName"); !name.empty())
    cluster_line(context, "Server name", name);
  cluster_line(context, "Direct server", text_at(cluster, "/status/directServer"));
  cluster_line(context, "Nodes", nodes_text(cluster));
  std::vector<std::string> share, limits;
  if (const auto spec = api::cluster_spec(cluster)) {
    for (const auto& [name, quantity] : spec->resources)
      share.push_back(fmt::format("{}={}", name, quantity.text()));
    if (spec->services) limits.push_back(fmt::format("services={}", *spec->services));
    if (spec->node_ports) limits.push_back(fmt::format("nodePorts={}", *spec->node_ports));
  }
  cluster_line(context, "Share", fmt::format("{}", fmt::join(share, " ")));
  if (!limits.empty()) cluster_line(context, "Limits", fmt::format("{}", fmt::join(limits, " ")));
  if (const auto after = text_at(cluster, "/spec/sleep/after"); !after.empty())
    cluster_line(context, "Sleeps after", after);
  cluster_line(context, "Age", age_of(context, text_at(cluster, "/metadata/creationTimestamp")));
  context.out << "\nComponents:\n";
  Table components{{"NAME", "PHASE", "PID", "MEMORY", "RESTARTS", "LAST END"}, {}};
  for (const auto& each : kube::list_at(cluster, "/status/components"))
    components.rows.push_back({{text_at(each, "/name")},
                               {text_at(each, "/phase")},
                               {text_at(each, "/pid")},
                               {text_at(each, "/memory")},
                               {text_at(each, "/restarts")},
                               {text_at(each, "/lastEnd")}});
  print_table(context.out, components, {true, context.colours()});
  context.out << "\nConditions:\n";
  Table conditions{{"TYPE", "STATUS", "REASON", "MESSAGE"}, {}};
  for (const auto& each : kube::list_at(cluster, "/status/conditions"))
    conditions.rows.push_back({{text_at(each, "/type")},
                               {text_at(each, "/status")},
                               {text_at(each, "/reason")},
                               {text_at(each, "/message")}});
  print_table(context.out, conditions, {true, context.colours()});
}

void print_certificates(Context& context, const json& list) {
  Table table{{"NAME", "AUTHORITY", "ENDS", "STATE"}, {}};
  for (const auto& each : kube::list_at(list, "/items")) {
    const auto trouble = text_at(each, "/trouble");
    table.rows.push_back(
        {{text_at(each, "/name")},
         {text_at(each, "/authority") == "true" ? "yes" : "no"},
         {text_at(each, "/ends")},
         {trouble.empty() ? "good" : trouble, trouble.empty() ? Colour::good : Colour::bad}});
  }
  print_table(context.out, table, {true, context.colours()});
}

} // namespace zoo::cli
