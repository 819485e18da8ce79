"""CAKE, as far as the documentation of the module names its parts (Høiland-Jørgensen, Täht and Morton, LANMAN 2018).

Rates and clocks are exact fractions of picoseconds; a clock is rounded down where it is compared.
"""
from fractions import Fraction

from acks import unnecessary
from codel import Control
from model import Queue, size, spread

SECOND = 10**12
MTU = 1514
SHIFTS = {"besteffort": [0], "diffserv3": [4, 0, 2], "diffserv4": [4, 0, 1, 2]}
# Tins by precedence, the last first: within its share bulk comes before best effort.
PRECEDENCE = {"besteffort": [0], "diffserv3": [1, 0, 2], "diffserv4": [1, 0, 2, 3]}
BULK = {1, 8}
VOICE3 = {4, 44, 46, 48, 56}
VOICE4 = {32, 40, 44, 46, 48, 56}
VIDEO = {2, 4, *range(16, 31, 2), 34, 36, 38}


class Flow:
    def __init__(self, tin, index, owner):
        self.tin, self.index = tin, index
        self.packets = []
        self.codel = Control(tin.law, owner, self.packets)
        self.deficit = 0
        self.blue, self.blue_at = 0, 0
        self.hosts = None


class Tin:
    def __init__(self, config, rate, perturbation, owner):
        usual = config["rtt"] // 20
        target = usual
        self.rate = rate
        quantum = MTU
        if rate is not None:
            target = max(usual, 8 * MTU * SECOND // rate * 3 // 2)
            quantum = rate // 8 // 4096
        self.quantum = min(max(quantum, 300), MTU)
        self.law = {
            "target": target,
            "interval": max(config["rtt"] + target - usual, 2 * target),
            "mtu": MTU,
            "ecn": True,
            "ce_threshold": None,
            "count_reuse": "delta",
        }
        self.isolation, self.perturbation, self.owner = config["isolation"], perturbation, owner
        self.ack_filter = config["ack_filter"]
        self.flows = {}
        self.new, self.old = [], []
        self.time = Fraction(0)

    def waits(self):
        return any(flow.packets for flow in self.flows.values())

    def spread(self, key):
        return spread(self.perturbation, key, 1024)

    def flow(self, packet):
        keys = {
            "flowblind": 0,
            "srchost": packet.source,
            "dsthost": packet.destination,
            "hosts": packet.source * 2**32 + packet.destination,
        }
        index = self.spread(keys.get(self.isolation, packet.flow))
        if index not in self.flows:
            self.flows[index] = Flow(self, index, self.owner)
        return self.flows[index]

    def quantum_of(self, flow):
        sources = sum(other.hosts[0] == flow.hosts[0] for other in self.old)
        destinations = sum(other.hosts[1] == flow.hosts[1] for other in self.old)
        loads = {
            "dual-srchost": sources,
            "dual-dsthost": destinations,
            "triple-isolate": max(sources, destinations),
        }
        return max(1, self.quantum // max(1, loads.get(self.isolation, 1)))

    def enqueue(self, now, packet):
        if not self.waits():
            self.time = self.time if int(self.time) >= now else Fraction(now)
        flow = self.flow(packet)
        flow.packets.append(packet)
        if flow not in self.new and flow not in self.old:
            flow.hosts = (self.spread(packet.source), self.spread(packet.destination))
            flow.deficit = self.quantum_of(flow)
            self.new.append(flow)
        if self.ack_filter != "off":
            ack = unnecessary(flow.packets, self.ack_filter == "aggressive")
            if ack is not None:
                flow.packets.remove(ack[0])
                self.owner.drop(ack[0], "ack_filter", *ack[1:])

    def dequeue(self, now, numbers):
        while self.new or self.old:
            source = self.new or self.old
            flow = source[0]
            if flow.deficit <= 0:
                source.pop(0)
                self.old.append(flow)
                flow.deficit += self.quantum_of(flow)
                continue
            packet = flow.codel.dequeue(now)
            if packet is None:
                if flow.blue > 0 and now - flow.blue_at > self.law["target"]:
                    flow.blue = max(0, flow.blue - 2**32 // 4096)
                    flow.blue_at = now
                source.pop(0)
                if source is self.new:
                    self.old.append(flow)
                continue
            if flow.blue > 0 and next(numbers) // 2**32 < flow.blue:
                self.owner.drop(packet, "blue", flow.blue * 2**8, now - packet.enqueued)
                continue
            return packet, flow
        return None, None

    def sent(self, now, octets):
        if self.rate is None:
            return
        takes = Fraction(8 * octets * SECOND, self.rate)
        if int(self.time) <= now:
            self.time += takes
        elif int(self.time) < now + int(takes):
            self.time = Fraction(now + int(takes))


class Model(Queue):
    def __init__(self, config, numbers, make):
        super().__init__()
        self.config, self.numbers = config, numbers
        self.rate = config["bandwidth"]
        self.kind = config["diffserv"] if self.rate is not None else "besteffort"
        perturbation = next(numbers)
        self.tins = []
        for shift in SHIFTS[self.kind]:
            rate = None if self.rate is None else max(1, self.rate >> shift)
            self.tins.append(Tin(config, rate, perturbation, self))
        self.time = Fraction(0)

    def waiting(self):
        return [packet for tin in self.tins for flow in tin.flows.values() for packet in flow.packets]

    def tin(self, packet):
        if self.kind == "besteffort":
            return 0
        if packet.dscp in BULK:
            return 0
        if self.kind == "diffserv3":
            return 2 if packet.dscp in VOICE3 else 1
        return 3 if packet.dscp in VOICE4 else 2 if packet.dscp in VIDEO else 1

    def enqueue(self, now, packet):
        packet.enqueued = now
        if not self.waiting() and int(self.time) < now:
            self.time = Fraction(now)
        self.tins[self.tin(packet)].enqueue(now, packet)
        while size(self.waiting()) > self.config["memlimit"]:
            flows = [
                (-size(flow.packets), number, index, flow)
                for number, tin in enumerate(self.tins)
                for index, flow in tin.flows.items()
                if flow.packets
            ]
            flow = min(flows, key=lambda entry: entry[:3])[3]
            octets = size(flow.packets)
            self.drop(flow.packets.pop(0), "overlimit", octets)
            if now - flow.blue_at > flow.tin.law["target"]:
                flow.blue = min(2**32 - 1, flow.blue + 2**32 // 256)
                flow.blue_at = now

    def choose(self, now):
        tins = [self.tins[n] for n in PRECEDENCE[self.kind] if self.tins[n].waits()]
        if self.rate is None or not tins:
            return tins[0] if tins else None
        ready = [tin for tin in tins if int(tin.time) <= now]
        return ready[-1] if ready else min(reversed(tins), key=lambda tin: int(tin.time))

    def dequeue(self, now):
        if self.rate is not None and int(self.time) > now:
            return None
        while True:
            tin = self.choose(now)
            if tin is None:
                return None
            packet, flow = tin.dequeue(now, self.numbers)
            if packet is None:
                continue
            octets = max(0, packet.len + self.config["overhead"], self.config["mpu"])
            flow.deficit -= octets
            tin.sent(now, octets)
            if self.rate is not None:
                self.time += Fraction(8 * octets * SECOND, self.rate)
            return packet

    def next_time(self, now):
        if not self.waiting():
            return None
        return now if self.rate is None else max(now, int(self.time))
