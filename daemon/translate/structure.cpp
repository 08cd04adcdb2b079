// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/structure.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace zoo::translate {
namespace {

constexpr std::size_t k_block = 64;

/// What words_in() looks for beside the prefix. `window`: of its bytes the three that tell it best.
struct Needle {
  std::string_view text;
  std::size_t window;
  unsigned bucket;
  Words word;
};
constexpr Words rare(unsigned number) { return static_cast<Words>(8U << number); }
constexpr std::array<Needle, 8> k_needles = {{{"kubezoo.io/", 3, 1, k_domain_word},
                                              {"deviceclass.", 9, 2, k_device_word},
                                              {"\"affinity\"", 2, 4, rare(0)},
                                              {"\"priorityClassName\"", 8, 5, rare(1)},
                                              {"\"runtimeClassName\"", 7, 5, rare(2)},
                                              {"\"ephemeral\"", 2, 4, rare(3)},
                                              {"\"clusterTrustBundle\"", 7, 6, rare(4)},
                                              {"\"podCertificate\"", 3, 7, rare(5)}}};
constexpr unsigned k_prefix_bucket = 0, k_escape_bucket = 3;

/// For each of three bytes in a row, by its low and its high half: in which buckets is a word whose
/// window has it there? (The idea of Hyperscan's Teddy.)
struct Nibbles {
  std::array<std::array<std::uint8_t, 16>, 3> low{}, high{};
  constexpr void add(std::size_t at, char byte, unsigned bucket) {
    const auto value = static_cast<unsigned char>(byte);
    low[at][value & 15U] = static_cast<std::uint8_t>(low[at][value & 15U] | 1U << bucket);
    high[at][value >> 4] = static_cast<std::uint8_t>(high[at][value >> 4] | 1U << bucket);
  }
};

constexpr Nibbles k_nibbles = [] {
  Nibbles out;
  for (const auto& needle : k_needles)
    for (std::size_t i = 0; i < 3; ++i)
      out.add(i, needle.text[needle.window + i], needle.bucket);
  out.add(0, '\\', k_escape_bucket);
  out.add(1, 'u', k_escape_bucket);
  for (const char digit : std::string_view("0123456789abcdefABCDEF"))
    out.add(2, digit, k_escape_bucket);
  return out;
}();

/// Which of 64 bytes are quotes, backslashes, opening and closing brackets.
struct Masks {
  std::uint64_t quote = 0, backslash = 0, open = 0, close = 0;
};

/// Bytes that stand behind an odd run of backslashes: an odd run carries out of its even or odd
/// bits. `carry` in and out: the first byte, and the one behind the block, is escaped.
inline std::uint64_t escaped_bytes(std::uint64_t backslash, std::uint64_t& carry) {
  constexpr std::uint64_t k_even = 0x5555555555555555U;
  backslash &= ~carry;
  const auto follows = backslash << 1 | carry;
  const auto odd_starts = backslash & ~k_even & ~follows;
  const auto sum = odd_starts + backslash;
  carry = sum < backslash ? 1 : 0;
  return (k_even ^ (sum << 1)) & follows;
}

namespace plain {

/// Any processor.
struct Machine {
  static Masks classify(const char* p) {
    Masks out;
#if defined(__SSE2__)
    const auto quote = _mm_set1_epi8('"');
    const auto backslash = _mm_set1_epi8('\\');
    const auto fold = _mm_set1_epi8(0x20); // '[' | 0x20 == '{', ']' | 0x20 == '}'
    const auto open = _mm_set1_epi8('{');
    const auto close = _mm_set1_epi8('}');
    const auto bits = [](__m128i hits) {
      return static_cast<std::uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(hits)));
    };
    for (unsigned i = 0; i < 4; ++i) {
      const auto block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
      const auto folded = _mm_or_si128(block, fold);
      const unsigned shift = 16 * i;
      out.quote |= bits(_mm_cmpeq_epi8(block, quote)) << shift;
      out.backslash |= bits(_mm_cmpeq_epi8(block, backslash)) << shift;
      out.open |= bits(_mm_cmpeq_epi8(folded, open)) << shift;
      out.close |= bits(_mm_cmpeq_epi8(folded, close)) << shift;
    }
#else
    for (unsigned i = 0; i < k_block; ++i) {
      const auto bit = std::uint64_t{1} << i;
      if (p[i] == '"') out.quote |= bit;
      if (p[i] == '\\') out.backslash |= bit;
      if (p[i] == '{' || p[i] == '[') out.open |= bit;
      if (p[i] == '}' || p[i] == ']') out.close |= bit;
    }
#endif
    return out;
  }
  /// Bit i = parity of the bits 0..i: set from an opening quote up to its closing one.
  static std::uint64_t prefix_xor(std::uint64_t bits) {
    for (unsigned shift = 1; shift < 64; shift *= 2)
      bits ^= bits << shift;
    return bits;
  }
  static std::uint64_t count(std::uint64_t bits) {
    return static_cast<std::uint64_t>(std::popcount(bits));
  }
};

#include "daemon/translate/structure_scan.inc"

Words words(std::string_view text, std::string_view prefix) {
  const auto has = [text](std::string_view word) {
    return ::memmem(text.data(), text.size(), word.data(), word.size()) != nullptr;
  };
  Words found = has("\\u") ? k_all_words : Words{0};
  if (has(prefix)) found |= k_prefix_word;
  for (const auto& needle : k_needles)
    if (has(needle.text)) found |= needle.word;
  return found;
}

} // namespace plain
} // namespace
} // namespace zoo::translate

