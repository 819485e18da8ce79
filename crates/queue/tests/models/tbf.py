"""A token bucket, and one for the peak rate, with exact fractions of bits. The head of the child is taken out to look at it."""
from fractions import Fraction
from math import ceil

from model import Queue

SECOND = 10**12


class Bucket:
    def __init__(self, rate, depth):
        self.rate, self.depth = Fraction(rate, SECOND), 8 * depth
        self.bits, self.at = Fraction(self.depth), 0

    def level(self, now):
        return min(Fraction(self.depth), self.bits + (now - self.at) * self.rate)

    def charge(self, now, packet):
        self.bits, self.at = self.level(now) - 8 * packet.len, now

    def wait(self, now, packet):
        return max(0, ceil((8 * packet.len - self.level(now)) / self.rate))


class Model(Queue):
    def __init__(self, config, numbers, make):
        super().__init__()
        self.buckets = [Bucket(config["rate"], config["burst"])]
        if config["peakrate"] is not None:
            self.buckets.append(Bucket(config["peakrate"], config["mtu"]))
        self.child = make(config["child"], numbers)
        self.head = None

    def enqueue(self, now, packet):
        packet.enqueued = now
        for bucket in self.buckets:
            if 8 * packet.len > bucket.depth:
                self.drop(packet, "too_long", bucket.level(now) * SECOND, 8 * packet.len * SECOND)
                return
        self.child.enqueue(now, packet)
        self.take(self.child)

    def dequeue(self, now):
        if self.head is None:
            self.head = self.child.dequeue(now)
            self.take(self.child)
        head = self.head
        if head is None or any(bucket.wait(now, head) for bucket in self.buckets):
            return None
        for bucket in self.buckets:
            bucket.charge(now, head)
        self.head = None
        return head

    def next_time(self, now):
        if self.head is None:
            return self.child.next_time(now)
        return now + max(bucket.wait(now, self.head) for bucket in self.buckets)
