// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/rules.hpp"

#include "daemon/translate/rules_table.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

namespace zoo::translate {
namespace {

std::span<const Root> all_roots() { return {table::roots, table::root_count}; }

/// Kinds in alphabetical order, without subresources: a name is asked for with every owner
/// reference of every object.
const std::vector<const ResourceRow*>& rows_by_kind() {
  static const auto sorted = [] {
    std::vector<const ResourceRow*> out;
    for (const auto& row : resources()) {
      if (row.resource.find('/') == std::string_view::npos) out.push_back(&row);
    }
    std::sort(out.begin(), out.end(), [](const ResourceRow* a, const ResourceRow* b) {
      return std::tie(a->kind, a) < std::tie(b->kind, b);
    });
    return out;
  }();
  return sorted;
}

} // namespace

const Node* Node::step(std::string_view key) const {
  if (const auto* edge = find(key)) return edge->to;
  const bool index = !key.empty() && (key == "-" || std::all_of(key.begin(), key.end(), [](char c) {
                                        return c >= '0' && c <= '9';
                                      }));
  if (element != nullptr && (index || key == "[]")) return element;
  return value;
}

const Root* find_root(std::string_view group, std::string_view kind) {
  const auto roots = all_roots();
  const auto found =
      std::lower_bound(roots.begin(), roots.end(), std::tie(group, kind),
                       [](const Root& a, const auto& b) { return std::tie(a.group, a.kind) < b; });
  if (found == roots.end() || found->group != group || found->kind != kind) return nullptr;
  return group == "*" ? nullptr : &*found;
}

const Root& custom_root() {
  static const Root& root = *std::find_if(all_roots().begin(), all_roots().end(),
                                          [](const Root& each) { return each.group == "*"; });
  return root;
}

const Root& status_root() {
  static const Root& root = *find_root("", "Status");
  return root;
}

const Root& root_of(std::string_view group, std::string_view kind) {
  const auto* found = find_root(group, kind);
  return found != nullptr ? *found : custom_root();
}

std::span<const ResourceRow> resources() { return {table::rows, table::row_count}; }

const ResourceRow* find_resource(std::string_view group, std::string_view version,
                                 std::string_view resource) {
  const auto rows = resources();
  auto row = std::lower_bound(
      rows.begin(), rows.end(), std::tie(group, resource),
      [](const ResourceRow& a, const auto& b) { return std::tie(a.group, a.resource) < b; });
  for (; row != rows.end() && row->group == group && row->resource == resource; ++row) {
    if (version.empty() || row->version == version) return &*row;
  }
  return nullptr;
}

const ResourceRow* find_kind(std::string_view group, std::string_view kind) {
  const auto& rows = rows_by_kind();
  auto row = std::lower_bound(rows.begin(), rows.end(), kind,
                              [](const ResourceRow* a, std::string_view b) { return a->kind < b; });
  for (; row != rows.end() && (*row)->kind == kind; ++row) {
    if (group == "*" || (*row)->group == group) return *row;
  }
  return nullptr;
}

bool builtin_group(std::string_view group) {
  // The group of a custom resource must have a dot (apiextensions validation.go).
  if (group.find('.') == std::string_view::npos) return true;
  return std::binary_search(table::groups, table::groups + table::group_count, group);
}

} // namespace zoo::translate
