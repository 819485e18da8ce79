#!/usr/bin/env python3
"""Adaptive packet compression (paper 004 section 5.2) as a callback: a packet that comes by port 0 is compressed if

    W >= C - (1 - R) S / B

W is how long it would wait in the output queue, B the rate at which that empties; both are told in lines that begin with `#`.
What comes by port 1 is restored. A compressed packet is an IP packet of protocol 253 with the protocol that was replaced, and
the rest as raw deflate, behind its IP header. `compress.py never` compresses none, and restores.
"""
import sys
import zlib

C = 20e-6  # s
R = 0.95
PROTOCOL = 253
NEVER = sys.argv[1:] == ["never"]


def with_header(frame, protocol, payload):
    """The frame's IP header with another protocol, length and checksum, and this behind it."""
    end = 14 + 4 * (frame[14] & 15)
    header = bytearray(frame[14:end])
    header[2:4] = (len(header) + len(payload)).to_bytes(2, "big")
    header[9] = protocol
    header[10:12] = b"\0\0"
    words = sum(int.from_bytes(header[at:at + 2], "big") for at in range(0, len(header), 2))
    words = (words & 0xFFFF) + (words >> 16)
    header[10:12] = (0xFFFF - (words & 0xFFFF) - (words >> 16)).to_bytes(2, "big")
    return frame[:14] + bytes(header) + payload


def pays(frame):
    wait, rate = int(known.get("wait_ns.1", 0)) * 1e-9, int(known.get("rate.1", 0))
    return rate and wait >= C - (1 - R) * 8 * len(frame) / rate


def answer(frame):
    """What becomes of a frame; None for what it is."""
    if frame[12:14] != b"\x08\x00":
        return None
    end = 14 + 4 * (frame[14] & 15)
    last = 14 + int.from_bytes(frame[16:18], "big")
    payload, protocol = frame[end:last], frame[23]
    if known["port"] == "1":
        if protocol != PROTOCOL:
            return None
        return with_header(frame, payload[0], zlib.decompress(payload[1:], -15))
    if NEVER or not pays(frame):
        return None
    # A window of 4 KiB holds the packet. One of 32 KiB is memory that the kernel gives and takes back for each packet,
    # which takes as long as the compression itself.
    packer = zlib.compressobj(1, zlib.DEFLATED, -12)
    short = bytes([protocol]) + packer.compress(payload) + packer.flush()
    return with_header(frame, PROTOCOL, short) if len(short) < len(payload) else None


def batches():
    """The lines that are there, all of them at a time: one system call for many packets."""
    rest = b""
    while piece := sys.stdin.buffer.read1(1 << 16):
        *lines, rest = (rest + piece).split(b"\n")
        yield lines


def text(new):
    # A line as `wire` has it: destination, source, type, and the payload byte by byte.
    return "through" if new is None else " ".join((new[:6].hex(), new[6:12].hex(), new[12:14].hex(), new[14:].hex(" ")))


known = {}
for batch in batches():
    answers = []
    for line in map(bytes.decode, batch):
        if line.startswith("#"):
            known.update(word.split("=") for word in line[1:].split())
        else:
            answers.append(text(answer(bytes.fromhex(line))) + "\n")
    sys.stdout.write("".join(answers))
    sys.stdout.flush()
