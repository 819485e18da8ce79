#!/usr/bin/env python3
"""Compares the TCP of hosts with Linux's over the same simulated link.

Linux's runs between two namespaces, each with a tap of `wire lab --realtime`, or with --link kernel behind a router in a third one, whose queueing
disciplines (tbf, netem) make the link; ours runs in simulated time. Needs root, iperf3 and `wire` in the path. Each line is one cell of the grid: mean goodput in percent of what the link can carry, and retransmissions.
usage: compare.py [--rates 1,10] [--delays 1,10,100] [--queues 0.1,1,10] [--losses 0,0.01] [--flows 1] [--congestion cubic,reno]
                  [--seeds 2] [--seconds 20] [--ours | --linux] [--link wire|kernel]
"""
import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

# Bytes of data in a segment with timestamps, and of its frame with everything that takes time on Ethernet.
SEGMENT, FRAME = 1448, 1538
NAMES = [f"wire-tcp-{os.getpid()}-{end}" for end in "ab"]

HOST = """
[node.h{number}]
kind = "host"
address = "10.77.0.{number}/24"
timestamps = true
"""

TAP = """
[node.h{number}]
kind = "tap"
name = "h{number}"
address = "10.77.0.{number}/24"
namespace = "{name}"
"""

BULK = """
[[node.h1.program]]
run = "bulk"
to = "10.77.0.2"
buffer = 67108864
congestion = "{congestion}"
start = "{start} ms"
"""

SINK = """
[[node.h2.program]]
run = "sink"
buffer = 67108864
"""

LINK = """
[lab]
name = "tcp"
duration = "{seconds} s"
seed = {seed}

[[link]]
ends = ["h1.0", "h2.0"]
rate = "{rate} Mb/s"
delay = "{delay} ms"
queue = "{packets} packets"
loss = {loss}
"""


class Cell:
    def __init__(self, rate, delay, queue, loss, flows, congestion):
        self.rate, self.delay, self.loss = rate, delay, loss
        self.queue, self.flows, self.congestion = queue, flows, congestion
        self.packets = max(2, round(rate * 1e6 * 2 * delay / 1e3 / 8 / FRAME * queue))

    def link(self, seconds, seed):
        return LINK.format(seconds=seconds, seed=seed, rate=self.rate, delay=self.delay, packets=self.packets, loss=self.loss)

    def share(self, bits):
        return 100 * bits / (self.rate * 1e6 * SEGMENT / FRAME)


def ours(cell, seconds, seed, folder):
    lab = cell.link(seconds, seed) + HOST.format(number=1)
    for flow in range(cell.flows):
        lab += BULK.format(congestion=cell.congestion, start=10 * flow)
    lab += HOST.format(number=2) + SINK
    path = folder / "ours.toml"
    path.write_text(lab)
    output = subprocess.run(["wire", "lab", path, "--json"], capture_output=True, text=True, check=True, cwd=folder)
    flows = [line for line in map(json.loads, output.stdout.splitlines()) if line.get("type") == "flow"]
    sinks = [flow for flow in flows if flow["program"] == "sink"]
    sources = [flow for flow in flows if flow["program"] == "bulk"]
    return cell.share(sum(flow["bytes"] for flow in sinks) * 8 / seconds), sum(flow["resent"] for flow in sources)


def inside(name, *command):
    return ["ip", "netns", "exec", name, *command]


def run(*command):
    subprocess.run(command, check=True)


@contextlib.contextmanager
def wire_link(cell, seconds, seed, folder):
    """The link in real time, by a lab with a tap in each namespace."""
    lab = cell.link(seconds + 8, seed) + "".join(TAP.format(number=number + 1, name=name) for number, name in enumerate(NAMES))
    path = folder / "linux.toml"
    path.write_text(lab)
    world = subprocess.Popen(["wire", "lab", path, "--realtime"], stdout=subprocess.DEVNULL, cwd=folder)
    try:
        while subprocess.run(inside(NAMES[1], "ip", "addr", "show", "h2"), capture_output=True).returncode:
            if world.poll() is not None:
                sys.exit(f"the link's lab ended with {world.returncode} before its interfaces were there")
            time.sleep(0.1)
        yield
    finally:
        world.terminate()
        world.wait()


