// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <string>
#include <vector>

/// metav1.Status (k8s.io/apimachinery/pkg/apis/meta/v1/types.go) as JSON text, written by hand:
/// used on the data path.
namespace zoo::kube {

struct StatusCause {
  std::string reason, message, field;
};

struct StatusDetails {
  std::string name, group, kind, uid;
  std::vector<StatusCause> causes;
  int retry_after_seconds = 0;
};

/// A Failure: code and reason from the error table, message = error.message() (frames are for the
/// log, not for strangers). Empty details are left out.
std::string status_json(const Error& error, const StatusDetails& details = {});

/// A Success, as the answer to a DELETE has it.
std::string success_json(const StatusDetails& details = {});

} // namespace zoo::kube
