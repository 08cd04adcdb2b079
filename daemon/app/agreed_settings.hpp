// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/config/config.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

/// Settings that zoods with one store are to have alike, since a tenant meets any of them: quota,
/// guards, what is shared, tenants' certificates, limits of requests, and the advertised address.
/// Each tells the others in its session (Replica::info) which values it has, as digests. Pure.
namespace zoo::app {

/// {"quota.namespaces": "1f3870be", ...}: those that are no defaults. A digest is there to be
/// compared, and keeps nothing secret.
nlohmann::json agreed_settings(const config::Values& values);

/// The keys of which two zoods have different values, in alphabetical order. Empty where one of
/// them tells none, as zoods of before do not.
std::vector<std::string> differing_settings(const nlohmann::json& own, const nlohmann::json& other);

} // namespace zoo::app
