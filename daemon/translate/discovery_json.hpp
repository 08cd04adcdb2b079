// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// A small JSON reader for documents that are read by name (discovery, reviews, patches, rows,
/// Status), where the streaming rewriter has no rule table to follow. It keeps the text and a tree
/// of spans; edits are collected and applied to the text at once, so that what nobody edits is
/// given back byte for byte. Values without state: any thread.
namespace zoo::translate {

/// What kind of JSON value a node is.
enum class JsonType : std::uint8_t { null, boolean, number, string, array, object };

class JsonTree;

/// One value of a tree; a cheap handle, valid as long as the tree. A default one is "not there":
/// every accessor answers with nothing.
class JsonNode {
public:
  JsonNode() = default;
  explicit operator bool() const { return tree_ != nullptr; }
  JsonType type() const;
  bool is(JsonType type) const { return tree_ != nullptr && this->type() == type; }

  std::string_view raw() const;     ///< the bytes of the value, a string with its quotes
  std::size_t begin() const;        ///< offset of the value in the text
  std::size_t end() const;          ///< offset behind the value
  std::size_t begin_member() const; ///< of a member: offset of its key; else begin()
  std::string key() const;          ///< of a member of an object: its name, unescaped
  std::string_view raw_key() const; ///< of a member: its name as written, with quotes
  std::string string() const;       ///< unescaped; "" for anything that is not a string
  std::optional<std::int64_t> integer() const;
  bool boolean() const { return is(JsonType::boolean) && raw() == "true"; }

  JsonNode first() const;                           ///< first member or element
  JsonNode next() const;                            ///< next one beside this
  JsonNode operator[](std::string_view name) const; ///< last member of that name, as Go reads it
  JsonNode at(std::size_t index) const;             ///< element of an array
  std::vector<JsonNode> children() const;
  std::vector<std::string> strings() const; ///< the strings of an array of strings

private:
  friend class JsonTree;
  JsonNode(const JsonTree* tree, std::uint32_t index) : tree_(tree), index_(index) {}
  const JsonTree* tree_ = nullptr;
  std::uint32_t index_ = 0;
};

/// The tree over a text that the caller keeps alive.
class JsonTree {
public:
  /// Strict RFC 8259: Code::bad_request with the offset of what is wrong. Nesting up to 10,000
  /// levels as Go's encoding/json, without recursion; texts up to 4 GiB.
  static Result<JsonTree> parse(std::string_view text);
  static Result<JsonTree> parse(const char* text) { return parse(std::string_view(text)); }
  static Result<JsonTree> parse(std::string&& text) = delete; ///< who would keep it alive?

  JsonTree(JsonTree&&) = default;
  JsonTree& operator=(JsonTree&&) = default;
  JsonNode root() const { return {this, 0}; }
  std::string_view text() const { return text_; }

private:
  friend class JsonNode;
  struct Item {
    JsonType type = JsonType::null;
    std::uint32_t begin = 0, end = 0;
    std::uint32_t key_begin = 0, key_end = 0; ///< equal: no key
    std::uint32_t first = 0, next = 0;        ///< 0 = none (0 is the root, nobody's child)
  };
  JsonTree() = default;
  std::string_view text_;
  std::vector<Item> items_;
};

/// No object of the tree has a member twice: Code::bad_request `duplicate field "NAME"`. Of two,
/// kube-apiserver takes the last one, or merges them (sigs.k8s.io/json), and whoever judges one
/// judges the wrong one.
Result<void> members_once(JsonNode top);

/// Replacements in one text, applied together. They must not overlap; any order.
class JsonEdits {
public:
  void replace(JsonNode node, std::string text) {
    replace(node.begin(), node.end(), std::move(text));
  }
  void replace(std::size_t begin, std::size_t end, std::string text);
  void replace_key(JsonNode member, std::string_view name);
  void quote(JsonNode node, std::string_view value); ///< replaces by this string
  /// Takes a member out of its object, an element out of its array, with one comma.
  void remove(JsonNode parent, JsonNode child);
  /// Adds a member behind the last one (`name` is quoted here, `value` is JSON).
  void append(JsonNode object, std::string_view name, std::string_view value);
  bool empty() const { return edits_.empty() && changes_.empty(); }
  std::string apply(std::string_view text) const;
  /// The text between two offsets after the edits, for a value inside.
  std::string apply(std::string_view text, std::size_t begin, std::size_t end) const;

private:
  struct Edit {
    std::size_t begin, end;
    std::string text;
  };
  /// Members taken out of, and added to, one object or array; turned into edits in apply(), when
  /// it is known which commas go.
  struct Change {
    JsonNode parent;
    std::vector<std::size_t> removed; ///< JsonNode::begin() of each
    std::vector<std::string> added;
  };
  Change& change(JsonNode parent);
  static void resolve(const Change& change, std::vector<Edit>& out);
  std::vector<Edit> edits_;
  std::vector<Change> changes_;
  std::unordered_map<std::size_t, std::size_t> by_parent_; ///< JsonNode::begin() -> changes_
};

/// Offset behind the value that begins at `at` (after white space), npos if there is none. Finds
/// the end only; what is inside is not validated.
std::size_t json_skip(std::string_view text, std::size_t at);

/// A JSON string with its quotes -> its bytes; lone surrogates become U+FFFD, as in Go.
std::string json_unquote(std::string_view quoted);

} // namespace zoo::translate
