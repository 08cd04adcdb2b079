// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/store/store.hpp"

#include <optional>
#include <span>
#include <string_view>

/// What every implementation of Store refuses, and in which words. For daemon/store only.
namespace zoo::store {

/// Code::invalid unless both are names that a record may have (Store::put).
Result<void> check_record_name(std::string_view kind, std::string_view key);

/// Names, sizes and number of what is to be written, and that no record is written twice:
/// Code::invalid, Code::too_large.
Result<void> check_ops(std::span<const Op> ops, const Limits& limits);

/// Holds an op against the revision of what is there (nothing: there is no such record).
/// Code::already_exists, Code::conflict, Code::not_found.
Result<void> check_expected(const Op& op, std::optional<std::int64_t> found);
/// Code::conflict unless the guard holds.
Result<void> check_guard(const Guard& guard, std::optional<std::int64_t> found);

tl::unexpected<Error> no_such_record(std::string_view kind, std::string_view key);

} // namespace zoo::store
