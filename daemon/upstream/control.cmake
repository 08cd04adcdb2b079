# SPDX-License-Identifier: Apache-2.0
# The blocking half of the room: what installs zood upstream and what controllers speak through.
# Without event loops, so that controllers do not link them.
foreach(name IN ITEMS account accountquota accountquotaset policies roles self_service template
                      templateinstance)
  set(text ${CMAKE_CURRENT_LIST_DIR}/accounts/${name}.yaml)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${text})
  file(READ ${text} ZOO_ACCOUNTS_${name})
endforeach()
configure_file(accounts/accounts_text.cpp.in
               ${PROJECT_BINARY_DIR}/generated/upstream/accounts_text.cpp @ONLY)

set(text ${CMAKE_CURRENT_LIST_DIR}/inside/policy.yaml)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${text})
file(READ ${text} ZOO_INSIDE_policy)
configure_file(inside/inside_text.cpp.in
               ${PROJECT_BINARY_DIR}/generated/upstream/inside_text.cpp @ONLY)

zoo_add_library(zoo_upstream_control TOGETHER
  SOURCES accounts_install.cpp accounts_manifests.cpp bootstrap.cpp control_api.cpp credential.cpp
          inside_manifests.cpp outright.cpp upstream_rbac.cpp yaml_manifests.cpp
          ${PROJECT_BINARY_DIR}/generated/upstream/accounts_text.cpp
          ${PROJECT_BINARY_DIR}/generated/upstream/inside_text.cpp
  LINK zoo_kube zoo_crypto zoo_api zoo_kiosk)
