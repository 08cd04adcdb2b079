// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// Answers that a codec gives by itself, before any handler exists: a metav1.Status
/// (k8s.io/apimachinery/pkg/apis/meta/v1/types.go), so that kubectl can show it.
namespace zoo::http {

/// The phrase of RFC 9110 section 15 ("Bad Request"); empty if unknown.
std::string_view status_phrase(int status);

/// What who asks in vain is told: the listener reads less and less of a client that goes on.
inline bool is_refusal(int status) { return status == 429 || status == 401; }

/// `{"kind":"Status",...,"reason":"BadRequest","code":400}`. `message` may hold any bytes.
std::string status_document(int status, std::string_view message);

} // namespace zoo::http
