// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/context.hpp"
#include "cli/output/printer.hpp"
#include "common/base/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

/// How commands that change tenants tell what they did. One thread.
namespace zoo::cli {

/// "tenant/foofoo created" on standard output, or the object in the format asked for.
void print_result(Context& context, const nlohmann::json& tenant, std::string_view what,
                  bool dry_run, Format format);

/// Runs `each` for every one; the first failure is returned, the others are said.
template <class T>
Result<int> for_all(Context& context, const std::vector<T>& all,
                    const std::function<Result<void>(const T&)>& each) {
  std::optional<Error> first;
  for (const auto& one : all) {
    auto done = each(one);
    if (done) continue;
    if (!first) {
      first = std::move(done).error();
    } else {
      context.err << "zooctl: " << done.error().text() << '\n';
    }
  }
  if (first) return fail(*std::move(first));
  return 0;
}

} // namespace zoo::cli
