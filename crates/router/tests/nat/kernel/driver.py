"""Sends packets through this network namespace's NAT, one at a time.

Each line of standard input is a side, `in` or `out`, and an IPv4 packet in hexadecimal digits. The answer is a line with the
packets that left on the other side.
"""
import os
import socket
import sys

ROUTER = bytes.fromhex("020000000001")
HOST = bytes.fromhex("020000000002")
# A packet that always passes follows each packet: its arrival shows that all earlier ones have arrived.
MARK = {
    "in": bytes.fromhex("4500001c000000003f1100000a0000fac63364fa0009000900080000"),
    "out": bytes.fromhex("4500001c000000003f110000c63364fac00002010009000900080000"),
}


def checksum(header):
    total = sum(int.from_bytes(header[at : at + 2], "big") for at in range(0, len(header), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return (~total & 0xFFFF).to_bytes(2, "big")


def port(name):
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
    opened.bind((name, 0x0800))
    opened.settimeout(10)
    return opened


# One processor has one queue of arrivals.
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
ports = {"in": port("in0"), "out": port("out0")}
for side, mark in MARK.items():
    MARK[side] = mark[:10] + checksum(mark[:20]) + mark[12:]


def send(side, packet):
    ports[side].send(ROUTER + HOST + b"\x08\x00" + packet)


def arrivals(side):
    while True:
        frame, address = ports[side].recvfrom(65536)
        if address[2] == socket.PACKET_OUTGOING:
            continue
        packet = frame[14 : 14 + int.from_bytes(frame[16:18], "big")]
        if packet[9] == 17 and packet[20:24] == b"\0\x09\0\x09":
            return
        yield packet.hex()


send("in", MARK["in"])
list(arrivals("out"))
print("ready", flush=True)
for line in sys.stdin:
    side, packet = line.split()
    other = {"in": "out", "out": "in"}[side]
    send(side, bytes.fromhex(packet))
    send(side, MARK[side])
    print(" ".join(arrivals(other)), flush=True)
