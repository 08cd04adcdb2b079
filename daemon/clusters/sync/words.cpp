// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/words.hpp"

#include "common/kube/json_reads.hpp"
#include "daemon/translate/rewrite.hpp"

namespace zoo::clusters::sync {
namespace {

using nlohmann::json;
using translate::Direction;
using translate::RewriteContext;

} // namespace

Result<json> pod_in(const translate::Mapping& mapping, const json& pod) {
  const auto& root = translate::root_of("", "Pod");
  const auto space = kube::text_at(pod, "/metadata/namespace");
  const auto text = kube::text_of(pod);
  std::string out, none;
  RewriteContext inward{mapping, Direction::inward, space};
  ZOO_TRY_VOID(translate::rewrite(root, inward, text, out));
  RewriteContext proof{mapping, Direction::prove, space};
  ZOO_TRY_VOID(translate::rewrite(root, proof, out, none));
  return json::parse(out);
}

Result<json> pod_in(const translate::Mapping& mapping, const Dressed& dressed) {
  ZOO_TRY(auto out, pod_in(mapping, dressed.pod));
  out["metadata"]["annotations"].update(dressed.annotations);
  out["metadata"]["labels"].update(dressed.labels);
  return out;
}

Result<json> pod_out(const translate::Mapping& mapping, std::string_view pod) {
  std::string out;
  RewriteContext outward{mapping, Direction::outward, {}};
  ZOO_TRY_VOID(translate::rewrite(translate::root_of("", "Pod"), outward, pod, out));
  return json::parse(out);
}

std::string words_out(const translate::Mapping& mapping, std::string_view text) {
  std::string out(text);
  const auto& prefix = mapping.prefix();
  for (auto at = out.find(prefix); at != std::string::npos; at = out.find(prefix, at))
    out.erase(at, prefix.size());
  return out;
}

} // namespace zoo::clusters::sync
