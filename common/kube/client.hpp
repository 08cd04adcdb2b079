// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/http_client/client.hpp"
#include "common/kube/kubeconfig.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <functional>
#include <initializer_list>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zoo::kube {

/// "/api/v1/namespaces/a%2Fb": the segments percent-encoded and joined (RFC 3986 3.3).
std::string path(std::initializer_list<std::string_view> segments);
std::string percent_encode(std::string_view text); ///< all but unreserved characters

using Query = std::vector<std::pair<std::string, std::string>>;
std::string with_query(std::string_view path, const Query& query);

struct KubeClientOptions {
  http_client::Headers headers; ///< sent with every request, e.g. Impersonate-User
  std::string unix_socket;
  std::chrono::milliseconds timeout{30'000};
  /// A watch that hears nothing for so long ends with Code::timeout. Zero: it waits for ever.
  std::chrono::milliseconds silence{0};
  std::string user_agent = "zood";    ///< the version is added
  bool repeatable = false;            ///< every request: http_client::Request::repeatable
  std::size_t max_answer = 64u << 20; ///< bytes of an answer; a larger one is Code::too_large
  std::size_t page = 500;             ///< items that list() asks for at a time
  std::stop_token stop;               ///< every request: http_client::Request::stop
};

/// A blocking client of a Kubernetes API for the control plane: JSON in, JSON out. One thread at a
/// time. An answer of 4xx or 5xx is an Error with code_from_status() and the server's message;
/// causes of an Invalid answer stand in the message as the server wrote it. What the transport
/// says is passed on as it is (http_client/client.hpp); proxies of the environment are not used.
/// Paths are percent-encoded by path().
class KubeClient {
public:
  explicit KubeClient(ClusterAccess access, KubeClientOptions options = {});
  KubeClient(KubeClient&&) noexcept;
  KubeClient& operator=(KubeClient&&) noexcept;
  ~KubeClient();

  Result<nlohmann::json> get(std::string_view path, const Query& query = {});
  Result<nlohmann::json> create(std::string_view path, const nlohmann::json& object,
                                const Query& query = {});
  Result<nlohmann::json> update(std::string_view path, const nlohmann::json& object,
                                const Query& query = {});
  Result<nlohmann::json> patch(std::string_view path, std::string_view content_type,
                               const nlohmann::json& patch, const Query& query = {});
  /// Server-side apply. Conflicts are Code::conflict unless `force`.
  Result<nlohmann::json> apply(std::string_view path, const nlohmann::json& object,
                               std::string_view field_manager, bool force);
  Result<nlohmann::json> remove(std::string_view path);
  Result<nlohmann::json> remove(std::string_view path, const nlohmann::json& delete_options);

  /// Every item of a list, in pages of KubeClientOptions::page (or the query's limit); the
  /// callback's error ends it and is returned. A page that is larger than max_answer is asked for
  /// again with half as many items, which all later ones have, too. kind and apiVersion, which
  /// lists leave out of items, are not added. A page after the first answered 410 is
  /// Code::expired: begin again. Returns the list's resourceVersion.
  Result<std::string> list(std::string_view path, const Query& query,
                           const std::function<Result<void>(const nlohmann::json& item)>& each);

  /// Watch events {type, object} until the server ends the stream (no error), the callback says
  /// false or fails, or a stop. An ERROR event is the Error it carries. The query's `watch=true`
  /// is added.
  Result<void> watch(std::string_view path, const Query& query,
                     const std::function<Result<bool>(const nlohmann::json& event)>& each);

  /// Any request; an HTTP status is not an error. `accept` defaults to JSON.
  Result<http_client::Response> raw(std::string_view method, std::string_view path,
                                    std::string_view content_type, std::string body,
                                    std::string_view accept = {});

  const ClusterAccess& access() const;
  void set_header(std::string name, std::string value); ///< replaces; an empty value removes
  void add_header(std::string name, std::string value); ///< beside those of the same name

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// The Error of an answer that is not 2xx: from its Status body, else from the HTTP status.
Error error_of(const http_client::Response& response);

} // namespace zoo::kube
