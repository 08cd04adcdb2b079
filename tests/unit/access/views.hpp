// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/access/view.hpp"

#include <memory>
#include <string>

namespace zoo::access::test {

/// A view with these answers; `id` is its prefix, or "" for none. It has no authorizer.
inline View view_of(const Answers& answers, const std::string& id) {
  return {answers, translate::Mapping(id, std::make_shared<const translate::SharedNames>()),
          "uid-1", "2026-01-01T00:00:00Z",
          nullptr, id.empty() ? "" : "zoo:" + id,
          {},      {},
          {},      {},
          nullptr, {nullptr, nullptr}};
}

/// What a view answers whose clients go upstream as themselves.
inline constexpr Answers k_callers{Passage::caller, Sight::as_told_to_it, {}, {}, {}};

} // namespace zoo::access::test
