# SPDX-License-Identifier: Apache-2.0
# What writes accounts and spaces upstream: requests of users, and the controller.
zoo_add_library(zoo_account_writes TOGETHER
  SOURCES account_events.cpp account_status.cpp account_writes.cpp bindings.cpp controller.cpp deletion.cpp instance_writes.cpp quota_answers.cpp quota_broker.cpp quota_door.cpp quota_follower.cpp quota_gate.cpp quota_hook.cpp quota_keeper.cpp quota_objects.cpp quota_owners.cpp quota_servers.cpp quota_sets.cpp quota_status.cpp quota_table.cpp reservations.cpp saga.cpp space_apply.cpp space_judge.cpp space_rules.cpp space_templates.cpp space_writes.cpp tenant_rooms.cpp write_backings.cpp
  LINK zoo_accounts zoo_quota zoo_template_instances zoo_reconcile zoo_upstream_control zoo_api zoo_crypto Threads::Threads)
