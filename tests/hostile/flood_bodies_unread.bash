# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: bodies that grow on their way, by YAML's aliases, and are refused upstream; the refusals are not read.
# Without the fence: each stream keeps what was sent upstream for it until it is closed, and counts as 4 KiB.
# Rule: what a request was goes when it is answered, whoever reads that; a body counts as what it is as JSON.
flood bodies_unread 25 /api/v1/namespaces/team/configmaps
direct POST "/api/v1/namespaces/$evil-team/configmaps" yaml "metadata: {name: evil-body, finalizers: [$(head -c 1000 /dev/zero | tr '\0' x)]}"
refused "upstream refuses such a name, and says so in kilobytes" 422
