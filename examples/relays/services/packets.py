"""What the three relays share: packets as `wire` gives them to a callback, and answers. UDP over IPv4 only; all else goes through."""
import sys

known = {}


def packets():
    """Frames, each to be answered once, with what was told of them in `known`."""
    for line in sys.stdin:
        if line.startswith("#"):
            known.update(word.split("=") for word in line[1:].split())
        else:
            yield bytes.fromhex(line)


def text(frame):
    return " ".join((frame[:6].hex(), frame[6:12].hex(), frame[12:14].hex(), frame[14:].hex(" ")))


def answer(what):
    """`through`, `drop`, or the frame in its place."""
    print(what if isinstance(what, str) else text(what), flush=True)


def beside(frame, port=None):
    """Another packet; by this port, or by that where the answer goes."""
    print("+" + ("" if port is None else f"{port} ") + text(frame), flush=True)


def datagram(frame):
    """Source, destination, ports and payload; None for what is none."""
    if frame[12:14] != b"\x08\x00" or frame[14] != 0x45 or frame[23] != 17:
        return None
    length = int.from_bytes(frame[38:40], "big")
    return frame[26:30], frame[30:34], int.from_bytes(frame[34:36], "big"), int.from_bytes(frame[36:38], "big"), frame[42:34 + length]


def checksum(data):
    words = sum(int.from_bytes(data[at:at + 2].ljust(2, b"\0"), "big") for at in range(0, len(data), 2))
    while words >> 16:
        words = (words & 0xFFFF) + (words >> 16)
    return (0xFFFF - words).to_bytes(2, "big")


def make(stations, source, destination, ports, payload):
    """A frame with a datagram: 12 bytes of stations, addresses, two ports, payload."""
    udp = bytearray(b"".join(port.to_bytes(2, "big") for port in (*ports, 8 + len(payload), 0)) + payload)
    pseudo = source + destination + bytes((0, 17)) + len(udp).to_bytes(2, "big")
    udp[6:8] = checksum(pseudo + udp)
    ip = bytearray(b"\x45\0" + (20 + len(udp)).to_bytes(2, "big") + b"\0\0\x40\0\x40\x11\0\0" + source + destination)
    ip[10:12] = checksum(ip)
    return stations + b"\x08\x00" + bytes(ip) + bytes(udp)
