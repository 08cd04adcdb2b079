// SPDX-License-Identifier: Apache-2.0
// The one translation unit that holds Asio's code (BOOST_ASIO_SEPARATE_COMPILATION).
#include <boost/asio/impl/src.hpp>
