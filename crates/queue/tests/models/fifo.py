"""First in, first out: limits in packets, bytes and time; the step of DCTCP (RFC 8257 section 3.1)."""
from model import CAPABLE, Queue, size


class Model(Queue):
    def __init__(self, config, numbers, make):
        super().__init__()
        self.config = config
        self.waiting = []

    def over(self, more):
        packets, octets = len(self.waiting) + 1, size(self.waiting) + more.len
        limit = self.config["bytes"]
        return packets > self.config["limit"] or (limit is not None and octets > limit)

    def enqueue(self, now, packet):
        packet.enqueued = now
        while self.over(packet):
            if not (self.config["head_drop"] and self.waiting):
                self.drop(packet, "full")
                return
            self.drop(self.waiting.pop(0), "overlimit")
        mark = self.config["mark"]
        if mark is not None and len(self.waiting) > mark and packet.ecn in CAPABLE:
            self.mark(packet, "step")
        self.waiting.append(packet)

    def dequeue(self, now):
        while self.waiting:
            packet = self.waiting.pop(0)
            waited = now - packet.enqueued
            if self.config["time"] is not None and waited > self.config["time"]:
                self.drop(packet, "expired", waited, self.config["time"])
                continue
            threshold = self.config["ce_threshold"]
            if threshold is not None and waited > threshold and packet.ecn in CAPABLE:
                self.mark(packet, "step", waited, threshold)
            return packet
        return None

    def next_time(self, now):
        return now if self.waiting else None
