// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::translate {

/// What is known about words that begin as a tenant's prefix does. For tenant foofoo, `foofoo-team`
/// may be its namespace `team`, to which zood added the prefix; `foofoo-web` may be a Deployment
/// that the tenant itself called so. Both are found in what stands around a text for people: in the
/// object that holds it, or in the request that it answers. Plain data; one thread at a time.
class KnownWords {
public:
  /// Distinct words that are remembered. Of further ones nothing is known.
  static constexpr std::size_t k_most = 512;
  /// How often what was given to asked() is searched for a name.
  static constexpr std::size_t k_most_searches = 16;
  /// Words, the same one counted each time, that are looked at.
  static constexpr std::size_t k_most_looked_at = 8192;

  explicit KnownWords(std::string_view prefix) : prefix_(prefix) {}

  /// Takes the words of a text (JSON or prose) in upstream's names, and of the same text in the
  /// tenant's names. A word that is in the second is the tenant's own; one that is more often in
  /// the first than in the second got the prefix from zood.
  void upstream(std::string_view text) { take(text, &Count::upstream); }
  void shown(std::string_view text) { take(text, &Count::shown); }
  /// The same for one word that is already cut out.
  void add(std::string_view word, bool shown);
  /// Are k_most_looked_at words looked at already? Further ones are left out.
  bool full() const { return looked_at_ >= k_most_looked_at; }
  /// Something that the tenant sent. Its words are the tenant's own; a name that it holds without
  /// the prefix may have got the prefix from zood. The bytes must outlive this object.
  void asked(std::string_view text);

  /// Does `text`, which begins with the prefix, begin with a word of the tenant's own, or with one
  /// that is made of it by a dash or a dot (`foofoo-web-7d9f` of `foofoo-web`)?
  bool own(std::string_view text) const;
  /// Does `text`, which begins with the prefix, begin with a word that got it from zood?
  bool prefixed(std::string_view text);

private:
  struct Count {
    std::uint32_t upstream = 0, shown = 0;
  };
  void take(std::string_view text, std::uint32_t Count::* where);
  void count(std::string_view word, std::uint32_t Count::* where);

  const std::string prefix_;
  std::map<std::string, Count, std::less<>> words_;
  std::vector<std::string_view> asked_;
  std::size_t searches_ = 0;
  std::size_t looked_at_ = 0;
};

/// Something that can tell the words around a text. It is asked only when the text holds a word
/// that begins as the prefix does.
class WordSource {
public:
  virtual KnownWords& words() = 0;

protected:
  ~WordSource() = default;
};

/// May a word begin at `at`? Not within another word, and not behind a dash.
bool begins_word(std::string_view text, std::size_t at);
/// A longer word is none that Kubernetes takes for a name (253 bytes behind a prefix); it is cut
/// here, so that looking at each word of a text takes a time in proportion to the text.
inline constexpr std::size_t k_longest_word = 320;
/// The length of the word that `text` begins with, at most k_longest_word: letters, digits, `.`,
/// `-`, `_` and whatever is not ASCII, without the punctuation at its end.
std::size_t word_length(std::string_view text);

} // namespace zoo::translate
