// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

/// The checks of `zooctl doctor`: zood finds by them under which ID a finding is told, zooctl
/// explains them. Pure.
namespace zoo::api {

struct DoctorCheck {
  std::string_view id;      ///< stable: programs and runbooks may name it
  std::string_view subject; ///< how the subjects of its findings begin
  std::string_view explain; ///< what is looked at, and why it matters
};

/// In the order in which a subject is compared with them. The last one is of all other subjects:
/// objects that zood keeps upstream, by kind and name.
std::span<const DoctorCheck> doctor_checks();

/// The first one whose subject this one begins with.
const DoctorCheck& doctor_check_of(std::string_view subject);

} // namespace zoo::api
