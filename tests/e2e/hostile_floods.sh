#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: net http gateway common
# step: all
# alone
# timeout: 1500
# The attacks on the listener, one after the other.
cd "$(dirname "$0")/../hostile" || exit 1
mapfile -t floods < <(basename -s .bash flood_*.bash)
exec ./run.sh "${floods[@]}"
