// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/translate/mapping.hpp"

#include <string>
#include <string_view>

/// Labels and annotations that a tenant does not see on its objects survive what it writes
/// (docs/decisions/193). Which ones these are, the rule table says: what it leaves out outward.
/// Most writes need nothing for that: what zood makes of the document itself it makes anew, and a
/// patch names the members that it changes. For the others the stored object is looked at. Pure
/// functions, any thread.
namespace zoo::translate {

struct Root;

/// Can an object that is replaced as a whole hold labels or annotations that do not come of the
/// document? A namespace can; a pod, if it reads its namespace (pod_fields.hpp), and through its
/// status, for which the document need not tell. `body`: in the tenant's words.
bool may_hold_hidden(const Root& root, std::string_view subresource, std::string_view body);

/// Does a patch take away, replace or test labels or annotations as a whole (`"annotations": null`,
/// `$patch`, a JSON patch of /metadata/annotations or of what is above)? Not of what is applied:
/// its manager owns nothing of these. `body`: in the tenant's words; what is no patch is none such.
bool patches_whole_maps(BodyFormat format, std::string_view body);

/// The object `document`, in upstream's form, with what its tenant does not see of `stored`.
/// Code::bad_request: not JSON.
Result<std::string> with_hidden(const Root& root, const Mapping& mapping, std::string document,
                                std::string_view stored);

/// The patch in upstream's form, so that it takes away what its tenant sees and nothing else.
/// `asked`: what the tenant wrote; `patch`: what patch_in() made of it. Code::bad_request: not
/// JSON.
Result<std::string> patch_with_hidden(const Root& root, const Mapping& mapping, BodyFormat format,
                                      std::string_view asked, std::string patch,
                                      std::string_view stored);

} // namespace zoo::translate
