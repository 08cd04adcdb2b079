// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/structure.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace zoo::translate {
namespace {

constexpr std::size_t k_block = 64;
constexpr std::size_t k_behind = 2; ///< bytes behind a block that a window may reach to

/// What words_in() looks for beside the prefix. `window`: of its bytes the three that tell it best.
/// None has a byte that another escape than \u can spell (a slash: \/), or that is not ASCII.
struct Needle {
  std::string_view text;
  std::size_t window;
  unsigned bucket;
  Words word;
};
constexpr Words rare(unsigned number) { return static_cast<Words>(8U << number); }
constexpr std::array<Needle, 12> k_needles = {{{"kubezoo.io", 2, 5, k_domain_word},
                                               {"'zoo-tenants-", 0, 5, k_domain_word},
                                               {"zoo-pods-inside", 0, 5, k_domain_word},
                                               {"zoo-root-ca.crt", 0, 5, k_domain_word},
                                               {"deviceclass.", 9, 7, k_device_word},
                                               {"\"affinity\"", 2, 3, rare(0)},
                                               {"\"priorityClassName\"", 8, 6, rare(1)},
                                               {"\"runtimeClassName\"", 7, 6, rare(2)},
                                               {"\"ephemeral\"", 2, 4, rare(3)},
                                               {"\"clusterTrustBundle\"", 7, 1, rare(4)},
                                               {"\"podCertificate\"", 3, 2, rare(5)},
                                               {"\"storageos\"", 6, 3, rare(6)}}};
constexpr unsigned k_prefix_bucket = 0;

/// In which buckets is a word whose window has these bytes? By the low half of each of three in a
/// row, and the high half of the middle one: of text that has none of the words, one place in some
/// thousand looks as if it had. (The idea of Hyperscan's Teddy.)
struct Nibbles {
  std::array<std::array<std::uint8_t, 16>, 3> low{};
  std::array<std::uint8_t, 16> middle{};
  constexpr void add(std::size_t at, char byte, unsigned bucket) {
    const auto value = static_cast<unsigned char>(byte);
    low[at][value & 15U] = static_cast<std::uint8_t>(low[at][value & 15U] | 1U << bucket);
    if (at == 1) middle[value >> 4] = static_cast<std::uint8_t>(middle[value >> 4] | 1U << bucket);
  }
};

/// The same by whole bytes, or by the lowest bits of them.
template <std::size_t Size>
struct Lookup {
  alignas(64) std::array<std::array<std::uint8_t, Size>, 3> in{};
  constexpr void add(std::size_t at, char byte, unsigned bucket) {
    auto& entry = in[at][static_cast<unsigned char>(byte) % Size];
    entry = static_cast<std::uint8_t>(entry | 1U << bucket);
  }
};

template <typename Tables>
constexpr Tables tables_of_needles() {
  Tables out;
  for (const auto& needle : k_needles)
    for (std::size_t i = 0; i < 3; ++i)
      out.add(i, needle.text[needle.window + i], needle.bucket);
  return out;
}

/// With the end of a prefix, of three bytes at least. One tenant's objects come in a row: the
/// tables are made when the prefix is another.
template <typename Tables>
const Tables& tables_for(std::string_view prefix) {
  static constexpr auto k_of_needles = tables_of_needles<Tables>();
  static thread_local Tables tables;
  static thread_local std::array<char, 3> made_for{};
  const auto window = prefix.substr(prefix.size() - 3);
  if (std::memcmp(made_for.data(), window.data(), 3) != 0) {
    std::memcpy(made_for.data(), window.data(), 3);
    tables = k_of_needles;
    for (std::size_t i = 0; i < 3; ++i)
      tables.add(i, window[i], k_prefix_bucket);
  }
  return tables;
}

/// Which of 64 bytes are quotes, backslashes, opening and closing brackets.
struct Masks {
  std::uint64_t quote = 0, backslash = 0, open = 0, close = 0;
};

/// A block with what is left of a text.
inline std::array<char, k_block> padded(const char* p, std::size_t size) {
  std::array<char, k_block> out;
  out.fill(' ');
  std::memcpy(out.data(), p, size);
  return out;
}

/// Does `word` stand in `text` so that its window begins at `window`?
inline bool stands(std::string_view text, std::size_t window, std::size_t offset,
                   std::string_view word) {
  if (window < offset) return false;
  const auto from = window - offset;
  return text.size() >= word.size() && from <= text.size() - word.size() &&
         std::memcmp(text.data() + from, word.data(), word.size()) == 0;
}

/// Adds the words that stand where a filter has seen their windows.
inline void add_words(std::string_view text, std::size_t window, std::string_view prefix,
                      Words& found) {
  if (stands(text, window, prefix.size() - 3, prefix)) found |= k_prefix_word;
  for (const auto& needle : k_needles)
    if (stands(text, window, needle.window, needle.text)) found |= needle.word;
}

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
  static Masks classify(const char* p, std::size_t size) {
    return classify(padded(p, size).data());
  }
  /// Where is a 'u' among 64 bytes?
  static std::uint64_t letters_u(const char* p) {
    std::uint64_t out = 0;
    for (unsigned i = 0; i < k_block; ++i)
      if (p[i] == 'u') out |= std::uint64_t{1} << i;
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

/// Where in the 64 bytes from `p` may a window begin? The k_behind bytes behind them are read, too.
class Filter {
public:
  explicit Filter(std::string_view prefix) : tables_(tables_for<Lookup<256>>(prefix)) {}
  std::uint64_t hits(const char* p) const {
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < k_block; ++i) {
      const auto in = [&](std::size_t at) {
        return tables_.in[at][static_cast<unsigned char>(p[i + at])];
      };
      if ((in(0) & in(1) & in(2)) != 0) out |= std::uint64_t{1} << i;
    }
    return out;
  }
  bool any(const char* p) const { return hits(p) != 0; }

private:
  const Lookup<256>& tables_;
};

#include "daemon/translate/structure_scan.inc"

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
  static Masks classify(const char* p, std::size_t size) {
    return classify(padded(p, size).data());
  }
  static std::uint64_t letters_u(const char* p) {
    const auto letter = _mm256_set1_epi8('u');
    const auto* blocks = reinterpret_cast<const __m256i*>(p);
    return bits(_mm256_cmpeq_epi8(_mm256_loadu_si256(blocks), letter),
                _mm256_cmpeq_epi8(_mm256_loadu_si256(blocks + 1), letter));
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

class Filter {
public:
  explicit Filter(std::string_view prefix) {
    const auto& tables = tables_for<Nibbles>(prefix);
    for (std::size_t i = 0; i < 3; ++i)
      low_[i] = table(tables.low[i]);
    middle_ = table(tables.middle);
  }
  std::uint64_t hits(const char* p) const {
    return bits(buckets(p)) | std::uint64_t{bits(buckets(p + 32))} << 32;
  }
  bool any(const char* p) const {
    const auto hit = _mm256_or_si256(buckets(p), buckets(p + 32));
    return _mm256_testz_si256(hit, hit) == 0;
  }

private:
  static __m256i table(const std::array<std::uint8_t, 16>& bytes) {
    return _mm256_broadcastsi128_si256(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes.data())));
  }
  /// The buckets of the windows that begin at the 32 bytes from `p`. A byte that is not ASCII has
  /// its highest bit, for which a shuffle gives 0: it is in no bucket.
  __m256i buckets(const char* p) const {
    const auto at = [p](std::size_t i) {
      return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + i));
    };
    const auto middle = at(1);
    const auto high = _mm256_and_si256(_mm256_srli_epi16(middle, 4), _mm256_set1_epi8(15));
    return _mm256_and_si256(
        _mm256_and_si256(_mm256_shuffle_epi8(low_[0], at(0)), _mm256_shuffle_epi8(low_[1], middle)),
        _mm256_and_si256(_mm256_shuffle_epi8(low_[2], at(2)), _mm256_shuffle_epi8(middle_, high)));
  }
  static std::uint32_t bits(__m256i hit) {
    return ~static_cast<std::uint32_t>(
        _mm256_movemask_epi8(_mm256_cmpeq_epi8(hit, _mm256_setzero_si256())));
  }
  __m256i low_[3], middle_;
};

