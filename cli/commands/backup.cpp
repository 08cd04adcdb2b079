// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster.hpp"
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/output/printer.hpp"
#include "cli/output/table.hpp"
#include "common/backup/archive.hpp"
#include "common/backup/passphrase.hpp"
#include "common/backup/verify.hpp"
#include "common/base/file.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace zoo::cli {
namespace {

using nlohmann::json;

/// The largest file of a backup: its text, and what sealing adds to each piece.
constexpr std::size_t k_most_of_file = backup::k_most_bytes + (16u << 20);

void add_passphrase_option(CLI::App& app, std::string& value) {
  app.add_option("--passphrase-file", value,
                 "The passphrase of the backup: the first line of this file")
      ->type_name("FILE");
}

/// Nothing without the option.
Result<std::optional<Secret>> passphrase_of(const std::string& path) {
  if (path.empty()) return std::nullopt;
  ZOO_TRY(auto passphrase, backup::read_passphrase(path));
  return std::optional<Secret>(std::move(passphrase));
}

Result<backup::Content> content_of(const std::string& path, const std::string& passphrase_file) {
  ZOO_TRY(const auto passphrase, passphrase_of(passphrase_file));
  ZOO_TRY(const auto sealed, file::read(path, k_most_of_file));
  const auto framed = [&](Error error) { return std::move(error).context("in {}", path); };
  const auto text = backup::open(sealed, passphrase ? &*passphrase : nullptr);
  if (!text) return fail(framed(text.error()));
  auto content = backup::read_content(text->view());
  if (!content) return fail(framed(content.error()));
  return content;
}

/// "2 certificate, 1 tenant".
std::string counted(const std::map<std::string, std::size_t>& records) {
  std::string out;
  for (const auto& [kind, count] : records)
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, kind);
  return out.empty() ? "none" : out;
}

struct BackupCreate final : Command {
  std::string output, passphrase_file;
  bool plain = false;

  void define(CLI::App& app) override {
    app.add_option("-o,--output", output,
                   "The file to write; by default zood-TIME.backup in this directory")
        ->type_name("FILE");
    add_passphrase_option(app, passphrase_file);
    app.add_flag("--plain", plain,
                 "Do not encrypt the file: its reader gets the keys of every tenant");
    add_examples(app, "  zooctl backup create --passphrase-file /etc/zood/backup.passphrase\n"
                      "  zooctl backup create -o zood.backup --plain");
  }

  Result<int> run(Context& context) override {
    if (plain != passphrase_file.empty()) {
      return fail(Code::usage,
                  "a backup holds the keys of every tenant: give --passphrase-file FILE to encrypt "
                  "it, or --plain where the place that it is kept in is encrypted itself");
    }
    ZOO_TRY(const auto passphrase, passphrase_of(passphrase_file));
    context.patient();
    ZOO_TRY(auto* client, context.client());
    ZOO_TRY(const auto text, client->backup());
    // What cannot be restored is found where the state that it came from still is.
    ZOO_TRY(const auto content, backup::read_content(text.view()));
    for (const auto& problem : backup::problems_of(content))
      context.say("warning: " + problem);
    ZOO_TRY(const auto sealed, backup::seal(text.view(), passphrase ? &*passphrase : nullptr));
    auto name = output;
    if (name.empty()) {
      auto time = content.header.created;
      time.erase(std::remove(time.begin(), time.end(), ':'), time.end());
      name = "zood-" + time + ".backup";
    }
    ZOO_TRY_VOID(file::write_secret(name, sealed));
    context.say(fmt::format("wrote {}: {} of revision {}", printable(name),
                            counted(content.header.records), content.header.revision));
    return 0;
  }
};

