// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Whether zood proves requests inside their tenant: always, but in the test program zood-unproven
/// (CMake option ZOO_UNPROVEN, never in a release), which shows that upstream alone would refuse
/// what zood did not (tests/e2e/upstream_alone.sh). There a name that begins like a tenant's prefix
/// is upstream's already and goes as it is, nothing is proven or filtered, and every request is
/// the tenant's own user's. For .cpp files only.
namespace zoo::translate {

#ifdef ZOO_UNPROVEN
constexpr bool k_proves = false;
#else
constexpr bool k_proves = true;
#endif

} // namespace zoo::translate
