"""usage: figure-4-5.py exact|wildcard FLOWS throughput|delay SWITCH FOLDER SEED: writes lab.toml and packets.pcap, and entries.txt for ovs-ofctl.

FLOWS hosts in subnets of their own, an entry of the switch for each of them: all fields of its flow, or its address alone. The
packets go to random ones of them.
"""

import random
import struct
import sys

kind, flows, test, switch, folder, seed = sys.argv[1:]
flows, switch_delay = int(flows), test == "delay"
# Stress by the least packets, and delay by large ones, as in the paper.
size, rate = (500, 1_000) if switch_delay else (70, 1_000_000)
pick = random.Random(int(seed))

# Number 0 is 10.0.0.2, and each host has a /30.
hosts = [0x0A000002 + 4 * number for number in range(flows)]
SOURCE = "10.255.255.2"


def dotted(address):
    return ".".join(str(address >> shift & 255) for shift in (24, 16, 8, 0))


def entry(address):
    if kind == "wildcard":
        return f"ip,nw_dst={dotted(address)},actions=output:2"
    return (
        "udp,in_port=1,dl_vlan=0xffff,dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:00:02,nw_tos=0,"
        f"nw_src={SOURCE},nw_dst={dotted(address)},tp_src=9,tp_dst=9,actions=output:2"
    )


def checksum(header):
    total = sum(struct.unpack("!10H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def frame(address, number):
    length = size - 14 - 4
    source = bytes(map(int, SOURCE.split(".")))
    parts = [0x45, 0, length, number & 0xFFFF, 0x4000, 64, 17, 0, source, struct.pack("!I", address)]
    parts[7] = checksum(struct.pack("!BBHHHBBH4s4s", *parts))
    header = struct.pack("!BBHHHBBH4s4s", *parts)
    udp = struct.pack("!HHHH", 9, 9, length - 20, 0)
    return bytes.fromhex("020000000002 020000000001 0800") + header + udp + bytes(length - 28)


with open(f"{folder}/entries.txt", "w") as file:
    for address in hosts:
        print(entry(address), file=file)
# As many packets as there are flows, but some thousands at least, so that each loop of the replay goes to all kinds of them.
with open(f"{folder}/packets.pcap", "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
    for number in range(max(10_000, min(flows, 200_000))):
        data = frame(pick.choice(hosts), number)
        file.write(struct.pack("<IIII", 0, number, len(data), len(data)) + data)

if switch == "wire":
    node = f'kind = "openflow-switch"\nports = 2\ncontrollers = 0\nflows = 1_000_000\nentries_file = "entries.txt"'
else:
    node = f'kind = "openvswitch"\nports = 2\nrun = {{ command = "ovs-ofctl add-flows s1 {folder}/entries.txt", ahead = true }}'
with open(f"{folder}/lab.toml", "w") as file:
    file.write(f"""[lab]
name = "figure-4-5"
duration = "2 s"
# Frames cross one by one, as on a wire.
aggregate = false

[node.source]
kind = "generator"
replay = "{folder}/packets.pcap"
loops = 0
packets_per_second = {rate}

[node.s1]
{node}

[node.sink]
kind = "sink"

[[link]]
ends = ["source.0", "s1.0"]

[[link]]
ends = ["s1.1", "sink.0"]

[[measure]]
at = "sink.0"
""")
    if switch_delay:
        for at, name in (("s1.0", "in"), ("sink.0", "out")):
            file.write(f'\n[[capture]]\nat = "{at}"\nfile = "{name}.pcap"\n')
