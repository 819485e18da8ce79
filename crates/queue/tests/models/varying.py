"""A line whose rate changes: the integral of the rate, with exact fractions of bits."""
from fractions import Fraction
from math import ceil

from model import Queue

SECOND = 10**12


class Model(Queue):
    def __init__(self, config, numbers, make):
        super().__init__()
        self.rates, self.repeat = config["rates"], config["repeat"]
        self.child = make(config["child"], numbers)
        self.head, self.done = None, 0

    def rate(self, now):
        """The rate at a time, and when it changes next."""
        base = now // self.repeat * self.repeat if self.repeat else 0
        current = [rate for start, rate in self.rates if base + start <= now][-1]
        later = [base + start for start, _ in self.rates if base + start > now]
        if self.repeat:
            later.append(base + self.repeat)
        return current, min(later, default=None)

    def start(self, now):
        if self.head is not None:
            return
        self.head = self.child.dequeue(now)
        self.take(self.child)
        if self.head is None:
            return
        bits, at = Fraction(8 * self.head.len), now
        while True:
            rate, change = self.rate(at)
            wanted = bits * SECOND / rate
            if change is None or wanted <= change - at:
                self.done = at + ceil(wanted)
                return
            bits -= Fraction(rate * (change - at), SECOND)
            at = change

    def enqueue(self, now, packet):
        packet.enqueued = now
        self.child.enqueue(now, packet)
        self.take(self.child)
        self.start(now)

    def dequeue(self, now):
        self.start(now)
        if self.head is None or self.done > now:
            return None
        head, self.head = self.head, None
        self.start(now)
        return head

    def next_time(self, now):
        if self.head is None:
            return self.child.next_time(now)
        return max(now, self.done)
