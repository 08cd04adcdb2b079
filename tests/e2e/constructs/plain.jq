# SPDX-License-Identifier: Apache-2.0
# What two clusters answer alike: without times, UIDs and positions, and in one order where upstream has none.
def any_order: sort_by(tojson);
def words: gsub("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"; "UID") | split("[][, \n]+"; null) | sort | join(" ");
walk(
  if type == "object" then
    # Upstream tells of hashes with which stored versions are compared; a tenant is not told.
    (if (.storageVersionHash | type) == "string" then del(.storageVersionHash) else . end) | with_entries(
      if (.key | IN("uid", "resourceVersion", "creationTimestamp", "deletionTimestamp")) and (.value | type) == "string" then .value = "*"
      # Upstream lists the fields of one manager in the order of their times, which are whole seconds.
      elif .key == "managedFields" and (.value | type) == "array" then .value |= (map(del(.time)) | any_order)
      # ... and what is wrong with an object in no order.
      elif .key == "causes" and (.value | type) == "array" then .value |= any_order
      elif .key == "resources" and (.value | type) == "array" then .value |= sort_by(.name // .resource // "")
      # Of a definition.
      elif .key == "conditions" and (.value | type) == "array" then .value |= map(if .type | IN("Established", "NamesAccepted", "Terminating") then del(.lastTransitionTime) else . end)
      # An age, which both may have seen a second apart.
      elif .key == "cells" and (.value | type) == "array" then .value |= map(if type == "string" and test("^([0-9]+[smh])+$|^20[0-9][0-9]-[0-9T:-]+Z$") then "*" else . end)
      else . end) |
    if .kind == "Status" and (.message | type) == "string" then .message |= words else . end
  else . end)
