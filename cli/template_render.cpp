// SPDX-License-Identifier: Apache-2.0
#include "cli/template_render.hpp"

#include "cli/output/printer.hpp"
#include "cli/output/table.hpp"
#include "common/base/file.hpp"
#include "common/base/text.hpp"
#include "common/kube/json_reads.hpp"
#include "common/kube/yaml.hpp"
#include "common/templates/kinds.hpp"
#include "common/templates/objects.hpp"
#include "common/templates/template.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace zoo::cli {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr milliseconds k_first_look{100}, k_longest_look{1'000};
constexpr std::size_t k_most_lines = 5'000; ///< of one object, in a comparison

Result<json> read_stored(Context& context, Cluster& cluster, const RenderWish& wish) {
  if (wish.file.empty()) {
    auto stored =
        cluster.get(fmt::format("{}/{}", k_templates_path, kube::percent_encode(wish.name)));
    if (stored) return stored;
    return fail(suggest_name(cluster, stored.error(), k_templates_path, "template", wish.name,
                             "zooctl template list"));
  }
  std::string text;
  if (wish.file == "-") {
    text.assign(std::istreambuf_iterator<char>(context.in), {});
  } else {
    ZOO_TRY(text, file::read(wish.file));
  }
  ZOO_TRY(auto objects, templates::objects_of_yaml(text));
  if (objects.size() != 1 || text_at(objects[0], "/kind") != "Template")
    return fail(Code::invalid, "{} holds {}, and not one Template", wish.file,
                objects.size() == 1 ? "another object" : fmt::format("{} objects", objects.size()));
  return std::move(objects[0]);
}

/// The namespace, and the account that owns it. At the account door both are shown to members; what
/// may not be read has no labels here.
Result<templates::Surroundings> surroundings_of(Cluster& cluster, const std::string& name_space) {
  templates::Surroundings out;
  out.name_space = name_space;
  const auto found =
      cluster.get(fmt::format("/api/v1/namespaces/{}", kube::percent_encode(name_space)));
  if (!found) return fail(found.error());
  out.namespace_labels = kube::texts_at(*found, "/metadata/labels");
  out.namespace_annotations = kube::texts_at(*found, "/metadata/annotations");
  const auto label = out.namespace_labels.find("kiosk.sh/account");
  if (label == out.namespace_labels.end()) return out;
  out.account = label->second;
  for (const auto path : {k_accounts_path, k_own_accounts_path}) {
    const auto account = cluster.get(fmt::format("{}/{}", path, kube::percent_encode(out.account)));
    if (!account) continue;
    out.account_labels = kube::texts_at(*account, "/metadata/labels");
    out.account_annotations = kube::texts_at(*account, "/metadata/annotations");
    break;
  }
  return out;
}

std::vector<std::string> lines_of(const json& object) {
  std::vector<std::string> out;
  if (object.is_null()) return out;
  for (const auto line : text::split(kube::json_to_yaml(object), '\n'))
    out.emplace_back(line);
  if (!out.empty() && out.back().empty()) out.pop_back();
  return out;
}

json without_bookkeeping(json object) {
  object.erase("status");
  for (const char* field : {"managedFields", "resourceVersion", "generation", "uid",
                            "creationTimestamp", "ownerReferences"})
    object["metadata"].erase(field);
  return object;
}

/// Lines that go and lines that come, in order: the longest common subsequence stays.
void print_lines(Context& context, const std::vector<std::string>& before,
                 const std::vector<std::string>& after) {
  const auto rows = before.size(), columns = after.size();
  std::vector<std::vector<std::uint16_t>> length(rows + 1,
                                                 std::vector<std::uint16_t>(columns + 1, 0));
  for (auto i = rows; i-- > 0;)
    for (auto j = columns; j-- > 0;)
      length[i][j] = before[i] == after[j] ? static_cast<std::uint16_t>(length[i + 1][j + 1] + 1)
                                           : std::max(length[i + 1][j], length[i][j + 1]);
  const auto line = [&](char sign, const std::string& text, Colour colour) {
    context.out << paint(fmt::format("{} {}", sign, printable(text)), colour, context.colours())
                << '\n';
  };
  std::size_t i = 0, j = 0;
  while (i < rows || j < columns) {
    if (i < rows && j < columns && before[i] == after[j]) {
      line(' ', before[i], Colour::none);
      ++i;
      ++j;
    } else if (j == columns || (i < rows && length[i + 1][j] >= length[i][j + 1])) {
      line('-', before[i++], Colour::bad);
    } else {
      line('+', after[j++], Colour::good);
    }
  }
}

} // namespace

