// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/secret.hpp"
#include "common/config/config.hpp"
#include "common/config/store_place.hpp"
#include "daemon/store/store.hpp"

#include <filesystem>
#include <string>

namespace zoo::app {

/// What another zood needs to have the same store: where it is, and the master key. As JSON. Code::
/// conflict: the store is a file of this machine.
Result<Secret> invitation(const config::StorePlace& place, const std::filesystem::path& directory);

/// `zood --join`: writes what an invitation holds into the directory of `values`, which has to be
/// empty: master.key, the files of etcd's client, and a zood.yaml with the store's keys. Finds out
/// whether the store can be reached and its keys opened. Says what to do next. Code::conflict,
/// Code::invalid (no invitation), errors of the store.
Result<std::string> join(const config::Values& values, const std::filesystem::path& file);

/// One store belongs to one upstream: the first zood writes which. Code::conflict for another.
Result<void> check_upstream(store::Store& store, const std::string& uid);

} // namespace zoo::app
