// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/store/etcd/gateway.hpp"
#include "daemon/store/etcd/wire.hpp"

#include <nlohmann/json_fwd.hpp>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace zoo::store::etcd {

/// What is to be written in one transaction; arrays of etcd's own messages (wire.hpp).
struct Transaction {
  nlohmann::json& compare;
  nlohmann::json& success; ///< at most 120 requests
  nlohmann::json& failure; ///< what to look at where a comparison does not hold
};

struct Committed {
  bool done = false;                   ///< false: a comparison did not hold
  std::int64_t revision = 0;           ///< etcd's: of the writes, or of the moment of the look
  bool answers_known = true;           ///< false: done, but the answers were lost with a connection
  std::vector<nlohmann::json> answers; ///< to `success` if done, else to `failure`; in their order
};

/// Does each transaction once or not at all, and knows which, though a request may reach etcd
/// several times, late, or without an answer. Each transaction also puts a mark, a key of this
/// writer's that is in use for one transaction at a time, and compares the mark's revision with
/// that of the transaction before: so a second copy does nothing, and the mark that it finds tells
/// that the first one was done (decision 260). Any thread; sixteen at a time.
class Committer {
public:
  /// The marks' names begin with `name`, which no other writer has.
  Committer(Gateway& gateway, const Layout& layout, std::string name);

  /// Code::unavailable: the store cannot be reached, and the writes may have been done. Else as
  /// Gateway::ask.
  Result<Committed> commit(const Transaction& transaction);

  /// Removes the marks. Nothing is committed afterwards.
  void finish();

private:
  struct Mark {
    std::string key;
    std::int64_t modified = 0; ///< as last seen; 0: not there
    std::uint64_t uses = 0;
  };
  class Taken;
  Result<Committed> commit_with(Mark& mark, const Transaction& transaction);
  /// Puts the mark anew, so that no late copy of the transaction can be done any more; false: one
  /// was done meanwhile, and the mark is what it left.
  Result<bool> rule_out(Mark& mark, std::string_view wanted);
  nlohmann::json body(const Mark& mark, std::string_view value,
                      const Transaction& transaction) const;

  Gateway& gateway_;
  const std::string prefix_;
  std::mutex mutex_;
  std::condition_variable free_;
  std::vector<Mark> marks_; ///< those that are not in use
  std::size_t made_ = 0;
};

/// Removes marks that writers left behind which ended without finish() more than a day ago.
Result<void> remove_old_marks(Gateway& gateway, const Layout& layout);

} // namespace zoo::store::etcd
