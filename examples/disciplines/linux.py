#!/usr/bin/env python3
"""Offers the traffic of traffic.py to Linux's queue disciplines, and prints the figures of each run as CSV.

Two namespaces have a veth pair, `b` at the sender and `a` at the receiver. The discipline is at `b`, behind a class of htb that makes a line of 10 Mb/s where it makes no rate itself. The
sender sends each packet at its time; the receiver has the kernel's time stamp of each.

Needs root and a kernel that has the disciplines. In an emulated machine whose time is the count of its instructions, from the top of the source:
    sudo .ci/guest --virtual-time examples/disciplines/linux.py > examples/disciplines/linux.csv
The cases of dualpi2 need Linux 6.17, or a module for an older kernel: put `env WIRE_DUALPI2=/path/sch_dualpi2.ko` before the script's name.
usage: linux.py [--seeds 3] [CASE ...]
"""
import argparse
import csv
import ctypes
import os
import socket
import struct
import subprocess
import sys
import time

import dualpi2
from cases import CLASSES, LINE, NETEM, SHAPERS
from traffic import LABEL, PORT, arrivals, fields, figures

PREFIX = f"wire-qdisc-{os.getpid()}-"
# A leaf's packet leaves when the one before has left a line of 10 Mb/s, with preamble, FCS and gap. A burst of 80 us makes up for timers that are late.
LINE_RATE = "htb rate 10mbit ceil 10mbit overhead 24 mpu 84 burst 100b cburst 100b quantum 1514"
SO_TIMESTAMPNS, SO_SNDBUFFORCE, SO_RCVBUFFORCE, PR_SET_TIMERSLACK, CLONE_NEWNET = 35, 32, 33, 29, 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"error: {' '.join(command)}: {result.stderr.strip()}")


def commands(case):
    """The words of tc for a case."""
    line = ["qdisc add dev b root handle 1: htb default 1", f"class add dev b parent 1: classid 1:1 {LINE_RATE}"]
    if case in LINE:
        words = LINE[case] if isinstance(LINE[case], str) else LINE[case][0]
        return [*line, f"qdisc add dev b parent 1:1 handle 2: {words}"]
    if case in CLASSES:
        return line + [words.replace("PARENT", "1:1") for words in CLASSES[case][0]]
    return SHAPERS[case][0] if case in SHAPERS else [f"qdisc add dev b root netem {NETEM[case]}"]


def enter(name):
    with open(f"/run/netns/{PREFIX}{name}") as namespace:
        if LIBC.setns(namespace.fileno(), CLONE_NEWNET) != 0:
            sys.exit(f"error: setns: {os.strerror(ctypes.get_errno())}")


def build(case):
    for name in "ab":
        run("ip", "netns", "add", PREFIX + name)
    run("ip", "-n", PREFIX + "b", "link", "add", "name", "b", "type", "veth", "peer", "name", "a", "netns", PREFIX + "a")
    for number, name in enumerate("ab", 1):
        run("ip", "-n", PREFIX + name, "link", "set", "dev", name, "address", f"02:00:00:00:00:0{number}")
        run("ip", "-n", PREFIX + name, "address", "add", f"10.0.0.{number}/24", "dev", name)
        run("ip", "-n", PREFIX + name, "link", "set", "dev", name, "up")
    run("ip", "-n", PREFIX + "b", "neighbour", "replace", "10.0.0.1", "lladdr", "02:00:00:00:00:01", "dev", "b")
    for words in commands(case):
        run("ip", "netns", "exec", PREFIX + "b", *command(words.split()))


def command(words):
    """The program for words of tc, which need not know dualpi2."""
    if "dualpi2" not in words:
        return ["tc", *words]
    _, _, _, device, _, parent, _, handle, _, *options = words
    return [sys.executable, dualpi2.__file__, "add", device, parent, handle, *options]


def remove():
    for name in "ab":
        subprocess.run(["ip", "netns", "delete", PREFIX + name], capture_output=True)


def receiver():
    enter("a")
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    # All packets wait here until the end, so that no process competes with the sender.
    receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 28)
    receiver.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    receiver.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
    receiver.bind(("10.0.0.1", PORT))
    receiver.setblocking(False)
    return receiver


def senders(case):
    enter("b")
    sockets = []
    for number, field in enumerate(fields(case), 1):
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sender.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 28)
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, field)
        if case in CLASSES or case in SHAPERS:
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, 2 << 16 | number)
        sender.bind(("10.0.0.2", PORT + number))
        sender.connect(("10.0.0.1", PORT))
        sockets.append(sender)
    return sockets


def one(case, seed):
    """Figures of a run."""
    try:
        build(case)
        sink, sockets, sent = receiver(), senders(case), []
        begin = time.clock_gettime_ns(time.CLOCK_REALTIME) + 50_000_000
        for number, (at, flow, length) in enumerate(arrivals(seed)):
            payload = LABEL.pack(number, flow).ljust(length, b"\0")
            wait = begin + at - time.clock_gettime_ns(time.CLOCK_REALTIME)
            if wait > 0:
                time.sleep(wait / 1e9)
            sent.append((time.clock_gettime_ns(time.CLOCK_REALTIME), flow))
            sockets[flow].send(payload)
        time.sleep(2)
        received = {}
        while True:
            try:
                payload, control, _, _ = sink.recvmsg(2048, 128)
            except BlockingIOError:
                return figures(sent, received)
            stamp = tos = None
            for _, kind, data in control:
                if kind == SO_TIMESTAMPNS:
                    seconds, nanoseconds = struct.unpack("qq", data)
                    stamp = seconds * 10**9 + nanoseconds
                elif kind == socket.IP_TOS:
                    tos = data[0]
            # Of a packet that comes twice the first counts.
            received.setdefault(LABEL.unpack_from(payload)[0], (stamp, tos & 3 == 3))
    finally:
        remove()


parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1], description=__doc__)
parser.add_argument("--seeds", type=int, default=3)
parser.add_argument("cases", nargs="*")
asked = parser.parse_args()
if os.geteuid() != 0:
    sys.exit("error: namespaces take root: sudo .ci/guest --virtual-time examples/disciplines/linux.py")
everything = [*LINE, *CLASSES, *SHAPERS, *NETEM]
for case in asked.cases:
    if case not in everything:
        sys.exit(f"error: no case {case}: there are {', '.join(everything)}")
wanted = asked.cases or everything
lacking = dualpi2.missing() if any(case.startswith("dualpi2") for case in wanted) else None
if lacking:
    print(f"skipped: dualpi2: {lacking}", file=sys.stderr)
    wanted = [case for case in wanted if not case.startswith("dualpi2")]
LIBC.prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
table = None
for seed in range(asked.seeds):
    for case in wanted:
        row = {"kernel": os.uname().release, "case": case, "seed": seed}
        row |= {key: f"{value:.4f}" for key, value in one(case, seed).items()}
        if table is None:
            table = csv.DictWriter(sys.stdout, row, lineterminator="\n")
            table.writeheader()
        table.writerow(row)
        sys.stdout.flush()