/// What the backup and the cluster that zood stands in front of do not agree about, a sentence
/// each.
Result<std::vector<std::string>> differences(Context& context, const backup::Content& content,
                                             const std::string& kubeconfig) {
  constexpr const char* k_label = "tenant.kubezoo.io/id";
  ZOO_TRY(auto cluster, Cluster::open_file(context, kubeconfig, ""));
  ZOO_TRY(const auto room, cluster.get("/api/v1/namespaces/kube-system"));
  const auto uid = room.value("/metadata/uid"_json_pointer, std::string());
  std::vector<std::string> out;
  if (!content.header.upstream.empty() && uid != content.header.upstream) {
    out.push_back(fmt::format("the backup is of a zood in front of another cluster: its "
                              "kube-system is {}, and here it is {}",
                              content.header.upstream, uid));
    return out;
  }
  ZOO_TRY(const auto list, cluster.list("/api/v1/namespaces", {{"labelSelector", k_label}}));
  std::set<std::string> known, there;
  for (const auto& record : content.records)
    if (record.kind == "tenant") known.insert(record.key);
  for (const auto& item : list.value("items", json::array())) {
    const auto labels = item.value("/metadata/labels"_json_pointer, json::object());
    there.insert(labels.value(k_label, std::string()));
  }
  for (const auto& id : there)
    if (!known.contains(id))
      out.push_back(
          fmt::format("tenant {} has namespaces there, and the backup does not know it", id));
  for (const auto& id : known)
    if (!there.contains(id)) out.push_back(fmt::format("tenant {} has no namespace there", id));
  return out;
}

struct BackupVerify final : Command {
  std::string name, passphrase_file, against;

  void define(CLI::App& app) override {
    app.add_option("file", name, "The backup")->type_name("FILE")->required();
    add_passphrase_option(app, passphrase_file);
    app.add_option("--against", against,
                   "An administrator's kubeconfig of the upstream: which tenants are in one of "
                   "both alone? Exit status 1 if any")
        ->type_name("FILE");
    add_examples(app, "  zooctl backup verify zood.backup --passphrase-file zood.passphrase");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(const auto content, content_of(name, passphrase_file));
    const auto problems = backup::problems_of(content);
    for (const auto& problem : problems)
      context.err << printable(problem) << '\n';
    if (!problems.empty())
      return fail(Code::invalid, "{} is whole, and what it holds cannot be restored as it is",
                  name);
    context.out << fmt::format("{} is whole and can be restored: {}\n", printable(name),
                               counted(content.header.records))
                << std::flush;
    if (against.empty()) return 0;
    ZOO_TRY(const auto different, differences(context, content, against));
    for (const auto& each : different)
      context.err << printable(each) << '\n';
    context.err << std::flush;
    return different.empty() ? 0 : 1;
  }
};

struct BackupShow final : Command {
  std::string name, format;

  void define(CLI::App& app) override {
    app.add_option("file", name, "The backup")->type_name("FILE")->required();
    add_format_option(app, format, "table|json|yaml");
    add_examples(app, "  zooctl backup show zood.backup");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(const auto sealed, file::read(name, k_most_of_file));
    const auto label = backup::read_label(sealed);
    if (!label) return fail(Error(label.error()).context("in {}", name));
    const auto& header = label->header;
    if (format == "json" || format == "yaml") {
      print_record(context,
                   json{{"version", header.version},
                        {"created", header.created},
                        {"upstream", header.upstream},
                        {"revision", header.revision},
                        {"records", header.records},
                        {"files", header.files},
                        {"encrypted", label->encrypted}},
                   format_of(format));
      return 0;
    }
    std::string files;
    for (const auto& each : header.files)
      files += (files.empty() ? "" : ", ") + each;
    context.out << fmt::format("Made:       {}\n"
                               "By:         zood {}\n"
                               "Upstream:   {}\n"
                               "Revision:   {}\n"
                               "Records:    {}\n"
                               "Files:      {}\n"
                               "Encrypted:  {}\n",
                               printable(header.created), printable(header.version),
                               header.upstream.empty() ? "<unknown>" : printable(header.upstream),
                               header.revision, printable(counted(header.records)),
                               printable(files), label->encrypted ? "yes" : "no")
                << std::flush;
    return 0;
  }
};

struct BackupAcknowledge final : Command {
  void define(CLI::App& app) override { add_examples(app, "  zooctl backup acknowledge"); }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto* client, context.client());
    ZOO_TRY_VOID(client->acknowledge_restore());
    context.say("doctor says no more that this state was restored");
    return 0;
  }
};

} // namespace

std::unique_ptr<Command> make_backup_create() { return std::make_unique<BackupCreate>(); }
std::unique_ptr<Command> make_backup_verify() { return std::make_unique<BackupVerify>(); }
std::unique_ptr<Command> make_backup_show() { return std::make_unique<BackupShow>(); }
std::unique_ptr<Command> make_backup_acknowledge() { return std::make_unique<BackupAcknowledge>(); }

} // namespace zoo::cli
