// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/headers.hpp"

#include "common/base/text.hpp"
#include "daemon/translate/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

namespace zoo::translate {
namespace {

using text::iequals;

constexpr std::string_view k_trace = "traceparent";
constexpr std::array<std::string_view, 3> k_request = {"user-agent", "content-type", k_trace};
constexpr std::array<std::string_view, 6> k_handshake = {"upgrade",
                                                         "sec-websocket-key",
                                                         "sec-websocket-version",
                                                         "sec-websocket-protocol",
                                                         "x-stream-protocol-version",
                                                         "origin"};
constexpr std::array<std::string_view, 7> k_answer = {
    "content-type", "audit-id", "cache-control",         "retry-after",
    "vary",         "date",     "x-content-type-options"};
constexpr std::array<std::string_view, 4> k_handshake_answer = {
    "upgrade", "sec-websocket-accept", "sec-websocket-protocol", "x-stream-protocol-version"};
constexpr std::array<std::string_view, 10> k_hop = {
    "connection", "keep-alive", "proxy-connection",   "transfer-encoding",   "te",
    "trailer",    "upgrade",    "proxy-authenticate", "proxy-authorization", "content-length"};
/// What is set here, what nobody here could undo, and who somebody says to be, or to speak for.
constexpr std::array<std::string_view, 10> k_ours = {
    "forwarded",     "x-real-ip", "accept", "accept-encoding",          "audit-id",
    "authorization", "expect",    "host",   "sec-websocket-extensions", "sec-websocket-protocol"};
constexpr std::array<std::string_view, 3> k_ours_begin = {"impersonate-", "x-forwarded-",
                                                          "x-remote-"};
constexpr std::string_view k_json = "application/json";
constexpr std::string_view k_bearer = "base64url.bearer.authorization.k8s.io.";

std::optional<std::size_t> place_in(std::span<const std::string_view> list, std::string_view name) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (iequals(list[i], name)) return i;
  }
  return std::nullopt;
}

bool kept_back(std::string_view name) {
  return place_in(k_ours, name) ||
         std::any_of(k_ours_begin.begin(), k_ours_begin.end(), [&](std::string_view begin) {
           return iequals(name.substr(0, begin.size()), begin);
         });
}

bool among(const std::vector<std::string>& names, std::string_view name) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& each) { return iequals(each, name); });
}

/// Every name that a Connection field with this value nominates.
void nominate(std::string_view value, std::vector<std::string>& out) {
  for (const auto part : text::split(value, ','))
    out.emplace_back(text::trim(part));
}

/// One media range of an Accept or Content-Type field.
struct Media {
  std::string type; ///< lower case, without parameters
  std::vector<std::pair<std::string, std::string>> params;
  double q = 1;
  std::string param(std::string_view name) const {
    for (const auto& [key, value] : params) {
      if (key == name) return value;
    }
    return "";
  }
};

Media parse_media(std::string_view clause) {
  Media out;
  const auto parts = text::split(clause, ';');
  out.type = text::lower(text::trim(parts.front()));
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto equals = parts[i].find('=');
    const auto key = text::lower(text::trim(parts[i].substr(0, equals)));
    auto value = equals == std::string_view::npos ? std::string_view()
                                                  : text::trim(parts[i].substr(equals + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    if (key == "q") {
      double q = 0;
      const auto parsed = std::from_chars(value.data(), value.data() + value.size(), q);
      out.q = parsed.ec == std::errc() && q >= 0 && q <= 1 ? q : 0;
    } else {
      out.params.emplace_back(key, value);
    }
  }
  return out;
}

bool json_range(std::string_view type) {
  return type == "application/json" || type == "application/*" || type == "*/*";
}

constexpr std::string_view k_table_accept = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// The answer for one clause of Accept, false if zood cannot serve it.
bool serve(const Media& media, bool discovery, Negotiated& out) {
  if (!json_range(media.type)) return false;
  const auto as = media.param("as");
  const auto version = media.param("v");
  const auto group = media.param("g");
  const auto stream = media.param("stream");
  if (!stream.empty() && stream != "watch") return false;
  if (!media.param("sv").empty()) return false;
  out.content_type = "application/json";
  out.upstream_accept = "application/json";
  if (as.empty()) {
    out.representation = Representation::object;
    return version.empty() && group.empty();
  }
  if (discovery) {
    if (as != "APIGroupDiscoveryList" || group != "apidiscovery.k8s.io" || version != "v2")
      return false;
    out.representation = Representation::aggregated;
    out.content_type = out.upstream_accept = k_aggregated_accept;
    return true;
  }
  if (group != "meta.k8s.io" || version != "v1") return false;
  if (as == "Table") {
    out.representation = Representation::table;
    out.upstream_accept = k_table_accept;
  } else if (as == "PartialObjectMetadata") {
    out.representation = Representation::partial;
    out.upstream_accept = k_partial_accept;
  } else if (as == "PartialObjectMetadataList") {
    out.representation = Representation::partial_list;
    out.upstream_accept = k_partial_list_accept;
  } else {
    return false;
  }
  return true;
}

} // namespace

