// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/reviews.hpp"

#include "common/base/json_text.hpp"
#include "daemon/translate/discovery_json.hpp"

#include <array>

namespace zoo::translate {
namespace {

struct KindRow {
  ReviewKind kind;
  std::string_view group, resource, name;
};
constexpr std::array k_kinds = {
    KindRow{ReviewKind::self_subject_access, "authorization.k8s.io", "selfsubjectaccessreviews",
            "SelfSubjectAccessReview"},
    KindRow{ReviewKind::subject_access, "authorization.k8s.io", "subjectaccessreviews",
            "SubjectAccessReview"},
    KindRow{ReviewKind::local_subject_access, "authorization.k8s.io", "localsubjectaccessreviews",
            "LocalSubjectAccessReview"},
    KindRow{ReviewKind::self_subject_rules, "authorization.k8s.io", "selfsubjectrulesreviews",
            "SelfSubjectRulesReview"},
    KindRow{ReviewKind::self_subject, "authentication.k8s.io", "selfsubjectreviews",
            "SelfSubjectReview"},
    KindRow{ReviewKind::token, "authentication.k8s.io", "tokenreviews", "TokenReview"},
};

const KindRow& row_of(ReviewKind kind) { return k_kinds[static_cast<std::size_t>(kind)]; }

tl::unexpected<Error> invalid(ReviewKind kind, std::string_view field, std::string_view what) {
  const auto& row = row_of(kind);
  return fail(Code::invalid, "{}.{} \"\" is invalid: {}: {}", row.name, row.group, field, what);
}

/// A member that must be a string if it is there (null is absent).
Result<std::string> text_member(JsonNode object, std::string_view name) {
  const auto node = object[name];
  if (!node || node.is(JsonType::null)) return std::string();
  if (!node.is(JsonType::string))
    return fail(Code::bad_request, "{} in the review must be a string", json_quote(name));
  return node.string();
}

Result<std::vector<std::string>> text_list(JsonNode node, std::string_view name) {
  std::vector<std::string> out;
  if (!node || node.is(JsonType::null)) return out;
  if (!node.is(JsonType::array))
    return fail(Code::bad_request, "{} in the review must be a list", json_quote(name));
  for (auto each = node.first(); each; each = each.next()) {
    if (!each.is(JsonType::string))
      return fail(Code::bad_request, "{} in the review must be a list of strings",
                  json_quote(name));
    out.push_back(each.string());
  }
  return out;
}

Result<JsonTree> parse_body(ReviewKind kind, std::string_view body) {
  auto tree = JsonTree::parse(body);
  if (!tree) return tree;
  const auto root = tree->root();
  const auto& row = row_of(kind);
  if (!root.is(JsonType::object)) return fail(Code::bad_request, "the body is not a {}", row.name);
  const auto name = root["kind"].string();
  const auto version = root["apiVersion"].string();
  // Both may be missing: the server then takes what the path says.
  if ((!name.empty() && name != row.name) ||
      (!version.empty() && !version.starts_with(std::string(row.group) + "/")))
    return fail(Code::bad_request,
                "{}, Kind={} in the body does not match the expected {}, Kind={}", version, name,
                row.group, row.name);
  ZOO_TRY_VOID(members_once(root));
  return tree;
}

std::string list_json(const std::vector<std::string>& values) {
  std::string out = "[";
  for (const auto& value : values) {
    if (out.size() > 1) out += ',';
    append_json_quoted(out, value);
  }
  return out + ']';
}

/// Sets `status`, and kind and apiVersion where the client left them out.
Result<std::string> with_status(ReviewKind kind, std::string_view body, std::string_view status) {
  ZOO_TRY(const auto tree, parse_body(kind, body));
  const auto root = tree.root();
  const auto& row = row_of(kind);
  JsonEdits edits;
  const auto set = [&](std::string_view name, std::string_view value) {
    if (const auto node = root[name]) {
      edits.replace(node, std::string(value));
    } else {
      edits.append(root, name, value);
    }
  };
  if (root["kind"].string().empty()) set("kind", json_quote(row.name));
  if (root["apiVersion"].string().empty())
    set("apiVersion", json_quote(std::string(row.group) + "/v1"));
  set("status", status);
  return edits.apply(body);
}

Result<ReviewAttributes> parse_attributes(ReviewKind kind, JsonNode spec) {
  ReviewAttributes out;
  const auto resource = spec["resourceAttributes"];
  const auto path = spec["nonResourceAttributes"];
  const bool has_resource = resource.is(JsonType::object);
  const bool has_path = path.is(JsonType::object);
  if (has_resource && has_path)
    return invalid(kind, "spec.nonResourceAttributes",
                   "Invalid value: cannot be specified in combination with resourceAttributes");
  if (!has_resource && !has_path)
    return invalid(kind, "spec.resourceAttributes",
                   "Invalid value: exactly one of nonResourceAttributes or resourceAttributes must "
                   "be specified");
  if (has_path) {
    out.resource_request = false;
    ZOO_TRY(out.path, text_member(path, "path"));
    ZOO_TRY(out.verb, text_member(path, "verb"));
    return out;
  }
  ZOO_TRY(out.verb, text_member(resource, "verb"));
  ZOO_TRY(out.group, text_member(resource, "group"));
  ZOO_TRY(out.version, text_member(resource, "version"));
  ZOO_TRY(out.resource, text_member(resource, "resource"));
  ZOO_TRY(out.subresource, text_member(resource, "subresource"));
  ZOO_TRY(out.name, text_member(resource, "name"));
  ZOO_TRY(out.name_space, text_member(resource, "namespace"));
  return out;
}

} // namespace

std::optional<ReviewKind> review_kind(std::string_view group, std::string_view resource) {
  for (const auto& row : k_kinds) {
    if (row.group == group && row.resource == resource) return row.kind;
  }
  return std::nullopt;
}

Result<Review> parse_review(ReviewKind kind, std::string_view body,
                            std::string_view path_namespace) {
  ZOO_TRY(const auto tree, parse_body(kind, body));
  const auto root = tree.root();
  const auto spec = root["spec"];
  Review out;
  out.kind = kind;
  if (kind == ReviewKind::self_subject) return out;
  if (spec && !spec.is(JsonType::object) && !spec.is(JsonType::null))
    return fail(Code::bad_request, "spec of the review must be an object");
  if (kind == ReviewKind::token) {
    ZOO_TRY(out.token, text_member(spec, "token"));
    ZOO_TRY(out.audiences, text_list(spec["audiences"], "audiences"));
    if (out.token.empty())
      return fail(Code::bad_request, "token is required for TokenReview in authentication");
    return out;
  }
  if (kind == ReviewKind::self_subject_rules) {
    ZOO_TRY(out.name_space, text_member(spec, "namespace"));
    if (out.name_space.empty()) return fail(Code::bad_request, "no namespace on request");
    return out;
  }
  ZOO_TRY(out.attributes, parse_attributes(kind, spec));
  if (kind == ReviewKind::self_subject_access) return out;

  ZOO_TRY(out.user, text_member(spec, "user"));
  ZOO_TRY(out.uid, text_member(spec, "uid"));
  ZOO_TRY(out.groups, text_list(spec["groups"], "groups"));
  for (auto each = spec["extra"].first(); each; each = each.next()) {
    ZOO_TRY(auto values, text_list(each, each.key()));
    out.extra.emplace_back(each.key(), std::move(values));
  }
  if (out.user.empty() && out.groups.empty())
    return invalid(kind, "spec.user",
                   "Invalid value: \"\": at least one of user or group must be specified");
  if (kind == ReviewKind::local_subject_access) {
    ZOO_TRY(const auto own, text_member(root["metadata"], "namespace"));
    if (!own.empty() && own != path_namespace)
      return fail(Code::bad_request, "the namespace of the provided object does not match the "
                                     "namespace sent on the request");
    if (!out.attributes->resource_request)
      return invalid(kind, "spec.nonResourceAttributes",
                     "Invalid value: disallowed on this kind of request");
    if (out.attributes->name_space != path_namespace)
      return invalid(kind, "spec.resourceAttributes.namespace",
                     "Invalid value: must match metadata.namespace");
  }
  return out;
}

Result<std::string> render_decision(ReviewKind kind, std::string_view body,
                                    const ReviewDecision& decision) {
  std::string status = decision.allowed ? "{\"allowed\":true" : "{\"allowed\":false";
  if (decision.denied && !decision.allowed) status += ",\"denied\":true";
  if (!decision.reason.empty()) status += ",\"reason\":" + json_quote(decision.reason);
  if (!decision.evaluation_error.empty())
    status += ",\"evaluationError\":" + json_quote(decision.evaluation_error);
  return with_status(kind, body, status + '}');
}

Result<std::string> render_rules(std::string_view body, const std::vector<ReviewRule>& rules,
                                 bool incomplete, std::string_view evaluation_error) {
  std::string resource_rules, path_rules;
  for (const auto& rule : rules) {
    if (!rule.paths.empty()) {
      if (!path_rules.empty()) path_rules += ',';
      path_rules += fmt::format("{{\"verbs\":{},\"nonResourceURLs\":{}}}", list_json(rule.verbs),
                                list_json(rule.paths));
    }
    if (!rule.resources.empty()) {
      if (!resource_rules.empty()) resource_rules += ',';
      resource_rules +=
          fmt::format("{{\"verbs\":{},\"apiGroups\":{},\"resources\":{}", list_json(rule.verbs),
                      list_json(rule.groups), list_json(rule.resources));
      if (!rule.names.empty()) resource_rules += ",\"resourceNames\":" + list_json(rule.names);
      resource_rules += '}';
    }
  }
  auto status = fmt::format("{{\"resourceRules\":[{}],\"nonResourceRules\":[{}],\"incomplete\":{}",
                            resource_rules, path_rules, incomplete);
  if (!evaluation_error.empty()) status += ",\"evaluationError\":" + json_quote(evaluation_error);
  return with_status(ReviewKind::self_subject_rules, body, status + '}');
}

namespace {

std::string user_json(const ReviewUser& user) {
  std::string out = "{\"username\":" + json_quote(user.name);
  if (!user.uid.empty()) out += ",\"uid\":" + json_quote(user.uid);
  if (!user.groups.empty()) out += ",\"groups\":" + list_json(user.groups);
  if (!user.extra.empty()) {
    out += ",\"extra\":{";
    for (const auto& [key, values] : user.extra) {
      if (!out.ends_with('{')) out += ',';
      append_json_quoted(out, key);
      out += ':' + list_json(values);
    }
    out += '}';
  }
  return out + '}';
}

} // namespace

Result<std::string> render_token(std::string_view body, const ReviewUser& user,
                                 std::string_view audience) {
  return with_status(ReviewKind::token, body,
                     fmt::format(R"({{"authenticated":true,"user":{},"audiences":[{}]}})",
                                 user_json(user), json_quote(audience)));
}

Result<std::string> render_no_token(std::string_view body, std::string_view error) {
  return with_status(ReviewKind::token, body,
                     fmt::format(R"({{"user":{{}},"error":{}}})", json_quote(error)));
}

Result<std::string> token_request_in(std::string_view body, std::string_view account,
                                     std::string_view name_space, std::string_view audience) {
  ZOO_TRY(const auto tree, JsonTree::parse(body));
  const auto root = tree.root();
  if (!root.is(JsonType::object)) return fail(Code::bad_request, "the body is not a TokenRequest");
  ZOO_TRY_VOID(members_once(root));
  ZOO_TRY(const auto kind, text_member(root, "kind"));
  ZOO_TRY(const auto own_name, text_member(root["metadata"], "name"));
  ZOO_TRY(const auto own_namespace, text_member(root["metadata"], "namespace"));
  if ((!kind.empty() && kind != "TokenRequest") || (!own_name.empty() && own_name != account) ||
      (!own_namespace.empty() && own_namespace != name_space)) {
    return fail(Code::bad_request, "the TokenRequest in the body is not for the ServiceAccount "
                                   "that the path names");
  }
  const auto spec = root["spec"];
  ZOO_TRY(const auto audiences, text_list(spec["audiences"], "audiences"));
  for (const auto& each : audiences) {
    if (each == audience) continue;
    return fail(Code::forbidden,
                "serviceaccounts {} is forbidden: tokens are made for the audience {} alone, not "
                "for {}; ask for none, which means this one",
                json_quote(account), json_quote(audience), json_quote(each));
  }
  std::string out = R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{)"
                    R"("audiences":[)" +
                    json_quote(audience) + ']';
  if (const auto seconds = spec["expirationSeconds"]; seconds && !seconds.is(JsonType::null)) {
    if (!seconds.integer()) {
      return fail(Code::invalid, "TokenRequest.authentication.k8s.io \"\" is invalid: "
                                 "spec.expirationSeconds: must be a whole number");
    }
    out += ",\"expirationSeconds\":" + std::to_string(*seconds.integer());
  }
  if (const auto bound = spec["boundObjectRef"]; bound.is(JsonType::object)) {
    out += ",\"boundObjectRef\":{";
    for (const std::string_view member : {"kind", "apiVersion", "name", "uid"}) {
      ZOO_TRY(const auto value, text_member(bound, member));
      if (value.empty()) continue;
      if (!out.ends_with('{')) out += ',';
      out += json_quote(member) + ':' + json_quote(value);
    }
    out += '}';
  }
  return out + "}}";
}

Result<std::string> render_self(std::string_view body, const ReviewUser& user) {
  return with_status(ReviewKind::self_subject, body, "{\"userInfo\":" + user_json(user) + '}');
}

} // namespace zoo::translate
