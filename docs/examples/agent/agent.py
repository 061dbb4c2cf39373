#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An agent whose own code runs in scope user: it cannot open a file by itself, but it may
execute the api program, and that may. What it prints is what it met."""

import os
import subprocess
import sys

API = os.path.join(os.path.dirname(os.path.abspath(__file__)), "api", "task-file")


def api(*args, text=""):
    """Ask the api program; gives its output, or why it was refused."""
    done = subprocess.run([API, *args], input=text, capture_output=True, text=True)
    if done.returncode == 0:
        return done.stdout.strip() or "done"
    return "refused: " + done.stderr.strip().splitlines()[-1]


def direct(path):
    """What the agent's own code would like to do."""
    try:
        with open(path) as f:
            return f.read().strip()
    except OSError as e:
        return "refused: " + e.strerror


def main():
    print("own code, notes.txt:", direct("notes.txt"))
    print("api, notes.txt:", api("read", "notes.txt"))
    print("api, result.txt:", api("write", "result.txt", text="42\n"))
    print("api, .env:", api("read", ".env"))
    print("api, prod.db:", api("read", "prod.db"))
    print("api, change prod.db:", api("write", "prod.db", text="gone\n"))
    for path in sys.argv[1:]:  # outside the task folder: the fence asks
        print("api, outside:", api("read", path))


main()
