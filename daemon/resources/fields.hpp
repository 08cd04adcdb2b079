// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/resources/kind.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::resources {

/// What `fieldValidation` asks for (KEP-2885); upstream's default is Warn.
enum class FieldValidation { ignore, warn, strict };

Result<FieldValidation> field_validation(std::string_view parameter);

/// The member of an object; nullptr if it has none, or `object` is none.
const nlohmann::json* member(const nlohmann::json& object, const char* key);

/// The same of a string: "" where it is absent or null, Code::bad_request "SHOWN must be a string"
/// for anything else.
Result<std::string> text_member(const nlohmann::json& object, const char* key,
                                std::string_view shown);

/// One word each for what the kind's schema does not have: `unknown field "spec.foo"`, with the
/// field that was probably meant; 32 at most.
std::vector<std::string> unknown_fields(const Kind& kind, const nlohmann::json& object);

/// `words` but for those that are among `others`.
std::vector<std::string> without(std::vector<std::string> words,
                                 std::span<const std::string> others);

/// Applies the wish: strict -> Code::bad_request "strict decoding error: ..." (as upstream words
/// it); warn -> the texts for Warning headers. `stored`: of what unknown_fields() says of `object`,
/// what is no matter of this request: it was there before.
Result<std::vector<std::string>> judge_fields(const Kind& kind, FieldValidation wish,
                                              const nlohmann::json& object,
                                              std::span<const std::string> duplicates,
                                              std::span<const std::string> stored = {});

/// Takes out what a client must not store: metadata.selfLink; managedFields where the kind keeps
/// no owners; namespace where it has none (EnsureObjectNamespaceMatchesRequestNamespace in
/// apiserver/pkg/registry/rest/meta.go clears it); and what the kind's strategy says.
void scrub(const Kind& kind, nlohmann::json& object);

/// Writes what only the server changes of `live`'s metadata over that of `object`: uid, generation,
/// timestamps, generateName, selfLink, and the members named in `more`.
void keep_servers_metadata(nlohmann::json& object, const nlohmann::json& live,
                           std::initializer_list<const char*> more = {});

/// A name that nobody has yet, most probably: `start`, cut so that the whole has at most `longest`
/// characters, and five random ones.
std::string generated_name(std::string_view start, std::size_t longest);

/// Is it an object of this kind, with fields of the types that the schema says? What it leaves out
/// of apiVersion and kind is filled in, as its path says so; null is as good as nothing.
/// Code::bad_request for another kind, Code::invalid for a field.
Result<void> check_shape(const Kind& kind, nlohmann::json& object);

/// The rules of metadata.labels and annotations (k8s.io/apimachinery/pkg/util/validation).
Result<void> check_metadata(const nlohmann::json& object);

} // namespace zoo::resources