Subprotocols split_subprotocols(std::string_view value) {
  Subprotocols out;
  for (const auto raw : text::split(value, ',')) {
    const auto part = text::trim(raw);
    if (part.empty()) continue;
    if (part.starts_with(k_bearer)) {
      if (out.bearer.empty()) out.bearer = part.substr(k_bearer.size());
      continue;
    }
    if (!out.offered.empty()) out.offered += ", ";
    out.offered += part;
  }
  return out;
}

std::string_view trace_id_of(std::string_view traceparent) {
  constexpr std::size_t k_id = 3, k_id_size = 32, k_parent = 36, k_parent_size = 16, k_flags = 53,
                        k_size = 55;
  const auto hex = [&](std::size_t at, std::size_t size) {
    const auto part = traceparent.substr(at, size);
    return part.find_first_not_of("0123456789abcdef") == part.npos;
  };
  const auto zero = [&](std::size_t at, std::size_t size) {
    return traceparent.substr(at, size).find_first_not_of('0') == std::string_view::npos;
  };
  if (traceparent.size() < k_size || traceparent[2] != '-' || traceparent[k_parent - 1] != '-' ||
      traceparent[k_flags - 1] != '-')
    return {};
  const auto version = traceparent.substr(0, 2);
  const bool longer = traceparent.size() > k_size; // later versions may append to it
  if (!hex(0, 2) || version == "ff" || (longer && (version == "00" || traceparent[k_size] != '-')))
    return {};
  if (!hex(k_id, k_id_size) || zero(k_id, k_id_size) || !hex(k_parent, k_parent_size) ||
      zero(k_parent, k_parent_size) || !hex(k_flags, 2))
    return {};
  return traceparent.substr(k_id, k_id_size);
}

RequestHeaders::RequestHeaders(bool upgrade, bool proxied,
                               const std::vector<std::string_view>& connection)
    : upgrade_(upgrade), proxied_(proxied) {
  for (const auto value : connection)
    nominate(value, nominated_);
}

std::optional<std::string_view> RequestHeaders::passes(std::string_view name,
                                                       std::string_view value) {
  auto place = place_in(k_request, name);
  if (!place && upgrade_) {
    place = place_in(k_handshake, name);
    if (place) *place += k_request.size();
  }
  if (text::has_control(value)) return std::nullopt;
  if (!place) {
    if (!proxied_ || place_in(k_hop, name) || kept_back(name) || among(nominated_, name))
      return std::nullopt;
    return value;
  }
  if (!nominated_.empty() && !iequals(name, "upgrade") && among(nominated_, name))
    return std::nullopt;
  constexpr std::size_t k_longest_trace = 256; // a later version's
  if (iequals(name, k_trace) && (value.size() > k_longest_trace || trace_id_of(value).empty()))
    return std::nullopt;
  // Subprotocols may be spread over several fields.
  const bool many =
      iequals(name, "sec-websocket-protocol") || iequals(name, "x-stream-protocol-version");
  const auto bit = 1U << *place;
  if ((seen_ & bit) != 0 && !many) return std::nullopt;
  if (iequals(name, "sec-websocket-protocol")) {
    offered_ = split_subprotocols(value).offered;
    if (offered_.empty()) return std::nullopt;
    value = offered_;
  }
  seen_ |= bit;
  return value;
}

AnswerHeaders::AnswerHeaders(const Mapping& mapping, AnswerKind kind,
                             const std::vector<std::string_view>& connection, WordSource* words)
    : mapping_(mapping), kind_(kind), words_(words) {
  if (kind != AnswerKind::proxied) return; // the other lists say what passes
  for (const auto value : connection)
    nominate(value, nominated_);
}

