#!/usr/bin/env python3
"""Adds Linux's dualpi2 to an interface and reads its counters, by netlink: tc knows this discipline from iproute2 6.18 on, and Debian's kernel has it as a module from 6.17 on.

An older kernel takes it as a module that was built for it; WIRE_DUALPI2 names the file.
usage: dualpi2.py add DEVICE PARENT HANDLE [WORD VALUE ...], with PARENT and HANDLE as in `tc`, and words of tc-dualpi2(8)
       dualpi2.py show DEVICE
"""
import json
import os
import socket
import struct
import subprocess
import sys

NEW_QDISC, GET_QDISC, ERROR, DONE = 36, 38, 2, 3
REQUEST, ACKNOWLEDGE, EXCLUSIVE, CREATE, DUMP = 0x1, 0x4, 0x200, 0x400, 0x300
KIND, OPTIONS, STATISTICS, NESTED = 1, 2, 7, 0x8000
QUEUE, OWN = 3, 4  # Of the statistics: those of every discipline, and dualpi2's.
ROOT = 0xFFFFFFFF
TIMES = {"us": 1, "ms": 1_000, "s": 1_000_000}


def microseconds(text):
    unit = text.lstrip("0123456789.")
    return round(float(text.removesuffix(unit)) * TIMES[unit])


def hertz(text):
    """In 1/256 Hz, as tc rounds it."""
    return int(float(text) * 256)


# Attribute, format of its value, and how a word's value is read (include/uapi/linux/pkt_sched.h).
WORDS = {
    "limit": (1, "=I", int),
    "target": (3, "=I", microseconds),
    "tupdate": (4, "=I", microseconds),
    "alpha": (5, "=I", hertz),
    "beta": (6, "=I", hertz),
    "step_thresh": (8, "=I", microseconds),
    "min_qlen_step": (9, "=I", int),
    "coupling_factor": (10, "=B", int),
    "classic_protection": (13, "=B", int),
}


def missing():
    """Loads the discipline, and returns the reason if there is none."""
    if subprocess.run(["modprobe", "sch_dualpi2"], capture_output=True).returncode == 0:
        return None
    file = os.environ.get("WIRE_DUALPI2")
    if not file:
        return f"Linux {os.uname().release} has no dualpi2: WIRE_DUALPI2 may name a module sch_dualpi2.ko for it"
    done = subprocess.run(["insmod", file], capture_output=True, text=True)
    return None if done.returncode == 0 or "File exists" in done.stderr else f"insmod {file}: {done.stderr.strip()}"


def attribute(kind, value):
    data = struct.pack("=HH", 4 + len(value), kind) + value
    return data + bytes(-len(data) % 4)


def attributes(data):
    found, at = {}, 0
    while at + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, at)
        found[kind & 0x3FFF] = data[at + 4 : at + length]
        at += (length + 3) & ~3
    return found


def handle(text):
    if text == "root":
        return ROOT
    major, minor = text.split(":")
    return int(major, 16) << 16 | int(minor or "0", 16)


def request(kind, flags, device, parent, own, data=b""):
    """Sends a request and yields its answers: the body of each message."""
    body = struct.pack("=BxxxiIII", 0, socket.if_nametoindex(device), own, parent, 0) + data
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as link:
        link.send(struct.pack("=IHHII", 16 + len(body), kind, REQUEST | flags, 1, 0) + body)
        while True:
            answer, at = link.recv(1 << 16), 0
            while at < len(answer):
                length, kind = struct.unpack_from("=IH", answer, at)
                if kind == ERROR:
                    number = -struct.unpack_from("=i", answer, at + 16)[0]
                    if number:
                        sys.exit(f"error: dualpi2 at {device}: {os.strerror(number)}")
                    return
                if kind == DONE:
                    return
                yield answer[at + 16 : at + length]
                at += (length + 3) & ~3


def add(device, parent, own, *words):
    options = b""
    for word, value in zip(words[::2], words[1::2], strict=True):
        kind, form, read = WORDS[word]
        options += attribute(kind, struct.pack(form, read(value)))
    # The kernel wants one option at least.
    options = options or attribute(1, struct.pack("=I", 10_000))
    data = attribute(KIND, b"dualpi2\0") + attribute(OPTIONS | NESTED, options)
    list(request(NEW_QDISC, ACKNOWLEDGE | EXCLUSIVE | CREATE, device, handle(parent), handle(own), data))


def show(device):
    """Counters of the discipline at a device, as a dictionary."""
    number = socket.if_nametoindex(device)
    for body in request(GET_QDISC, DUMP, device, 0, 0):
        found = attributes(body[20:])
        if struct.unpack_from("=xxxxi", body)[0] != number or found[KIND] != b"dualpi2\0":
            continue
        statistics = attributes(found[STATISTICS])
        drops = struct.unpack_from("=IIIII", statistics[QUEUE])[2]
        prob, delay_c, delay_l, in_c, in_l, most, marks, steps = struct.unpack_from("=8I", statistics[OWN])
        return {"drops": drops, "ecn_mark": marks, "step_marks": steps, "packets_in_c": in_c, "packets_in_l": in_l}
    sys.exit(f"error: no dualpi2 at {device}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["add", device, parent, own, *words]:
            add(device, parent, own, *words)
        case ["show", device]:
            print(json.dumps(show(device)))
        case _:
            sys.exit(__doc__.strip())
