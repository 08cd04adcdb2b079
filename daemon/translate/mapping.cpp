// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/mapping.hpp"

#include "daemon/translate/proof.hpp"

#include <algorithm>
#include <utility>

namespace zoo::translate {
namespace {

/// `pvc-<uuid>`, the name external-provisioner gives by default.
bool provisioned(std::string_view name) {
  constexpr std::string_view k_start = "pvc-";
  if (!name.starts_with(k_start) || name.size() != k_start.size() + 36) return false;
  for (std::size_t i = 0; i < 36; ++i) {
    const char c = name[k_start.size() + i];
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? c != '-' : !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
  }
  return true;
}

/// Begins as a tenant's names do upstream.
bool has_some_prefix(std::string_view name) {
  return name.size() > 7 && name[6] == '-' &&
         std::all_of(name.begin(), name.begin() + 6,
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

} // namespace

Mapping::Mapping(std::string id, std::shared_ptr<const SharedNames> shared,
                 std::shared_ptr<const std::string> root_ca)
    : id_(std::move(id)), shared_(std::move(shared)), root_ca_(std::move(root_ca)) {
  if (id_.empty()) return;
  prefix_ = id_ + "-";
  inert_prefix_ = "zoo:inert:" + id_ + ":";
}

std::string Mapping::name_in(std::string_view name) const {
  if (name.empty()) return {};
  if (!k_proves && has_some_prefix(name)) return std::string(name);
  return prefix_ + std::string(name);
}

std::optional<std::string_view> Mapping::name_out(std::string_view name) const {
  if (name.empty() || identity()) return name;
  if (!owns_name(name)) return std::nullopt;
  return name.substr(prefix_.size());
}

bool Mapping::owns_name(std::string_view upstream_name) const {
  return upstream_name.size() > prefix_.size() && upstream_name.starts_with(prefix_);
}

bool Mapping::custom_group(std::string_view group) const {
  return !identity() && !builtin_group(group) && !shared_->groups.contains(group);
}

std::string Mapping::group_in(std::string_view group) const {
  return custom_group(group) ? prefix_ + std::string(group) : std::string(group);
}

std::optional<std::string_view> Mapping::group_out(std::string_view group) const {
  if (!custom_group(group)) return group;
  if (!owns_name(group)) return std::nullopt;
  const auto own = group.substr(prefix_.size());
  // Inward never makes these: a prefix before what needs none.
  if (!custom_group(own)) return std::nullopt;
  return own;
}

std::string Mapping::api_version_in(std::string_view api_version) const {
  const auto slash = api_version.find('/');
  if (slash == std::string_view::npos) return std::string(api_version);
  return group_in(api_version.substr(0, slash)) + std::string(api_version.substr(slash));
}

std::optional<std::string> Mapping::api_version_out(std::string_view api_version) const {
  const auto slash = api_version.find('/');
  if (slash == std::string_view::npos) return std::string(api_version);
  const auto group = group_out(api_version.substr(0, slash));
  if (!group) return std::nullopt;
  return std::string(*group) + std::string(api_version.substr(slash));
}

bool Mapping::shared_class(Overlay kind, std::string_view name) const {
  return shared_->classes[static_cast<std::size_t>(kind)].contains(name);
}

std::string Mapping::overlay_in(Overlay kind, std::string_view name) const {
  return shared_class(kind, name) ? std::string(name) : name_in(name);
}

std::optional<std::string_view> Mapping::overlay_out(Overlay kind, std::string_view name) const {
  if (identity() || name.empty() || shared_class(kind, name)) return name;
  const auto own = name_out(name);
  // A private class of a shared name: inward would not find it.
  if (own && shared_class(kind, *own)) return std::nullopt;
  return own;
}

std::string Mapping::crd_name_in(std::string_view name) const {
  const auto dot = name.find('.');
  if (dot == std::string_view::npos) return name_in(name); // no such name can exist
  return std::string(name.substr(0, dot + 1)) + group_in(name.substr(dot + 1));
}

std::optional<std::string> Mapping::crd_name_out(std::string_view name) const {
  if (name.empty() || identity()) return std::string(name);
  const auto dot = name.find('.');
  if (dot == std::string_view::npos) {
    const auto own = name_out(name);
    return own ? std::optional<std::string>(*own) : std::nullopt;
  }
  const auto group = group_out(name.substr(dot + 1));
  if (!group) return std::nullopt;
  return std::string(name.substr(0, dot + 1)) + std::string(*group);
}

std::string Mapping::volume_in(std::string_view name) const {
  return provisioned(name) ? std::string(name) : name_in(name);
}

std::optional<std::string_view> Mapping::volume_out(std::string_view name) const {
  if (provisioned(name)) return name;
  const auto own = name_out(name);
  if (own && !identity() && provisioned(*own)) return std::nullopt;
  return own;
}

std::string Mapping::signer_in(std::string_view signer) const { return name_in(signer); }

std::optional<std::string_view> Mapping::signer_out(std::string_view signer) const {
  return name_out(signer);
}

std::string Mapping::inert_in(std::string_view name) const {
  if (name.empty()) return {};
  return inert_prefix_ + std::string(name);
}

std::optional<std::string_view> Mapping::inert_out(std::string_view name) const {
  if (name.empty() || identity()) return name;
  if (name.size() <= inert_prefix_.size() || !name.starts_with(inert_prefix_)) return std::nullopt;
  return name.substr(inert_prefix_.size());
}

} // namespace zoo::translate
