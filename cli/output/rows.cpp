// SPDX-License-Identifier: Apache-2.0
#include "cli/output/rows.hpp"

#include "common/kube/json_reads.hpp"

#include <nlohmann/json.hpp>

namespace zoo::cli {

using nlohmann::json;

void print_list(Context& context, const json& list, const PrintOptions& options,
                std::vector<std::string> headers, RowOf row) {
  if (options.format == Format::json || options.format == Format::yaml)
    return print_record(context, list, options.format);
  const auto items = kube::list_at(list, "/items");
  if (options.format == Format::name) {
    for (const auto& item : items)
      context.out << printable(text_at(item, "/metadata/name")) << '\n';
    return;
  }
  Table table{std::move(headers), {}};
  for (const auto& item : items)
    table.rows.push_back(row(context, item, options.format == Format::wide));
  if (!table.rows.empty()) print_table(context.out, table, {options.headers, context.colours()});
}

void print_result_of(Context& context, std::string_view kind, const json& object,
                     std::string_view what, bool dry_run, Format format, ListPrinter print) {
  if (format == Format::json || format == Format::yaml) {
    print_record(context, object, format);
    context.printed = true;
  } else if (format != Format::standard) {
    print(context, {{"items", json::array({object})}}, {format, !context.printed});
    context.printed = true;
  } else if (!context.globals.quiet) {
    context.out << fmt::format("{}/{} {}{}\n", kind, printable(text_at(object, "/metadata/name")),
                               what, dry_run ? " (dry run)" : "")
                << std::flush;
  }
}

} // namespace zoo::cli
