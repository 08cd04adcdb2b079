// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/translate/mapping.hpp"
#include "daemon/translate/rules.hpp"
#include "daemon/translate/webhook_relay.hpp"

#include <string>
#include <string_view>

/// Patches of objects that name webhooks, where upstream calls these through the relay: upstream
/// has a URL and zood's authority where the patch speaks of a Service and the tenant's. Pure, any
/// thread.
namespace zoo::translate {

/// Does `root` name webhooks, and can a patch of this format not be translated without the object
/// that it is applied to? Whatever is applied can (docs/decisions/199).
bool needs_stored(const Root& root, BodyFormat format);

/// `body`, a JSON, merge or strategic patch in the tenant's words, for the object `stored` that
/// upstream has, in upstream's words and the format that it had; it does nothing to any other
/// version of the object. A JSON patch is applied here, to what the tenant sees; of the others,
/// what they say of a clientConfig is completed by what is stored.
///
/// Code::invalid: what the patch cannot be applied to, or a Service that upstream would refuse;
/// Code::conflict: the client demands another version; whatever patch_in() answers.
Result<std::string> relayed_patch_in(const Root& root, const Mapping& mapping, const Relay& relay,
                                     BodyFormat format, std::string_view body,
                                     std::string_view stored);

} // namespace zoo::translate
