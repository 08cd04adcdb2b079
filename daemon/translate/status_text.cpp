// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/status_text.hpp"

#include "common/base/error_table.hpp"
#include "common/base/json_text.hpp"
#include "daemon/translate/actions.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/own_name.hpp"
#include "daemon/translate/target.hpp"
#include "daemon/translate/text.hpp"

#include <algorithm>

namespace zoo::translate {
namespace {

bool name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

/// The kind and the resource of RoleBindings, where they stand as words of their own, in those of
/// ClusterRoleBindings. Quoted words are names, or values that somebody wrote.
std::string bindings_out(std::string_view text) {
  constexpr std::string_view k_tail = "oleBinding";
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto rest = text.substr(at);
    const bool begins = at == 0 || (!name_byte(text[at - 1]) && text[at - 1] != '"');
    if (begins && rest.starts_with("rolebindings")) {
      out += "cluster";
    } else if (begins && rest.starts_with("R") && rest.substr(1).starts_with(k_tail)) {
      out += "Cluster";
    }
    out += text[at];
  }
  return out;
}

/// Whose objects name who acts for them (docs/decisions/124).
bool about_classes(const StatusContext& context) {
  for (const auto& [group, resource] : {std::pair("storage.k8s.io", "storageclasses"),
                                        std::pair("storage.k8s.io", "volumeattributesclasses"),
                                        std::pair("networking.k8s.io", "ingressclasses"),
                                        std::pair("node.k8s.io", "runtimeclasses"),
                                        std::pair("resource.k8s.io", "deviceclasses")}) {
    if (context.group == group && context.resource == resource) return true;
  }
  return false;
}

/// Who acts for a class, as its tenant calls it.
std::string drivers_out(std::string_view text) {
  std::string out;
  for (std::size_t copied = 0;;) {
    const auto at = text.find(k_inert_driver, copied);
    out += text.substr(copied, at - copied);
    if (at == std::string_view::npos) return out;
    copied = at + k_inert_driver.size();
    if (at > 0 && name_byte(text[at - 1])) out += k_inert_driver;
    // What the tenant itself calls so stands behind it.
    if (!text.substr(copied).starts_with(k_inert_driver)) continue;
    out += k_inert_driver;
    copied += k_inert_driver.size();
  }
}

bool about_bindings(const StatusContext& context) {
  return context.group == k_rbac_group && context.resource == "clusterrolebindings";
}

/// details.kind is a resource for most reasons and a kind for Invalid.
const KindFacts* facts_of(std::string_view group, std::string_view kind_or_resource) {
  const auto* facts = find_facts(group, kind_or_resource);
  return facts != nullptr ? facts : find_facts_of_kind(group, kind_or_resource);
}

kube::StatusDetails details_of(std::string_view group, std::string_view kind,
                               std::string_view name) {
  kube::StatusDetails out;
  out.name = name;
  out.group = group;
  out.kind = kind;
  return out;
}

std::string cannot(std::string_view group, std::string_view resource, std::string_view name) {
  auto out = qualified_resource(group, resource);
  if (!name.empty()) out += " " + json_quote(name);
  return out;
}

/// details.name in the tenant's words.
std::string own_name_of(const Mapping& mapping, const StatusContext& context, JsonNode details) {
  auto own = details["name"].string();
  if (context.misnamed != nullptr && own == context.misnamed->upstream)
    return context.misnamed->own;
  if (about_bindings(context) && own.starts_with(k_binding_prefix))
    return own.substr(k_binding_prefix.size());
  const auto* facts = facts_of(details["group"].string(), details["kind"].string());
  if (const auto out = object_name_out(mapping, facts, own)) return std::string(*out);
  // A name of this kind that never got the prefix (a refused name of the tenant's own), or
  // somebody else's: only the tenant's own words may be shown.
  return own.starts_with(mapping.prefix()) ? own.substr(mapping.prefix().size()) : "";
}

/// Bytes that are kept of the message of a Status whose end is missing.
constexpr std::size_t k_cut_message = std::size_t{32} << 10;

/// What is in `document`, which ends too early, of a Status' message; absent if it is no Status or
/// ends before the message.
std::optional<std::string> message_of_cut(std::string_view document) {
  constexpr std::string_view k_key = R"("message":")";
  const auto at = document.find(k_key);
  if (!document.starts_with(R"({"kind":"Status",)") || at == std::string_view::npos)
    return std::nullopt;
  const auto text = document.substr(at + k_key.size());
  std::size_t end = 0;
  while (end < std::min(text.size(), k_cut_message) && text[end] != '"') {
    const std::size_t step = text[end] != '\\' ? 1 : text.substr(end).starts_with("\\u") ? 6 : 2;
    if (end + step > text.size()) break;
    end += step;
  }
  // The end may be within a character, which has four bytes at most.
  for (int i = 0; i < 3 && end > 0 && !is_utf8(text.substr(0, end)); ++i)
    --end;
  const auto quoted = fmt::format("\"{}\"", text.substr(0, end));
  const auto said = JsonTree::parse(std::string_view(quoted));
  if (!said) return std::nullopt;
  return said->root().string();
}

} // namespace

