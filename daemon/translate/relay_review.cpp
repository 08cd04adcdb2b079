// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/relay_review.hpp"

#include "common/base/json_text.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/translate/admission_fence.hpp"
#include "daemon/translate/hidden_names.hpp"
#include "daemon/translate/json_patch.hpp"
#include "daemon/translate/rewrite.hpp"

#include <algorithm>
#include <array>

namespace zoo::translate {
namespace {

constexpr std::string_view k_admission_review = "AdmissionReview";

JsonValue word(std::string text) {
  JsonValue out;
  out.type = JsonType::boolean;
  out.text = std::move(text);
  return out;
}

/// What a request is about, in upstream's names and in the tenant's.
struct Subject {
  std::string group, own_group, resource, subresource, kind, name, own_space;
  const Root* root = nullptr;
};

Result<Subject> subject_of(const Mapping& mapping, const JsonValue& request) {
  Subject out;
  out.group = text_of(within(request, "resource", "group"));
  out.resource = text_of(within(request, "resource", "resource"));
  out.kind = text_of(within(request, "kind", "kind"));
  out.subresource = text_of(request.find("subResource"));
  out.name = text_of(request.find("name"));
  const auto space = text_of(request.find("namespace"));
  const auto own = mapping.name_out(space);
  if (!mapping.owns_name(space) || !own)
    return fail(Code::forbidden, "the review is about an object outside of the tenant");
  out.own_space = *own;
  const auto kind_group = text_of(within(request, "kind", "group"));
  const auto own_kind_group = mapping.group_out(kind_group);
  const auto own_group = mapping.group_out(out.group);
  if (!own_kind_group || !own_group)
    return fail(Code::forbidden, "the review is about a kind outside of the tenant");
  out.own_group = *own_group;
  // A group that is not Kubernetes' own has rules for what all objects have.
  out.root = builtin_group(kind_group) ? &root_of(kind_group, out.kind) : &custom_root();
  return out;
}

Result<void> groups_out(const Mapping& mapping, JsonValue& request) {
  for (const auto* member : {"kind", "resource", "requestKind", "requestResource"}) {
    auto* named = request.find(member);
    auto* group = named == nullptr ? nullptr : named->find("group");
    const auto name = text_of(group);
    if (name.empty()) continue;
    const auto own = mapping.group_out(name);
    if (!own) return fail(Code::forbidden, "the review is about a kind outside of the tenant");
    *group = JsonValue::string(*own);
  }
  return {};
}

tl::unexpected<Error> leaves(const Error& why) {
  return fail(Code::invalid, "the webhook's patch does not stay inside the tenant: {}",
              why.message());
}

/// What upstream may be told to change, so that what comes of it is proven. `patch`: the tenant's,
/// of what it was shown.
Result<std::string> patch_of(const Mapping& mapping, const JsonValue& request,
                             std::string_view patch) {
  ZOO_TRY(const auto subject, subject_of(mapping, request));
  const auto* object = request.find("object");
  if (object == nullptr || !object->is(JsonType::object))
    return fail(Code::invalid, "the webhook attempted to modify the object, which is not supported "
                               "for this operation");
  const auto place =
      subject.subresource.empty() ? subject.resource : subject.resource + '/' + subject.subresource;
  if (reaches_out(subject.group, place))
    return fail(Code::invalid, "the webhook attempted to modify {}, which no mutation may change",
                json_quote(place));
  const auto& root = *subject.root;
  const auto tree = JsonTree::parse(patch);
  if (!tree)
    return fail(Code::invalid, "the webhook's patch cannot be read: {}", tree.error().message());
  ZOO_TRY(const auto shown, object_out(root, mapping, subject.own_space, *object));
  auto patched = shown;
  if (auto done = apply_json_patch(patched, tree->root()); !done)
    return fail(Code::invalid, "the webhook's patch cannot be applied: {}", done.error().message());
  constexpr std::array<std::string_view, 2> k_type = {"apiVersion", "kind"};
  constexpr std::array<std::string_view, 4> k_identity = {"name", "generateName", "namespace",
                                                          "uid"};
  for (const auto member : k_type)
    if (text_of(shown.find(member)) != text_of(patched.find(member)))
      return fail(Code::invalid, "the webhook's patch changes {}", member);
  for (const auto member : k_identity)
    if (text_of(within(shown, "metadata", member)) != text_of(within(patched, "metadata", member)))
      return fail(Code::invalid, "the webhook's patch changes metadata.{}", member);
  const auto was = object_in(root, mapping, subject.own_space, shown);
  const auto is = object_in(root, mapping, subject.own_space, patched);
  if (!is) return leaves(is.error());
  if (!was) return leaves(was.error());
  auto result = *object;
  merge_changes(result, *was, *is);
  if (same_json(result, *object)) return std::string();
  if (auto proven = prove_object(root, mapping, subject.own_space, result); !proven)
    return leaves(proven.error());
  return json_patch_between(*object, result);
}

Result<JsonValue> response_in(const Mapping& mapping, bool mutating, const JsonValue& request,
                              const JsonValue& answered, bool first_version) {
  const auto& response = *answered.find("response");
  const auto* allowed = response.find("allowed");
  const bool allows = allowed != nullptr && allowed->text == "true";
  if (allowed != nullptr && !allowed->is(JsonType::boolean) && !allowed->is(JsonType::null))
    return fail(Code::invalid,
                "response.allowed of the webhook's answer is neither true nor false");
  auto out = JsonValue::object();
  out.set("allowed", word(allows ? "true" : "false"));
  if (const auto* status = response.find("status"); status != nullptr)
    out.set("status", review_status_in(mapping, *status));
  if (const auto* list = response.find("warnings"); list != nullptr)
    out.set("warnings", review_warnings_in(*list));
  if (const auto* map = response.find("auditAnnotations"); map != nullptr)
    out.set("auditAnnotations", review_annotations_in(*map));
  const auto patch = text_of(response.find("patch"));
  const auto type = text_of(response.find("patchType"));
  if (first_version && !mutating && !(patch.empty() && type.empty()))
    return fail(Code::invalid, "validating webhook may not return response.patch");
  if (!mutating || (patch.empty() && type.empty())) return out;
  if (first_version && type.empty())
    return fail(Code::invalid, "webhook returned response.patch but not response.patchType");
  if (patch.empty() && first_version)
    return fail(Code::invalid, "webhook returned response.patchType but not response.patch");
  if (first_version && type != "JSONPatch")
    return fail(Code::invalid, "webhook returned invalid response.patchType of {}",
                json_quote(cut_text(type, 64)));
  if (!allows || patch.empty()) return out;
  const auto text = crypto::base64_decode(patch);
  if (!text) return fail(Code::invalid, "response.patch of the webhook's answer is no base64");
  ZOO_TRY(const auto made, patch_of(mapping, request, *text));
  if (made.empty()) return out;
  out.set("patchType", JsonValue::string("JSONPatch"));
  out.set("patch", JsonValue::string(crypto::base64_encode(made)));
  return out;
}

Result<OutwardReview> admission_out(const Mapping& mapping, std::string_view body) {
  ZOO_TRY(auto review, parse_asked(body, k_admission_review));
  auto& request = *review.find("request");
  OutwardReview out;
  out.uid = text_of(request.find("uid"));
  ZOO_TRY(const auto subject, subject_of(mapping, request));
  if (hidden_object(subject.group, subject.resource, subject.name)) {
    auto response = JsonValue::object();
    response.set("allowed", word("true"));
    out.answer = review_answer(k_admission_review, review, std::move(response));
    return out;
  }
  for (const auto* member : {"object", "oldObject"}) {
    auto* object = request.find(member);
    if (object == nullptr || !object->is(JsonType::object)) continue;
    const auto space = text_of(within(*object, "metadata", "namespace"));
    if (!space.empty() && space != text_of(request.find("namespace")))
      return fail(Code::forbidden, "the review is about an object outside of the tenant");
    ZOO_TRY(*object, object_out(*subject.root, mapping, subject.own_space, *object));
  }
  if (auto* user = request.find("userInfo")) {
    ZOO_TRY(*user, review_user_out(mapping, *user));
  }
  ZOO_TRY_VOID(groups_out(mapping, request));
  request.set("namespace", JsonValue::string(subject.own_space));
  // What a later Kubernetes adds may speak of the platform.
  constexpr std::array<std::string_view, 15> k_known = {"uid",
                                                        "kind",
                                                        "resource",
                                                        "subResource",
                                                        "requestKind",
                                                        "requestResource",
                                                        "requestSubResource",
                                                        "name",
                                                        "namespace",
                                                        "operation",
                                                        "userInfo",
                                                        "object",
                                                        "oldObject",
                                                        "dryRun",
                                                        "options"};
  std::erase_if(request.members, [&k_known](const auto& member) {
    return std::find(k_known.begin(), k_known.end(), member.first) == k_known.end();
  });
  out.body = review.written();
  return out;
}

} // namespace

const JsonValue* within(const JsonValue& object, std::string_view member, std::string_view next) {
  const auto* value = object.find(member);
  return value == nullptr ? nullptr : value->find(next);
}

std::string text_of(const JsonValue* value) { return value == nullptr ? "" : value->unquoted(); }

Result<JsonValue> parse_asked(std::string_view body, std::string_view kind) {
  ZOO_TRY(auto out, JsonValue::parse(body));
  const auto* request = out.find("request");
  if (text_of(out.find("kind")) != kind || request == nullptr || !request->is(JsonType::object) ||
      text_of(request->find("uid")).empty())
    return fail(Code::bad_request, "the body is no {} with a request", kind);
  return out;
}

Result<JsonValue> parse_answered(std::string_view answer, std::string_view kind,
                                 const JsonValue& asked) {
  if (answer.size() > k_longest_review_answer)
    return fail(Code::invalid, "the webhook's answer has {} bytes, and {} are taken", answer.size(),
                k_longest_review_answer);
  auto out = JsonValue::parse(answer);
  if (!out)
    return fail(Code::invalid, "the webhook's answer cannot be read: {}", out.error().message());
  const auto version = text_of(asked.find("apiVersion"));
  const bool first_version = version.ends_with("/v1");
  const auto got = text_of(out->find("apiVersion")), got_kind = text_of(out->find("kind"));
  // Of v1beta1 upstream looks at neither these nor the UID.
  if (first_version && (got != version || got_kind != kind))
    return fail(Code::invalid, "expected webhook response of {}, Kind={}, got {}, Kind={}", version,
                kind, json_quote(cut_text(got, 256)), json_quote(cut_text(got_kind, 256)));
  const auto* response = out->find("response");
  if (response == nullptr || !response->is(JsonType::object))
    return fail(Code::invalid, "webhook response was absent");
  const auto uid = text_of(within(asked, "request", "uid")), is = text_of(response->find("uid"));
  if (first_version && uid != is)
    return fail(Code::invalid, "expected response.uid={}, got {}", json_quote(uid),
                json_quote(cut_text(is, 256)));
  return out;
}

std::string review_answer(std::string_view kind, const JsonValue& asked, JsonValue response) {
  response.set("uid", JsonValue::string(text_of(within(asked, "request", "uid"))));
  auto out = JsonValue::object();
  out.set("apiVersion", JsonValue::string(text_of(asked.find("apiVersion"))));
  out.set("kind", JsonValue::string(kind));
  out.set("response", std::move(response));
  return out.written();
}

Result<JsonValue> object_out(const Root& root, const Mapping& mapping, std::string_view own_space,
                             const JsonValue& object) {
  RewriteContext context{mapping, Direction::outward, own_space};
  std::string out;
  ZOO_TRY_VOID(rewrite(root, context, object.written(), out));
  return JsonValue::parse(out);
}

Result<JsonValue> object_in(const Root& root, const Mapping& mapping, std::string_view own_space,
                            const JsonValue& object) {
  RewriteContext context{mapping, Direction::inward, own_space};
  std::string out;
  ZOO_TRY_VOID(rewrite(root, context, object.written(), out));
  return JsonValue::parse(out);
}

Result<void> prove_object(const Root& root, const Mapping& mapping, std::string_view own_space,
                          const JsonValue& object) {
  RewriteContext context{mapping, Direction::prove, own_space};
  std::string none;
  return rewrite(root, context, object.written(), none);
}

Result<OutwardReview> review_out(const Mapping& mapping, const HookName& name, std::string body) {
  if (name.hook == Hook::conversion) return conversion_out(mapping, name, body);
  return admission_out(mapping, body);
}

Result<std::string> review_in(const Mapping& mapping, const HookName& name, std::string_view asked,
                              std::string_view answer) {
  if (name.hook == Hook::conversion) return conversion_in(mapping, name, asked, answer);
  ZOO_TRY(const auto review, parse_asked(asked, k_admission_review));
  ZOO_TRY(const auto answered, parse_answered(answer, k_admission_review, review));
  const bool first_version = text_of(review.find("apiVersion")).ends_with("/v1");
  ZOO_TRY(auto response, response_in(mapping, name.hook == Hook::mutating, *review.find("request"),
                                     answered, first_version));
  return review_answer(k_admission_review, review, std::move(response));
}

} // namespace zoo::translate
