// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/kube/status.hpp"
#include "daemon/translate/known_words.hpp"
#include "daemon/translate/mapping.hpp"

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// metav1.Status documents: upstream's outward, and our own refusals in Kubernetes' wording
/// (k8s.io/apimachinery pkg/api/errors/errors.go). Values without state, any thread.
namespace zoo::translate {

struct Misnamed;

/// What the rewriting of a Status needs to know of the request.
struct StatusContext {
  /// Who asked, as the tenant knows him: stands where upstream names `zoo:<id>`.
  std::string_view user;
  /// The resource of the request; for a ClusterRoleBinding the answer speaks of a RoleBinding.
  std::string_view group, resource;
  /// Seals a `metadata.continue` of a 410; without it (or if it answers "") the token is dropped.
  std::function<std::string(std::string_view)> seal_continue;
  /// The name of the object, as the tenant gave it; "" where it is not known.
  std::string_view name;
  /// What the tenant sent: the target of its request and its body, in its own names. They tell
  /// which words of an answer are its own (known_words.hpp).
  std::array<std::string_view, 2> request{};
  /// The request is about an object that cannot be called so; null: it is not.
  const Misnamed* misnamed = nullptr;
};

/// The words of a request, for the texts that answer it. The context and its request outlive it.
class RequestWords final : public WordSource {
public:
  RequestWords(const Mapping& mapping, const StatusContext& context)
      : mapping_(mapping), context_(context) {}
  KnownWords& words() override;

private:
  const Mapping& mapping_;
  const StatusContext& context_;
  std::optional<KnownWords> words_;
};

/// Upstream's Status in the tenant's words: message, details.name (by kind), details.group,
/// causes[].message and .field, metadata.continue. reason, code, uid and everything unknown stay.
/// A body that is no Status is replaced by one that says so, and of a Status whose end is missing
/// the message stays, as far as it came; never fails.
std::string status_out(const Mapping& mapping, const StatusContext& context,
                       std::string_view document, int http_status);

/// Text for people in the tenant's words: text_out() and what RBAC's storage adds (zoo:crb:,
/// zoo:inert:<id>:, the user `zoo:<id>`). `words`: of this context; null: they are read anew.
std::string message_out(const Mapping& mapping, const StatusContext& context,
                        std::string_view message, RequestWords* words = nullptr);

/// A Status of ours. `kube::status_json` with the details that Kubernetes gives.
std::string make_status(Code code, std::string_view message,
                        const kube::StatusDetails& details = {});
/// `pods "x" not found`
std::string not_found_status(std::string_view group, std::string_view resource,
                             std::string_view name);
/// `pods "x" is forbidden: <reason>`; without a name `pods is forbidden: <reason>`
std::string forbidden_status(std::string_view group, std::string_view resource,
                             std::string_view name, std::string_view reason);
/// `User "jane" cannot list resource "pods" in API group "" in the namespace "default"`: the
/// reason that the API server gives where no rule allows a request.
std::string denied_reason(std::string_view user, std::string_view verb, std::string_view group,
                          std::string_view resource, std::string_view subresource,
                          std::string_view name_space);
/// `forbidden: User "jane" cannot get path "/metrics"`
std::string forbidden_path_status(std::string_view user, std::string_view verb,
                                  std::string_view path);
/// `namespaces "x" already exists`
std::string exists_status(std::string_view group, std::string_view resource, std::string_view name);
/// `Operation cannot be fulfilled on pods "x": <reason>`
std::string conflict_status(std::string_view group, std::string_view resource,
                            std::string_view name, std::string_view reason);
/// `Pod "x" is invalid: <causes>`; kind with its group as Kubernetes writes it
std::string invalid_status(std::string_view group, std::string_view kind, std::string_view name,
                           const std::vector<kube::StatusCause>& causes);
/// The refusals for a method that means nothing here, and for a resource or path that is not
/// served.
tl::unexpected<Error> not_allowed();
tl::unexpected<Error> no_resource();
/// 410: the continue token is too old, or from another list.
std::string expired_status();
/// 429 with details.retryAfterSeconds.
std::string too_many_requests_status(int retry_after_seconds);

/// Any Error of ours as a Status about this resource: adds details where the code has them.
std::string error_status(const Error& error, std::string_view group, std::string_view resource,
                         std::string_view name);

} // namespace zoo::translate
