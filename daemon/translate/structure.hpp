// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/// JSON by blocks of 64 bytes: where strings begin and end, and where brackets open and close, as
/// bits (the idea of simdjson, Langdale and Lemire, "Parsing Gigabytes of JSON per Second", 2019).
/// AVX-512 or AVX2 where the processor has it, chosen once; else SSE2 or plain C++. Pure, any
/// thread.
namespace zoo::translate {

/// First byte at or after `p` that ends or bends a string, a quote or a backslash; else `end`.
inline const char* find_quote(const char* p, const char* end) {
#if defined(__SSE2__)
  const auto quote = _mm_set1_epi8('"');
  const auto backslash = _mm_set1_epi8('\\');
  for (; end - p >= 16; p += 16) {
    const auto block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const auto hits = _mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, backslash));
    if (const auto mask = static_cast<unsigned>(_mm_movemask_epi8(hits)); mask != 0)
      return p + std::countr_zero(mask);
  }
#endif
  while (p != end && *p != '"' && *p != '\\')
    ++p;
  return p;
}

/// First byte at or after `p` that a string cannot hold as it is, or that is not ASCII, near
/// enough: where 16 bytes in a row are plain they are passed over, the rest is the caller's.
inline const char* skip_plain(const char* p, const char* end) {
#if defined(__SSE2__)
  const auto quote = _mm_set1_epi8('"');
  const auto backslash = _mm_set1_epi8('\\');
  const auto space = _mm_set1_epi8(' ');
  for (; end - p >= 16; p += 16) {
    const auto block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const auto odd = _mm_cmplt_epi8(block, space); // signed: what is not ASCII is negative
    const auto ends = _mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, backslash));
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(odd, ends)));
    if (mask != 0) return p + std::countr_zero(mask);
  }
#else
  static_cast<void>(end);
#endif
  return p;
}

/// Finds the end of an object or array, its opening bracket already taken, in pieces of any size.
/// Brackets are counted, not matched by kind; what is inside is not validated.
class NestScanner {
public:
  /// Bytes of `text` that belong to the value: all of them, or, with done(), up to its end.
  std::size_t scan(std::string_view text);
  bool done() const { return depth_ == 0; }
  void reset() { *this = {}; }

  // For the implementations.
  std::uint64_t depth_ = 1;
  std::uint64_t inside_ = 0;  ///< all ones: the next byte stands in a string
  std::uint64_t escaped_ = 0; ///< 1: the next byte stands behind a backslash that escapes it
};

/// Words that must occur in an object for certain rules to have anything to do outward, as bits:
/// the tenant's prefix, zood's annotations, policies and ConfigMap for pods, device classes, and
/// keys that most objects lack. The rule table's generator names them in the same order
/// (rules/build_table.py, RARE).
using Words = std::uint16_t;
inline constexpr Words k_prefix_word = 1, k_domain_word = 2, k_device_word = 4;
inline constexpr std::array<std::string_view, 7> k_rare_keys = {
    "affinity",           "priorityClassName", "runtimeClassName", "ephemeral",
    "clusterTrustBundle", "podCertificate",    "storageos"}; ///< from the fourth bit on
inline constexpr Words k_all_words = 0xFFFF;

/// Which of them occur in `text`, a piece of JSON: never one too few; all, if an escape \u might
/// hide one.
Words words_in(std::string_view text, std::string_view prefix);

struct Passed {
  std::size_t size; ///< up to the value's end; npos: it does not end
  Words words;      ///< in it
};
/// Both at once for an object or array whose opening bracket has been taken.
Passed pass_nested(std::string_view text, std::string_view prefix);

/// For tests: what is said above by the code for this processor, or false if this one is another.
/// Not while somebody scans.
enum class Processor : std::uint8_t { any, avx2, avx512 };
bool use_processor(Processor processor);

} // namespace zoo::translate
