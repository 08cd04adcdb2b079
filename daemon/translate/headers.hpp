// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/mapping.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Header fields across the proxy, one by one, and content negotiation. Allow-lists in
/// both directions: what is not named here does not pass. Values without state, any thread.
namespace zoo::translate {

class WordSource;

/// The trace-id of a traceparent field (W3C Trace Context, section 3.2): 32 lower-case hexadecimal
/// digits; "" if the value is not one.
std::string_view trace_id_of(std::string_view traceparent);

/// What goes upstream from a tenant's request: User-Agent, Content-Type, a traceparent that is one,
/// and, with `upgrade`, the fields of the handshake without any credential in them. Of one that a
/// tenant's own service answers (`proxied`) all that is not kept back, as apiserver has it
/// (apimachinery/pkg/util/proxy/upgradeaware.go). Accept, Authorization, Host, impersonation and
/// lengths are set by whoever sends; Authorization, Impersonate-*, X-Remote-*, X-Forwarded-* and
/// everything a Connection field names never pass. Fields whose value has a control character are
/// dropped. Of what may stand once, the first counts.
class RequestHeaders {
public:
  /// `connection`: the values of all fields of that name.
  RequestHeaders(bool upgrade, bool proxied, const std::vector<std::string_view>& connection);

  /// The value that goes upstream, until the next call; none: this field does not pass. Asked of
  /// each field once, in order.
  std::optional<std::string_view> passes(std::string_view name, std::string_view value);

private:
  const bool upgrade_, proxied_;
  std::vector<std::string> nominated_;
  std::string offered_;    ///< what is left of a value
  std::uint32_t seen_ = 0; ///< a bit for each name of the allow-lists
};

/// `base64url.bearer.authorization.k8s.io.<token>` is a credential in the list of subprotocols:
/// the list without it ("" if nothing is left), and the token as written ("" if there is none).
struct Subprotocols {
  std::string offered, bearer;
};
Subprotocols split_subprotocols(std::string_view value);

/// What kind of answer the headers belong to.
enum class AnswerKind : std::uint8_t {
  api,     ///< made by the API server: allow-list, Warning rewritten
  proxied, ///< made by a tenant's own service: all but hop-by-hop fields
  upgrade, ///< 101: the handshake too
};
/// What comes back. Lengths, codings, ETags and upstream's flow-schema UIDs are not passed.
class AnswerHeaders {
public:
  /// `connection`: the values of all fields of that name. `words`: of the request, for Warnings;
  /// null: nothing is known of it. It outlives this.
  AnswerHeaders(const Mapping& mapping, AnswerKind kind,
                const std::vector<std::string_view>& connection, WordSource* words = nullptr);

  /// The value that comes back, until the next call; none: this field does not. A Warning's becomes
  /// the tenant's; every other is `value` itself. (A Location: see link_out() of page_links.hpp.)
  std::optional<std::string_view> passes(std::string_view name, std::string_view value);

private:
  const Mapping& mapping_;
  const AnswerKind kind_;
  WordSource* const words_;
  std::vector<std::string> nominated_;
  std::string rewritten_;
};

/// The media type of Kubernetes' protobuf.
inline constexpr std::string_view k_protobuf = "application/vnd.kubernetes.protobuf";

/// How objects of an answer are rendered; the same for lists and watches.
enum class Representation : std::uint8_t {
  object,
  table,
  partial,      ///< PartialObjectMetadata
  partial_list, ///< PartialObjectMetadataList
  aggregated,   ///< APIGroupDiscoveryList, on /api and /apis only
};
enum class IncludeObject : std::uint8_t { metadata, none, object };

/// A text of the program's own: nothing that could go can be made one.
class Constant {
public:
  constexpr Constant() = default;
  consteval Constant(std::string_view text) : text_(text) {}
  consteval Constant(const char* text) : text_(text) {}
  constexpr std::string_view view() const { return text_; }
  constexpr operator std::string_view() const { return text_; }

private:
  std::string_view text_;
};

/// What a client is answered with, and what upstream is asked for instead.
struct Negotiated {
  Representation representation = Representation::object;
  IncludeObject include = IncludeObject::metadata; ///< of a Table: what the client wants
  Constant upstream_accept;                        ///< JSON always
  Constant content_type;                           ///< of the answer to the client
  bool protobuf = false;       ///< the client takes nothing else: JSON has to be made into it
  bool yaml = false;           ///< it comes before JSON in Accept: the same
  bool protobuf_first = false; ///< of objects and lists: rather that than what is said above
};

/// Aggregated discovery (KEP-3352).
inline constexpr std::string_view k_aggregated_accept =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
inline constexpr std::string_view k_partial_accept =
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
/// The list of what Representation::partial is one of.
inline constexpr std::string_view k_partial_list_accept =
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

/// What the client asks for. CBOR clauses are skipped, and protobuf where the client accepts JSON
/// or YAML too; Code::not_acceptable where nothing is left.
/// `include_object`: the query parameter of that name, "" if absent; Code::bad_request if unknown.
Result<Negotiated> choose_accept(std::string_view accept, std::string_view include_object,
                                 bool discovery = false);

/// Is an error told in YAML?
bool wants_yaml(std::string_view accept);

/// The includeObject to send upstream for a Table: at least Metadata, since rows are filtered by
/// it.
std::string_view upstream_include(IncludeObject include);

enum class BodyFormat : std::uint8_t {
  json,
  yaml, ///< converted to JSON before anything else
  json_patch,
  merge_patch,
  strategic_patch,
  apply_patch, ///< YAML, of which JSON is a part
};
/// The format of a request's body. Missing Content-Type: JSON; PATCH needs one.
/// Code::unsupported_media_type names what is accepted.
Result<BodyFormat> choose_body(std::string_view verb, std::string_view content_type);
/// What to send upstream for it; yaml goes as application/json.
std::string_view upstream_content_type(BodyFormat format);

} // namespace zoo::translate