std::optional<std::string_view> AnswerHeaders::passes(std::string_view name,
                                                      std::string_view value) {
  if (iequals(name, "warning")) {
    if (text::has_control(value)) return std::nullopt;
    rewritten_ = text_out(mapping_, value, words_);
    return rewritten_;
  }
  const bool wanted = kind_ == AnswerKind::proxied
                          ? !place_in(k_hop, name) && !among(nominated_, name)
                          : place_in(k_answer, name) || (kind_ == AnswerKind::upgrade &&
                                                         place_in(k_handshake_answer, name));
  if (!wanted || text::has_control(value)) return std::nullopt;
  return value;
}

Result<Negotiated> choose_accept(std::string_view accept, std::string_view include_object,
                                 bool discovery) {
  Negotiated out;
  if (include_object.empty() || include_object == "Metadata") {
    out.include = IncludeObject::metadata;
  } else if (include_object == "None") {
    out.include = IncludeObject::none;
  } else if (include_object == "Object") {
    out.include = IncludeObject::object;
  } else {
    return fail(Code::bad_request,
                "includeObject: Invalid value: \"{}\": must be 'Metadata', 'Object', 'None', or "
                "empty",
                include_object);
  }
  if (accept.empty() || accept == k_json || accept == "application/json, */*") { // as clients do
    out.content_type = out.upstream_accept = k_json;
    return out;
  }
  std::vector<Media> clauses;
  for (const auto clause : text::split(accept, ',')) {
    if (!text::trim(clause).empty()) clauses.push_back(parse_media(clause));
  }
  if (clauses.empty()) clauses.push_back(parse_media("application/json"));
  std::stable_sort(clauses.begin(), clauses.end(),
                   [](const Media& a, const Media& b) { return a.q > b.q; });
  bool protobuf = false;
  for (auto clause : clauses) {
    protobuf = protobuf || (clause.q > 0 && clause.type == k_protobuf && clause.params.empty());
    const bool yaml = clause.type == "application/yaml" && clause.param("stream").empty();
    if (yaml) clause.type = "application/json";
    if (clause.q > 0 && serve(clause, discovery, out)) {
      out.yaml = yaml;
      out.protobuf_first = protobuf && out.representation == Representation::object;
      return out;
    }
  }
  for (auto clause : clauses) {
    // Tables have no protobuf, and discovery is asked for in JSON as well.
    if (clause.q <= 0 || clause.type != k_protobuf || discovery || clause.param("as") == "Table")
      continue;
    clause.type = "application/json";
    out.protobuf = serve(clause, discovery, out);
    out.protobuf_first = protobuf && out.representation == Representation::object;
    if (out.protobuf) return out;
  }
  return fail(
      Code::not_acceptable,
      "only the following media types are accepted: application/json, "
      "application/json;stream=watch, application/vnd.kubernetes.protobuf, "
      "application/vnd.kubernetes.protobuf;stream=watch, application/yaml (CBOR is not served "
      "here: add application/json to Accept)");
}

bool wants_yaml(std::string_view accept) {
  if (accept.find("yaml") == std::string_view::npos) return false;
  const auto wanted = choose_accept(accept, "");
  return wanted && wanted->yaml;
}

std::string_view upstream_include(IncludeObject include) {
  return include == IncludeObject::object ? "Object" : "Metadata";
}

Result<BodyFormat> choose_body(std::string_view verb, std::string_view content_type) {
  const auto type = parse_media(content_type).type;
  if (verb == "patch") {
    if (type == "application/json-patch+json") return BodyFormat::json_patch;
    if (type == "application/merge-patch+json") return BodyFormat::merge_patch;
    if (type == "application/strategic-merge-patch+json") return BodyFormat::strategic_patch;
    if (type == "application/apply-patch+yaml") return BodyFormat::apply_patch;
    return fail(Code::unsupported_media_type,
                "the body of the request was in an unknown format - accepted media types include: "
                "application/json-patch+json, application/merge-patch+json, "
                "application/apply-patch+yaml, application/strategic-merge-patch+json");
  }
  if (type.empty() || type == "application/json") return BodyFormat::json;
  if (type == "application/yaml") return BodyFormat::yaml;
  return fail(Code::unsupported_media_type,
              "the body of the request was in an unknown format - accepted media types include: "
              "application/json, application/yaml");
}

std::string_view upstream_content_type(BodyFormat format) {
  switch (format) {
  case BodyFormat::json_patch:
    return "application/json-patch+json";
  case BodyFormat::merge_patch:
    return "application/merge-patch+json";
  case BodyFormat::strategic_patch:
    return "application/strategic-merge-patch+json";
  case BodyFormat::apply_patch:
    return "application/apply-patch+yaml";
  case BodyFormat::json:
  case BodyFormat::yaml:
    break;
  }
  return "application/json";
}

} // namespace zoo::translate
