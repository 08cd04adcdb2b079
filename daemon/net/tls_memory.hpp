// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace zoo::net {

/// From now on each thread keeps the last few buffers of TLS records that OpenSSL gave back, for
/// the next record: idle connections hold none (SSL_MODE_RELEASE_BUFFERS), and malloc would look
/// for four of them at each request. Before OpenSSL's first allocation: false, it was not, and
/// nothing has changed.
bool keep_tls_buffers();

} // namespace zoo::net
