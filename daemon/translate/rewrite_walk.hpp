// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/translate/actions.hpp"
#include "daemon/translate/known_words.hpp"
#include "daemon/translate/structure.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace zoo::translate {

/// One walk over one document, driven by the automaton. Recursion is bounded by the depth of the
/// schema: what no rule names is skipped, not entered. Positions are pointers into the document;
/// null means failed(), with the error in error_.
class Walker final : private WordSource {
public:
  Walker(const Root& root, RewriteContext& context, std::string_view document, std::string& out);

  Result<void> run();
  /// The same of a value that `document` begins with: its size; 0: it does not end there.
  std::size_t run_open();
  /// The same from another node: a document within a string.
  Result<void> run_at(const Node& node);

private:
  using Ptr = const char*;
  struct Member {
    Ptr comma = nullptr; ///< in front of it, if there is one
    Ptr begin = nullptr; ///< its key's opening quote
    Ptr key_end = nullptr;
    Ptr value = nullptr;
    std::string_view key;  ///< unescaped
    std::string unescaped; ///< holds it, if it had escapes
  };
  /// What an object's members have in common while they are walked.
  struct Object {
    const Node& node;
    const Siblings& siblings;
    Ptr last = nullptr;     ///< behind the last member, or the opening brace
    bool kept = false;      ///< a member stands in the output
    std::uint64_t seen = 0; ///< edges met
    bool labelled = false;  ///< labels: the tenant label stands there (proof)
    bool enforce = false;   ///< labels: so does the level of pod security
    std::string wish{};     ///< labels: the level that the tenant wished
  };

  Passed pass(Ptr p) const;
  Words words_of(const Node& node) const;
  Ptr value(const Node& node, Ptr p, const Siblings& siblings, std::string_view key);
  Ptr object(const Node& node, Ptr p, const Siblings& outer);
  Ptr members(const Node& node, Ptr p, const Siblings& siblings);
  void step_into(std::size_t level, std::string_view key) {
    steps_[level] = {key.data(), key.size()};
  }
  Ptr array(const Node& node, Ptr p, const Siblings& siblings, std::string_view key);
  Ptr leaf(const Node& node, Ptr p, const Siblings& siblings, std::string_view key);
  Ptr source_out(Ptr p);
  Ptr embedded(const Node& node, Ptr p);
  Ptr last_applied(Ptr p);
  Ptr root_ca(Ptr p);
  Ptr entries_of(const Node& node, Ptr p, const Siblings& siblings, std::string_view key);
  Ptr fields(const Node& node, Ptr p, const Siblings& siblings);
  Ptr fields_of(const Node& node, Ptr p, const Siblings& siblings, bool& gone);
  bool adds_field(const Node& node, std::string_view key, const Siblings& entry) const;
  void read_bare_selectors();

  Ptr member(Object& object, Member& member);
  Ptr labels_member(Object& object, Member& member);
  bool key_action(Object& object, const Member& member, Ptr value_end,
                  std::optional<std::string>& renamed, bool& dropped);
  void keep(Object& object, const Member& member);
  void drop(const Member& member, Ptr end);
  bool holds_members(Ptr p) const;
  bool inject(Object& object);
  bool wanted(const Object& object, const Edge& edge) const;
  bool may_be_anothers(std::string_view key) const;
  void append_member(Object& object, std::string_view key, std::string_view value);
  std::string synthesize(const Node& node) const;
  bool check_labels(const Object& object);
  std::string tenant_labels(const Object* object) const;

  /// The next member behind `p`; begin is null at the closing brace (returned in `p`).
  bool next_member(Ptr& p, Member& out, bool first);
  bool next_element(Ptr& p, bool first, bool& end);
  bool collect(Ptr p, Siblings& out);
  std::string_view string_at(Ptr p, Ptr end, std::string& storage) const;
  bool settle(Fate fate, const std::string& output);

  void replace(Ptr from, Ptr to, std::string_view text);
  Ptr not_json(Ptr p);
  bool failure(Code code, std::string_view what);
  std::string path() const;
  bool inward() const { return context_.direction == Direction::inward; }
  bool outward() const { return context_.direction == Direction::outward; }
  bool proving() const { return context_.direction == Direction::prove; }
  Site site(const Siblings& siblings, std::string_view key);
  KnownWords& words() override;

  const Root& root_;
  RewriteContext& context_;
  std::string& out_;
  Ptr begin_, end_;
  Ptr copied_;                  ///< everything in front of it is in the output
  bool full_;                   ///< a whole object, not a patch of some members
  std::string event_namespace_; ///< the namespace of the object itself, in the tenant's names
  std::optional<Error> error_;
  /// Of what stands in front of the text that is being read; null until one asks.
  std::unique_ptr<KnownWords> words_;
  Ptr told_;                    ///< the document up to here is in words_
  std::size_t told_of_out_ = 0; ///< and so much of what was made of it
  const std::size_t made_from_; ///< where in out_ that begins
  Ptr text_ = nullptr;          ///< the string that is being read
  bool entry_gone_ = false;     ///< an entry of managedFields had no other fields than zood's
  std::string level_; ///< of a namespace: the level of pod security that its labels enforce
  /// Outward: where an admission object's selectors are zood's alone (read_bare_selectors()).
  std::optional<std::set<std::string, std::less<>>> bare_;
  /// Where the walk is, for errors: a key, or an index if the key is null. Left uninitialised,
  /// since a document goes a few steps deep only.
  struct Step {
    const char* text;
    std::size_t number; ///< the key's size, or the index
    std::string_view key() const { return {text, text == nullptr ? 0 : number}; }
  };
  static constexpr std::size_t k_max_depth = 96;
  std::array<Step, k_max_depth> steps_;
  std::size_t depth_ = 0;
};

} // namespace zoo::translate
