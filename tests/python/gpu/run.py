#!/usr/bin/env python3
"""The Python package on a GPU with torch: each part a process of its own with a time limit, one table in the end.

    run.py [PART ...]        with the package installed, or its folder in PYTHONPATH
"""

import importlib
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# Part, its module, its limit in seconds: five times what it takes, or more.
PARTS = [("right", "results", 300), ("zero_copy", "results", 90), ("stream", "results", 120), ("graph", "results", 90),
         ("threads", "results", 120), ("protocols", "results", 120), ("kernel", "results", 120),
         ("compile", "with_torch", 400), ("dropins", "with_torch", 240), ("autograd", "with_torch", 150),
         ("overhead", "costs", 200), ("leaks", "costs", 200), ("refusals", "costs", 120)]


def run_part(name, limit):
    """The rows of a part's table."""
    began = time.time()
    try:
        run = subprocess.run([sys.executable, __file__, "--part", name], capture_output=True, text=True, timeout=limit)
        rows = [[name] + line[5:].split(" | ", 1) for line in run.stdout.splitlines() if line.startswith("ROW: ")]
        if run.returncode != 0:
            last = (run.stderr or run.stdout).strip().splitlines()[-6:]
            rows.append([name, f"FAILED, exit {run.returncode}", " / ".join(last)[-600:]])
        elif not rows:
            rows.append([name, "FAILED", "it said nothing"])
    except subprocess.TimeoutExpired:
        rows = [[name, "FAILED", f"it took longer than {limit} s"]]
    return rows, time.time() - began


def main(wanted):
    seconds, failed = [], False
    for name, _, limit in PARTS:
        if wanted and name not in wanted:
            continue
        rows, took = run_part(name, limit)
        for line in rows:
            bad = "FAILED" in line[1] or line[2].startswith("WRONG")
            failed |= bad
            print(" | ".join(line)[:600 if bad else 160], flush=True)
        seconds.append(f"{name} {took:.0f}")
    print("seconds |", ", ".join(seconds))
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--part"]:
        sys.path.insert(0, HERE)
        module = next(module for name, module, _ in PARTS if name == sys.argv[2])
        getattr(importlib.import_module(module), sys.argv[2])()
        sys.exit(1 if importlib.import_module("harness").wrong else 0)
    sys.exit(main(sys.argv[1:]))
