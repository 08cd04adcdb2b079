// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// kiosk's parameters: `${NAME}` stands for a value inside a text, `${{NAME}}` alone for a value of
/// any type (it is read as YAML), and `$${NAME}` for `${NAME}` itself. Pure; any thread.
/// https://github.com/loft-sh/kiosk, pkg/util/parameters
namespace zoo::templates {

/// The value of a name. Nothing: nobody knows it, and the text stays as it stands.
using Lookup = std::function<Result<std::optional<std::string>>(std::string_view name)>;

/// One text with its parameters replaced: a string, or what `${{NAME}}` stands for. Errors: those
/// of `lookup`; Code::invalid if the value of `${{NAME}}` is no YAML.
Result<nlohmann::json> substitute(std::string_view text, const Lookup& lookup);

/// Replaces parameters in every text inside `value`. Keys of objects stay as they are, so that no
/// value adds a key beside the one that it stands at.
Result<void> substitute_all(nlohmann::json& value, const Lookup& lookup);

using Values = std::map<std::string, std::string, std::less<>>;

/// One entry of a Template's `parameters`.
struct Parameter {
  std::string name;
  std::optional<std::string> value; ///< the default
  bool required = false;
  std::string validation; ///< a regular expression (RE2) that the whole value matches; "": any
};

/// The value of each declared parameter that has one: the instance's, or the default. Code::invalid
/// if an instance names a parameter that is not declared, if a required one has no value, or if a
/// value (a default, too) does not match its expression. `of`: the Template's name, for the text.
Result<Values> choose_values(const std::vector<Parameter>& declared, const Values& given,
                             std::string_view of);

/// Where an instance is: what the predefined parameters stand for.
struct Surroundings {
  std::string name_space;
  std::string account; ///< "": no account owns the namespace
  std::string tenant;  ///< "": it is no tenant's
  Values namespace_labels, namespace_annotations, account_labels, account_annotations;
};

/// Predefined names first, whatever the case of their letters: namespace, account, tenant,
/// namespace.metadata.labels.KEY, account.metadata.annotations.KEY and so on; then `values`. The
/// error (Code::invalid) is of a predefined name that has no value here. Keeps both by reference.
Lookup lookup_in(const Surroundings& surroundings, const Values& values);

} // namespace zoo::templates