@contextlib.contextmanager
def kernel_link(cell, _seconds, _seed, _folder):
    """The link by the kernel, through a router between the namespaces: the rate, the queue and the loss towards the receiver, and the delay of both
    directions on the way back, where its queue is not the link's."""
    router = f"wire-tcp-{os.getpid()}-r"
    try:
        run("ip", "netns", "add", router)
        for number, name in enumerate(NAMES):
            host, subnet = f"h{number + 1}", f"10.78.{number}"
            run("ip", "link", "add", host, "netns", name, "type", "veth", "peer", "name", host, "netns", router)
            for namespace, address in [(name, f"{subnet}.1/24"), (router, f"{subnet}.2/24")]:
                run("ip", "-n", namespace, "addr", "add", address, "dev", host)
                run("ip", "-n", namespace, "link", "set", host, "up")
            run("ip", "-n", name, "addr", "add", f"10.77.0.{number + 1}/32", "dev", host)
            run("ip", "-n", name, "route", "add", "10.77.0.0/24", "via", f"{subnet}.2", "src", f"10.77.0.{number + 1}")
            run("ip", "-n", router, "route", "add", f"10.77.0.{number + 1}/32", "via", f"{subnet}.1")
        run(*inside(router, "sysctl", "-qw", "net.ipv4.ip_forward=1"))
        # A frame's FCS, preamble and gap take time, too.
        shape = ["rate", f"{cell.rate}mbit", "burst", str(FRAME), "limit", str(1 << 30), "overhead", str(FRAME - 1514)]
        run(*inside(router, "tc", "qdisc", "add", "dev", "h2", "root", "handle", "1:", "tbf", *shape))
        loss = ["loss", "random", f"{100 * cell.loss}%"] if cell.loss else []
        run(*inside(router, "tc", "qdisc", "add", "dev", "h2", "parent", "1:1", "netem", "limit", str(cell.packets), *loss))
        run(*inside(router, "tc", "qdisc", "add", "dev", "h1", "root", "netem", "limit", "1000000", "delay", f"{2 * cell.delay}ms"))
        yield
    finally:
        run("ip", "netns", "del", router)


LINKS = {"wire": wire_link, "kernel": kernel_link}


def linux(cell, options, seed, folder):
    seconds, server = options.seconds, None
    with LINKS[options.link](cell, seconds, seed, folder):
        try:
            # Segments leave one by one, as ours do: with offload up to a millisecond of them leaves at once.
            for number, name in enumerate(NAMES):
                run(*inside(name, "ip", "link", "set", f"h{number + 1}", "gso_max_segs", "1"))
            time.sleep(0.5)
            server = subprocess.Popen(inside(NAMES[1], "iperf3", "-s", "-1", "-J"), stdout=subprocess.PIPE, text=True)
            time.sleep(0.5)
            client = inside(NAMES[0], "iperf3", "-c", "10.77.0.2", "-J", "-t", str(seconds), "-C", cell.congestion, "-P", str(cell.flows))
            output = subprocess.run(client, capture_output=True, text=True, timeout=seconds + 30)
            # Not the final sum: that includes the packets in the queue at the end.
            arrived = [interval["sum"] for interval in json.loads(server.communicate(timeout=30)[0])["intervals"]]
            bits = sum(8 * interval["bytes"] for interval in arrived if interval["end"] <= seconds + 0.5)
            return cell.share(bits / seconds), json.loads(output.stdout)["end"]["sum_sent"]["retransmits"]
        except (subprocess.TimeoutExpired, KeyError):
            return None
        finally:
            if server:
                server.terminate()
                server.wait()


def numbers(text):
    return [float(number) if "." in number else int(number) for number in text.split(",")]


def main():
    parser = argparse.ArgumentParser()
    for name, usual in [("rates", "1,10"), ("delays", "1,10,100"), ("queues", "0.1,1,10"), ("losses", "0,0.01"), ("flows", "1")]:
        parser.add_argument(f"--{name}", type=numbers, default=usual)
    parser.add_argument("--congestion", type=lambda text: text.split(","), default="cubic,reno")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--link", choices=LINKS, default="wire", help="what Linux's link is made of")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--ours", action="store_true", help="leave Linux out")
    only.add_argument("--linux", action="store_true", help="leave ours out")
    options = parser.parse_args()
    cells = [Cell(rate, delay, queue, loss, flows, congestion)
             for rate in options.rates for delay in options.delays for loss in options.losses for queue in options.queues
             for flows in options.flows for congestion in options.congestion]
    made = []
    try:
        if not options.ours:
            for name in NAMES:
                subprocess.run(["ip", "netns", "add", name], check=True)
                made.append(name)
                # As much as the grid's greatest window, so that buffers limit neither.
                for key in ["tcp_rmem", "tcp_wmem"]:
                    setting = f"net.ipv4.{key}=4096 131072 67108864"
                    subprocess.run(inside(name, "sysctl", "-qw", setting), check=True)
                subprocess.run(inside(name, "sysctl", "-qw", "net.ipv4.tcp_no_metrics_save=1"), check=True)
        print(" Mb/s  delay   BDP packets   loss flows           ours  Linux  ratio   resent")
        with tempfile.TemporaryDirectory() as folder:
            for cell in cells:
                compare(cell, options, pathlib.Path(folder))
    finally:
        for name in made:
            subprocess.run(["ip", "netns", "del", name], check=True)


def compare(cell, options, folder):
    def mean(results):
        results = [result for result in results if result]
        return [sum(column) / len(results) for column in zip(*results)] if results else None

    own = None if options.linux else mean([ours(cell, options.seconds, seed, folder) for seed in range(options.seeds)])
    theirs = None if options.ours else mean([linux(cell, options, seed, folder) for seed in range(options.seeds)])
    line = f"{cell.rate:5} {cell.delay:4} ms {cell.queue:5} {cell.packets:7} {cell.loss:6} {cell.flows:5} {cell.congestion:>6}"
    line += f" {own[0]:7.1f}" if own else " " * 8
    line += f" {theirs[0]:6.1f}" if theirs else " " * 7
    line += f" {own[0] / max(theirs[0], 0.001):6.2f}" if own and theirs else " " * 7
    line += "/".join(f" {side[1]:5.0f}" for side in (own, theirs) if side)
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
