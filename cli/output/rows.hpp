// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/output/printer.hpp"
#include "cli/output/table.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace zoo::cli {

/// The cells of one object; `wide` asks for the further columns of -o wide.
using RowOf = std::vector<Cell> (*)(const Context&, const nlohmann::json&, bool wide);

/// Prints the items of a list in every format.
using ListPrinter = void (*)(Context&, const nlohmann::json& list, const PrintOptions&);

/// A list of Kubernetes: the record itself with json and yaml, a name on each line with name, else
/// a table. A list without items prints no table.
void print_list(Context& context, const nlohmann::json& list, const PrintOptions& options,
                std::vector<std::string> headers, RowOf row);

/// What a write made of `object`: "KIND/NAME WHAT", which --quiet leaves out; with an output format
/// the object itself.
void print_result_of(Context& context, std::string_view kind, const nlohmann::json& object,
                     std::string_view what, bool dry_run, Format format, ListPrinter print);

} // namespace zoo::cli