Result<std::vector<json>> render_template(Context& context, Cluster& cluster,
                                          const RenderWish& wish) {
  ZOO_TRY(const auto stored, read_stored(context, cluster, wish));
  ZOO_TRY(const auto from, templates::read_template(stored));
  ZOO_TRY(const auto at, surroundings_of(cluster, wish.name_space));
  ZOO_TRY(const auto values, templates::choose_values(from.parameters, wish.values, from.name));
  ZOO_TRY(auto objects, templates::render_manifests(from, templates::lookup_in(at, values)));
  if (from.chart)
    return fail(Code::invalid,
                "template \"{}\" has a Helm chart, which zood renders: see what it makes with "
                "`zooctl template instantiate`",
                from.name);
  return templates::prepare_objects(std::move(objects), wish.name_space);
}

Result<bool> print_differences(Context& context, Cluster& cluster, const std::vector<json>& objects,
                               const std::string& name_space) {
  bool differs = false;
  templates::Kinds kinds;
  const templates::Kinds::Get get = [&](const std::string& path) { return cluster.get(path); };
  for (const auto& object : objects) {
    const auto ref = templates::ref_of(object);
    ZOO_TRY(const auto kind, kinds.find(get, ref.api_version, ref.kind));
    if (!kind.namespaced)
      return fail(Code::invalid, "{} would stand outside of the namespace", ref.title());
    const auto path = kind.object(name_space, ref.name);
    auto live = cluster.get(path);
    if (!live && live.error().code() != Code::not_found) return fail(live.error());
    ZOO_TRY(auto wanted, cluster.apply(path, object, true));
    const auto before = lines_of(live ? without_bookkeeping(*std::move(live)) : json());
    const auto after = lines_of(without_bookkeeping(std::move(wanted)));
    if (before == after) continue;
    differs = true;
    context.out << fmt::format("{} {}/{}\n", before.empty() ? "new" : "changed",
                               printable(ref.kind), printable(ref.name));
    if (before.size() > k_most_lines || after.size() > k_most_lines) {
      context.out << "  (too long to be compared)\n";
      continue;
    }
    print_lines(context, before, after);
  }
  return differs;
}

Result<json> wait_until_deployed(Context& context, Cluster& cluster, const json& instance,
                                 milliseconds timeout) {
  const auto path = fmt::format("/apis/config.kiosk.sh/v1alpha1/namespaces/{}/templateinstances/{}",
                                kube::percent_encode(text_at(instance, "/metadata/namespace")),
                                kube::percent_encode(text_at(instance, "/metadata/name")));
  const auto until = context.steady() + timeout;
  auto pause = k_first_look;
  for (;;) {
    ZOO_TRY(auto live, cluster.get(path));
    const auto status = text_at(live, "/status/status");
    const bool seen =
        text_at(live, "/status/observedGeneration") == text_at(live, "/metadata/generation");
    if (status == "Deployed" && seen) return live;
    if (status == "Failed" && seen)
      return fail(Code::invalid, "TemplateInstance \"{}\" failed with {}: {}",
                  text_at(live, "/metadata/name"), text_at(live, "/status/reason"),
                  text_at(live, "/status/message"));
    if (context.steady() + pause > until) {
      const auto first = "/status/conditions/0/message"_json_pointer;
      const auto at = live.contains(first) && live.at(first).is_string()
                          ? live.at(first).get<std::string>()
                          : std::string();
      return fail(Code::timeout, "it is not deployed after {} s: {}; zood goes on with it",
                  std::chrono::duration_cast<std::chrono::seconds>(timeout).count(),
                  at.empty() ? "zood has not begun" : at);
    }
    context.pause(pause);
    pause = std::min(pause * 2, k_longest_look);
  }
}

} // namespace zoo::cli
