#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""approver.py SOCKET FOLDER...: answers the fence's questions, outside the guarded tree.
Reading beneath one of the folders is allowed once; everything else is no. A harness would
show the question to its user here."""

import json
import os
import socket
import stat
import sys


def answer(question, folders):
    reads = set(question.get("access", [])) <= {"look", "list", "read", "map"}
    path = question.get("resolved", "")
    inside = any(path == f or path.startswith(f.rstrip("/") + "/") for f in folders)
    return "once" if reads and inside else "no"


def main():
    sock, folders = sys.argv[1], sys.argv[2:]
    server = socket.socket(socket.AF_UNIX)
    if os.path.exists(sock) and stat.S_ISSOCK(os.lstat(sock).st_mode):
        os.unlink(sock)  # of an approver that was killed
    server.bind(sock)
    os.chmod(sock, 0o600)
    server.listen()
    print("ready", flush=True)
    while True:
        conn, _ = server.accept()
        with conn, conn.makefile("rw") as f:
            line = f.readline()
            if not line:
                continue
            question = json.loads(line)
            said = answer(question, folders)
            print(said, ",".join(question.get("access", [])), question.get("resolved", ""), flush=True)
            f.write(json.dumps({"answer": said}) + "\n")


main()
