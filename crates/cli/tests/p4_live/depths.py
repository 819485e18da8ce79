"""Offers a link more than it carries, and prints what the packets found waiting: `depths.py HOST`, or `depths.py` to listen."""
import socket
import sys
import time

DATAGRAMS = 100
PORT = 5007

wire = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
if len(sys.argv) > 1:
    for number in range(DATAGRAMS):
        wire.sendto(bytes(400), (sys.argv[1], PORT))
        # 442 bytes take 7 ms at 0.5 Mb/s.
        time.sleep(0.003)
else:
    wire.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
    wire.bind(("", PORT))
    print("listening", flush=True)
    wire.settimeout(60)
    depths = []
    while len(depths) < DATAGRAMS:
        _, ancillary, _, _ = wire.recvmsg(1500, 64)
        depths += [data[0] >> 2 for _, kind, data in ancillary if kind == socket.IP_TOS]
    print("first", depths[0], "deepest", max(depths))
