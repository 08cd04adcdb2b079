// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/terms.hpp"

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace zoo::access {

/// Sorts of work with budgets of their own.
enum class Work : std::uint8_t { read, mutation, long_running };

/// What became of a request that asked for a place.
enum class FlowVerdict : std::uint8_t {
  admitted,
  queued,
  full,              ///< the tenant's requests in flight
  full_mutations,    ///< its writes
  full_long_running, ///< its watches and tunnels
  full_bytes,        ///< its bodies, and answers that its clients do not read
  full_queue,        ///< its waiting requests
};

/// What is in progress: of one tenant, or of all.
struct FlowLoad {
  std::uint32_t in_flight = 0, mutations = 0, long_running = 0, queued = 0, receiving = 0;
  std::uint64_t buffered = 0;
  std::uint64_t unread = 0;  ///< of these, of long-running requests
  std::uint64_t refused = 0; ///< since the first request
};

/// Of one tenant's work what has a limit, as other zoods with the same store report it: `requests`
/// are those that hold a place, wait for one, or are still received.
struct FlowOthers {
  std::uint32_t requests = 0, mutations = 0, long_running = 0;
  bool operator==(const FlowOthers&) const = default;
};

/// What one tenant has in progress, counted without a lock (docs/decisions/122): a limit is looked
/// at and a request counted in one step, so that it is never passed. Thread-safe, but for what
/// says so. FlowControl makes it.
class alignas(64) FlowShare {
public:
  explicit FlowShare(std::string id) : id_(std::move(id)) {}
  const std::string& id() const { return id_; }

  /// The budget of bytes and the weight from now on; the other limits come with each request.
  void set_terms(const api::Flow& flow);
  /// What the tenant has at others of `zoods` that share its limits. From now on this zood lets in
  /// what they leave of each limit, and its even part of it at least: with N zoods a limit L is
  /// max(L / N rounded up, L - others). The budget of bytes is each zood's own.
  void set_others(const FlowOthers& others, std::uint32_t zoods);
  /// What there is to tell the others: more than an eighth of an even part of one of the limits.
  /// Nothing: they need not know.
  std::optional<FlowOthers> worth_telling(std::uint32_t zoods) const;
  /// At least 1.
  std::uint32_t weight() const { return weight_.load(std::memory_order_relaxed); }

  /// Counts one more request if it is within the limits: Verdict::admitted. It is in flight if it
  /// `starts`; if not it is still received.
  FlowVerdict enter(const api::Flow& flow, Work work, bool starts);
  void start() { counts_.fetch_add(k_in_flight); } ///< from received, or waiting, to in flight
  void stop() { counts_.fetch_sub(k_in_flight); }  ///< from in flight to waiting
  void leave(Work work, bool started);             ///< the last of enter()
  std::uint32_t in_flight() const { return field(counts_.load(), k_in_flight); }
  /// One joined those that wait, or left them: they are told from those that are received.
  void count_queued(bool joined) { joined ? ++queued_ : --queued_; }
  void refuse() { refused_.fetch_add(1, std::memory_order_relaxed); }

  /// More bytes; false: beyond the budget, and not counted.
  bool add_bytes(std::uint64_t more);
  /// So many bytes instead of those before, be it beyond the budget.
  void change_bytes(std::uint64_t before, std::uint64_t now) { buffered_.fetch_add(now - before); }
  /// The same of those that wait for the client of a long-running request.
  void change_unread(std::uint64_t before, std::uint64_t now) { unread_.fetch_add(now - before); }
  /// More bytes that wait for the client of a request, `before` did so already. False: beyond the
  /// budget, and not counted. It `lasts` if it is long-running: such ones together may have half of
  /// the budget. One alone may go beyond it: else an event that is larger would come again and
  /// again.
  bool add_unread(std::uint64_t before, std::uint64_t now, bool lasts);
  /// Whether what is counted is within the budget, as for add_unread(); `unread` of it is the
  /// asker's.
  bool within(std::uint64_t unread, bool lasts) const;

  /// Admitted without the scheduler since it asked last: what a tenant's turn is judged by.
  void count_admission() { admissions_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t take_admissions() { return admissions_.exchange(0, std::memory_order_relaxed); }
  /// The scheduler's, under its lock: weighted count of admissions, which breaks ties.
  double served = 0;

  FlowLoad load() const;

private:
  /// One word, for one step: 21 bits each of `held`, those in flight among them, and mutations.
  /// None is above held, which api::Terms bounds by 1,000,000.
  static constexpr std::uint64_t k_held = 1;
  static constexpr std::uint64_t k_in_flight = std::uint64_t{1} << 21;
  static constexpr std::uint64_t k_mutation = std::uint64_t{1} << 42;
  static constexpr std::uint32_t k_most = (1U << 21) - 1;
  static std::uint32_t field(std::uint64_t counts, std::uint64_t one) {
    return static_cast<std::uint32_t>(counts / one) & k_most;
  }
  static std::uint64_t one_of(Work work, bool started) {
    return k_held + (started ? k_in_flight : 0) + (work == Work::mutation ? k_mutation : 0);
  }
  FlowVerdict refuse(FlowVerdict verdict);
  /// Of that limit what this zood may let in.
  std::uint32_t part_of(std::uint32_t limit, const std::atomic<std::uint32_t>& others) const;

  std::atomic<std::uint64_t> counts_ = 0;
  std::atomic<std::uint64_t> admissions_ = 0;
  std::atomic<std::uint64_t> buffered_ = 0;
  std::atomic<std::uint64_t> unread_ = 0;
  std::atomic<std::uint64_t> budget_ = 0;
  std::atomic<std::uint64_t> refused_ = 0;
  std::atomic<std::uint32_t> long_running_ = 0;
  std::atomic<std::uint32_t> weight_ = 1;
  std::atomic<std::uint32_t> queued_ = 0;
  /// The limits of the last request, for worth_telling().
  std::atomic<std::uint32_t> limit_requests_ = 0, limit_mutations_ = 0, limit_long_running_ = 0;
  std::atomic<std::uint32_t> zoods_ = 1; ///< that share the limits
  std::atomic<std::uint32_t> others_requests_ = 0, others_mutations_ = 0, others_long_running_ = 0;
  const std::string id_;
};

} // namespace zoo::access
