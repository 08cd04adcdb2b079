# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: to read an object of which upstream makes six bytes for one (`<` is \u003c), by the hundred.
# Without the fence: each is held until its last byte has come, and counted then: gigabytes of one tenant.
# Rule: what is wanted whole is counted as it comes, and what is too much is refused (of writes tests/functional/large_answers.sh).
made "an object of a megabyte" POST /api/v1/namespaces/team/configmaps json "{\"metadata\":{\"name\":\"evil-large\"},\"data\":{\"x\":\"$(head -c 1000000 /dev/zero | tr '\0' '<')\"}}"
# What is counted is 64 MiB: strings that grow have twice their size, and what is rewritten stands beside what it was.
flood_memory=300 flood large_objects 10 /api/v1/namespaces/team/configmaps/evil-large
would "make six megabytes of it" GET "/api/v1/namespaces/$evil-team/configmaps/evil-large"
if ((${#answer} > 5900000)); then passed "six megabytes"; else failed "six megabytes" <<<"${#answer} bytes"; fi