#include "daemon/translate/structure_scan.inc"

} // namespace avx2
} // namespace
} // namespace zoo::translate
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

// And for those with AVX-512 and its permutations of bytes (Ice Lake, Zen 4): one comparison for a
// block, one lookup for each byte of a window.
#if defined(__clang__)
#pragma clang attribute push(                                                                      \
    __attribute__((target("avx512f,avx512bw,avx512vbmi,bmi,popcnt,pclmul"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vbmi,bmi,popcnt,pclmul")
#endif
namespace zoo::translate {
namespace {
namespace avx512 {

struct Machine : avx2::Machine {
  static Masks classify(const char* p) { return classify(_mm512_loadu_si512(p)); }
  static Masks classify(const char* p, std::size_t size) {
    return classify(_mm512_maskz_loadu_epi8((std::uint64_t{1} << size) - 1, p));
  }
  static Masks classify(__m512i block) {
    const auto folded = _mm512_or_si512(block, _mm512_set1_epi8(0x20));
    return {_mm512_cmpeq_epi8_mask(block, _mm512_set1_epi8('"')),
            _mm512_cmpeq_epi8_mask(block, _mm512_set1_epi8('\\')),
            _mm512_cmpeq_epi8_mask(folded, _mm512_set1_epi8('{')),
            _mm512_cmpeq_epi8_mask(folded, _mm512_set1_epi8('}'))};
  }
  static std::uint64_t letters_u(const char* p) {
    return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(p), _mm512_set1_epi8('u'));
  }
};

class Filter {
public:
  explicit Filter(std::string_view prefix) {
    const auto& tables = tables_for<Lookup<64>>(prefix);
    for (std::size_t i = 0; i < 3; ++i)
      table_[i] = _mm512_load_si512(tables.in[i].data());
  }
  std::uint64_t hits(const char* p) const {
    const auto hit =
        _mm512_and_si512(buckets(p, 0), _mm512_and_si512(buckets(p, 1), buckets(p, 2)));
    return _mm512_test_epi8_mask(hit, hit);
  }
  bool any(const char* p) const { return hits(p) != 0; }

private:
  __m512i buckets(const char* p, std::size_t at) const {
    return _mm512_maskz_permutexvar_epi8(~std::uint64_t{0}, _mm512_loadu_si512(p + at), table_[at]);
  }
  __m512i table_[3];
};

#include "daemon/translate/structure_scan.inc"

} // namespace avx512
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
  std::size_t (*run)(std::string_view, NestScanner&);
  Words (*words)(std::string_view, std::string_view);
  Passed (*pass)(std::string_view, std::string_view);
};

std::optional<Chosen> chosen(Processor processor) {
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("pclmul");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi");
  if (processor == Processor::avx512 && avx512)
    return Chosen{avx512::run, avx512::words, avx512::pass};
  if (processor == Processor::avx2 && avx2) return Chosen{avx2::run, avx2::words, avx2::pass};
#endif
  if (processor == Processor::any) return Chosen{plain::run, plain::words, plain::pass};
  return std::nullopt;
}

Chosen best() {
  for (const auto each : {Processor::avx512, Processor::avx2})
    if (const auto out = chosen(each)) return *out;
  return *chosen(Processor::any);
}

Chosen g_chosen = best();

} // namespace

bool use_processor(Processor processor) {
  const auto out = chosen(processor);
  if (out) g_chosen = *out;
  return out.has_value();
}

std::size_t NestScanner::scan(std::string_view text) { return g_chosen.run(text, *this); }

Words words_in(std::string_view text, std::string_view prefix) {
  return prefix.size() < 3 ? k_all_words : g_chosen.words(text, prefix);
}

Passed pass_nested(std::string_view text, std::string_view prefix) {
  if (prefix.size() >= 3) return g_chosen.pass(text, prefix);
  NestScanner scanner;
  const auto size = scanner.scan(text);
  return {scanner.done() ? size : std::string_view::npos, k_all_words};
}

} // namespace zoo::translate
