"""RED: Floyd and Jacobson 1993, figure 2; gentle (Floyd 2000); adaptive (Floyd, Gummadi and Shenker 2001, figure 1).

The average is an integer in 2^-16 bytes, probabilities in 2^-32; whatever is calculated is rounded down.
"""
from fractions import Fraction

from model import CAPABLE, Queue, size

ONE = 2**32
BYTE = 2**16
SECOND = 10**12


class Model(Queue):
    def __init__(self, config, numbers, make):
        super().__init__()
        self.config, self.numbers = config, numbers
        self.packets = []
        self.avg = 0
        self.minth, self.maxth = config["min"] * BYTE, config["max"] * BYTE
        self.maxp = int(Fraction(config["probability"]) * ONE)
        self.count = -1
        self.q_time = 0
        self.next_adaptation = config["interval"]

    def weigh(self, q):
        self.avg += (q * BYTE - self.avg) // 2 ** self.config["wlog"]

    def adapt(self, now):
        while self.next_adaptation <= now:
            self.next_adaptation += self.config["interval"]
            step = (self.maxth - self.minth) // 5
            if self.avg > self.minth + 3 * step and self.maxp <= ONE // 2:
                self.maxp += min(ONE // 100, self.maxp // 4)
            elif self.avg < self.minth + 2 * step and self.maxp >= ONE // 100:
                self.maxp = self.maxp * 9 // 10

    def initial_probability(self):
        """The probability by the average alone, pb."""
        if self.avg < self.maxth:
            return self.maxp * (self.avg - self.minth) // (self.maxth - self.minth)
        return self.maxp + (ONE - self.maxp) * (self.avg - self.maxth) // self.maxth

    def early(self):
        pb = self.initial_probability()
        self.state = self.avg // BYTE, pb, self.count
        number = next(self.numbers) // 2**32
        if self.config["wait"]:
            if self.count * pb < ONE:
                return False
            rest = 2 * ONE - self.count * pb
        else:
            rest = ONE - self.count * pb
        return rest <= 0 or Fraction(number, ONE) < Fraction(pb, rest)

    def enqueue(self, now, packet):
        packet.enqueued = now
        if self.config["adaptive"]:
            self.adapt(now)
        if self.packets:
            self.weigh(size(self.packets))
        else:
            packet_time = max(1, self.config["avpkt"] * 8 * SECOND // self.config["bandwidth"])
            for _ in range((now - self.q_time) // packet_time):
                if self.avg == 0:
                    break
                self.weigh(0)
            self.q_time = now
        forced = 2 * self.maxth if self.config["gentle"] else self.maxth
        verdict = None
        if self.avg < self.minth:
            self.count = -1
        elif self.avg < forced:
            self.count += 1
            if self.early():
                verdict = "red_early"
                self.count = 0
        else:
            verdict = "red_forced"
            self.state = self.avg // BYTE, ONE, 0
            self.count = 0
        if verdict:
            hard = verdict == "red_forced" and self.config["harddrop"]
            if self.config["ecn"] and packet.ecn in CAPABLE and not hard:
                self.mark(packet, verdict, *self.state)
            else:
                self.drop(packet, verdict, *self.state)
                return
        if size(self.packets) + packet.len > self.config["limit"]:
            self.drop(packet, "full")
            return
        self.packets.append(packet)

    def dequeue(self, now):
        if not self.packets:
            return None
        packet = self.packets.pop(0)
        if not self.packets:
            self.q_time = now
        return packet

    def next_time(self, now):
        return now if self.packets else None
