"""Runs independent models of queue disciplines, one sequence a line on stdin, one trace a line on stdout.

A line is JSON: `config` with its `kind`; `arrivals` as lists of time, length, flow, source, destination, DSCP, ECN, priority and perhaps the TCP segment;
`byte`, the time of a byte on the line; `random`, numbers of 64 bits. All times are in picoseconds. The models are written from the
RFCs and papers that they name, with exact integers.
"""
import importlib
import json
import sys

from model import Packet


def make(config, numbers):
    return importlib.import_module(config["kind"]).Model(config, numbers, make)


def drive(queue, arrivals, byte):
    """One line that is fed from the queue. An arrival comes before a departure of the same time."""
    trace, now, free, index = [], 0, 0, 0
    while True:
        poll = queue.next_time(max(now, free))
        sent = None
        if index < len(arrivals) and (poll is None or arrivals[index][0] <= poll):
            packet = Packet(index, arrivals[index])
            index += 1
            now = packet.at
            queue.enqueue(now, packet)
        elif poll is not None:
            now = poll
            sent = queue.dequeue(now)
        else:
            return " ".join(trace)
        for verdict, packet, reason, state in queue.log:
            trace.append(f"{verdict}{packet.handle}:{reason}{list(map(int, state))}@{now}".replace(" ", ""))
        queue.log.clear()
        if sent is not None:
            free = now + sent.len * byte
            trace.append(f"s{sent.handle}@{now}")


for line in sys.stdin:
    job = json.loads(line)
    queue = make(job["config"], iter(job["random"]))
    print(drive(queue, job["arrivals"], job["byte"]), flush=True)
