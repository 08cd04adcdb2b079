// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/translate/status_text.hpp"
#include "daemon/translate/table.hpp"
#include "daemon/translate/watch_event.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace zoo::translate {
class JsonNode;
struct Root;
} // namespace zoo::translate

namespace zoo::gateway {

class Exchange;

/// How whole values of upstream are written for the client of an exchange: in its names and in the
/// representation it asked for. Used by straight answers, range lists and watches alike. Loop
/// thread; everything here lives no longer than its exchange.

/// Upstream does not judge what zood stores in another form: a Status with what is wrong with the
/// tenant's `object`, or, if that is not `whole`, patch, if anything is (translate/validity.hpp).
std::optional<std::string> invalidity(const Exchange& exchange, std::string_view object,
                                      bool whole = true);

translate::StatusContext status_context(const Exchange& exchange);
/// The rules for the objects of this exchange (of its subresource, if that has a kind of its own).
const translate::Root& root_of(const Exchange& exchange);

/// May this object be shown? It is in upstream's names; of a Table row it is the row's `object`.
using ObjectFilter = std::function<bool(std::string_view object)>;
/// May a watch that goes on from `since` have shown this object before, which is not to be shown
/// now?
using LeftFilter = std::function<bool(std::string_view object, std::int64_t since)>;
/// The same by "<namespace>/<name>", in upstream's names.
using KeyFilter = std::function<bool(std::string_view key)>;

/// What the client wants to read, and how it is asked of upstream.
struct Rendering {
  translate::Negotiated wanted;
  bool wire = false;   ///< in protobuf all the way (translate/wire_rewrite.hpp)
  ObjectFilter shown;  ///< null: everything is
  KeyFilter shown_key; ///< of `shown`, where it looks at nothing else; else null
  LeftFilter left;     ///< of a watch, where an object may cease to be shown; else null
  /// Of a watch: is it known by now whether `shown` will have this object? Null: always.
  ObjectFilter decided;
  /// What is still to be done to an object outward; null: nothing.
  std::function<void(std::string& object)> complete;
  /// `shown` needs whole objects where only metadata was asked for: upstream gives the ones, and
  /// `complete` makes the others of them. `wanted` says what upstream gives.
  bool strips = false;
};

/// The PartialObjectMetadata of an object, which has metadata.
std::string metadata_alone(translate::JsonNode object);

/// Can the answer stay protobuf all the way, as the client would rather have it? One of a
/// namespaced built-in kind, of which everything is shown.
bool stays_protobuf(const Exchange& exchange, const Rendering& rendering);

/// Is an item of a list (of a Table: a row) to be shown?
bool shows(const Rendering& rendering, std::string_view item);

/// Is it a Status of `v1`?
bool is_status(std::string_view body);

/// One object, or the Status that a DELETE answers.
Result<void> write_object(Exchange& exchange, const Rendering& rendering, std::string_view object,
                          std::string& out);

/// Writes a list in the order kind, apiVersion, items, metadata: only behind the items it is known
/// how the list goes on.
class ListWriter {
public:
  ListWriter(Exchange& exchange, const Rendering& rendering);

  /// `head`: upstream's bytes up to and with the `[`; or the whole object of a list without array.
  Result<void> begin(std::string_view head, std::string& out);
  Result<void> item(std::string_view value, std::string& out);
  /// The same of one that `rest` begins with, in one look: its size; 0: it has to be whole first.
  /// `key`: "<namespace>/<name>"; "": not known.
  std::size_t open_item(std::string_view key, std::string_view rest, std::string& out);
  /// An item, or a row, that is in the tenant's names already.
  void own_item(std::string_view value, std::string& out);
  /// Upstream's bytes behind the array; its metadata, from there or from the head, is kept.
  Result<void> end(std::string_view tail, std::string& out);
  /// Metadata of our own.
  void end(std::string_view resource_version, std::string_view continue_token, std::string& out);

private:
  Result<void> members(std::string_view object, std::string& out);
  void close(std::string_view metadata, std::string& out);
  std::string sealed_metadata() const;

  Exchange& exchange_;
  const Rendering& rendering_;
  const translate::Root& root_; ///< of the items
  std::unique_ptr<translate::TableRewriter> table_;
  std::string metadata_; ///< upstream's, raw
  bool array_open_ = false;
  bool first_ = true;
  bool kind_written_ = false;
  bool version_written_ = false;
};

/// Writes watch events, one a line.
class EventWriter {
public:
  EventWriter(Exchange& exchange, const Rendering& rendering);
  Result<void> event(std::string_view upstream_event, std::string& out);
  /// An object that the client has seen is gone for it at this resourceVersion: DELETED, with its
  /// name in upstream's words and nothing else.
  Result<void> gone(std::string_view name, std::string_view resource_version, std::string& out);
  /// What comes is what happened behind this resourceVersion, for Rendering::left.
  void goes_on_from(std::int64_t revision) { since_ = revision; }
  /// An object of a list as ADDED: the beginning of a watch from the current state.
  Result<void> added(std::string_view item, std::string& out);
  void added_own(std::string_view item, std::string& out); ///< see ListWriter::own_item()
  /// A bookmark of our making, in what the client takes; of a Table it says the columns, too, if
  /// it is the first event.
  std::string bookmark(std::string_view resource_version, bool initial_events_end);
  /// Column definitions for what follows: of the head of a list of rows, or of an event that is not
  /// the tenant's. Nothing, where no Tables are sent.
  Result<void> columns_of(std::string_view table);

private:
  static std::string table_of(std::string_view row, const std::string& columns);
  Result<void> columns(const translate::JsonNode& table);
  Result<void> object_event(translate::EventType type, std::string_view object, std::string& out);
  Result<void> left(std::string_view object, std::string& out);
  Result<void> bare(std::string_view name, std::string_view object, std::string& out);
  bool comes_back(translate::EventType type, std::string_view object);

  /// Objects that were told as DELETED because they are not to be shown any more. Of more than so
  /// many it is forgotten, and told again.
  static constexpr std::size_t k_most_left = 1024;

  Exchange& exchange_;
  const Rendering& rendering_;
  std::unique_ptr<translate::TableRewriter> table_;
  std::int64_t since_ = 0;
  std::set<std::string, std::less<>> left_;
};

} // namespace zoo::gateway
