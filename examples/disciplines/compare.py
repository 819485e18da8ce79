#!/usr/bin/env python3
"""Offers the traffic of traffic.py to our disciplines in simulated time, and prints their figures and Linux's, from linux.csv, case by case.

Exits with 1 when a difference is greater than the error that BOUNDS states.
usage: compare.py [CASE ...]; all by default
"""
import csv
import json
import os
import statistics
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cases import CLASSES, LINE, NETEM, SHAPERS
from traffic import HEADERS, LABEL, PORT, arrivals, fields, figures

COLUMNS = {"lost": "lost %", "marked": "marked %", "mean": "mean ms", "p95": "p95 ms", "voice": "voice ms", "bulk": "bulk %"}
# The error of each figure: points of percent, or ms and a share of Linux's figure, of which the greater holds.
USUAL = {"lost": (0.4, 0), "marked": (0.4, 0), "mean": (0.3, 0.02), "p95": (0.5, 0.03), "voice": (0.3, 0.06), "bulk": (0.5, 0)}
# The README has the reasons.
BOUNDS = {
    "pie": {"lost": (1, 0), "mean": (0, 0.15), "p95": (0, 0.25), "voice": (0, 0.15), "bulk": (1, 0)},
    "pie ecn": {"lost": (1, 0), "mean": (0, 0.15), "p95": (0, 0.25), "voice": (0, 0.15), "bulk": (1, 0)},
    "cake diffserv": {"marked": (4, 0)},
    "dualpi2 l4s": {"marked": (0.6, 0), "mean": (0, 0.1), "p95": (0, 0.1)},
    "netem loss": {"lost": (0.6, 0)},
    "netem gemodel": {"lost": (2, 0), "bulk": (1, 0)},
}
OUT = Path("out")


def frame(number, flow, length, field):
    header = struct.pack("!BBHHHBBH4s4s", 0x45, field, HEADERS - 14 + length, number & 0xFFFF, 0x4000, 64, 17, 0, b"\x0a\0\0\2", b"\x0a\0\0\1")
    total = sum(struct.unpack("!10H", header))
    total = (total & 0xFFFF) + (total >> 16)
    header = header[:10] + struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF) + header[12:]
    udp = struct.pack("!HHHH", PORT + flow + 1, PORT, 8 + length, 0)
    return b"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0" + header + udp + LABEL.pack(number, flow).ljust(length, b"\0")


def traffic(case, seed):
    """Name of the capture for a case."""
    return f"traffic-l4s-{seed}.pcap" if case.endswith(" l4s") else f"traffic-{seed}.pcap"


def write_traffic(case, seed):
    """A capture of the arrivals, with nanoseconds."""
    of_flows = fields(case)
    with open(OUT / traffic(case, seed), "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
        for number, (at, flow, length) in enumerate(arrivals(seed)):
            data = frame(number, flow, length, of_flows[flow])
            file.write(struct.pack("<IIII", at // 10**9, at % 10**9, len(data), len(data)) + data)


def read_capture(path):
    """Time in ns and whether it is marked, of each packet's first copy, by number."""
    data, at, received = path.read_bytes(), 24, {}
    assert data[:4] == struct.pack("<I", 0xA1B23C4D), path
    while at < len(data):
        seconds, nanoseconds, length, _ = struct.unpack_from("<IIII", data, at)
        number = LABEL.unpack_from(data, at + 16 + HEADERS)[0]
        received.setdefault(number, (seconds * 10**9 + nanoseconds, data[at + 16 + 15] & 3 == 3))
        at += 16 + length
    return received


def lab(case, name, seed):
    """The lab file of a case."""
    text = f"[lab]\nseed = {seed}\n[node.b]\nkind = 'generator'\nreplay = '{traffic(case, seed)}'\n[node.a]\nkind = 'sink'\n"
    text += f"[[capture]]\nat = 'a.0'\nfile = '{name}.pcap'\n"
    if case in NETEM:
        text += f"[node.netem]\nkind = 'delay'\nspec = '{NETEM[case]}'\nback = 'delay 0s'\n"
        return text + "[[link]]\nends = ['b.0', 'netem.0']\n[[link]]\nends = ['netem.1', 'a.0']\n"
    if case in LINE:
        queue, rate = f"'{LINE[case]}'" if isinstance(LINE[case], str) else LINE[case][1], "10 Mb/s"
    else:
        queue, rate = (CLASSES[case][1], "10 Mb/s") if case in CLASSES else (SHAPERS[case][1], "10 Gb/s")
    return text + f"[[link]]\nends = ['b.0', 'a.0']\nrate = '{rate}'\nforth = {{ queue = {queue} }}\n"


def one(case, seed):
    """Figures of a run."""
    name = f"{case.replace(' ', '-')}-{seed}"
    file = OUT / f"{name}.toml"
    file.write_text(lab(case, name, seed))
    result = subprocess.run(["wire", "lab", file, "--json"], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"error: wire lab {file}: {result.stderr.strip()}")
    assert all(json.loads(line) for line in result.stdout.splitlines())
    found = figures([(at, flow) for at, flow, _ in arrivals(seed)], read_capture(OUT / f"{name}.pcap"))
    (OUT / f"{name}.pcap").unlink()
    return found


def linux():
    """Figures of each run by case and seed."""
    runs = {}
    with open("linux.csv") as file:
        for row in csv.DictReader(file):
            runs.setdefault(row["case"], {})[int(row["seed"])] = {key: float(row[key]) for key in COLUMNS}
    return runs


OUT.mkdir(exist_ok=True)
theirs = linux()
wanted = sys.argv[1:] or list(theirs)
for case in wanted:
    if case not in theirs:
        sys.exit(f"error: no case {case} in linux.csv: there are {', '.join(theirs)}")
seeds = sorted(next(iter(theirs.values())))
for case in {traffic(case, 0): case for case in wanted}.values():
    for seed in seeds:
        write_traffic(case, seed)
too_far = []
with ThreadPoolExecutor(os.cpu_count()) as pool:
    jobs = {case: {seed: pool.submit(one, case, seed) for seed in seeds} for case in wanted}
    print(f"{'means of ' + str(len(seeds)) + ' seeds':<20}" + "".join(f"{title:>16}" for title in COLUMNS.values()))
    print(" " * 20 + f"{'ours':>9}{'Linux':>7}" * len(COLUMNS))
    for case, runs in jobs.items():
        cells = ""
        for key, title in COLUMNS.items():
            ours = statistics.mean(run.result()[key] for run in runs.values())
            kernel = statistics.mean(theirs[case][seed][key] for seed in seeds)
            least, share = (USUAL | BOUNDS.get(case, {}))[key]
            cells += f"{ours:>9.2f}{kernel:>7.1f}" if max(ours, kernel) > 999 else f"{ours:>9.2f}{kernel:>7.2f}"
            if abs(ours - kernel) > max(least, share * kernel):
                too_far.append(f"{case}: {title} is {ours:.2f}, and Linux's {kernel:.2f}")
        print(f"{case:<20}{cells}", flush=True)
for difference in too_far:
    print(f"error: beyond the stated error: {difference}", file=sys.stderr)
print(f"{len(wanted) * len(COLUMNS) - len(too_far)} of {len(wanted) * len(COLUMNS)} figures within the stated error")
sys.exit(1 if too_far else 0)
