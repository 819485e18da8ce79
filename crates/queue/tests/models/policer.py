"""A meter of one rate and one burst: what exceeds it is dropped (RFC 2697 with an excess burst of 0)."""
from model import Queue
from tbf import SECOND, Bucket


class Model(Queue):
    def __init__(self, config, numbers, make):
        super().__init__()
        self.bucket = Bucket(config["rate"], config["burst"])
        self.child = make(config["child"], numbers)

    def enqueue(self, now, packet):
        packet.enqueued = now
        if self.bucket.level(now) < 8 * packet.len:
            self.drop(packet, "policed", self.bucket.level(now) * SECOND, 8 * packet.len * SECOND)
            return
        self.bucket.charge(now, packet)
        self.child.enqueue(now, packet)
        self.take(self.child)

    def dequeue(self, now):
        packet = self.child.dequeue(now)
        self.take(self.child)
        return packet

    def next_time(self, now):
        return self.child.next_time(now)
