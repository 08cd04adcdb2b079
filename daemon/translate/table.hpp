// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/translate/mapping.hpp"
#include "daemon/translate/watch_event.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace zoo::translate {

struct Root;
class WordSource;

/// What a cell of a Table needs on its way out. Cells are rendered upstream (Kubernetes
/// pkg/printers/internalversion/printers.go), so they are read by column and kind.
enum class CellRule : std::uint8_t {
  keep,
  own_name,      ///< the object's name, and what the printer adds behind it
  own_metadata,  ///< custom resources: a cell that is exactly the object's namespace, its
                 ///< apiVersion or that of an owner
  text,          ///< human text and other token lists
  claim,         ///< `ns/name`
  volume,        ///< PersistentVolume
  storage_class, ///< overlay names
  attributes_class,
  ingress_class,
  role,             ///< `Kind/name` of a roleRef
  inert_list,       ///< comma-joined users or groups
  inert_accounts,   ///< comma-joined `ns/name` of ServiceAccounts
  event_object,     ///< `kind/name`
  private_name,     ///< name of a private cluster-scoped object
  api_version_kind, ///< `group/version/Kind`
  signer,
  class_driver,  ///< who acts for a class
  requester,     ///< who asked for a certificate: read from the object
  external_name, ///< DNS name of a Service, or an address
};

/// Rewrites a Table outward, one row at a time (the rows come from a Framer), and the Tables within
/// watch events. One per list or watch; one thread at a time; Mapping and Root outlive it.
class TableRewriter {
public:
  struct Options {
    std::string group, resource; ///< in the tenant's names
    bool namespaced = true;
    IncludeObject include = IncludeObject::metadata; ///< what the client asked for
  };
  TableRewriter(const Mapping& mapping, const Root& root, Options options);

  /// The columns, from the envelope's bytes before the rows (`{"kind":...,"rows":[`) or from
  /// `columnDefinitions` alone. Code::internal if it is neither.
  Result<void> set_head(std::string_view head);

  /// One row outward, appended to `out`. Code::internal for what is no row, or has no object to
  /// tell whose it is.
  Result<void> row(std::string_view row, std::string& out) const;

  /// One watch event with a Table, appended with a newline. The first one carries the column
  /// definitions, be it that they were taken before.
  Result<void> event(std::string_view event, const StatusContext& context, std::string& out);
  /// Raw columnDefinitions, of a list before the watch or of an event that is not sent: upstream
  /// sends them once, with whatever it sends first. Code::internal if they are none.
  Result<void> take_columns(std::string_view columns);
  /// For an event that is written elsewhere: what stands in it for columnDefinitions, which is
  /// `null` once they were sent.
  std::string next_columns();
  /// A row of an object of which no more is told than its name.
  std::string bare_row(std::string_view name, std::string_view object) const;
  /// A bookmark as apiserver writes it for Tables: one row whose object has the version alone. With
  /// the columns if it is the first event.
  std::string bookmark(std::string_view api_version, std::string_view kind,
                       std::string_view resource_version, bool initial_events_end);

private:
  std::string cell(CellRule rule, std::string_view text, const ObjectKey& key,
                   WordSource& words) const;
  Result<std::string> cells(const TableRow& row, const ObjectKey& key,
                            std::string_view own_object) const;
  Result<std::string> object(std::string_view object) const;

  const Mapping& mapping_;
  const Root& root_;
  Options options_;
  std::vector<CellRule> rules_;
  std::string blanks_;  ///< the cells of an object without anything in it, joined by commas
  std::string columns_; ///< of a watch: raw, in the tenant's words
  bool columns_sent_ = false;
};

/// The head of a list or a Table, which may end where its items would begin, as a document.
std::string closed_head(std::string_view head);

/// The columns of a kind in the tenant's words: ClusterRoleBindings lie upstream as RoleBindings.
std::string columns_out(std::string_view group, std::string_view resource,
                        std::string_view columns);

/// The rule of one column of a kind; `index` 0 is the first column.
CellRule cell_rule(std::string_view group, std::string_view resource, std::string_view column,
                   std::size_t index);

} // namespace zoo::translate