KnownWords& RequestWords::words() {
  if (words_) return *words_;
  words_.emplace(mapping_.prefix());
  if (context_.name.starts_with(mapping_.prefix())) words_->add(context_.name, true);
  for (const auto part : context_.request)
    words_->asked(part);
  return *words_;
}

std::string message_out(const Mapping& mapping, const StatusContext& context,
                        std::string_view message, RequestWords* words) {
  if (mapping.identity()) return std::string(message);
  std::string text(message);
  // The user that zood impersonates is nobody the tenant knows.
  if (!context.user.empty())
    replace_all(text, fmt::format("User \"zoo:{}\"", mapping.id()),
                fmt::format("User {}", json_quote(context.user)));
  replace_all(text, fmt::format("zoo:inert:{}:", mapping.id()), "");
  if (text.find("violates PodSecurity \"") != std::string::npos)
    text +=
        " (rule pod-security): the platform holds the pods of all tenants to this level; leave out "
        "what is named";
  if (about_classes(context)) text = drivers_out(text);
  if (about_bindings(context)) {
    replace_all(text, "zoo:crb:", "");
    // The key of an object, as apply tells it.
    replace_all(text, "(" + mapping.name_in("kube-system") + "/", "(/");
    // Where it is stored.
    replace_all(text, "/rolebindings/" + mapping.name_in("kube-system") + "/", "/rolebindings/");
    text = bindings_out(text);
    replace_all(text, "no kind \"RoleBinding\" is registered",
                "no kind \"ClusterRoleBinding\" is registered");
  }
  RequestWords own(mapping, context);
  return text_out(mapping, text, words != nullptr ? words : &own);
}

std::string status_out(const Mapping& mapping, const StatusContext& context,
                       std::string_view document, int http_status) {
  const auto tree = JsonTree::parse(document);
  if (!tree) {
    if (const auto said = message_of_cut(document)) {
      const auto whole =
          make_status(code_from_status(http_status, ""),
                      *said + "... (upstream says more than is passed on; correct this first)");
      return status_out(mapping, context, whole, http_status);
    }
  }
  if (!tree || !tree->root().is(JsonType::object) || tree->root()["kind"].string() != "Status") {
    const auto code = code_from_status(http_status, "");
    // A text/plain "404 page not found" has no more to say than its status.
    return make_status(code, code == Code::not_found
                                 ? no_resource().value().message()
                                 : "the upstream answered with something that is no Status");
  }
  if (mapping.identity()) return std::string(document);
  const auto root = tree->root();
  JsonEdits edits;
  const auto details = root["details"];
  const auto upstreams = details["name"].string();
  const auto own_name = own_name_of(mapping, context, details);
  auto about = context;
  about.name = own_name;
  RequestWords words(mapping, about);
  const auto own_words = [&](JsonNode said) {
    if (!said.is(JsonType::string)) return;
    auto text = said.string();
    if (context.misnamed != nullptr) text = words_out(*context.misnamed, std::move(text));
    text = message_out(mapping, about, text, &words);
    // The name that it is about may be no name at all ("-dash"), which text_out() does not see.
    if (!own_name.empty() && upstreams == mapping.name_in(own_name))
      replace_all(text, json_quote(upstreams), json_quote(own_name));
    edits.quote(said, text);
  };
  own_words(root["message"]);
  // A policy's reason is what its author says, Invalid by default; zood itself says Forbidden.
  if (denied_by_platform(root["message"].string())) {
    if (const auto reason = root["reason"]) edits.quote(reason, error_row(Code::forbidden).reason);
    if (const auto code = root["code"])
      edits.replace(code, std::to_string(error_row(Code::forbidden).http_status));
  }
  if (const auto token = root["metadata"]["continue"]; token) {
    std::string sealed;
    if (context.seal_continue && !token.string().empty())
      sealed = context.seal_continue(token.string());
    edits.quote(token, sealed);
  }
  // It counts the objects of the whole cluster.
  if (const auto remaining = root["metadata"]["remainingItemCount"]; remaining)
    edits.remove(root["metadata"], remaining);
  if (details.is(JsonType::object)) {
    const auto group = details["group"].string();
    auto kind = details["kind"];
    if (const auto name = details["name"]; name.is(JsonType::string)) edits.quote(name, own_name);
    if (about_bindings(context) && group == k_rbac_group) {
      if (kind.string() == "rolebindings") edits.quote(kind, "clusterrolebindings");
      if (kind.string() == "RoleBinding") edits.quote(kind, "ClusterRoleBinding");
    }
    if (!group.empty()) {
      const auto out = mapping.group_out(group);
      edits.quote(details["group"], out.value_or(std::string_view()));
    }
    for (auto cause = details["causes"].first(); cause; cause = cause.next()) {
      own_words(cause["message"]);
      own_words(cause["field"]);
    }
  }
  return edits.apply(document);
}

