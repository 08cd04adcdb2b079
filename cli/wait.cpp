// SPDX-License-Identifier: Apache-2.0
#include "cli/wait.hpp"

#include "cli/output/printer.hpp"
#include "cli/progress.hpp"

#include <nlohmann/json.hpp>

namespace zoo::cli {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

/// status.waitingFor, else the first condition that is not True.
std::string waiting_for(const json& tenant) {
  if (auto text = text_at(tenant, "/status/waitingFor"); !text.empty()) return text;
  if (!tenant.contains("status") || !tenant["status"].is_object()) return {};
  const auto& status = tenant["status"];
  if (!status.contains("conditions") || !status["conditions"].is_array()) return {};
  for (const auto& condition : status["conditions"]) {
    if (text_at(condition, "/status") != "True") {
      auto message = text_at(condition, "/message");
      return message.empty() ? "condition " + text_at(condition, "/type") : message;
    }
  }
  return {};
}

std::string seconds(milliseconds span) {
  return fmt::format("{}s", std::chrono::duration<double>(span).count());
}

struct Follow {
  Context& context;
  const std::string& id;
  milliseconds timeout;
  std::string last = "zood to begin"; ///< what was waited for when the time was over

  Result<bool> run(const std::function<Result<bool>(const json*)>& each, std::string_view verb) {
    ZOO_TRY(auto* client, context.client());
    Progress progress(context);
    const auto show = [&] {
      progress.show(fmt::format("{} tenant {}: waiting for {} ...", verb, id, last));
    };
    show();
    return client->follow(
        id, context.steady() + timeout,
        [&](const json* tenant) -> Result<bool> {
          if (tenant != nullptr) {
            if (auto text = waiting_for(*tenant); !text.empty()) last = std::move(text);
          }
          show();
          return each(tenant);
        },
        [&](const Error& error) {
          last = fmt::format("zood to answer again: {}", error.message());
          show();
        },
        context.pause);
  }
};

} // namespace

Result<json> wait_until_ready(Context& context, const std::string& id, milliseconds timeout) {
  Follow follow{context, id, timeout};
  json ready;
  const auto each = [&](const json* tenant) -> Result<bool> {
    if (tenant == nullptr) {
      return fail(Code::conflict, "tenant '{}' was deleted while waiting for it to be Ready", id);
    }
    const auto phase = text_at(*tenant, "/status/phase");
    if (phase == "Failed") {
      return fail(Code::internal, "tenant '{}' failed: {}. `zooctl tenant describe {}` shows more",
                  id, printable(follow.last), id);
    }
    if (phase == "Deleting") {
      return fail(Code::conflict, "tenant '{}' is being deleted", id);
    }
    if (phase != "Ready" && phase != "Suspended") return false;
    ready = *tenant;
    return true;
  };
  ZOO_TRY(const bool done, follow.run(each, "creating"));
  if (!done) {
    return fail(Code::timeout,
                "tenant '{}' is not Ready after {}: waiting for {}. zood goes on with it; see "
                "`zooctl tenant describe {}`",
                id, seconds(timeout), printable(follow.last), id);
  }
  return ready;
}

Result<void> wait_until_gone(Context& context, const std::string& id, const std::string& uid,
                             milliseconds timeout) {
  Follow follow{context, id, timeout};
  const auto each = [&](const json* tenant) -> Result<bool> {
    return tenant == nullptr || (!uid.empty() && text_at(*tenant, "/metadata/uid") != uid);
  };
  ZOO_TRY(const bool done, follow.run(each, "deleting"));
  if (!done) {
    return fail(Code::timeout,
                "tenant '{}' is not gone after {}: waiting for {}. zood goes on with it; see "
                "`zooctl tenant describe {}`",
                id, seconds(timeout), printable(follow.last), id);
  }
  return {};
}

} // namespace zoo::cli
