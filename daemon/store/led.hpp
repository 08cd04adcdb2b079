// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/store/around.hpp"

namespace zoo::store {

/// The store as its leader writes to it: each write carries the fence, and fails with
/// Code::unavailable without leadership. Reads and watches go through. Without a session it is the
/// store as it is.
class LedStore final : public StoreAround {
public:
  LedStore(Store& inner, const Session* session) : StoreAround(inner), session_(session) {}

  Result<Record> put(std::string_view kind, std::string_view key, std::string_view value,
                     std::optional<std::int64_t> expected = {}) override;
  Result<std::int64_t> remove(std::string_view kind, std::string_view key,
                              std::optional<std::int64_t> expected = {}) override;
  Result<std::int64_t> write(std::span<const Op> ops, std::span<const Guard> guards = {},
                             const std::optional<Fence>& fence = {}) override;

private:
  const Session* session_; ///< null: no other zood writes
};

} // namespace zoo::store
