"""FlowQueue-CoDel (RFC 8290 section 4)."""
from codel import Control
from model import Queue, size, spread


class Flow:
    def __init__(self, index, config, owner):
        self.index = index
        self.packets = []
        self.codel = Control(config, owner, self.packets)
        self.credits = 0


class Model(Queue):
    def __init__(self, config, numbers, make):
        super().__init__()
        self.config = config
        self.perturbation = next(numbers)
        self.flows = {}
        self.new, self.old = [], []

    def flow(self, packet):
        index = spread(self.perturbation, packet.flow, self.config["flows"])
        if index not in self.flows:
            self.flows[index] = Flow(index, self.config, self)
        return self.flows[index]

    def total(self):
        return [packet for flow in self.flows.values() for packet in flow.packets]

    def over(self):
        total = self.total()
        return len(total) > self.config["limit"] or size(total) > self.config["memory_limit"]

    def enqueue(self, now, packet):
        packet.enqueued = now
        flow = self.flow(packet)
        flow.packets.append(packet)
        if flow not in self.new and flow not in self.old:
            flow.credits = self.config["quantum"]
            self.new.append(flow)
        while self.over():
            # Section 4.1: half of the packets of the queue with the most bytes, up to a maximum. Ties: the first queue.
            fattest = min(
                (flow for flow in self.flows.values() if flow.packets), key=lambda flow: (-size(flow.packets), flow.index)
            )
            half = (len(fattest.packets) + 1) // 2
            for _ in range(min(half, self.config["drop_batch"])):
                octets = size(fattest.packets)
                self.drop(fattest.packets.pop(0), "overlimit", octets)

    def dequeue(self, now):
        # Section 4.2.
        while self.new or self.old:
            source = self.new or self.old
            flow = source[0]
            if flow.credits <= 0:
                flow.credits += self.config["quantum"]
                source.pop(0)
                self.old.append(flow)
                continue
            packet = flow.codel.dequeue(now)
            if packet is None:
                source.pop(0)
                if source is self.new:
                    self.old.append(flow)
                continue
            flow.credits -= packet.len
            return packet
        return None

    def next_time(self, now):
        return now if self.total() else None
