// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/clusters/sync/pod_dress.hpp"
#include "daemon/translate/mapping.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>

/// Objects between the names of a cluster and upstream's: by the same rules, and with the same
/// proof behind them, as what a tenant writes itself. Pure.
namespace zoo::clusters::sync {

/// As it is to be stored upstream, an object of this kind. Code::forbidden or invalid, with the
/// member, for what the rules refuse.
Result<nlohmann::json> object_in(const translate::Mapping& mapping, std::string_view group,
                                 std::string_view kind, const nlohmann::json& object);
/// One of upstream's in the cluster's names, without zood's annotations.
Result<nlohmann::json> object_out(const translate::Mapping& mapping, std::string_view group,
                                  std::string_view kind, std::string_view object);

/// The same of pods.
Result<nlohmann::json> pod_in(const translate::Mapping& mapping, const nlohmann::json& pod);
/// The same of a pod that has been dressed, with what zood alone may write.
Result<nlohmann::json> pod_in(const translate::Mapping& mapping, const Dressed& dressed);
/// A pod of upstream's in the cluster's names, without zood's annotations.
Result<nlohmann::json> pod_out(const translate::Mapping& mapping, std::string_view pod);

/// Bytes of what upstream says that a cluster is told.
inline constexpr std::size_t k_most_words = std::size_t{8} << 10;

/// What upstream says to a refusal, in the cluster's words; what is beyond k_most_words is cut.
std::string words_out(const translate::Mapping& mapping, std::string_view text);

} // namespace zoo::clusters::sync
