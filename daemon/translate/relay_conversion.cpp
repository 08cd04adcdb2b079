// SPDX-License-Identifier: Apache-2.0
#include "common/base/json_text.hpp"
#include "daemon/translate/json_patch.hpp"
#include "daemon/translate/relay_review.hpp"
#include "daemon/translate/rules.hpp"

#include <array>

namespace zoo::translate {
namespace {

constexpr std::string_view k_conversion_review = "ConversionReview";

/// "foofoo-widgets.test/v1" -> "foofoo-widgets.test"
std::string group_of(std::string_view api_version) {
  const auto slash = api_version.find('/');
  return std::string(api_version.substr(0, slash == std::string_view::npos ? 0 : slash));
}

/// The group of a definition, "widgets.foofoo-widgets.test".
Result<std::string> defined_group(const Mapping& mapping, const HookName& name) {
  const auto dot = name.object.find('.');
  auto group = dot == std::string::npos ? std::string() : name.object.substr(dot + 1);
  if (!mapping.owns_name(group))
    return fail(Code::forbidden, "the review is about a kind outside of the tenant");
  return group;
}

/// The tenant's name of the object's namespace; "" where it has none.
Result<std::string> space_of(const Mapping& mapping, const JsonValue& object) {
  const auto space = text_of(within(object, "metadata", "namespace"));
  if (space.empty()) return space;
  const auto own = mapping.name_out(space);
  if (!own || !mapping.owns_name(space))
    return fail(Code::forbidden, "the review is about an object outside of the tenant");
  return std::string(*own);
}

tl::unexpected<Error> wrong(std::size_t index, std::string_view why) {
  return fail(Code::invalid, "the converted object at index {} is not taken: {}", index, why);
}

/// `was`: upstream's object; `own_version`: what its tenant was asked for. Upstream takes nothing
/// of the metadata but labels and annotations (webhook_converter.go).
Result<JsonValue> converted_in(const Mapping& mapping, const JsonValue& was,
                               const std::string& own_version, const JsonValue& converted,
                               std::size_t index) {
  const auto& root = custom_root();
  ZOO_TRY(const auto own_space, space_of(mapping, was));
  ZOO_TRY(const auto shown, object_out(root, mapping, own_space, was));
  if (text_of(converted.find("apiVersion")) != own_version)
    return wrong(index, "its apiVersion is not the one that was asked for");
  if (text_of(converted.find("kind")) != text_of(shown.find("kind")))
    return wrong(index, "its kind is another one");
  const auto* metadata = converted.find("metadata");
  if (metadata == nullptr || !metadata->is(JsonType::object))
    return wrong(index, "it has no metadata");
  for (const auto* member : {"name", "namespace", "uid"})
    if (text_of(metadata->find(member)) != text_of(within(shown, "metadata", member)))
      return wrong(index, fmt::format("its metadata.{} is another one", member));
  const auto before = object_in(root, mapping, own_space, shown);
  auto after = object_in(root, mapping, own_space, converted);
  if (!before) return wrong(index, before.error().message());
  if (!after) return wrong(index, after.error().message());

  const auto part = [](const JsonValue& object) {
    auto out = JsonValue::object();
    for (const auto* member : {"labels", "annotations"})
      if (const auto* value = within(object, "metadata", member)) out.set(member, *value);
    return out;
  };
  const auto* kept = was.find("metadata");
  auto whole = kept == nullptr ? JsonValue::object() : *kept;
  merge_changes(whole, part(*before), part(*after));
  after->set("metadata", std::move(whole));
  if (auto proven = prove_object(root, mapping, own_space, *after); !proven)
    return wrong(index, proven.error().message());
  return after;
}

} // namespace

Result<OutwardReview> conversion_out(const Mapping& mapping, const HookName& name,
                                     std::string_view body) {
  ZOO_TRY(auto review, parse_asked(body, k_conversion_review));
  ZOO_TRY(const auto group, defined_group(mapping, name));
  auto& request = *review.find("request");
  OutwardReview out;
  out.uid = text_of(request.find("uid"));
  const auto desired = text_of(request.find("desiredAPIVersion"));
  const auto own = mapping.api_version_out(desired);
  if (group_of(desired) != group || !own)
    return fail(Code::forbidden, "the review is about a kind outside of the tenant");
  request.set("desiredAPIVersion", JsonValue::string(*own));
  if (auto* objects = request.find("objects")) {
    for (auto& object : objects->elements) {
      if (group_of(text_of(object.find("apiVersion"))) != group)
        return fail(Code::forbidden, "the review is about a kind outside of the tenant");
      ZOO_TRY(const auto own_space, space_of(mapping, object));
      ZOO_TRY(object, object_out(custom_root(), mapping, own_space, object));
    }
  }
  constexpr std::array<std::string_view, 3> k_known = {"uid", "desiredAPIVersion", "objects"};
  std::erase_if(request.members, [&k_known](const auto& member) {
    return member.first != k_known[0] && member.first != k_known[1] && member.first != k_known[2];
  });
  out.body = review.written();
  return out;
}

Result<std::string> conversion_in(const Mapping& mapping, const HookName& name,
                                  std::string_view asked, std::string_view answer) {
  ZOO_TRY(const auto review, parse_asked(asked, k_conversion_review));
  ZOO_TRY(const auto group, defined_group(mapping, name));
  ZOO_TRY(const auto answered, parse_answered(answer, k_conversion_review, review));
  const auto& given = *answered.find("response");
  auto response = JsonValue::object();
  auto& result = response.child("result");
  const auto status = text_of(within(given, "result", "status"));
  if (status != "Success") {
    result.set("status", JsonValue::string("Failure"));
    const auto message = text_of(within(given, "result", "message"));
    result.set("message",
               JsonValue::string(message.empty() ? fmt::format("response.result.status was {}, not "
                                                               "Success",
                                                               json_quote(cut_text(status, 64)))
                                                 : cut_text(message, k_longest_review_text)));
    return review_answer(k_conversion_review, review, std::move(response));
  }
  result.set("status", JsonValue::string("Success"));
  const auto& request = *review.find("request");
  const auto desired = text_of(request.find("desiredAPIVersion"));
  const auto own = mapping.api_version_out(desired);
  if (group_of(desired) != group || !own)
    return fail(Code::forbidden, "the review is about a kind outside of the tenant");
  const JsonValue none;
  const auto* sent = request.find("objects");
  const auto* got = given.find("convertedObjects");
  const auto& were = sent == nullptr ? none : *sent;
  const auto& are = got == nullptr ? none : *got;
  if (were.elements.size() != are.elements.size())
    return fail(Code::invalid, "the webhook returned {} objects, expected {}", are.elements.size(),
                were.elements.size());
  JsonValue list;
  list.type = JsonType::array;
  for (std::size_t i = 0; i < were.elements.size(); ++i) {
    ZOO_TRY(auto object, converted_in(mapping, were.elements[i], *own, are.elements[i], i));
    list.elements.push_back(std::move(object));
  }
  response.set("convertedObjects", std::move(list));
  return review_answer(k_conversion_review, review, std::move(response));
}

} // namespace zoo::translate
