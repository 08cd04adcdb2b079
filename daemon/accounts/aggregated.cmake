# SPDX-License-Identifier: Apache-2.0
# What the aggregated door is made of: whom a front proxy names, what is answered, how it is registered upstream.
zoo_add_library(zoo_aggregated_door TOGETHER
  SOURCES aggregated_door.cpp front_proxy.cpp registration.cpp
  LINK zoo_authz zoo_resources zoo_upstream zoo_upstream_control zoo_translate zoo_kube zoo_crypto zoo_api zoo_http zoo_base
       nlohmann_json::nlohmann_json fmt::fmt Threads::Threads)
