// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/output/printer.hpp"
#include "cli/output/table.hpp"
#include "common/api/aggregated_door.hpp"
#include "common/kube/client.hpp"
#include "common/kube/kubeconfig.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <optional>

namespace zoo::cli {
namespace {

using nlohmann::json;
namespace aggregated = api::aggregated;

constexpr std::chrono::seconds k_patience{30};

/// The upstream itself, by an administrator's kubeconfig: for when zood is dead.
class Upstream {
public:
  static Result<Upstream> open(Context& context, const std::string& kubeconfig) {
    ZOO_TRY(auto access, kube::load_kubeconfig(kubeconfig));
    auto transport = context.connect(access.credentials.clone());
    return Upstream(std::move(access.server), std::move(transport));
  }

  /// The object; nothing: there is none.
  Result<std::optional<json>> find(std::string_view path) {
    auto object = ask("GET", path, {}, {});
    if (object) return std::optional(*std::move(object));
    if (object.error().code() == Code::not_found) return std::optional<json>();
    return fail(std::move(object).error());
  }

  /// The same object that was read, if it is still there.
  Result<void> remove(std::string_view path, const json& read) {
    const json options{
        {"apiVersion", "v1"},
        {"kind", "DeleteOptions"},
        {"preconditions", {{"uid", read.value("/metadata/uid"_json_pointer, std::string())}}}};
    const auto done = ask("DELETE", path, "application/json", options.dump());
    if (done || done.error().code() == Code::not_found) return {};
    return fail(done.error());
  }

  Result<void> annotate(const json& value) {
    const json patch{{"metadata", {{"annotations", {{std::string(aggregated::k_switch), value}}}}}};
    ZOO_TRY_VOID(
        ask("PATCH", aggregated::k_namespace_path, "application/merge-patch+json", patch.dump()));
    return {};
  }

private:
  Upstream(std::string server, std::unique_ptr<Transport> transport)
      : server_(std::move(server)), transport_(std::move(transport)) {}

  Result<json> ask(std::string_view method, std::string_view path, std::string_view type,
                   std::string body) {
    http_client::Request request;
    request.method = method;
    request.url = server_ + std::string(path);
    request.headers = {{"Accept", "application/json"}};
    if (!type.empty()) request.headers.emplace_back("Content-Type", type);
    request.body = std::move(body);
    request.timeout = k_patience;
    ZOO_TRY(const auto response, transport_->perform(request));
    if (response.status < 200 || response.status > 299) return fail(kube::error_of(response));
    auto object = json::parse(response.body, nullptr, false);
    if (!object.is_object())
      return fail(Code::unavailable, "{} answered with something that is not a JSON object",
                  http_client::display_url(request.url));
    return object;
  }

  std::string server_;
  std::unique_ptr<Transport> transport_;
};

Result<json> look(Upstream& upstream) {
  ZOO_TRY(const auto name_space, upstream.find(aggregated::k_namespace_path));
  ZOO_TRY(const auto api_service, upstream.find(aggregated::k_api_service_path));
  ZOO_TRY(const auto slices, upstream.find(aggregated::k_slices_of_service));
  const auto at = [](const std::optional<json>& object) { return object ? &*object : nullptr; };
  return aggregated::to_json(aggregated::read_state(at(name_space), at(api_service), at(slices)));
}

Result<void> remove_endpoints(Upstream& upstream) {
  ZOO_TRY(const auto slices, upstream.find(aggregated::k_slices_of_service));
  if (!slices) return {};
  for (const auto& slice : slices->value("items", json::array())) {
    const auto name = slice.value("/metadata/name"_json_pointer, std::string());
    ZOO_TRY_VOID(upstream.remove(fmt::format("{}/{}", aggregated::k_slices, name), slice));
  }
  return {};
}

/// What must go goes first: the APIService holds up the deletion of every namespace.
Result<void> take_away(Context& context, Upstream& upstream) {
  // That it is off is remembered before: a zood that lives would put it back.
  const auto remembered = upstream.annotate(aggregated::k_off);
  ZOO_TRY(const auto object, upstream.find(aggregated::k_api_service_path));
  if (object && !aggregated::is_own(*object))
    return fail(Code::conflict,
                "APIService {} is not zood's and stays (is kiosk installed?); kubectl delete "
                "apiservice {} removes it",
                aggregated::k_api_service, aggregated::k_api_service);
  if (object) ZOO_TRY_VOID(upstream.remove(aggregated::k_api_service_path, *object));
  ZOO_TRY_VOID(remove_endpoints(upstream));
  ZOO_TRY(const auto service, upstream.find(aggregated::k_service_path));
  if (service) ZOO_TRY_VOID(upstream.remove(aggregated::k_service_path, *service));
  if (!remembered && remembered.error().code() != Code::not_found)
    context.say(fmt::format("the next zood registers it again, since namespace {} could not be "
                            "annotated: {}",
                            aggregated::k_namespace, remembered.error().message()));
  return {};
}

struct AccountAggregated final : Command {
  std::string what, kubeconfig, format;

