// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::admin {

/// What `fieldValidation` asks for (KEP-2885); upstream's default is Warn.
enum class FieldValidation { ignore, warn, strict };

Result<FieldValidation> field_validation(std::string_view parameter);

/// The member of an object; nullptr if it has none, or `object` is none.
const nlohmann::json* member(const nlohmann::json& object, const char* key);

/// The same of a string: "" where it is absent or null, Code::bad_request "SHOWN must be a string"
/// for anything else.
Result<std::string> text_member(const nlohmann::json& object, const char* key,
                                std::string_view shown);

/// One word each for what a Tenant's schema does not have: `unknown field "spec.foo"`, with the
/// field that was probably meant.
std::vector<std::string> unknown_fields(const nlohmann::json& tenant);

/// `words` but for those that are among `others`.
std::vector<std::string> without(std::vector<std::string> words,
                                 std::span<const std::string> others);

/// Applies the wish: strict -> Code::bad_request "strict decoding error: ..." (as upstream words
/// it); warn -> the texts for Warning headers. `stored`: of what unknown_fields() says of `tenant`,
/// what is no matter of this request: it was there before.
Result<std::vector<std::string>> judge_fields(FieldValidation wish, const nlohmann::json& tenant,
                                              std::span<const std::string> duplicates,
                                              std::span<const std::string> stored = {});

/// Takes out what a client must not store: the kubeconfig annotation (a GET carries it, and so
/// does `kubectl get -o yaml | kubectl apply -f -`), also inside kubectl's last-applied
/// annotation; metadata.managedFields and selfLink, which zood does not keep; metadata.namespace,
/// which a cluster-scoped object has not (EnsureObjectNamespaceMatchesRequestNamespace in
/// apiserver/pkg/registry/rest/meta.go clears it).
void scrub(nlohmann::json& tenant);

/// The rules of metadata.labels and annotations (k8s.io/apimachinery/pkg/util/validation).
Result<void> check_metadata(const nlohmann::json& tenant);

} // namespace zoo::admin
