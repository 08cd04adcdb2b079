// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/tls_memory.hpp"

#include <malloc.h>
#include <openssl/crypto.h>

#include <array>
#include <cstddef>
#include <cstdlib>

namespace zoo::net {
namespace {

constexpr std::size_t k_smallest_spare = 16 * 1024; ///< what is smaller is malloc's

/// Blocks that all have room for `most` bytes. Last in, first out: what is taken was just in use,
/// and is in the cache.
struct Spare {
  const std::size_t least, most; ///< of what is asked for, in bytes
  std::array<void*, 4> blocks{};
  std::size_t count = 0;

  bool serves(std::size_t asked) const { return asked >= least && asked <= most; }
  /// malloc gives a little more than was asked for.
  bool takes(std::size_t usable) const {
    return usable >= most && usable < most + 64 && count < blocks.size();
  }
};

/// A thread's.
struct Spares {
  Spare record{k_smallest_spare, 20 * 1024};
  Spare ahead{64 * 1024, 70 * 1024}; ///< what tls_client.cpp reads at once

  ~Spares();
};
thread_local Spares spares;
thread_local bool gone = false; ///< OpenSSL may end its own part of the thread after `spares`

Spares::~Spares() {
  gone = true;
  for (auto* spare : {&record, &ahead}) {
    while (spare->count > 0)
      std::free(spare->blocks[--spare->count]);
  }
}

void* allocate(std::size_t size, const char*, int) {
  if (size < k_smallest_spare || gone) return std::malloc(size);
  auto* spare = spares.record.serves(size)  ? &spares.record
                : spares.ahead.serves(size) ? &spares.ahead
                                            : nullptr;
  if (spare == nullptr) return std::malloc(size);
  return spare->count > 0 ? spare->blocks[--spare->count] : std::malloc(spare->most);
}

void release(void* block, const char*, int) {
  const auto usable = ::malloc_usable_size(block); // 0 of null
  if (usable < k_smallest_spare || gone) return std::free(block);
  auto* spare = spares.record.takes(usable)  ? &spares.record
                : spares.ahead.takes(usable) ? &spares.ahead
                                             : nullptr;
  if (spare == nullptr) return std::free(block);
  spare->blocks[spare->count++] = block;
}

void* resize(void* block, std::size_t size, const char*, int) {
  if (size > 0) return std::realloc(block, size);
  std::free(block);
  return nullptr;
}

} // namespace

bool keep_tls_buffers() { return CRYPTO_set_mem_functions(allocate, resize, release) == 1; }

} // namespace zoo::net
