"""Common parts of the models: a packet, and the list of drops and marks."""

CAPABLE = (1, 2, 3)
CE = 3


class Packet:
    def __init__(self, handle, facts):
        self.handle = handle
        self.at, self.len, self.flow, self.source, self.destination, self.dscp, self.ecn, self.priority = facts
        self.enqueued = None


class Queue:
    """What all models share. `log` has (verdict, packet, reason) of the last call."""

    def __init__(self):
        self.log = []

    def drop(self, packet, reason):
        self.log.append(("d", packet, reason))

    def mark(self, packet, reason):
        packet.ecn = CE
        self.log.append(("m", packet, reason))

    def take(self, child):
        """Takes over the drops and marks of a child."""
        self.log += child.log
        child.log.clear()


def size(packets):
    return sum(packet.len for packet in packets)
