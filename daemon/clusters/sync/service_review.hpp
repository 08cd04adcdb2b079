// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <string_view>

/// What a cluster's API server asks before it stores a Service, and what it is answered
/// (admission.k8s.io/v1). Pure.
namespace zoo::clusters::sync {

struct ServiceReview {
  std::string uid; ///< of the question
  bool creates = false, dry_run = false;
  /// There is nothing to ask upstream: no Service, a subresource, or one without addresses.
  bool passes = false;
  nlohmann::json object;  ///< the Service as it is to be stored, with its namespace
  std::string given_name; ///< one that the API server would have made up of generateName; ""
};

/// `random`: so many letters that a made-up name ends with. Code::bad_request: it is no question
/// about a Service.
Result<ServiceReview> read_review(std::string_view body,
                                  const std::function<std::string(std::size_t)>& random);

/// Has it addresses or ports that somebody gives out?
bool takes_addresses(const nlohmann::json& service);

/// What of upstream's Service the cluster's is to have: a JSON patch of it. Empty: nothing.
nlohmann::json allocation_patch(const ServiceReview& review, const nlohmann::json& upstream);

/// The answers. `warning`: for whoever sent the Service; "" is none.
std::string review_passed(std::string_view uid, const nlohmann::json& patch,
                          const std::string& warning);
std::string review_refused(std::string_view uid, const Error& why);

/// Bytes of a question: two Services, old and new, each as large as etcd takes them.
inline constexpr std::size_t k_most_review = std::size_t{4} << 20;

} // namespace zoo::clusters::sync
