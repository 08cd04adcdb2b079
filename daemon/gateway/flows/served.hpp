// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/gateway/flow.hpp"
#include "daemon/resources/request.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What a view's own API (access::LocalApi) answers, over the Exchange. Loop thread.
namespace zoo::gateway {

class Exchange;

/// The request as one to the view's own API: a worker lets that answer it, and what comes is sent
/// here, in the form and encoding that the client takes. Code::not_acceptable.
Result<std::unique_ptr<Flow>> served(Exchange& exchange);

/// What the view's own API says to GET of `path`, a document of discovery or OpenAPI; nothing where
/// it has none, or where the group in question is served upstream, too. Does not block.
std::optional<resources::Answer> local_document(const Exchange& exchange, std::string_view path,
                                                std::string_view accept = "application/json");
/// The client's /apis, which upstream's catalog has made, with the groups of the view's own API
/// that upstream does not serve. They come first, so that a short word for a kind means theirs.
std::string with_local_groups(const Exchange& exchange, std::string document, bool aggregated);

/// An OpenAPI document of a group and version that upstream does not serve.
struct LocalDocument {
  std::string name; ///< "apis/tenancy.kiosk.sh/v1alpha1"
  std::string url;  ///< "/openapi/v3/apis/tenancy.kiosk.sh/v1alpha1?hash=..."
};
std::vector<LocalDocument> local_documents(const Exchange& exchange);

} // namespace zoo::gateway
