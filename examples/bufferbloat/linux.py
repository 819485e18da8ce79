#!/usr/bin/env python3
"""The network of lab.toml, built from Linux's own parts: namespaces, veth pairs, a bridge as modem, and Linux's queue disciplines at the uplink.

A shaper (htb, with 24 bytes of overhead, so that preamble, FCS and gap count) makes the 10 Mb/s; the discipline is its leaf. netem adds 10 ms on the far side, in each
direction. Two uploads by Linux's TCP, short transfers, and pings: as in lab.toml. Prints mean round trips and drops over seeds with 95 % confidence intervals.

Needs root and a kernel that has the disciplines. In an emulated machine whose time is the count of its instructions, from the top of the source:
    sudo .ci/guest --virtual-time examples/bufferbloat/linux.py --seeds 5
The discipline dualpi2 needs Linux 6.17, or a module for an older kernel: put `env WIRE_DUALPI2=/path/sch_dualpi2.ko` before the script's name.
usage: linux.py [--disciplines fifo,codel,fq_codel,cake,dualpi2] [--seeds 5] [--seconds 20] [--ecn]
"""
import argparse
import json
import math
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "disciplines"))
import dualpi2  # noqa: E402

PREFIX = f"wire-bloat-{os.getpid()}-"
RATE = "10mbit"
# As in lab.toml; parameters are those of the tables in docs/book/src/queues.md.
DISCIPLINES = {
    "fifo": "pfifo limit 1000",
    "codel": "codel limit 1000 target 5ms interval 100ms {ecn}",
    "fq_codel": "fq_codel limit 10240 flows 1024 quantum 1514 target 5ms interval 100ms {ecn}",
    "pie": "pie limit 1000 target 15ms tupdate 15ms {ecn}",
    # Of the length of a packet CAKE knows the part behind the Ethernet header.
    "cake": f"cake bandwidth {RATE} overhead 38 mpu 84 diffserv3 triple-isolate rtt 100ms",
    "dualpi2": "dualpi2 limit 10000 target 15ms tupdate 16ms alpha 0.16 beta 3.2 coupling_factor 2 step_thresh 1ms classic_protection 10",
}
STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 7: 2.365, 9: 2.262, 14: 2.145, 19: 2.093}


def run(*command, check=True):
    result = subprocess.run(command, capture_output=True, text=True)
    if check and result.returncode != 0:
        sys.exit(f"error: {' '.join(command)}: {result.stderr.strip()}")
    return result


def inside(name, *command):
    return ("ip", "netns", "exec", PREFIX + name, *command)


def tc(name, *words):
    run(*inside(name, "tc", *words))


def connect(a, b):
    """A veth pair between two namespaces, each end named after the far one. Frames are never longer than the MTU."""
    run("ip", "-n", PREFIX + a, "link", "add", b, "type", "veth", "peer", "name", a, "netns", PREFIX + b)
    for name, port in ((a, b), (b, a)):
        run(*inside(name, "ethtool", "-K", port, "tso", "off", "gso", "off", "gro", "off"))
        run("ip", "-n", PREFIX + name, "link", "set", port, "up")


def build(discipline, ecn):
    """laptop, phone, gamer - modem - line - server; the discipline is at the modem, delays are at the line."""
    names = ["server", "line", "modem", "laptop", "phone", "gamer"]
    for name in names:
        run("ip", "netns", "add", PREFIX + name)
        run(*inside(name, "sysctl", "-qw", f"net.ipv4.tcp_ecn={int(ecn)}", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv4.tcp_wmem=4096 131072 33554432",
                    "net.ipv4.tcp_rmem=4096 131072 33554432", "net.ipv4.tcp_no_metrics_save=1"))
    for name in ("modem", "line"):
        run("ip", "-n", PREFIX + name, "link", "add", "bridge", "type", "bridge")
        run("ip", "-n", PREFIX + name, "link", "set", "bridge", "up")
    connect("modem", "line")
    connect("line", "server")
    for number, name in enumerate(names[3:], 2):
        connect(name, "modem")
        run("ip", "-n", PREFIX + name, "address", "add", f"10.0.0.{number}/24", "dev", "modem")
    run("ip", "-n", PREFIX + "server", "address", "add", "10.0.0.1/24", "dev", "line")
    for bridge, ports in (("modem", ["line", *names[3:]]), ("line", ["modem", "server"])):
        for port in ports:
            run("ip", "-n", PREFIX + bridge, "link", "set", port, "master", "bridge")
    for name in names[3:]:
        # Without a delay a socket would count packets in the modem's queue as its own, and TCP hold back (TCP small queues).
        tc(name, "qdisc", "add", "dev", "modem", "root", "netem", "delay", "50us", "limit", "100000")
    for port in ("modem", "server"):
        tc("line", "qdisc", "add", "dev", port, "root", "netem", "delay", "10ms", "limit", "100000")
    words = DISCIPLINES[discipline].format(ecn="ecn" if ecn else "noecn" if discipline != "pie" else "").split()
    if discipline == "cake":
        return tc("modem", "qdisc", "add", "dev", "line", "root", "handle", "2:", *words)
    tc("modem", "qdisc", "add", "dev", "line", "root", "handle", "1:", "htb", "default", "1")
    tc("modem", "class", "add", "dev", "line", "parent", "1:", "classid", "1:1", "htb", "rate", RATE, "overhead", "24", "mpu", "84", "burst", "1600", "cburst", "1600")
    if discipline == "dualpi2":
        run(*inside("modem", sys.executable, dualpi2.__file__, "add", "line", "1:1", "2:", *words[1:]))
    else:
        tc("modem", "qdisc", "add", "dev", "line", "parent", "1:1", "handle", "2:", *words)


