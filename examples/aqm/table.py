#!/usr/bin/env python3
"""Runs the scenarios of RFC 7928 for each queue discipline of scenarios.toml, and prints goodput, time in the queue and loss.

usage: table.py [SCENARIO ...]: those whose title contains one of the texts; all by default
"""
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

# Each with the keys that are not its defaults. The FIFO has the bandwidth-delay product, 125 kB.
DISCIPLINES = {"fifo": {"limit": "83"}, "codel": {}, "fq_codel": {}, "pie": {}, "cake": {}, "dualpi2": {}}
A, B = "node.a.program.0.", "node.b.program."
LONG, SHORT, UDP = ({f"{B}{n}.start": start} for n, start in enumerate(["0 s", "4 s", "0 s"]))
# Title, keys of the lab file, and the last column.
SCENARIOS = [
    ("5.1.1 one Reno flow", {}, None),
    ("5.1.2 flows of 50 kB with an initial window of 3 segments", {**SHORT, B + "1.initial_window": "3"}, "completion"),
    ("5.1.2 flows of 50 kB with an initial window of 10 segments", SHORT, "completion"),
    ("5.2 one Cubic flow", {A + "congestion": "cubic"}, None),
    ("5.2 a BBR flow against a Reno flow", {**LONG, B + "0.congestion": "bbr"}, "BBR / Reno"),
    ("5.3 UDP at 12 Mb/s alone", {**UDP, A + "start": "1 h"}, None),
    ("5.3 UDP at 7 Mb/s against a Reno flow", {**UDP, B + "2.rate": "7 Mb/s"}, "UDP / Reno"),
    ("6.2 a round trip of 5 ms against one of 100 ms", {**LONG, "link.2.delay": "500 us"}, "5 / 100 ms"),
    ("6.2 a round trip of 560 ms against one of 100 ms", {**LONG, "link.2.delay": "278 ms"}, "560 / 100 ms"),
    ("7.2 bursts of 50 kB at once", {**SHORT, B + "1.initial_window": "40"}, "completion"),
    ("8.2.2 mild congestion: 6 flows", {A + "flows": "6"}, None),
    ("8.2.3 medium congestion: 13 flows", {A + "flows": "13"}, None),
    ("8.2.4 heavy congestion: 19 flows", {A + "flows": "19"}, None),
    ("8.2.6 capacity 10, 2 and 10 Mb/s for 5 s each", {"link.0.forth.queue.rates.1.1": "2 Mb/s"}, None),
]
MS, DURATION = 1e9, 15


def lines(discipline, settings):
    """Lines of the lab's report."""
    queue = "link.0.forth.queue.child."
    settings = {**settings, queue + "kind": discipline, **{queue + key: value for key, value in DISCIPLINES[discipline].items()}}
    command = ["wire", "lab", "scenarios.toml", "--json"]
    for key, value in settings.items():
        command += ["--set", f"{key}={value}"]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"error: {' '.join(command)}: {result.stderr.strip()}")
    return [json.loads(line) for line in result.stdout.splitlines()]


def row(discipline, settings, last):
    found = lines(discipline, settings)
    queue = next(line for line in found if line["type"] == "queue")
    flows = [line for line in found if line["type"] == "flow" and line["node"] == "server"]
    own = sum(flow["bytes"] for flow in flows if flow["to"].startswith("10.0.0.2:"))
    sent = sum(flow["bytes"] for flow in flows)
    cells = [
        f"{8 * sent / DURATION / 1e6:.2f}",
        f"{queue['waited_mean_ps'] / MS:.1f}",
        f"{queue['waited_p99_ps'] / MS:.1f}",
        f"{100 * queue['dropped'] / (queue['sent'] + queue['dropped']):.2f}",
    ]
    if last == "completion":
        times = [(flow["ended_ps"] - flow["begun_ps"]) / MS for flow in flows if flow["done"] and flow["bytes"] == 50_000]
        cells.append(f"{sum(times) / len(times):.0f}")
    elif last:
        cells.append(f"{(sent - own) / own:.2f}")
    return [discipline, *cells]


def show(title, last, rows):
    units = {"completion": ["completion", "ms"], None: []}.get(last, [last, "goodputs"])
    head = ["discipline", "goodput", "mean", "p99", "loss", *units[:1]]
    below = ["", "Mb/s", "ms", "ms", "%", *units[1:]]
    widths = [max(map(len, column)) for column in zip(head, below, *rows)]
    print(title)
    for cells in [head, below, *rows]:
        first, *others = (cell.rjust(width) for cell, width in zip(cells, widths))
        print("  ".join([cells[0].ljust(widths[0]), *others]).rstrip())


with ThreadPoolExecutor(os.cpu_count()) as pool:
    wanted = [scenario for scenario in SCENARIOS if any(text in scenario[0] for text in sys.argv[1:] or [""])]
    jobs = [[pool.submit(row, discipline, settings, last) for discipline in DISCIPLINES] for _, settings, last in wanted]
    for number, ((title, _, last), rows) in enumerate(zip(wanted, jobs)):
        if number > 0:
            print()
        show(title, last, [job.result() for job in rows])
