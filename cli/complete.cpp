// SPDX-License-Identifier: Apache-2.0
#include "cli/complete.hpp"

#include "cli/admin_client.hpp"
#include "cli/cluster.hpp"
#include "cli/options.hpp"
#include "cli/output/printer.hpp"
#include "cli/output/table.hpp"
#include "cli/virtual_cluster.hpp"
#include "cli/walk.hpp"
#include "common/base/text.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>

namespace zoo::cli {
namespace {

constexpr std::string_view k_server_time = "1s";
/// Of requests, as the audit log and RBAC call them.
constexpr std::array<std::string_view, 8> k_verbs = {
    "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"};

class Completion {
public:
  Completion(Context& context, const CLI::App& root, std::vector<std::string> words)
      : context_(context), words_(std::move(words)) {
    if (!words_.empty()) {
      current_ = std::move(words_.back());
      words_.pop_back();
    }
    state_ = walk(root, words_);
  }

  void run() {
    std::string_view ending = ":none";
    if (!state_.problem.empty()) {
      // Nothing sensible can follow a word that is wrong.
    } else if (state_.open != nullptr) {
      ending = values(state_.open->get_type_name(), "");
    } else if (const auto equals = current_.find('=');
               current_.starts_with("--") && equals != std::string::npos) {
      const auto* option = find_option(*state_.app, current_.substr(0, equals));
      const auto head = current_.substr(0, equals + 1);
      current_.erase(0, equals + 1);
      if (option != nullptr) ending = values(option->get_type_name(), head);
    } else if (!state_.options_ended && current_.starts_with('-')) {
      for (const auto* option : options_of(*state_.app, true)) {
        for (const auto& name : option_names(*option)) {
          if (name.starts_with("--")) offer(name, option->get_description());
        }
      }
    } else if (const auto commands =
                   state_.app->get_subcommands([](const CLI::App*) { return true; });
               !commands.empty()) {
      for (const auto* command : commands)
        if (!is_hidden(*command)) offer(command->get_name(), command->get_description());
    } else {
      const auto positionals = positionals_of(*state_.app);
      if (!positionals.empty()) {
        const auto index = std::min(state_.words.size(), positionals.size() - 1);
        const auto* next = positionals[index];
        const bool room =
            state_.words.size() < positionals.size() || next->get_items_expected_max() > 1;
        if (room) ending = values(next->get_type_name(), "");
      }
    }
    context_.out << ending << '\n';
  }

private:
  void offer(std::string_view word, std::string_view what) {
    if (!word.starts_with(current_)) return;
    // The beginning is enough beside a word in a list.
    const auto sentence =
        what.substr(0, std::min({what.find(" ("), what.find(": "), what.find(';')}));
    context_.out << printable(word) << '\t' << printable(sentence) << '\n';
  }

  std::string_view values(const std::string& type, const std::string& head) {
    if (type == "FILE") return ":file";
    if (type == "DIR") return ":dir";
    if (type == "TENANT") {
      tenants(head);
    } else if (type == "ACCOUNT") {
      named(head, k_accounts_path, "/spec/space/clusterRole");
    } else if (type == "SPACE") {
      named(head, k_spaces_path, "/spec/account");
    } else if (type == "TEMPLATE") {
      named(head, k_templates_path, "/resources/helm/chart/repository/name");
    } else if (type == "CLUSTER") {
      virtual_clusters(head);
    } else if (type == "SERIAL") {
      serials(head);
    } else if (type == "VERB") {
      for (const auto verb : k_verbs)
        if (verb.starts_with(current_)) context_.out << head << verb << "\t\n";
    } else if (type.find('|') != std::string::npos) {
      for (const auto choice : text::split(type, '|'))
        if (choice.starts_with(current_)) context_.out << head << choice << "\t\n";
    }
    return ":none";
  }

  /// Of the door, what the words so far say; wherever the options stand.
  void read_door() {
    auto& globals = context_.globals;
    const std::map<std::string_view, std::string*> doors = {{"--context", &cluster_context_},
                                                            {"--dir", &globals.dir},
                                                            {"--socket", &globals.socket},
                                                            {"--server", &globals.server},
                                                            {"--kubeconfig", &globals.kubeconfig}};
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const auto equals = words_[i].find('=');
      const auto door = doors.find(std::string_view(words_[i]).substr(0, equals));
      if (door == doors.end()) continue;
      if (equals != std::string::npos) {
        *door->second = words_[i].substr(equals + 1);
      } else if (i + 1 < words_.size()) {
        *door->second = words_[i + 1];
      }
    }
    // The shell has not expanded a tilde.
    for (const auto& [name, value] : doors) {
      if (value->starts_with("~/")) *value = context_.env("HOME").value_or("~") + value->substr(1);
    }
    globals.request_timeout = k_server_time;
  }

  /// Null: nothing can be asked.
  AdminClient* client() {
    read_door();
    const auto client = context_.client();
    return client ? *client : nullptr;
  }

  void tenants(const std::string& head) {
    auto* zood = client();
    if (zood == nullptr) return;
    const auto list = zood->tenants();
    if (!list) return;
    for (const auto& item : (*list)["items"]) {
      const auto id = text_at(item, "/metadata/name");
      if (!id.starts_with(current_)) continue;
      auto what = text_at(item, "/spec/displayName");
      if (what.empty()) what = text_at(item, "/status/phase");
      context_.out << head << printable(id) << '\t' << printable(what) << '\n';
    }
  }

  /// Of the cluster that the kubeconfig names; what is said beside a name is at `beside`.
  void named(const std::string& head, std::string_view path, std::string_view beside) {
    read_door();
    auto cluster = Cluster::open(context_, cluster_context_);
    if (!cluster) return;
    const auto list = cluster->list(path);
    if (!list) return;
    for (const auto& item : (*list)["items"]) {
      const auto name = text_at(item, "/metadata/name");
      if (!name.starts_with(current_)) continue;
      context_.out << head << printable(name) << '\t' << printable(text_at(item, beside)) << '\n';
    }
  }

  /// Of all namespaces: which one is meant may be said later.
  void virtual_clusters(const std::string& head) {
    if (client() == nullptr) return;
    auto clusters = VirtualClusters::open(context_, "");
    const auto list = clusters ? clusters->list() : Result<nlohmann::json>(fail(clusters.error()));
    if (!list) return;
    for (const auto& item : list->value("items", nlohmann::json::array())) {
      const auto name = text_at(item, "/metadata/name");
      if (!name.starts_with(current_)) continue;
      context_.out << head << printable(name) << '\t' << printable(text_at(item, "/status/phase"))
                   << '\n';
    }
  }

  /// Of the certificates of the tenant that was named before and are not revoked.
  void serials(const std::string& head) {
    auto* zood = state_.words.empty() ? nullptr : client();
    if (zood == nullptr) return;
    const auto list = zood->certificates(without_kind(words_[state_.words.front()]));
    if (!list) return;
    for (const auto& each : list->value("items", nlohmann::json::array())) {
      const auto serial = text_at(each, "/serial");
      if (!serial.starts_with(current_) || text_at(each, "/revoked") == "true") continue;
      context_.out << head << printable(serial) << '\t' << printable(text_at(each, "/user"))
                   << '\n';
    }
  }

  Context& context_;
  std::vector<std::string> words_;
  std::string current_, cluster_context_;
  Walk state_;
};

} // namespace

void complete(Context& context, const CLI::App& root, std::vector<std::string> words) {
  Completion(context, root, std::move(words)).run();
}

} // namespace zoo::cli
