// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/translate/query.hpp"
#include "daemon/upstream/list_source.hpp"
#include "daemon/upstream/page_spaces.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <string>

/// What the two ways to read a range know of each other: page by page (range_list.cpp), and one
/// namespace after the other by such pages (range_fan_out.cpp). list_range() chooses.
namespace zoo::upstream {

inline constexpr const char* k_spaces = "/api/v1/namespaces";
/// So many objects behind a range, which kube-apiserver looks at for each page of it (ListPrefix in
/// apiserver/pkg/storage/cacher/store/store_btree.go; without a watch cache etcd counts them), take
/// as long as one page of one namespace.
inline constexpr std::size_t k_objects_a_space = 5'000;

/// Under these a list of a tenant's range leaves how many objects lay behind it: for the tenant's
/// next one, and for the first one of another tenant.
std::array<std::string, 2> behind_keys(const std::string& path, const std::string& prefix);

/// Has it a selector?
bool selects(const ListRequest& request);

/// Page by page; `space`: a namespace of the range with a slash, whose path it is; "": none. Loop
/// thread.
std::unique_ptr<List> read_pages(Upstream& upstream, Caller& caller, ListRequest request,
                                 std::string hint, bool seek, ListHandler& handler,
                                 std::string space = {});

/// Shall a range that could be read at once be read namespace by namespace? Not at a version of the
/// asker's: which namespaces there were then only the first page of a list knows.
bool by_space(const Upstream& upstream, const ListRequest& request);
/// What that page has left for this one; null: nothing, or it is forgotten.
PageSpaces::Spaces spaces_of_page(const Upstream& upstream, const ListRequest& request);

/// Namespace by namespace; `known`: which ones, or null: they are asked for. Loop thread.
std::unique_ptr<List> fan_out(Upstream& upstream, Caller& caller, ListRequest request,
                              std::string hint, bool seek, const PageSpaces::Spaces& known,
                              ListHandler& handler);

} // namespace zoo::upstream
