"""Drives os-ken's switch tester, as .ci/openflow-conformance starts it, and says what came of it by folder.

The tester is used as it is. Around it: all files run, also those whose description another one has (the tester keeps one of
them), each result is kept with its reason, and the end is an exit status.
"""
import argparse
import collections
import json
import logging
import os
import sys
import time

from os_ken.lib import hub

hub.patch()

from os_ken import cfg
from os_ken.base.app_manager import AppManager
from os_ken.tests.switch import tester


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", choices=["1.0", "1.3"], default="1.3")
    parser.add_argument("--folder", action="append", default=[])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--expect", type=int)
    parser.add_argument("--json")
    return parser.parse_args()


OPTIONS = options()
ROOT = os.path.join(os.path.dirname(tester.__file__), "of" + OPTIONS.version.replace(".", ""))
# Seconds in which both switches have to be there.
CONNECT_TIMEOUT = 30


class Patterns(dict):
    """The files of tests that are asked for, by path; of their tests each Nth."""

    def __init__(self, root, logger):
        super().__init__()
        seen = 0
        for folder, folders, names in os.walk(root):
            folders.sort()
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), root)
                if not name.endswith(".json") or not wanted(path):
                    continue
                file = tester.TestFile(os.path.join(folder, name), logger)
                file.path = path
                chosen = [test for at, test in enumerate(file.tests, seen) if at % OPTIONS.every == 0]
                seen += len(file.tests)
                if chosen:
                    file.tests = chosen
                    self[path] = file


def wanted(path):
    return not OPTIONS.folder or any(part in path for part in OPTIONS.folder)


class Reason(logging.Handler):
    """What the tester says of a test that fails: the lines behind its name."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage().strip())


class Conformance(tester.OfTester):
    """The tester, with results that are kept."""

    def _set_logger(self):
        self.logger.propagate = False
        self.logger.setLevel(logging.INFO)
        self.reason = Reason()
        self.logger.addHandler(self.reason)
        self.results = []
        self.started = time.monotonic()
        hub.spawn(self._watch)

    def _watch(self):
        hub.sleep(CONNECT_TIMEOUT)
        for name, switch in (("target", self.target_sw), ("tester", self.tester_sw)):
            if isinstance(switch.dp, tester.DummyDatapath):
                end(2, f"the {name}'s switch has not connected within {CONNECT_TIMEOUT} s")

    def _test_file_execute(self, testfile):
        self.path = testfile.path
        return super()._test_file_execute(testfile)

    def _test_execute(self, test, description):
        self.reason.lines.clear()
        began = time.monotonic()
        result = super()._test_execute(test, description)
        passed = result == tester.TEST_OK
        self.results.append({
            "path": self.path,
            "test": test.description,
            "passed": passed,
            "reason": "" if passed else self.reason.lines[-1],
            "seconds": round(time.monotonic() - began, 3),
        })
        if len(self.results) % 100 == 0:
            print(f"{len(self.results)} tests ...", file=sys.stderr, flush=True)
        return result

    def _test_end(self, msg=None, report=None):
        if report is None:
            end(2, msg or tester.NO_TEST_FILE)
        summary(self.results, time.monotonic() - self.started)


def summary(results, seconds):
    folders = collections.defaultdict(list)
    for result in results:
        folders[os.path.dirname(result["path"])].append(result)
    for result in results:
        if not result["passed"]:
            print(f"{result['path']}: {result['test']}\n    {result['reason'][:300]}")
    for folder, all_of_it in folders.items():
        print(f"{folder:24} {sum(r['passed'] for r in all_of_it):4} of {len(all_of_it):4}")
    passed = sum(result["passed"] for result in results)
    print(f"OpenFlow {OPTIONS.version}: {passed} of {len(results)} tests passed in {seconds:.0f} s")
    if OPTIONS.json:
        with open(OPTIONS.json, "w") as file:
            for result in results:
                file.write(json.dumps({"schema": "wireline.openflow.conformance.1", **result}) + "\n")
    expected = len(results) if OPTIONS.expect is None else OPTIONS.expect
    end(int(passed < expected), f"{expected} were expected" if passed < expected else None)


def end(status, message=None):
    if message:
        print(message, file=sys.stderr)
    sys.stdout.flush()
    # The tester's threads wait for ever.
    os._exit(status)


tester.TestPatterns = Patterns
cfg.CONF(args=[
    "--test-switch-target=0000000000000001",
    "--test-switch-tester=0000000000000002",
    f"--test-switch-target-version=openflow{OPTIONS.version.replace('.', '')}",
    "--test-switch-tester-version=openflow13",
    f"--test-switch-dir={ROOT}",
    "--ofp-listen-host=127.0.0.1",
    "--ofp-tcp-listen-port=6653",
], project="os_ken")
AppManager.run_apps([__name__, "os_ken.controller.ofp_handler"])
