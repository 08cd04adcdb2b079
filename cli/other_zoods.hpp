// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/admin_client.hpp"
#include "common/base/result.hpp"

#include <nlohmann/json.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace zoo::cli {

class Context;

/// What one of several zoods with the same store has answered.
struct ZoodAnswer {
  std::string zood; ///< replicas.name; "" where zood has its store for itself
  Result<nlohmann::json> answer;
};

/// The zood that the options name, and the others that have its store open. These are asked by
/// their TLS doors for administrators: with the credential by which the first one is asked, else
/// with that of admin.kubeconfig in its directory. One thread.
class AllZoods {
public:
  /// `zood`: its name, as in ZoodAnswer; of the first one "" until the others were found.
  using Ask = std::function<Result<nlohmann::json>(const std::string& zood, AdminClient&)>;

  /// `context` outlives it. `alone`: nobody else is to be asked. Errors: as Context::client().
  static Result<AllZoods> find(Context& context, bool alone);

  /// Asks one after the other, each bounded by the request timeout. The first entry is that of the
  /// zood that the options name; an error of its own is returned as one, and each of the others may
  /// have failed for itself. Who the others are is asked once, after the first answer: where that
  /// cannot be known an entry "others" says why.
  Result<std::vector<ZoodAnswer>> ask(const Ask& ask);

private:
  struct Other {
    std::string name;
    Result<std::unique_ptr<AdminClient>> client;
  };
  AllZoods(Context& context, AdminClient& first) : context_(&context), first_(&first) {}
  Result<void> find_others();
  Result<std::unique_ptr<AdminClient>> client_of(const nlohmann::json& replica);

  Context* context_;
  AdminClient* first_;
  std::string name_; ///< of the first; "": it has its store for itself
  std::vector<Other> others_;
  bool found_ = false; ///< the others
};

} // namespace zoo::cli
