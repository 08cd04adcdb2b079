// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/access/local_api.hpp"

#include <memory>

namespace zoo::accounts {

class Views;

/// The rights of which the Views know. They must outlive it.
std::shared_ptr<const access::UpstreamRights> rights_of(const Views& views);

} // namespace zoo::accounts
