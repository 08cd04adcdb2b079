// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/kubelet_request.hpp"

#include "common/base/text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace zoo::clusters {
namespace {

using What = KubeletRequest::What;

constexpr std::size_t k_most_label = 63, k_most_subdomain = 253, k_most_uid = 64;

bool lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

/// A DNS label (RFC 1123), or several with dots between them.
bool is_dns_name(std::string_view name, bool dots, std::size_t most) {
  if (name.empty() || name.size() > most) return false;
  char before = '.';
  for (const char c : name) {
    const bool separates = c == '-' || (dots && c == '.');
    if (!lower_or_digit(c) && !separates) return false;
    if (!lower_or_digit(before) && (c == '.' || before == '.') && !lower_or_digit(c)) return false;
    before = c;
  }
  return lower_or_digit(name.front()) && lower_or_digit(name.back());
}

bool is_uid(std::string_view uid) {
  return !uid.empty() && uid.size() <= k_most_uid &&
         std::all_of(uid.begin(), uid.end(), [](char c) {
           return lower_or_digit(c) || (c >= 'A' && c <= 'F') || c == '-';
         });
}

/// Names of parameters: of the kubelet, and of the API server. "" where it is the same.
using Words = std::vector<std::pair<std::string_view, std::string_view>>;
const Words& words_of(What what) {
  static const Words logs = {{"follow", ""},    {"previous", ""},     {"timestamps", ""},
                             {"sinceTime", ""}, {"sinceSeconds", ""}, {"tailLines", ""},
                             {"stream", ""},    {"limitBytes", ""}};
  // k8s.io/kubelet/pkg/cri/streaming/remotecommand and k8s.io/api core/v1 PodExecOptions.
  static const Words streams = {
      {"input", "stdin"}, {"output", "stdout"}, {"error", "stderr"}, {"tty", ""}, {"command", ""}};
  static const Words ports = {{"port", "ports"}};
  return what == What::logs ? logs : what == What::port_forward ? ports : streams;
}

bool is_switch(std::string_view word) {
  return word == "stdin" || word == "stdout" || word == "stderr" || word == "tty";
}

translate::Params api_params(What what, const translate::Params& given) {
  translate::Params out;
  for (const auto& [key, value] : given) {
    const auto& words = words_of(what);
    const auto word = std::find_if(words.begin(), words.end(),
                                   [&key](const auto& each) { return each.first == key; });
    if (word == words.end()) continue;
    const std::string name(word->second.empty() ? word->first : word->second);
    // The kubelet takes 1 for true; other values are left to whoever reads them.
    out.push_back({name, is_switch(name) && value == "1" ? "true" : value});
  }
  return out;
}

tl::unexpected<Error> not_served(std::string_view path) {
  return fail(Code::not_found, "{} is not served by the kubelets of a virtual cluster",
              path.substr(0, path.find('/', 1)));
}

Result<void> read_pod(KubeletRequest& out, const std::vector<std::string_view>& parts) {
  const bool has_container = out.what != What::port_forward;
  const bool may_have_uid = out.what != What::logs;
  const std::size_t least = has_container ? 4 : 3; // with the first word
  const bool has_uid = may_have_uid && parts.size() == least + 1;
  if (parts.size() != least && !has_uid)
    return fail(Code::bad_request, "the path names no pod{}",
                has_container ? " and container" : "");
  out.name_space = parts[1];
  out.pod = parts[2];
  if (has_uid) out.uid = parts[3];
  if (has_container) out.container = parts.back();
  if (!is_dns_name(out.name_space, false, k_most_label) ||
      !is_dns_name(out.pod, true, k_most_subdomain) ||
      (has_container && !is_dns_name(out.container, false, k_most_label)) ||
      (has_uid && !is_uid(out.uid)))
    return fail(Code::bad_request, "the path has a name that no namespace, pod or container has");
  return {};
}

} // namespace

Result<KubeletRequest> parse_kubelet_request(std::string_view method, std::string_view target) {
  struct Path {
    std::string_view first;
    What what;
  };
  static constexpr std::array<Path, 4> k_of_pods = {{{"containerLogs", What::logs},
                                                     {"exec", What::exec},
                                                     {"attach", What::attach},
                                                     {"portForward", What::port_forward}}};
  static constexpr std::array<Path, 3> k_whole = {
      {{"/pods", What::pods}, {"/runningpods", What::running_pods}, {"/healthz", What::health}}};
  const auto path = target.substr(0, target.find('?'));
  const auto query = path.size() == target.size() ? "" : target.substr(path.size() + 1);
  ZOO_TRY(const auto params, translate::parse_query(query));
  KubeletRequest out;
  auto slashed = path;
  if (slashed.size() > 1 && slashed.ends_with('/')) slashed.remove_suffix(1);
  for (const auto& each : k_whole) {
    if (slashed != each.first) continue;
    if (method != "GET") return fail(Code::bad_request, "{} is asked for with GET", each.first);
    out.what = each.what;
    return out;
  }
  if (!path.starts_with('/')) return not_served(path);
  const auto parts = text::split(path.substr(1), '/');
  const auto found = std::find_if(k_of_pods.begin(), k_of_pods.end(), [&parts](const auto& each) {
    return each.first == parts.front();
  });
  if (found == k_of_pods.end()) return not_served(path);
  out.what = found->what;
  if (method != "GET" && (method != "POST" || out.what == What::logs))
    return fail(Code::bad_request, "{} is not asked for with {}", found->first, method);
  ZOO_TRY_VOID(read_pod(out, parts));
  out.params = api_params(out.what, params);
  return out;
}

std::string pod_path(std::string_view name_space, std::string_view pod) {
  return fmt::format("/api/v1/namespaces/{}/pods/{}", name_space, pod);
}

std::string api_target(const KubeletRequest& request) {
  static constexpr std::array<std::string_view, 4> k_words = {"log", "exec", "attach",
                                                              "portforward"};
  auto params = request.params;
  if (!request.container.empty()) translate::set_param(params, "container", request.container);
  auto out = fmt::format("{}/{}", pod_path(request.name_space, request.pod),
                         k_words.at(static_cast<std::size_t>(request.what)));
  if (!params.empty()) out += "?" + translate::serialize_query(params);
  return out;
}

} // namespace zoo::clusters
