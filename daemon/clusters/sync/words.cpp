// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/words.hpp"

#include "common/kube/json_reads.hpp"
#include "daemon/translate/rewrite.hpp"
#include "daemon/translate/text.hpp"

namespace zoo::clusters::sync {
namespace {

using nlohmann::json;
using translate::Direction;
using translate::RewriteContext;

} // namespace

Result<json> object_in(const translate::Mapping& mapping, std::string_view group,
                       std::string_view kind, const json& object) {
  const auto& root = translate::root_of(group, kind);
  const auto space = kube::text_at(object, "/metadata/namespace");
  const auto text = kube::text_of(object);
  std::string out, none;
  RewriteContext inward{mapping, Direction::inward, space};
  ZOO_TRY_VOID(translate::rewrite(root, inward, text, out));
  RewriteContext proof{mapping, Direction::prove, space};
  ZOO_TRY_VOID(translate::rewrite(root, proof, out, none));
  return json::parse(out);
}

Result<json> object_out(const translate::Mapping& mapping, std::string_view group,
                        std::string_view kind, std::string_view object) {
  std::string out;
  RewriteContext outward{mapping, Direction::outward, {}};
  ZOO_TRY_VOID(translate::rewrite(translate::root_of(group, kind), outward, object, out));
  return json::parse(out);
}

Result<json> pod_in(const translate::Mapping& mapping, const json& pod) {
  return object_in(mapping, "", "Pod", pod);
}

Result<json> pod_in(const translate::Mapping& mapping, const Dressed& dressed) {
  ZOO_TRY(auto out, pod_in(mapping, dressed.pod));
  out["metadata"]["annotations"].update(dressed.annotations);
  out["metadata"]["labels"].update(dressed.labels);
  return out;
}

Result<json> pod_out(const translate::Mapping& mapping, std::string_view pod) {
  return object_out(mapping, "", "Pod", pod);
}

std::string words_out(const translate::Mapping& mapping, std::string_view text) {
  std::string out(text);
  translate::replace_all(out, mapping.prefix(), "");
  if (out.size() <= k_most_words) return out;
  // Not in the middle of a character of UTF-8.
  auto end = k_most_words;
  while (end > 0 && (static_cast<unsigned char>(out[end]) & 0xC0U) == 0x80U)
    --end;
  out.resize(end);
  return out + "...";
}

} // namespace zoo::clusters::sync
