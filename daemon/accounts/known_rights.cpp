// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/known_rights.hpp"

#include "daemon/accounts/views.hpp"

namespace zoo::accounts {
namespace {

class OfViews final : public access::UpstreamRights {
public:
  explicit OfViews(const Views& views) : views_(views) {}
  Result<authz::RightsPtr> rights() const override {
    ZOO_TRY(const auto state, views_.state());
    if (state->rights == nullptr)
      return fail(Code::unavailable, "upstream's roles and bindings have not been read yet");
    return state->rights;
  }

private:
  const Views& views_;
};

} // namespace

std::shared_ptr<const access::UpstreamRights> rights_of(const Views& views) {
  return std::make_shared<const OfViews>(views);
}

} // namespace zoo::accounts
