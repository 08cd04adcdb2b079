# SPDX-License-Identifier: Apache-2.0
# The blocking half of the room: what installs zood upstream and what controllers speak through.
# Without event loops, so that controllers do not link them.
zoo_add_library(zoo_upstream_control TOGETHER
  SOURCES bootstrap.cpp control_api.cpp credential.cpp upstream_rbac.cpp
  LINK zoo_kube zoo_crypto zoo_api)
