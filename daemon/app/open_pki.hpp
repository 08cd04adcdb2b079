// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/config/config.hpp"
#include "daemon/store/keyring.hpp"
#include "daemon/store/store.hpp"
#include "daemon/tenants/pki.hpp"

#include <memory>

namespace zoo::upstream {
class Credential;
}

namespace zoo::app {

/// zood's authorities, made at the first start, and the certificate of its doors, which is good for
/// all hosts that the configuration names and for those that pods know. Of several zoods with one
/// store all have the authorities of the first. Blocks: asks upstream, the store and the disk. At
/// the start.
Result<std::unique_ptr<tenants::Pki>> open_pki(const config::Values& values,
                                               const upstream::Credential& credential,
                                               store::Store& store, store::Keyring& keyring);

} // namespace zoo::app
