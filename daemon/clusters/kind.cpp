// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/kind.hpp"

#include "common/api/virtual_cluster.hpp"
#include "daemon/resources/last_applied.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace zoo::clusters {
namespace {

using nlohmann::json;
using resources::Column;
using resources::Field;
using Type = Field::Type;

constexpr std::size_t k_longest_name = 63;
constexpr std::size_t k_most_lines = 10'000;

Field texts(std::string name, std::string description) {
  return {std::move(name), Type::list, std::move(description), {{"", Type::text, "One of them."}}};
}

Field spec() {
  return {
      "spec",
      Type::object,
      "What the virtual cluster should be.",
      {
          {"kubeconfig", Type::text,
           "The kubeconfig of the cluster's administrator in base64. zood fills it in when one "
           "VirtualCluster is read; what is written here is ignored."},
          {"promoteResources",
           Type::object,
           "What of the upstream the cluster is to have.",
           {texts("nodes", "Names of the upstream's nodes."),
            {"nodeInfos",
             Type::list,
             "The same in another form.",
             {{"",
               Type::object,
               "A node.",
               {{"nodeName", Type::text, "The name of a node of the upstream."}}}}},
            {"resources", Type::open,
             "A share of the upstream's resources: cpu, memory and others, such as "
             "nvidia.com/gpu."}}},
          {"virtualNodes", Type::number,
           "As how many nodes a share is shown, each with a part of it. Default: 1."},
          {"exclusive", Type::flag,
           "While true, no other virtual cluster has the nodes that are named here."},
          {"weight", Type::number,
           "How many turns it has where many clusters want something of the upstream: one of 200 "
           "has twice those of one of 100, the default."},
          {"dns", Type::text,
           "coredns, the default: zood runs CoreDNS in namespace kube-system, and pods ask it for "
           "names; or none."},
          {"limits",
           Type::object,
           "What it may have of what all clusters share.",
           {{"services", Type::number,
             "Services of all its namespaces together. Default: clusters.service_limit of "
             "zood.yaml."},
            {"nodePorts", Type::number,
             "nodePorts of these together. Default: clusters.node_port_limit."}}},
          {"sync",
           Type::object,
           "Kinds of its objects that are upstream if this says so.",
           {{"podDisruptionBudgets", Type::flag,
             "While true, drains of the upstream's nodes heed its PodDisruptionBudgets."}}},
          {"version", Type::text,
           "The version of Kubernetes. Default: clusters.version of zood.yaml, else the newest "
           "that zood has."},
          {"placement", Type::text, "Where the control plane runs: local, beside zood."},
          {"paused", Type::flag, "While true, the control plane is stopped; what is in it stays."},
          {"sleep",
           Type::object,
           "When the control plane is stopped by itself; a connection starts it again.",
           {{"after", Type::text,
             "So long after the last connection was closed: 30m. Default: never."}}},
          texts("extraSANs", "Names and IP addresses at which clients reach the cluster, beside "
                             "zood's own: they are in its certificate."),
          {"externalIP", Type::text, "One address more of this kind."},
          texts("externalIps", "Addresses more of this kind."),
          {"kubeInKubeConfig", Type::open, "Of Kosmos; kept, and has no meaning here."},
          {"promotePolicies",
           Type::list,
           "Of Kosmos; kept, and has no meaning here.",
           {{"", Type::open, "A policy."}}},
          {"pluginSet", Type::open, "Of Kosmos; kept, and has no meaning here."},
          {"pluginOptions",
           Type::list,
           "Of Kosmos; kept, and has no meaning here.",
           {{"", Type::open, "An option."}}},
      }};
}

Field status() {
  const auto condition =
      resources::condition_field("One aspect of the cluster's state.",
                                 "ControlPlaneReady, KubeconfigReady, ...", "True or False.");
  const Field component{
      "",
      Type::object,
      "A program of the control plane.",
      {{"name", Type::text, "etcd, kube-apiserver, kube-controller-manager or kube-scheduler."},
       {"phase", Type::text, "stopped, waiting, starting, running or stopping."},
       {"restarts", Type::number, "Times that it ended without being told to."},
       {"lastEnd", Type::text, "Why it ended last."},
       {"pid", Type::number, "Its process; shown when one VirtualCluster is read."},
       {"memory", Type::text,
        "What it takes of memory (proportional set size); shown when one VirtualCluster is "
        "read."}}};
  return {"status",
          Type::object,
          "What the virtual cluster is; written by zood alone.",
          {
              {"phase", Type::text, "Preparing, Initialized, Pending, Paused or Deleting."},
              {"reason", Type::text, "Why it is Pending, in one word."},
              {"message", Type::text, "What zood waits for, or does next."},
              {"id", Type::text, "Six characters that no other cluster or tenant has."},
              {"version", Type::text, "The version of Kubernetes that it runs."},
              {"server", Type::text, "Where clients connect."},
              {"serverName", Type::text, "By which name they verify it."},
              {"directServer", Type::text, "Where clients connect that send no server name."},
              {"conditions", Type::list, "The state in detail.", {condition}},
              {"components", Type::list, "Its programs.", {component}},
              {"updateTime", Type::text, "When the phase last changed."},
              {"observedGeneration", Type::number, "The generation of spec that status speaks of."},
          }};
}

std::string nodes_of(const json& object, std::int64_t) {
  const auto spec = api::cluster_spec(object);
  if (!spec || spec->nodes.empty()) return "<none>";
  return fmt::format("{}", fmt::join(spec->nodes, ","));
}

auto share_of(std::string resource) {
  return [resource = std::move(resource)](const json& object, std::int64_t) -> std::string {
    const auto spec = api::cluster_spec(object);
    if (!spec) return "<none>";
    const auto found = spec->resources.find(resource);
    return found == spec->resources.end() ? "<none>" : found->second.text();
  };
}

std::vector<Column> columns() {
  using resources::cell_of;
  return {
      {"Name", "name", 0, "Unique in its namespace.", cell_of("metadata.name")},
      {"ID", "", 0, "Six characters that no other cluster has.", cell_of("status.id")},
      {"Phase", "", 0, "Preparing, Initialized, Pending, Paused or Deleting.",
       cell_of("status.phase", "")},
      {"Version", "", 0, "Of Kubernetes.", cell_of("status.version")},
      {"Nodes", "", 0, "Of the upstream, that it is to have.", nodes_of},
      {"CPU", "", 0, "Its share.", share_of("cpu")},
      {"Memory", "", 0, "Its share.", share_of("memory")},
      {"Age", "", 0, "Time since it was created.", resources::age_of()},
      {"Server", "", 1, "Where clients connect.", cell_of("status.server")},
      {"Message", "", 1, "What zood waits for.", cell_of("status.message", "")},
  };
}

/// True: there was one.
bool erase_kubeconfig(json& object) {
  return object.contains("spec") && object["spec"].is_object() &&
         object["spec"].erase("kubeconfig") > 0;
}

bool is_label(std::string_view name) {
  return !name.empty() && name.size() <= k_longest_name && name.front() != '-' &&
         name.back() != '-' && std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

Result<json> accept(json object, std::vector<std::string>& warnings) {
  for (const char* key : {"name", "namespace"}) {
    const auto value = resources::text_at(object, fmt::format("metadata.{}", key));
    if (!value.empty() && !is_label(value))
      return fail(Code::invalid,
                  "metadata.{} must be 63 lower-case letters, digits and dashes at most, with none "
                  "of these at an end, not '{}'",
                  key, value);
  }
  ZOO_TRY(const auto spec, api::cluster_spec(object));
  for (const auto& field : spec.unused)
    warnings.push_back(fmt::format("{} is kept, and has no meaning here", field));
  return object;
}

Result<std::size_t> lines_of(const resources::Request& request) {
  ZOO_TRY(const auto lines, request.number("tailLines"));
  if (lines > static_cast<std::int64_t>(k_most_lines))
    return fail(Code::bad_request, "tailLines must be {} at most", k_most_lines);
  return lines == 0 ? std::size_t{100} : static_cast<std::size_t>(lines);
}

Result<AuthorityStage> stage_of(const resources::Request& request) {
  const auto name = request.parameter("stage");
  if (const auto stage = authority_stage(name)) return *stage;
  return fail(Code::bad_request, "stage must be announced, used or settled, not '{}'", name);
}

std::string key_text(const resources::Key& key) { return key.space + "/" + key.name; }

std::vector<resources::Action> actions(const KindParts& parts) {
  using resources::Answer;
  using resources::Key;
  using resources::Request;
  const auto json_of = [](Result<json> made) -> Result<Answer> {
    if (!made) return fail(std::move(made).error());
    return resources::json_answer(200, *made);
  };
  const auto renew = [json_of, make = parts.renew](bool revoke) {
    return [json_of, make, revoke](const Request& request, const Key& key) -> Result<Answer> {
      if (!request.parameter("dryRun").empty())
        return fail(Code::bad_request, "certificates are made anew, or not asked for: dryRun is "
                                       "not taken");
      return json_of(make(key_text(key), revoke));
    };
  };
  const auto turn = [json_of, make = parts.turn_authority](const Request& request,
                                                           const Key& key) -> Result<Answer> {
    if (!request.parameter("dryRun").empty())
      return fail(Code::bad_request, "dryRun is not taken here");
    ZOO_TRY(const auto stage, stage_of(request));
    return json_of(make(key_text(key), stage));
  };
  // With follow=true an object, so that who asks knows where to go on: with position=N.
  const auto log = [part = parts.log_part](const Request& request,
                                           const Key& key) -> Result<Answer> {
    ZOO_TRY(const auto lines, lines_of(request));
    ZOO_TRY(const bool follows, request.flag("follow"));
    std::optional<std::uint64_t> from;
    if (follows && request.has("position")) {
      ZOO_TRY(const auto position, request.number("position"));
      from = static_cast<std::uint64_t>(position);
    }
    ZOO_TRY(auto found,
            part(key_text(key), std::string(request.parameter("component")), lines, from));
    Answer answer;
    if (follows) {
      answer = resources::json_answer(200, {{"apiVersion", api::k_cluster_api_version},
                                            {"kind", "VirtualClusterLog"},
                                            {"position", found.end},
                                            {"text", std::move(found.text)}});
    } else {
      answer.content_type = "text/plain; charset=utf-8";
      answer.body = std::move(found.text);
    }
    answer.object = key.name;
    return answer;
  };
  return {{"authority", "VirtualClusterCertificateList", "POST", turn},
          {"certificates", "VirtualClusterCertificateList", "GET",
           [json_of, certificates = parts.certificates](const Request&, const Key& key) {
             return json_of(certificates(key_text(key)));
           }},
          {"log", "VirtualClusterLog", "GET", log},
          {"revoke", "VirtualClusterCertificateList", "POST", renew(true)},
          {"rotate", "VirtualClusterCertificateList", "POST", renew(false)},
          {"status", std::string(api::k_cluster_kind), "GET"},
          {"wake", std::string(api::k_cluster_kind), "POST",
           [wake = parts.wake, backing = parts.backing](const Request& request,
                                                        const Key& key) -> Result<Answer> {
             ZOO_TRY(const auto object, backing->get(request.who, key));
             wake(key_text(key));
             return resources::json_answer(200, *object);
           }}};
}

} // namespace

void scrub_kubeconfig(json& object) {
  erase_kubeconfig(object);
  if (object.contains("metadata") && object["metadata"].is_object() &&
      object["metadata"].contains("annotations"))
    resources::scrub_last_applied(object["metadata"]["annotations"], [](json& applied) {
      if (!applied.is_object()) return resources::Scrubbed::lost;
      return erase_kubeconfig(applied) ? resources::Scrubbed::yes : resources::Scrubbed::no;
    });
}

resources::KindPtr cluster_kind(KindParts parts) {
  using resources::Verb;
  resources::Kind kind;
  kind.group = api::k_cluster_group;
  kind.version = api::k_cluster_version;
  kind.resource = api::k_cluster_resource;
  kind.kind = api::k_cluster_kind;
  kind.singular = "virtualcluster";
  kind.short_names = {"vc"};
  kind.categories = {"zoo"};
  kind.namespaced = true;
  kind.description = "VirtualCluster is a control plane of its own: kube-apiserver, "
                     "kube-controller-manager, kube-scheduler and an etcd that nobody else uses.";
  kind.name_description = "the virtual cluster's name";
  kind.verbs = {Verb::create, Verb::remove, Verb::get,  Verb::list,
                Verb::patch,  Verb::update, Verb::watch};
  kind.metadata = resources::standard_metadata();
  kind.metadata.push_back({"generateName", Type::text, "A name is made up that begins with this."});
  kind.metadata.push_back({"namespace", Type::text, "The namespace, which need not exist."});
  kind.metadata.push_back({"managedFields",
                           Type::list,
                           "Who has set which field.",
                           {{"", Type::open, "One of them."}}});
  kind.fields = {spec(), status()};
  kind.columns = columns();
  kind.selectable = {"status.phase", "status.id"};
  kind.actions = actions(parts);
  kind.owners = true;
  kind.strategy.scrub = scrub_kubeconfig;
  kind.strategy.accept = [](const resources::Who&, json object, const json*,
                            std::vector<std::string>& warnings) {
    return accept(std::move(object), warnings);
  };
  kind.strategy.decorate = [decorate = std::move(parts.decorate)](
                               const resources::Who&, json& object,
                               std::vector<std::string>& warnings) { decorate(object, warnings); };
  kind.backing = std::move(parts.backing);
  return std::make_shared<const resources::Kind>(std::move(kind));
}

} // namespace zoo::clusters
