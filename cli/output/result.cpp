// SPDX-License-Identifier: Apache-2.0
#include "cli/output/result.hpp"

#include <nlohmann/json.hpp>

namespace zoo::cli {

void print_result(Context& context, const nlohmann::json& tenant, std::string_view what,
                  bool dry_run, Format format) {
  if (format != Format::standard) {
    print_tenant(context, tenant, {format, !context.printed});
    context.printed = true;
    return;
  }
  if (context.globals.quiet) return;
  context.out << fmt::format("tenant/{} {}{}\n", text_at(tenant, "/metadata/name"), what,
                             dry_run ? " (dry run)" : "")
              << std::flush;
}

} // namespace zoo::cli