std::string make_status(Code code, std::string_view message, const kube::StatusDetails& details) {
  return kube::status_json(Error(code, std::string(message)), details);
}

std::string not_found_status(std::string_view group, std::string_view resource,
                             std::string_view name) {
  return make_status(Code::not_found, cannot(group, resource, name) + " not found",
                     details_of(group, resource, name));
}

std::string forbidden_status(std::string_view group, std::string_view resource,
                             std::string_view name, std::string_view reason) {
  return make_status(Code::forbidden,
                     fmt::format("{} is forbidden: {}", cannot(group, resource, name), reason),
                     details_of(group, resource, name));
}

std::string denied_reason(std::string_view user, std::string_view verb, std::string_view group,
                          std::string_view resource, std::string_view subresource,
                          std::string_view name_space) {
  std::string what(resource);
  if (!subresource.empty()) what += "/" + std::string(subresource);
  auto out = fmt::format("User {} cannot {} resource {} in API group {}", json_quote(user), verb,
                         json_quote(what), json_quote(group));
  if (name_space.empty()) return out + " at the cluster scope";
  return out + " in the namespace " + json_quote(name_space);
}

std::string forbidden_path_status(std::string_view user, std::string_view verb,
                                  std::string_view path) {
  return make_status(Code::forbidden, fmt::format("forbidden: User {} cannot {} path {}",
                                                  json_quote(user), verb, json_quote(path)));
}

std::string exists_status(std::string_view group, std::string_view resource,
                          std::string_view name) {
  return make_status(Code::already_exists, cannot(group, resource, name) + " already exists",
                     details_of(group, resource, name));
}

std::string conflict_status(std::string_view group, std::string_view resource,
                            std::string_view name, std::string_view reason) {
  return make_status(
      Code::conflict,
      fmt::format("Operation cannot be fulfilled on {}: {}", cannot(group, resource, name), reason),
      details_of(group, resource, name));
}

std::string invalid_status(std::string_view group, std::string_view kind, std::string_view name,
                           const std::vector<kube::StatusCause>& causes) {
  std::string text;
  for (const auto& cause : causes) {
    if (!text.empty()) text += ", ";
    text += cause.field + ": " + cause.message;
  }
  if (causes.size() > 1) text = "[" + text + "]";
  auto details = details_of(group, kind, name);
  details.causes = causes;
  return make_status(
      Code::invalid,
      fmt::format("{} {} is invalid: {}", qualified_resource(group, kind), json_quote(name), text),
      details);
}

tl::unexpected<Error> not_allowed() {
  return fail(Code::method_not_allowed,
              "the server does not allow this method on the requested resource");
}

tl::unexpected<Error> no_resource() {
  return fail(Code::not_found, "the server could not find the requested resource");
}

std::string expired_status() {
  return make_status(Code::expired,
                     "The provided continue parameter is too old to display a consistent list "
                     "result. You must start a new list without the continue parameter.");
}

std::string too_many_requests_status(int retry_after_seconds) {
  kube::StatusDetails details;
  details.retry_after_seconds = retry_after_seconds;
  return make_status(Code::too_many_requests, "too many requests, please try again later", details);
}

std::string error_status(const Error& error, std::string_view group, std::string_view resource,
                         std::string_view name) {
  switch (error.code()) {
  case Code::not_found:
  case Code::forbidden:
  case Code::already_exists:
  case Code::conflict:
    return kube::status_json(error, details_of(group, resource, name));
  default:
    return kube::status_json(error);
  }
}

} // namespace zoo::translate
