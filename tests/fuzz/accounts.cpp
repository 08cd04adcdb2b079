// SPDX-License-Identifier: Apache-2.0
// What accounts, quotas and templates read of others: parameters, quantities, headers of front
// proxies, admission reviews and Spaces. The first byte says which of them the rest is.
#include "common/kube/quantity.hpp"
#include "common/templates/parameters.hpp"
#include "daemon/accounts/front_proxy.hpp"
#include "daemon/accounts/objects.hpp"
#include "daemon/accounts/quota_door.hpp"
#include "tests/fuzz/invariant.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using namespace zoo;
using nlohmann::json;

/// No value adds a key beside the one that it stands at, and what has no parameter stays.
void parameters(std::string_view text) {
  const templates::Lookup lookup = [](std::string_view name) -> Result<std::optional<std::string>> {
    if (name == "A") return std::optional<std::string>("a: b\nc: ${A}\n$${A}");
    if (name == "N") return std::optional<std::string>("7");
    return std::optional<std::string>();
  };
  const auto out = templates::substitute(text, lookup);
  if (text.find("${") == text.npos && text.find("$$") == text.npos)
    invariant(out && *out == json(text), "a text without parameters stays", text);
  const bool typed = text.starts_with("${{") && text.ends_with("}}");
  if (out && !typed) invariant(out->is_string(), "inside a text every value is a text", text);
  auto tree = json::parse(text, nullptr, false);
  if (!tree.is_object()) return;
  const auto before = tree;
  if (!templates::substitute_all(tree, lookup)) return;
  invariant(tree.size() == before.size(), "no key is added", text);
  for (const auto& [key, value] : before.items())
    invariant(tree.contains(key), "no key is changed", text);
}

void quantity(std::string_view text) {
  const auto read = kube::Quantity::parse(text);
  if (!read) return;
  const auto written = read->text();
  const auto again = kube::Quantity::parse(written);
  invariant(again && *again == *read && again->text() == written, "a quantity there and back",
            written);
}

/// A line a header: "name: value".
void front_proxy(std::string_view text) {
  accounts::FrontProxyTerms terms;
  terms.user_headers = {"X-Remote-User"};
  terms.uid_headers = {"X-Remote-Uid"};
  terms.group_headers = {"X-Remote-Group"};
  terms.extra_prefixes = {"X-Remote-Extra-"};
  http::Headers headers;
  bool masters = false;
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto colon = line.find(": ");
    if (colon == line.npos || colon == 0) continue;
    masters = masters || line.find("system:masters") != line.npos;
    headers.add(line.substr(0, colon), line.substr(colon + 2));
  }
  const auto who = accounts::front_proxy_user(terms, headers);
  if (!who) return;
  invariant(!who->name.empty(), "somebody has a name");
  invariant(headers.get("x-remote-user") == who->name, "the header's name", who->name);
  for (const auto& group : who->groups)
    invariant(group != "system:masters" || masters, "nobody is in a group unnamed", group);
}

void review(std::string_view text) {
  const auto read = accounts::read_quota_review(text, {});
  if (!read) return;
  accounts::QuotaBroker::Verdict verdict;
  verdict.kind = quota::Judge::Verdict::Kind::deny;
  verdict.text = read->ask.space + "\"" + read->ask.key;
  const auto answer =
      json::parse(accounts::quota_review_answer(read->uid, verdict), nullptr, false);
  invariant(answer.is_object() && answer["response"]["allowed"] == false, "an answer is JSON",
            text);
}

/// Whose a space is stands in its spec, and in its namespace in the label alone.
void space(std::string_view text) {
  const auto wanted = json::parse(text, nullptr, false);
  if (!wanted.is_object()) return;
  const auto stored = accounts::namespace_of(wanted);
  const auto known =
      accounts::read_space(stored.dump(-1, ' ', false, json::error_handler_t::replace));
  if (!known) return;
  const auto shown = accounts::tenancy_space(*known);
  const auto labels = shown["metadata"].value("labels", json::object());
  invariant(!labels.is_object() || !labels.contains("kiosk.sh/account"), "its label is not shown",
            text);
  const auto again = accounts::namespace_of(shown);
  const auto owner = [](const json& object) {
    return object.value("/metadata/labels/kiosk.sh~1account"_json_pointer, json());
  };
  if (!known->account.empty())
    invariant(owner(again) == json(known->account), "an owner there and back", text);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
  case 0:
    parameters(text);
    break;
  case 1:
    quantity(text);
    break;
  case 2:
    front_proxy(text);
    break;
  case 3:
    review(text);
    break;
  default:
    space(text);
  }
  return 0;
}
