// SPDX-License-Identifier: Apache-2.0
// The scan by blocks finds what looking at each byte finds, in pieces of any size; and an object
// comes out the same whether the rewriter may pass over subtrees without the words of their rules,
// or has to walk them all (which an escape in every string makes it do), and with slashes escaped.
// What is passed over on its way inward although it would have been refused, the proof refuses.
#include "daemon/translate/structure.hpp"

#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/json.hpp"
#include "daemon/translate/rewrite.hpp"
#include "tests/fuzz/by_bytes.hpp"
#include "tests/fuzz/invariant.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>

namespace {

using namespace zoo::translate;

/// The same document with each slash as \/, which hides no word.
std::string with_slashes(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '/' && (i == 0 || text[i - 1] != '\\')) out += '\\';
    out += text[i];
  }
  return out;
}

/// The same document, with the first letter of every string, keys too, as an escape.
std::string escaped(std::string_view text) {
  std::string out;
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    out += c;
    if (inside && c == '\\') {
      out += text[++i];
    } else if (c == '"') {
      inside = !inside;
      const char next = i + 1 < text.size() ? text[i + 1] : '"';
      const bool plain = (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z') ||
                         (next >= '0' && next <= '9');
      if (inside && plain) {
        out += fmt::format("\\u{:04x}", static_cast<unsigned>(next));
        ++i;
      }
    }
  }
  return out;
}

constexpr std::array k_kinds = {"Pod", "ConfigMap", "Secret", "PersistentVolumeClaim", "Service"};

zoo::Result<std::string> rewritten(const Root& root, Direction direction, std::string_view text) {
  static const Mapping tenant("abc123", std::make_shared<SharedNames>());
  RewriteContext context{tenant, direction, "default"};
  std::string out;
  ZOO_TRY_VOID(rewrite(root, context, text, out));
  return out;
}

/// As a body goes upstream.
zoo::Result<std::string> proven(const Root& root, std::string_view text) {
  ZOO_TRY(const auto out, rewritten(root, Direction::inward, text));
  ZOO_TRY_VOID(rewritten(root, Direction::prove, out));
  return out;
}

/// An object in the midst of a list, in one look.
void ends_on_the_way(const Root& root, std::string_view text) {
  const auto wanted = rewritten(root, Direction::outward, text);
  static const Mapping tenant("abc123", std::make_shared<SharedNames>());
  RewriteContext context{tenant, Direction::outward, "default"};
  std::string out;
  const auto size = rewrite_open(root, context, std::string(text) + ",{\"}]", out);
  if (!wanted || !text.starts_with('{'))
    return invariant(size == 0 && out.empty(), "no object", text);
  // White space may stand behind it.
  const bool rest_is_space = text.find_first_not_of(" \t\r\n", size) == std::string_view::npos;
  invariant(size != 0 && rest_is_space, "its end", text);
  invariant(wanted->starts_with(out) && wanted->size() - out.size() == text.size() - size,
            "what comes out", *wanted + "\n" + out);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto wanted = end_by_bytes(text);
  for (const std::size_t piece : {std::size_t{1} + data[0], std::size_t{64}, text.size()})
    invariant(end_by_blocks(text, piece) == wanted, "blocks end where bytes end", text);
  const auto found = words_in(text, "abc123-");
  const bool bends = found == k_all_words && text.find("\\u") != std::string_view::npos;
  invariant(bends || found == words_by_bytes(text, "abc123-"), "the words", text);

  if (!check_json(text) || !nlohmann::json::accept(text)) return 0;
  const auto& root = root_of("", k_kinds[data[0] % k_kinds.size()]);
  ends_on_the_way(root, text);
  const auto come_out = [&](Direction direction, std::string_view document) {
    return direction == Direction::inward ? proven(root, document)
                                          : rewritten(root, direction, document);
  };
  for (const auto& bent : {escaped(text), with_slashes(text)}) {
    invariant(check_json(bent).has_value(), "an escaped document is one", bent);
    for (const auto direction : {Direction::outward, Direction::inward}) {
      const auto fast = come_out(direction, text), slow = come_out(direction, bent);
      invariant(fast.has_value() == slow.has_value(), "escapes change no verdict", text);
      if (!fast || !nlohmann::json::accept(*slow)) continue;
      invariant(nlohmann::json::parse(*fast) == nlohmann::json::parse(*slow),
                "passed over or walked", *fast + "\n" + *slow);
    }
  }
  return 0;
}
