// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The request-and-answer kinds of authorization.k8s.io and authentication.k8s.io that zood answers
/// itself, in the tenant's names throughout. Pure functions, any thread.
namespace zoo::translate {

enum class ReviewKind : std::uint8_t {
  self_subject_access,  ///< SelfSubjectAccessReview
  subject_access,       ///< SubjectAccessReview
  local_subject_access, ///< LocalSubjectAccessReview: in the namespace of the path
  self_subject_rules,   ///< SelfSubjectRulesReview
  self_subject,         ///< SelfSubjectReview
  token,                ///< TokenReview
};
/// By resource ("selfsubjectaccessreviews"); nullopt for others.
std::optional<ReviewKind> review_kind(std::string_view group, std::string_view resource);

/// What the question is about.
struct ReviewAttributes {
  bool resource_request = true;
  std::string verb, group, version, resource, subresource, name, name_space;
  std::string path; ///< of a non-resource request
};

using ReviewExtra = std::vector<std::pair<std::string, std::vector<std::string>>>;

struct Review {
  ReviewKind kind = ReviewKind::self_subject;
  std::optional<ReviewAttributes> attributes; ///< access reviews
  std::string name_space;                     ///< self_subject_rules
  /// Of whom the question is asked; empty for the self reviews.
  std::string user, uid;
  std::vector<std::string> groups;
  ReviewExtra extra;
  std::string token; ///< token
  std::vector<std::string> audiences;
};

/// Parses and validates as the API server (pkg/registry/authorization validation).
/// Code::bad_request for a body that is none of this kind; Code::invalid, naming the field, for
/// what is missing or contradicts: exactly one of resourceAttributes and nonResourceAttributes,
/// user or groups, the path's namespace for a local review.
Result<Review> parse_review(ReviewKind kind, std::string_view body,
                            std::string_view path_namespace);

struct ReviewDecision {
  bool allowed = false;
  bool denied = false; ///< stronger than "no rule allows it"
  std::string reason, evaluation_error;
};
/// The body of an access review with its status set; all else as the client sent it.
Result<std::string> render_decision(ReviewKind kind, std::string_view body,
                                    const ReviewDecision& decision);

struct ReviewRule {
  std::vector<std::string> verbs, groups, resources, names, paths; ///< paths: non-resource
};
Result<std::string> render_rules(std::string_view body, const std::vector<ReviewRule>& rules,
                                 bool incomplete, std::string_view evaluation_error);

struct ReviewUser {
  std::string name, uid;
  std::vector<std::string> groups;
  ReviewExtra extra;
};
/// `kubectl auth whoami`.
Result<std::string> render_self(std::string_view body, const ReviewUser& user);

/// Whose token it is, and for which of the asked audiences; or why it is nobody's.
Result<std::string> render_token(std::string_view body, const ReviewUser& user,
                                 std::string_view audience);
Result<std::string> render_no_token(std::string_view body, std::string_view error);

/// The body of a TokenRequest, made anew of the parts that upstream is to hear: the time, the
/// object that the token is bound to, and our audience. Code::bad_request for a body that is none;
/// Code::forbidden for another audience, Code::invalid for a member of the wrong type.
Result<std::string> token_request_in(std::string_view body, std::string_view account,
                                     std::string_view name_space, std::string_view audience);

} // namespace zoo::translate
