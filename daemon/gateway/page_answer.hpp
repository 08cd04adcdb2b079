// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/gateway/answer.hpp"
#include "daemon/http/message.hpp"
#include "daemon/translate/page_links.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace zoo::gateway {

/// Where the service lies that `exchange` asks through the proxy subresource of a pod or a Service;
/// none for other requests, and where tenant and upstream call it the same.
std::optional<translate::ProxyPlace> proxy_place(const Exchange& exchange);

/// For the body of `head`, a proxied service's answer: what rewrites its links, if it is a page of
/// which kube-apiserver has rewritten them; else null. A page that is gzip is opened, and goes out
/// as it is then: `head` loses its Content-Encoding. Null for it while k_most_opened others are
/// being opened on this loop: it passes with upstream's links.
std::unique_ptr<AnswerTranslator> page_answer(Exchange& exchange, http::ResponseHead& head);
constexpr std::size_t k_most_opened = 64; ///< of 216 KiB each (common/base/gzip.hpp)

/// Accept-Encoding for a proxied service: what the client says, without deflate, of which nobody
/// knows which one is meant, and which nothing here opens.
std::string page_encodings(std::string_view accept_encoding);

} // namespace zoo::gateway