  void define(CLI::App& app) override {
    add_choice(app, "what", what, "on|off|status", "Register it, take it away, or show how it is")
        ->required();
    app.add_option("--upstream", kubeconfig,
                   "Ask the upstream itself, with an administrator's kubeconfig: zood may be dead")
        ->type_name("FILE");
    add_format_option(app, format, "table|json|yaml");
    add_examples(app, "  zooctl account aggregated status\n"
                      "  zooctl account aggregated off --upstream ~/.kube/config");
  }

  Result<json> ask_zood(Context& context) const {
    context.patient();
    auto client = context.client();
    auto state = !client            ? Result<json>(fail(std::move(client).error()))
                 : what == "status" ? (*client)->aggregated()
                                    : (*client)->switch_aggregated(what == "on");
    if (!state && what == "off" && state.error().code() == Code::unavailable)
      return fail(std::move(state).error().context(
          "while switching the aggregated door off (where zood is dead: --upstream KUBECONFIG)"));
    return state;
  }

  Result<json> ask_upstream(Context& context) const {
    ZOO_TRY(auto upstream, Upstream::open(context, kubeconfig));
    if (what == "on") ZOO_TRY_VOID(upstream.annotate(json()));
    if (what == "off") ZOO_TRY_VOID(take_away(context, upstream));
    return look(upstream);
  }

  static void print(Context& context, const json& state) {
    const auto line = [&](std::string_view name, const std::string& value) {
      if (!value.empty()) context.out << fmt::format("{:<12}{}\n", name, printable(value));
    };
    const auto flag = [&](const char* name) {
      const auto found = state.find(name);
      return found != state.end() && found->is_boolean() && found->get<bool>();
    };
    line("Switch:", flag("off") ? "off" : "on");
    line("Registered:", flag("registered") ? "yes"
                        : flag("foreign")  ? "no: the APIService is another's, and is left alone"
                                           : "no");
    if (flag("registered")) {
      const auto available = text_at(state, "/available");
      const auto message = text_at(state, "/message");
      line("Available:", (available.empty() ? "not looked at yet" : available) +
                             (message.empty() ? "" : ": " + message));
    }
    for (const auto& endpoint : state.value("endpoints", json::array()))
      if (endpoint.is_string()) line("Endpoint:", endpoint.get<std::string>());
    line("Trouble:", text_at(state, "/trouble"));
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(const auto state, kubeconfig.empty() ? ask_zood(context) : ask_upstream(context));
    if (format == "json" || format == "yaml") {
      print_record(context, state, format_of(format));
      return 0;
    }
    if (what == "status") {
      print(context, state);
      return 0;
    }
    context.say(what == "off"        ? "the aggregated door is off"
                : kubeconfig.empty() ? "the aggregated door is on; zood registers it as soon as "
                                       "it is ready"
                                     : "the aggregated door is on: a zood that lives registers it");
    return 0;
  }
};

} // namespace

std::unique_ptr<Command> make_account_aggregated() { return std::make_unique<AccountAggregated>(); }

} // namespace zoo::cli
