// SPDX-License-Identifier: Apache-2.0
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

namespace zoo::cli {
namespace {

using nlohmann::json;

/// Of a backup, sealed: more than its text by the overhead of its pieces.
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
    app.add_flag("--plain", plain, "Without encryption: whoever reads the file has every tenant");
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

struct BackupVerify final : Command {
  std::string name, passphrase_file;

  void define(CLI::App& app) override {
    app.add_option("file", name, "The backup")->type_name("FILE")->required();
    add_passphrase_option(app, passphrase_file);
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
    return 0;
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
