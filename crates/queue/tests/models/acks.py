"""CAKE's ACK filter, from the description in the documentation of the module; segments by RFC 9293, 7323 and 2018."""
import struct

FIN, SYN, RST, PSH, ACK, URG, ECE, CWR = (1 << bit for bit in range(8))
HARMLESS = {5, 8, 19}


def less(a, b):
    """Whether a number is before another, modulo 2^32."""
    return 0 < (b - a) % 2**32 <= 2**31


class Segment:
    def __init__(self, tcp):
        self.number, offset, self.flags = struct.unpack_from(">8xIBB", tcp)
        header = (offset >> 4) * 4
        found = self.options(tcp[20:header])
        kinds = [kind for kind, _ in found]
        self.ecn = self.flags & (ECE | CWR)
        self.stamps = struct.unpack(">II", next((value for kind, value in found if kind == 8 and len(value) == 8), bytes(8)))
        sacks = next((value for kind, value in found if kind == 5 and len(value) % 8 == 0), b"")
        self.sacks = list(struct.iter_unpack(">II", sacks))
        lengths = all(len(value) == 8 if kind == 8 else kind == 19 or len(value) % 8 == 0 for kind, value in found)
        self.pure = (
            len(tcp) == header
            and not offset & 15
            and self.flags & ~(ECE | CWR) == ACK
            and set(kinds) <= HARMLESS
            and len(set(kinds)) == len(kinds)
            and lengths
        )

    @staticmethod
    def options(rest):
        found = []
        while rest and rest[0] != 0:
            if rest[0] == 1:
                rest = rest[1:]
                continue
            if len(rest) < 2 or not 2 <= rest[1] <= len(rest):
                break
            found.append((rest[0], rest[2 : rest[1]]))
            rest = rest[rest[1] :]
        return found

    def size(self):
        return sum(end - first for first, end in self.sacks) % 2**32

    def covers(self, block):
        return any(not less(block[0], first) and not less(end, block[1]) for first, end in self.sacks)


def says_all_of(later, ack):
    """Whether an ACK is unnecessary after a later segment."""
    if not ack.pure or less(later.number, ack.number) or any(less(b, a) for a, b in zip(ack.stamps, later.stamps)):
        return False
    if any(less(first, ack.number) or not later.covers((first, end)) for first, end in ack.sacks):
        return False
    more = later.size() > ack.size() or (later.sacks and not ack.sacks)
    return bool(more or later.number != ack.number)


def unnecessary(packets, aggressive):
    """The ACK that the last packet of a queue makes unnecessary, with its number and that of the last."""
    last = packets[-1]
    if last.tcp is None:
        return None
    later = Segment(last.tcp)
    if later.flags & (ACK | SYN) != ACK:
        return None
    key = (last.flow, last.source, last.destination)
    own = [
        (packet, Segment(packet.tcp))
        for packet in packets[:-1]
        if packet.tcp is not None and (packet.flow, packet.source, packet.destination) == key
    ]
    # Runs of segments with the same flags of ECN; an ACK is dropped for another of its run.
    runs = []
    for packet, segment in own:
        if not runs or not runs[-1] or runs[-1][0][1].ecn != segment.ecn:
            runs.append([])
        runs[-1].append((packet, segment))
    for run in runs:
        found = [(packet, segment) for packet, segment in run if says_all_of(later, segment)]
        if len(found) > 1:
            return found[0][0], found[0][1].number, later.number
    if aggressive and runs:
        found = [(packet, segment) for packet, segment in runs[-1] if says_all_of(later, segment)]
        if found and packets[-2] is found[0][0] and found[0][1].ecn == later.ecn:
            return found[0][0], found[0][1].number, later.number
    return None
