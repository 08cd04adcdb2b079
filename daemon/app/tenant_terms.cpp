// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/tenant_terms.hpp"

#include "common/kube/json_reads.hpp"
#include "daemon/translate/json.hpp"
#include "daemon/translate/rewrite.hpp"
#include "daemon/translate/rules.hpp"
#include "daemon/translate/target.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace zoo::app {
namespace {

using nlohmann::json;

bool has_own_terms(const tenants::TenantEntry& entry) {
  return !entry.account.empty() || !entry.terms.hard.empty() || !entry.terms.templates.empty();
}

std::string group_of(std::string_view api_version) {
  const auto slash = api_version.find('/');
  return slash == std::string_view::npos ? std::string()
                                         : std::string(api_version.substr(0, slash));
}

} // namespace

std::string hard_name_in(const translate::Mapping& mapping, std::string_view name) {
  constexpr std::string_view k_count = "count/", k_class = ".storageclass.storage.k8s.io/";
  if (name.starts_with(k_count)) {
    const auto dot = name.find('.');
    if (dot == std::string_view::npos) return std::string(name);
    return std::string(name.substr(0, dot + 1)) + mapping.group_in(name.substr(dot + 1));
  }
  if (const auto at = name.find(k_class); at != std::string_view::npos)
    return mapping.overlay_in(translate::Overlay::storage_class, name.substr(0, at)) +
           std::string(name.substr(at));
  return std::string(name);
}

Result<json> template_object_in(const translate::Mapping& mapping, const json& object) {
  const auto group = group_of(kube::text_at(object, "/apiVersion"));
  const auto kind = kube::text_at(object, "/kind");
  const auto* facts = translate::find_facts_of_kind(group, kind);
  if (facts != nullptr && facts->treatment != translate::Treatment::served)
    return fail(Code::invalid, "tenants have no objects of this kind upstream");
  const auto* row = translate::find_kind(group, kind);
  if (row != nullptr && !row->namespaced)
    return fail(Code::invalid, "it would stand outside of the namespace: a template makes "
                               "namespaced objects alone");
  const auto space = kube::text_at(object, "/metadata/namespace");
  const auto text = kube::text_of(object);
  ZOO_TRY_VOID(translate::check_json(text));
  const auto& root = translate::root_of(group, kind);
  translate::RewriteContext inward{mapping, translate::Direction::inward, space};
  inward.lean = true;
  std::string out, none;
  ZOO_TRY_VOID(translate::rewrite(root, inward, text, out));
  translate::RewriteContext proof{mapping, translate::Direction::prove, space};
  proof.lean = true;
  ZOO_TRY_VOID(translate::rewrite(root, proof, out, none));
  auto stored = json::parse(out, nullptr, false);
  if (!stored.is_object()) return fail(Code::internal, "it cannot be translated");
  return stored;
}

std::optional<accounts::TenantTerms> TenantTermsSource::terms(std::string_view id) const {
  const auto entry = snapshot_()->find(id);
  if (!entry) return {};
  accounts::TenantTerms out;
  out.account = entry->account;
  out.templates = entry->terms.templates;
  if (entry->terms.hard.empty()) return out;
  const translate::Mapping mapping(entry->id, names_());
  auto hard = json::object();
  for (const auto& [name, amount] : entry->terms.hard)
    hard[hard_name_in(mapping, name)] = amount;
  out.hard = hard.dump();
  return out;
}

std::shared_ptr<const TenantTermsSource::Index> TenantTermsSource::index() const {
  auto snapshot = snapshot_();
  const std::scoped_lock lock(mutex_);
  if (index_ && index_->of == snapshot) return index_;
  auto made = std::make_shared<Index>();
  snapshot->each([&](const tenants::TenantEntry& entry) {
    if (!has_own_terms(entry)) return;
    made->concerned.push_back(entry.id);
    if (!entry.account.empty()) made->by_account[entry.account].push_back(entry.id);
  });
  made->of = std::move(snapshot);
  index_ = made;
  return made;
}

std::vector<std::string> TenantTermsSource::of_account(std::string_view account) const {
  const auto known = index();
  const auto found = known->by_account.find(account);
  return found == known->by_account.end() ? std::vector<std::string>() : found->second;
}

std::vector<std::string> TenantTermsSource::concerned() const { return index()->concerned; }

Result<json> TenantTermsSource::inward(std::string_view id, const json& object) const {
  return template_object_in(translate::Mapping(std::string(id), names_()), object);
}

} // namespace zoo::app
