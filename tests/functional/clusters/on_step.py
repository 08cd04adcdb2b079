#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""on_step.py LOG STEP WHOM COMMAND...: runs the command and waits until zood's log, behind where it ended before, tells of that step of a
virtual cluster; then it kills WHOM with SIGKILL: a process by its number, or NAME:DIRECTORY, the process of that name with an
argument below that directory, as soon as there is one; "-" is nobody. Then the command is ended, if it still runs. Exit status 1: not
within a minute. A log is looked at every millisecond, so that what is killed has hardly begun with the step."""
import os
import signal
import subprocess
import sys
import time


def process_of(whom):
    if whom.isdigit():
        return int(whom)
    name, directory = whom.split(":", 1)
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open("/proc/%s/cmdline" % entry, "rb") as file:
                arguments = file.read().decode(errors="replace").split("\0")
        except OSError:
            continue
        if os.path.basename(arguments[0]) == name and any(directory + "/" in each for each in arguments[1:]):
            return int(entry)
    return None


def main():
    log, step, whom, command = sys.argv[1], (": step %s\n" % sys.argv[2]).encode(), sys.argv[3], sys.argv[4:]
    end = time.monotonic() + 60
    with open(log, "rb") as file:
        file.seek(0, os.SEEK_END)
        running = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            seen = b""
            while step not in seen:
                if time.monotonic() > end:
                    return "there was no step %s" % sys.argv[2]
                seen = seen[-len(step):] + file.read()
                time.sleep(0.001)
            found = None
            while whom != "-" and found is None:
                if time.monotonic() > end:
                    return "there was no %s" % whom
                found = process_of(whom)
            if found is not None:
                os.kill(found, signal.SIGKILL)
            return 0
        finally:
            running.terminate()
            running.wait()


sys.exit(main())