#if defined(__x86_64__)
// The same once more for processors with AVX2: everything that is called from here on is compiled
// for them, and nothing of it is called on others.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,popcnt,pclmul"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,bmi,popcnt,pclmul")
#endif
namespace zoo::translate {
namespace {
namespace avx2 {

struct Machine {
  static Masks classify(const char* p) {
    const auto quote = _mm256_set1_epi8('"');
    const auto backslash = _mm256_set1_epi8('\\');
    const auto fold = _mm256_set1_epi8(0x20);
    const auto open = _mm256_set1_epi8('{');
    const auto close = _mm256_set1_epi8('}');
    const auto a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const auto b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32));
    const auto a_folded = _mm256_or_si256(a, fold);
    const auto b_folded = _mm256_or_si256(b, fold);
    Masks out;
    out.quote = bits(_mm256_cmpeq_epi8(a, quote), _mm256_cmpeq_epi8(b, quote));
    out.backslash = bits(_mm256_cmpeq_epi8(a, backslash), _mm256_cmpeq_epi8(b, backslash));
    out.open = bits(_mm256_cmpeq_epi8(a_folded, open), _mm256_cmpeq_epi8(b_folded, open));
    out.close = bits(_mm256_cmpeq_epi8(a_folded, close), _mm256_cmpeq_epi8(b_folded, close));
    return out;
  }
  static std::uint64_t bits(__m256i low, __m256i high) {
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(low)) |
           static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm256_movemask_epi8(high))) << 32;
  }
  static std::uint64_t prefix_xor(std::uint64_t bits) {
    const auto all = _mm_set1_epi8(static_cast<char>(0xFF));
    const auto product =
        _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<long long>(bits)), all, 0);
    return static_cast<std::uint64_t>(_mm_cvtsi128_si64(product));
  }
  static std::uint64_t count(std::uint64_t bits) {
    return static_cast<std::uint64_t>(__builtin_popcountll(bits));
  }
};

#include "daemon/translate/structure_scan.inc"

__m256i table(const std::array<std::uint8_t, 16>& bytes) {
  return _mm256_broadcastsi128_si256(
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes.data())));
}

/// The buckets that the 32 bytes from `p` may be the `at`th byte of a window of.
__m256i buckets(const char* p, __m256i low, __m256i high) {
  const auto nibble = _mm256_set1_epi8(15);
  const auto bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return _mm256_and_si256(
      _mm256_shuffle_epi8(low, _mm256_and_si256(bytes, nibble)),
      _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16(bytes, 4), nibble)));
}

Words words(std::string_view text, std::string_view prefix) {
  if (prefix.size() < 3) return plain::words(text, prefix);
  // Loads may not pass the end: a short text is looked at in a place of its own.
  constexpr std::size_t k_load = 34;
  std::array<char, k_load> room{};
  const char* bytes = text.data();
  if (text.size() < k_load) {
    if (!text.empty()) std::memcpy(room.data(), bytes, text.size());
    bytes = room.data();
  }
  // One tenant's objects come in a row: the tables are made when the prefix is another.
  static thread_local Nibbles nibbles;
  static thread_local std::array<char, 3> made_for{};
  const auto prefix_window = prefix.size() - 3;
  if (std::memcmp(made_for.data(), prefix.data() + prefix_window, 3) != 0) {
    std::memcpy(made_for.data(), prefix.data() + prefix_window, 3);
    nibbles = k_nibbles;
    for (std::size_t i = 0; i < 3; ++i)
      nibbles.add(i, prefix[prefix_window + i], k_prefix_bucket);
  }
  const auto low0 = table(nibbles.low[0]), high0 = table(nibbles.high[0]);
  const auto low1 = table(nibbles.low[1]), high1 = table(nibbles.high[1]);
  const auto low2 = table(nibbles.low[2]), high2 = table(nibbles.high[2]);
  const auto stands = [text](std::size_t window, std::size_t offset, std::string_view word) {
    if (window < offset) return false;
    const auto from = window - offset;
    return text.size() >= word.size() && from <= text.size() - word.size() &&
           std::memcmp(text.data() + from, word.data(), word.size()) == 0;
  };
  Words found = 0;
  for (std::size_t i = 0;;) {
    const auto hit = _mm256_and_si256(
        buckets(bytes + i, low0, high0),
        _mm256_and_si256(buckets(bytes + i + 1, low1, high1), buckets(bytes + i + 2, low2, high2)));
    auto hits = ~static_cast<std::uint32_t>(
        _mm256_movemask_epi8(_mm256_cmpeq_epi8(hit, _mm256_setzero_si256())));
    for (; hits != 0; hits &= hits - 1) {
      const auto at = i + static_cast<unsigned>(__builtin_ctz(hits));
      if (stands(at, 0, "\\u")) return k_all_words;
      if (stands(at, prefix_window, prefix)) found |= k_prefix_word;
      for (const auto& needle : k_needles)
        if (stands(at, needle.window, needle.text)) found |= needle.word;
    }
    if (i + k_load >= text.size()) return found;
    i = std::min(i + 32, text.size() - k_load);
  }
}

} // namespace avx2
} // namespace
} // namespace zoo::translate
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

namespace zoo::translate {
namespace {

struct Chosen {
  std::size_t (*run)(std::string_view, NestScanner&) = plain::run;
  Words (*words)(std::string_view, std::string_view) = plain::words;
};

Chosen choose() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
      __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("pclmul"))
    return {avx2::run, avx2::words};
#endif
  return {};
}

const Chosen g_chosen = choose();

} // namespace

std::size_t NestScanner::scan(std::string_view text) { return g_chosen.run(text, *this); }

Words words_in(std::string_view text, std::string_view prefix) {
  return g_chosen.words(text, prefix);
}

} // namespace zoo::translate
