// SPDX-License-Identifier: Apache-2.0
#include "common/config/config.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>

using namespace zoo;
using namespace zoo::config;
using namespace std::chrono_literals;

namespace {

std::string error(std::string_view yaml) {
  const auto loaded = load(yaml, "/etc/zood/zood.yaml");
  if (loaded) return "no error";
  CHECK(loaded.error().code() == Code::usage);
  return loaded.error().message();
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string joined(const std::vector<std::string>& list) {
  return fmt::format("{}", fmt::join(list, ", "));
}

Values loaded(std::string_view yaml, std::string_view file_name,
              std::span<const Key> keys = zood_keys()) {
  auto out = load(yaml, file_name, keys);
  if (!out) throw std::runtime_error(out.error().text());
  return std::move(*out);
}

const Values& defaults() {
  static const Values values;
  return values;
}

constexpr Key k_typed[] = {
    {.name = "flag", .type = Type::boolean, .default_text = "false", .doc = "A."},
    {.name = "word", .type = Type::string, .doc = "B."}};

} // namespace

TEST_CASE("an empty file, or one of comments, gives the defaults") {
  for (const auto* yaml : {"", "# nothing\n", "---\n", "limits:\n", "limits:\n  # body: 1\n"})
    CHECK(load(yaml, "zood.yaml")->differing(defaults()).empty());
}

TEST_CASE("a file gives its values") {
  const auto values = loaded("listen: 0.0.0.0:8443\n"
                             "limits: {body: 1Mi, streams: 100}\n"
                             "tenants:\n  delete_grace: 1m\n  reserved_ids: [aaaaaa, bbbbbb]\n"
                             "shared:\n  storage_classes: \"*\"\n  ingress_classes:\n  - nginx\n"
                             "log: {level: debug}\n",
                             "zood.yaml");
  CHECK(values.string("listen") == "0.0.0.0:8443");
  CHECK(values.size("limits.body") == 1u << 20);
  CHECK(values.integer("limits.streams") == 100);
  CHECK(values.duration("tenants.delete_grace") == 1min);
  CHECK(joined(values.list("tenants.reserved_ids")) == "aaaaaa, bbbbbb");
  CHECK(joined(values.list("shared.storage_classes")) == "*");
  CHECK(joined(values.list("shared.ingress_classes")) == "nginx");
  CHECK(values.string("log.level") == "debug");
  CHECK(values.is_set("log.level"));
}

TEST_CASE("relative paths are relative to the file") {
  const auto values =
      loaded("dir: data\nstore: {path: ../zood.db}\nadmin: {socket: /run/zood.sock}\n",
             "/etc/zood/zood.yaml");
  CHECK(values.path("dir").string() == "/etc/zood/data");
  CHECK(values.path("store.path").string() == "/etc/zood.db");
  CHECK(values.path("admin.socket").string() == "/run/zood.sock");
}

TEST_CASE("an unknown key is named with its place and what was meant") {
  CHECK(error("dir: /d\nlistn: 127.0.0.1:1\n") ==
        "/etc/zood/zood.yaml:2:1: unknown key 'listn', did you mean 'listen'?");
  CHECK(error("tls:\n  certficate: x\n") ==
        "/etc/zood/zood.yaml:2:3: unknown key 'tls.certficate', did you mean 'tls.certificate'?");
  CHECK(contains(error("limts: {}\n"), "did you mean 'limits'?"));
  CHECK(contains(error("body: 3Mi\n"), "did you mean 'limits.body'?"));
  CHECK(contains(error("tls.certificate: x\n"), "write 'tls' as a mapping with 'certificate'"));
  CHECK(error("zzzzzzzz: 1\n") == "/etc/zood/zood.yaml:1:1: unknown key 'zzzzzzzz'");
}

TEST_CASE("a wrong type is named with its place") {
  CHECK(error("workers: many\n") == "/etc/zood/zood.yaml:1:10: workers: 'many' is not an integer");
  CHECK(contains(error("workers: '3'\n"), "not a string in quotes"));
  CHECK(contains(error("workers: [3]\n"), "a integer is wanted, not a list"));
  CHECK(contains(error("listen: {a: b}\n"), "not a mapping"));
  CHECK(contains(error("listen: 7443\n"), "is not an address"));
  CHECK(contains(error("limits: 5\n"), "'limits' must be a mapping"));
  CHECK(contains(error("limits: {body: 3mb}\n"), "is not a size"));
  CHECK(contains(error("limits: {body: 1}\n"), "from 1Ki to 1024Mi"));
  CHECK(contains(error("drain_timeout: 30\n"), "is not a duration"));
  CHECK(contains(error("log: {level: warn}\n"), "is none of debug, info, warning, error"));
  CHECK(contains(error("shared: {storage_classes: fast}\n"), "write [a, b]"));
  CHECK(contains(error("shared: {storage_classes: [[a]]}\n"), "item 1"));
  CHECK(contains(error("shared: {storage_classes: [a, '']}\n"), "item 2"));
  CHECK(contains(error("listen:\n"), "'listen' has no value"));
  CHECK(contains(error("listen: ''\n"), "empty"));
  CHECK(contains(error("? [a]\n: b\n"), "a key must be a word"));
  CHECK(contains(error("- a\n"), "must be a mapping"));
}

TEST_CASE("booleans and strings are what they look like") {
  const auto values = loaded("flag: true\nword: 123456\n", "f", k_typed);
  CHECK(values.boolean("flag"));
  CHECK(values.string("word") == "123456");
  CHECK(contains(load("flag: yes\n", "f", k_typed).error().message(), "write true or false"));
  CHECK(contains(load("flag: 'true'\n", "f", k_typed).error().message(), "in quotes"));
}

TEST_CASE("all that is wrong is told at once, each on its line") {
  const auto message = error("listn: a\nworkers: x\nlog: {level: loud}\ndir: /a\ndir: /b\n");
  CHECK(std::count(message.begin(), message.end(), '\n') == 3);
  CHECK(contains(message, ":1:1: unknown key 'listn'"));
  CHECK(contains(message, ":2:10: workers"));
  CHECK(contains(message, ":3:14: log.level"));
  CHECK(contains(message, ":5:1: key 'dir' occurs twice, first in line 4"));
}

TEST_CASE("a certificate without its key is told") {
  CHECK(
      contains(error("tls: {certificate: /a}\n"), "'tls.certificate' is given without 'tls.key'"));
  CHECK(contains(error("pki: {ca_key: /a}\n"), "'pki.ca_key' is given without"));
  CHECK(load("tls: {certificate: /a, key: /b}\n", "f"));
}

TEST_CASE("broken YAML and several documents are told with their place") {
  CHECK(error("a: [\n").starts_with("/etc/zood/zood.yaml:"));
  CHECK(contains(error("dir: /a\n---\ndir: /b\n"), "second document"));
  for (const std::string_view mark : {",", "---\n,"})
    CHECK(contains(error(mark), "belongs to nothing"));
}

TEST_CASE("a file that is not there is told by its name") {
  const auto loaded = load_file("/nonexistent/zood.yaml");
  REQUIRE_FALSE(loaded);
  CHECK(contains(loaded.error().message(), "/nonexistent/zood.yaml"));
}

TEST_CASE("the example names every key and loads as the defaults, also uncommented") {
  const auto text = example();
  CHECK(loaded(text, "example").differing(defaults()).empty());
  std::string live;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const auto end = text.find('\n', begin);
    auto line = text.substr(begin, end - begin);
    begin = end + 1;
    const bool placeholder =
        contains(line, "/PATH") || contains(line, "HOST:PORT") || line.ends_with(": VALUE");
    const bool value = line.starts_with("#") && !line.starts_with("# ");
    const bool nested = line.starts_with("#  ");
    if ((value || nested) && !placeholder) live += line.substr(1) + "\n";
    if (!contains(line, ": [")) CHECK(line.size() <= 100);
  }
  CHECK(loaded(live, "example").differing(defaults()).empty());
  for (const auto& key : zood_keys())
    CHECK(contains(text, std::string(key.name.substr(key.name.rfind('.') + 1)) + ":"));
}

TEST_CASE("the manual page has a row for each key") {
  const auto text = man_rows();
  CHECK(contains(text, "*limits.requests\\_inflight* (integer)\n"));
  CHECK(contains(text, "Default: 30s. Reloadable.\n"));
  CHECK(contains(text, "one of all, own, none"));
}
