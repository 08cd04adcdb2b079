# SPDX-License-Identifier: Apache-2.0
# What the account door is made of: who somebody is there, and what is answered here.
zoo_add_library(zoo_account_door TOGETHER
  SOURCES account_api.cpp account_view_source.cpp client_authority.cpp known_rights.cpp
  LINK zoo_accounts zoo_resources zoo_authz zoo_access zoo_upstream zoo_translate zoo_http zoo_net zoo_kube zoo_crypto zoo_base
       nlohmann_json::nlohmann_json)
