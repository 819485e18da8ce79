"""Common parts of the models: a packet, and the list of drops and marks."""

CAPABLE = (1, 2, 3)
CE = 3


class Packet:
    def __init__(self, handle, facts):
        self.handle = handle
        self.at, self.len, self.flow, self.source, self.destination, self.dscp, self.ecn, self.priority, self.queue = facts[:9]
        # The bytes of its TCP segment, where it has one.
        self.tcp = bytes.fromhex(facts[9]) if len(facts) > 9 else None
        self.enqueued = None


class Queue:
    """What all models share. `log` has (verdict, packet, reason, state) of the last call."""

    def __init__(self):
        self.log = []

    def drop(self, packet, reason, *state):
        self.log.append(("d", packet, reason, state))

    def mark(self, packet, reason, *state):
        packet.ecn = CE
        self.log.append(("m", packet, reason, state))

    def take(self, child):
        """Takes over the drops and marks of a child."""
        self.log += child.log
        child.log.clear()


def size(packets):
    return sum(packet.len for packet in packets)


def split_mix(seed, index):
    """The number with an index of those that SplitMix64 gives for a seed (Steele, Lea and Flood, OOPSLA 2014)."""
    x = (seed + (index + 1) * 0x9E3779B97F4A7C15) % 2**64
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) % 2**64
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) % 2**64
    return x ^ x >> 31


def spread(perturbation, flow, count):
    """The queue of a flow among `count`."""
    return (split_mix(perturbation, flow) >> 32) * count // 2**32
