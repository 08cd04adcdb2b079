// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/accounts/views.hpp"
#include "daemon/resources/backing.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace zoo::accounts {

/// What a view is asked through: reads are answered from the State, without a request upstream.
/// Writes are the kind's own. The Views must outlive it.
class ViewBacking : public resources::Backing {
public:
  /// `resource`: of tenancy.kiosk.sh, by whose rights each request is judged first ("spaces"); "":
  /// the view alone says what there is.
  ViewBacking(Views& views, ViewOf what, std::string resource)
      : views_(views), what_(what), resource_(std::move(resource)) {}

  Result<void> admit(const resources::Who& caller, resources::Verb verb,
                     const resources::Key& key) override;
  Result<resources::ObjectPtr> get(const resources::Who& caller,
                                   const resources::Key& key) override;
  Result<resources::Page> list(const resources::Who& caller, std::string_view space,
                               const resources::Key& after, std::size_t limit) override;
  Result<std::unique_ptr<resources::Subscription>>
  watch(const resources::Who& caller, std::int64_t revision,
        std::function<void(const resources::Change&)> on_change) override;

protected:
  Views& views() const { return views_; }

private:
  std::string title(std::string_view name) const;
  std::string known_as(const resources::Key& key) const;
  Result<StatePtr> state() const;

  Views& views_;
  const ViewOf what_;
  const std::string resource_;
};

} // namespace zoo::accounts
