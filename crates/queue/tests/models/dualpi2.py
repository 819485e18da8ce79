"""DualPI2 (RFC 9332 appendix A.1, with the overload code of A.2). Probabilities are in 2^-40, rounded down.

While less than `min_backlog` bytes are left in both queues the probabilities of the controller are 0, as in Linux. The scheduler is the weighted round robin that the module's documentation describes.
"""
from fractions import Fraction

from model import Queue, size

ONE = 2**40
SECOND = 10**12
ECT0, ECT1, CE = 2, 1, 3


class Half:
    def __init__(self):
        self.packets = []
        self.count = 0

    def time(self, now):
        return now - self.packets[0].enqueued if self.packets else 0

    def recur(self, likelihood):
        self.count += min(likelihood, ONE)
        if self.count > ONE:
            self.count -= ONE
            return True
        return False


class Model(Queue):
    def __init__(self, config, numbers, make):
        super().__init__()
        self.config = config
        self.lq, self.cq = Half(), Half()
        self.alpha = int(Fraction(config["alpha"]) * 2**32)
        self.beta = int(Fraction(config["beta"]) * 2**32)
        self.p = self.prevq = self.credit = 0
        self.next_update = config["tupdate"]

    def timer(self, now):
        while self.next_update <= now:
            curq = max(self.cq.time(self.next_update), self.lq.time(self.next_update))
            step = self.alpha * (curq - self.config["target"]) + self.beta * (curq - self.prevq)
            self.p = min(max(self.p + step * 2**8 // SECOND, 0), ONE)
            self.prevq = curq
            self.next_update += self.config["tupdate"]

    def enqueue(self, now, packet):
        self.timer(now)
        packet.enqueued = now
        if len(self.lq.packets) + len(self.cq.packets) >= self.config["limit"]:
            self.drop(packet, "full")
        elif packet.ecn in (ECT1, CE):
            packet.alone = len(self.lq.packets) <= self.config["min_qlen_step"]
            self.lq.packets.append(packet)
        else:
            self.cq.packets.append(packet)

    def scheduler(self):
        protection = self.config["classic_protection"]
        if self.lq.packets and self.cq.packets:
            if self.credit <= 0:
                self.credit += protection * self.lq.packets[0].len
                return self.lq
            self.credit -= (100 - protection) * self.cq.packets[0].len
            return self.cq
        self.credit = 0
        return self.lq if self.lq.packets else self.cq

    def laqm(self, qdelay):
        low, spread = self.config["step_thresh"], self.config["range"]
        if qdelay <= low:
            return 0
        if qdelay >= low + spread:
            return ONE
        return (qdelay - low) * ONE // spread

    def dequeue(self, now):
        self.timer(now)
        k = self.config["coupling"]
        while self.lq.packets or self.cq.packets:
            queue = self.scheduler()
            packet = queue.packets.pop(0)
            rest = size(self.lq.packets) + size(self.cq.packets)
            p = self.p if rest >= self.config["min_backlog"] else 0
            p_cl, p_c = k * p, p**2 // ONE
            overload = p_c >= ONE // k**2
            if queue is self.lq:
                native = 0 if packet.alone else self.laqm(now - packet.enqueued)
                if overload and queue.recur(p_c):
                    self.drop(packet, "coupled", self.p, p_c)
                    continue
                if queue.recur(max(native, p_cl)):
                    self.mark(packet, "step" if native > p_cl else "coupled", self.p, max(native, p_cl))
            elif queue.recur(p_c):
                if packet.ecn != ECT0 or overload:
                    self.drop(packet, "coupled", self.p, p_c)
                    continue
                self.mark(packet, "coupled", self.p, p_c)
            return packet
        return None

    def next_time(self, now):
        return now if self.lq.packets or self.cq.packets else None
