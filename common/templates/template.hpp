// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/templates/parameters.hpp"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// A Template of config.kiosk.sh and the objects that it stands for. Pure; any thread.
namespace zoo::templates {

inline constexpr std::string_view k_group = "config.kiosk.sh";
inline constexpr std::string_view k_version = "v1alpha1";
/// The ClusterRole that a Template applies its objects with unless it names another one.
inline constexpr std::string_view k_default_role = "zoo:templates";

/// A key of a Secret.
struct SecretKey {
  std::string name_space, name, key;
  bool empty() const { return name.empty(); }
};

/// `resources.helm`.
struct Chart {
  std::string release; ///< the Template's name unless it says another one
  std::string name, version, repository;
  std::string oci;         ///< an address of an OCI registry, in the place of the three above
  std::string inline_data; ///< the packed chart in base64, in the place of all of them
  SecretKey username, password;
  std::string values; ///< YAML
  struct Set {
    std::string name, value;
    bool is_text = false; ///< a text, whatever it looks like
  };
  std::vector<Set> set;
};

struct Template {
  std::string name, uid, resource_version;
  std::vector<Parameter> parameters;
  nlohmann::json manifests = nlohmann::json::array();
  std::optional<Chart> chart;
  std::string role = std::string(k_default_role); ///< applyAs.clusterRole
  nlohmann::json accounts; ///< a label selector; null: every account may use it
};

/// Reads a Template as upstream stores it, or as it stands in a file. Code::invalid with the field
/// if something is not as the kind's schema says.
Result<Template> read_template(const nlohmann::json& object);

/// Does a label selector of Kubernetes (metav1.LabelSelector) choose these labels? One that is null
/// or empty chooses everything; one that cannot be understood, nothing.
bool selects(const nlohmann::json& selector, const Values& labels);

/// The manifests with their parameters replaced: not looked at any further.
Result<std::vector<nlohmann::json>> render_manifests(const Template& from, const Lookup& lookup);

/// The chart's values with their parameters replaced, as YAML (JSON). "": there are none.
Result<std::string> render_values(const Chart& chart, const Lookup& lookup);

} // namespace zoo::templates
