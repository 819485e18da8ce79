#!/usr/bin/env python3
"""Runs the benches in Python of one block, under Icarus: rtl/cocotb_bench.py BLOCK [FOLDER [PARAMETER=NUMBER...]]

A bench is rtl/BLOCK/tb/test_MODULE.py, over the module of that name. Its models of the line are cocotbext-eth's, which share nothing with
this project. Builds in FOLDER, by default target/cocotb. Exit 1: a test failed.
"""

import os
import re
import sys
import warnings
from pathlib import Path

with warnings.catch_warnings():
    # That runners are experimental; the version is fixed in .ci/setup.
    warnings.simplefilter("ignore")
    from cocotb.runner import get_results, get_runner

ROOT = Path(__file__).resolve().parent.parent


def sources(module, found):
    """The file of a module and of all that it has in it."""
    for file in ROOT.glob(f"rtl/*/rtl/{module}.v"):
        if file not in found:
            found.append(file)
            for name in re.findall(r"^\s*(\w+)\s+(?:#\(.*?\)\s*)?\w+\s*\(", file.read_text(), re.M | re.S):
                sources(name, found)
    return found


def main():
    block = sys.argv[1]
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "target/cocotb").resolve()
    parameters = {name: int(value) for name, value in (given.split("=") for given in sys.argv[3:])}
    failed = 0
    for bench in sorted(ROOT.glob(f"rtl/{block}/tb/test_*.py")):
        module = bench.stem.removeprefix("test_")
        runner = get_runner("icarus")
        runner.build(
            verilog_sources=sources(module, []),
            hdl_toplevel=module,
            build_dir=folder / module,
            parameters=parameters,
            timescale=("1ns", "1ps"),
            always=True,
        )
        # The simulator's Python finds the bench by this.
        sys.path.insert(0, str(bench.parent))
        results = runner.test(
            hdl_toplevel=module,
            test_module=bench.stem,
            build_dir=folder / module,
            test_dir=folder / module,
            extra_env={"PYTHONDONTWRITEBYTECODE": "1", "COCOTB_LOG_LEVEL": os.environ.get("COCOTB_LOG_LEVEL", "WARNING")},
        )
        ran, wrong = get_results(results)
        print(f"{module}: {ran - wrong} of {ran} tests in Python passed", flush=True)
        failed += wrong + (ran == 0)
    sys.exit(failed > 0)


main()
