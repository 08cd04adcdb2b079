// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// What a plain scalar means by the rules of goyaml.v2 (its resolve.go): for this folder only.
namespace zoo::kube {

struct Scalar {
  enum class Kind { null, boolean, integer, decimal, not_finite, merge, text };
  Kind kind = Kind::text;
  std::string json; ///< "true", "-12", "1.5": what JSON writes; empty for text and not_finite
  std::string key;  ///< as the key of a mapping (sigs.k8s.io/yaml); empty: cannot be one
};

Scalar resolve_plain(std::string_view text);

/// Some reader of YAML 1.1 or 1.2 could take the plain text for something else than itself.
bool reads_as_other(std::string_view text);

} // namespace zoo::kube
