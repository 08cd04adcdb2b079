# SPDX-License-Identifier: Apache-2.0
"""confined.py UNIT COMMAND...: runs it under the SystemCallFilter= of a unit, as systemd would."""

import ctypes
import errno
import os
import subprocess
import sys

ALLOW = 0x7FFF0000
REFUSE = 0x00050000 | errno.EPERM  # SystemCallErrorNumber=EPERM


def system_call_sets():
    """Of systemd: name -> members, which may be sets again."""
    sets, members = {}, None
    for line in subprocess.run(["systemd-analyze", "--no-pager", "syscall-filter"], check=True, capture_output=True, text=True).stdout.splitlines():
        word = line.strip()
        if line.startswith("@"):
            members = sets.setdefault(word, [])
        elif not word:
            members = None
        elif members is not None and not word.startswith("#"):
            members.append(word)
    return sets


def expand(names, sets):
    out = set()
    for name in names:
        out |= expand(sets[name], sets) if name.startswith("@") else {name}
    return out


def allowed_by(unit):
    sets, allowed = system_call_sets(), None
    with open(unit, encoding="utf-8") as lines:
        for line in lines:
            key, _, value = line.strip().partition("=")
            if key != "SystemCallFilter":
                continue
            calls = expand(value.lstrip("~").split(), sets)
            if allowed is None:
                assert not value.startswith("~"), "the first filter must be a list of what is allowed"
                allowed = expand(["@default"], sets)
            allowed = allowed - calls if value.startswith("~") else allowed | calls
    assert allowed, "the unit has no SystemCallFilter="
    return allowed


def confine(allowed):
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(REFUSE)))
    for name in sorted(allowed):
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:  # below zero: not a system call of this architecture
            assert library.seccomp_rule_add(context, ctypes.c_uint32(ALLOW), number, 0) == 0, name
    assert library.seccomp_load(context) == 0, "the filter cannot be loaded"


confine(allowed_by(sys.argv[1]))
os.execvp(sys.argv[2], sys.argv[2:])
