// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/upstream/upstream_rbac.hpp"

#include <string>
#include <string_view>
#include <vector>

/// The objects that accounts and spaces need upstream, beside those of upstream_rbac.hpp: the kinds
/// of config.kiosk.sh, roles, and policies. They stand as YAML in daemon/upstream/accounts; the
/// bootstrap installs them when `accounts.enabled` is set, doctor examines them,
/// `zood --print-upstream-accounts` prints them, packaging/upstream-accounts.yaml is that print.
/// common/api/account_objects.hpp lists the same objects for their removal. Pure.
namespace zoo::upstream {

/// Every object of this group carries this label, "true". What has the name of one of them and not
/// the label is somebody else's.
inline constexpr std::string_view k_managed_label = "zoo.kubezoo.io/managed";

/// In the order in which they are to be installed. With `self_service` (accounts.self_service) the
/// last one is self_service_manifest().
const std::vector<Manifest>& account_manifests(bool self_service);
/// Binds kiosk-edit to all users.
const Manifest& self_service_manifest();

/// All of account_manifests(false) as one YAML stream for `kubectl apply --server-side -f`.
std::string account_manifests_yaml();

/// The texts, several documents each. Made from the files.
std::vector<std::string_view> account_manifest_texts();
std::string_view self_service_text();

} // namespace zoo::upstream
