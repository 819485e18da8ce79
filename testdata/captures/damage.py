"""Makes big-endian and damaged files from nano.pcap, micro.pcap and two-interfaces.pcapng."""
import struct
from pathlib import Path


def swap(data, at, sizes):
    """data with the numbers of these sizes, from `at` on, in the other byte order."""
    out = bytearray(data)
    for size in sizes:
        out[at : at + size] = out[at : at + size][::-1]
        at += size
    return bytes(out)


def big_endian(name, to):
    data = Path(name).read_bytes()
    data = swap(data, 0, [4, 2, 2, 4, 4, 4, 4])
    at = 24
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at + 8)
        data = swap(data, at, [4, 4, 4, 4])
        at += 16 + length
    Path(to).write_bytes(data)


def blocks(data):
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        yield at, kind, length
        at += length


big_endian("nano.pcap", "nano-big-endian.pcap")
big_endian("micro.pcap", "micro-big-endian.pcap")

pcap = Path("nano.pcap").read_bytes()
Path("damaged/truncated.pcap").write_bytes(pcap[:-7])
Path("damaged/long-packet.pcap").write_bytes(pcap[:24] + struct.pack("<4I", 0, 0, 0xFFFFFFF0, 60) + pcap[40:200])
Path("damaged/version.pcap").write_bytes(pcap[:4] + struct.pack("<HH", 7, 4) + pcap[8:200])
Path("damaged/empty-header.pcap").write_bytes(pcap[:10])

data = Path("two-interfaces.pcapng").read_bytes()
packets = [(at, length) for at, kind, length in blocks(data) if kind == 6]
Path("damaged/truncated.pcapng").write_bytes(data[: packets[5][0] + 21])


def change(name, at, number):
    Path(name).write_bytes(data[:at] + struct.pack("<I", number) + data[at + 4 : packets[6][0]])


# The third packet block: of an interface that is not there, longer than its block, with another length at its end,
# with a length that goes beyond the limit, with one that cannot be.
at, length = packets[2]
change("damaged/interface.pcapng", at + 8, 9)
change("damaged/captured-length.pcapng", at + 20, 0x7FFFFFFF)
change("damaged/block-end.pcapng", at + length - 4, length + 4)
change("damaged/block-limit.pcapng", at + 4, 0x7FFFFFFC)
change("damaged/block-length.pcapng", at + 4, 8)
change("damaged/byte-order.pcapng", 8, 0x12345678)
Path("damaged/packet-first.pcapng").write_bytes(data[: blocks(data).__next__()[2]] + data[at : at + length])
