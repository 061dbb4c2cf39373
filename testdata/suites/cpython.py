# SPDX-License-Identifier: Apache-2.0
"""Run CPython's own tests and say of each how it ended.

    python3 cpython.py OUT MODULE[:GLOB,...]... [!GLOB]...

GLOB is a part of test ids to keep, !GLOB one to leave out. One line a test goes to the file OUT: its id, a tab, and ok, skip, fail or error. What
the tests print, and the traceback of what failed, goes to standard error. `python -m
test` prints the same only in prose, and runs failures again.
"""

import fnmatch
import importlib
import os
import sys
import unittest

out = open(sys.argv[1], "w", buffering=1)
os.makedirs("cwd", exist_ok=True)
os.chdir("cwd")  # before the import: names of test files are made absolute there

from test import support  # noqa: E402


class Result(unittest.TextTestResult):
    def say(self, test, how, why=""):
        out.write("%s\t%s%s\n" % (test.id().replace("\n", " "), how, why and " " + " ".join(why.split())))

    def addSuccess(self, test):
        super().addSuccess(test)
        self.say(test, "ok")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.say(test, "skip", reason)

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.say(test, "ok")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.say(test, "fail", repr(err[1])[:300])

    def addError(self, test, err):
        super().addError(test, err)
        self.say(test, "error", repr(err[1])[:300])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.say(subtest, "fail", repr(err[1])[:300])


def flat(suite):
    for t in suite:
        if isinstance(t, unittest.TestSuite):
            yield from flat(t)
        else:
            yield t


def main():
    support.use_resources = ["subprocess", "walltime", "decimal", "cpu"]  # not network: it would leave the machine
    support.verbose = 1
    suite = unittest.TestSuite()
    without = [a[1:] for a in sys.argv[2:] if a.startswith("!")]
    for arg in sys.argv[2:]:
        if arg.startswith("!"):
            continue
        name, _, glob = arg.partition(":")
        try:
            module = importlib.import_module("test." + name)
        except unittest.SkipTest as e:  # ResourceDenied too
            out.write("test.%s\tskip %s\n" % (name, e))
            continue
        tests = list(flat(unittest.defaultTestLoader.loadTestsFromModule(module)))
        if glob:
            tests = [t for t in tests if any(fnmatch.fnmatch(t.id(), "*" + g + "*") for g in glob.split(","))]
        suite.addTests(t for t in tests if not any(fnmatch.fnmatch(t.id(), "*" + g + "*") for g in without))
    unittest.TextTestRunner(stream=sys.stderr, verbosity=2, resultclass=Result).run(suite)


if __name__ == "__main__":
    main()