def remove():
    for line in run("ip", "netns", "list").stdout.splitlines():
        if line.startswith(PREFIX):
            run("ip", "netns", "delete", line.split()[0])


def start(name, *role):
    """Starts a part of this script in a namespace, and waits until it is at work: in an emulated machine that may be long."""
    command = inside(name, sys.executable, os.path.abspath(__file__), "--role", *map(str, role))
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.readline()
    return child


def is_ready():
    """Tells that this part is at work, and waits for the others."""
    print("ready", flush=True)
    sys.stdin.readline()


def sink():
    listener = socket.create_server(("10.0.0.1", 5001), backlog=1000)
    print("ready", flush=True)

    def drain(connection):
        while connection.recv(1 << 16):
            pass
        connection.close()

    while True:
        threading.Thread(target=drain, args=(listener.accept()[0],), daemon=True).start()


def send(size):
    """Sends `size` bytes, or without end."""
    with socket.create_connection(("10.0.0.1", 5001)) as connection:
        sent = 0
        while size is None or sent < size:
            sent += connection.send(bytes(1 << 14 if size is None else min(1 << 14, size - sent)))


def uploads():
    is_ready()
    for _ in range(2):
        threading.Thread(target=send, args=(None,), daemon=True).start()
    time.sleep(3600)


def transfers(seed):
    chance = random.Random(int(seed))
    is_ready()
    while True:
        time.sleep(chance.expovariate(1 / 0.5))
        size = int(20_000 * chance.paretovariate(1.5))
        threading.Thread(target=send, args=(size,), daemon=True).start()


def counters(discipline):
    """What the kernel counts at the discipline."""
    if discipline == "dualpi2":
        return json.loads(run(*inside("modem", sys.executable, dualpi2.__file__, "show", "line")).stdout)
    shown = json.loads(run(*inside("modem", "tc", "-s", "-j", "qdisc", "show", "dev", "line")).stdout)
    return next(queue for queue in shown if queue["handle"] == "2:")


def one(discipline, seed, seconds, ecn):
    """Mean round trip in ms, and drops and marks of the discipline."""
    children = []
    try:
        build(discipline, ecn)
        children.append(start("server", "sink"))
        children += [start("laptop", "uploads"), start("phone", "transfers", seed)]
        for child in children[1:]:
            child.stdin.write(b"go\n")
            child.stdin.flush()
        time.sleep(2)
        pings = run(*inside("gamer", "ping", "-q", "-i", "0.05", "-w", str(seconds - 2), "-W", "5", "10.0.0.1"), check=False).stdout
        leaf = counters(discipline)
        marks = leaf.get("ecn_mark", 0) + sum(tin.get("ecn_mark", 0) for tin in leaf.get("tins", []))
        mean = re.search(r"= [\d.]+/([\d.]+)/", pings)
        if not mean:
            sys.exit(f"error: no ping came back: {pings}")
        return float(mean[1]), leaf["drops"], marks
    finally:
        # The senders first: one whose far end is gone would complain.
        for child in reversed(children):
            child.kill()
            child.wait()
        remove()


def interval(values):
    half = 0.0
    if len(values) > 1:
        degrees = max(n for n in STUDENT if n <= len(values) - 1)
        half = STUDENT[degrees] * statistics.stdev(values) / math.sqrt(len(values))
    return f"{statistics.mean(values):.4g} ± {half:.2g}"


parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1], description=__doc__)
parser.add_argument("--disciplines", default="fifo,codel,fq_codel,cake,dualpi2")
parser.add_argument("--seeds", type=int, default=5)
parser.add_argument("--seconds", type=int, default=20)
parser.add_argument("--ecn", action="store_true")
parser.add_argument("--role", nargs="+", help=argparse.SUPPRESS)
asked = parser.parse_args()
if asked.role:
    {"sink": sink, "uploads": uploads, "transfers": transfers}[asked.role[0]](*asked.role[1:])
if os.geteuid() != 0:
    sys.exit("error: namespaces take root: sudo .ci/guest --virtual-time examples/bufferbloat/linux.py")
print(f"Linux {os.uname().release}\nqueue     round-trip (ms)  drops         marks", flush=True)
for name in asked.disciplines.split(","):
    if name not in DISCIPLINES:
        sys.exit(f"error: no discipline {name}: there are {', '.join(DISCIPLINES)}")
    lacking = dualpi2.missing() if name == "dualpi2" else None
    if lacking:
        print(f"skipped: dualpi2: {lacking}", file=sys.stderr)
        continue
    results = [one(name, seed, asked.seconds, asked.ecn) for seed in range(asked.seeds)]
    trips, drops, marks = (interval(values) for values in zip(*results))
    print(f"{name:<8}  {trips:<15}  {drops:<12}  {marks}", flush=True)
