"""CoDel from the pseudocode of RFC 8289 section 5. Marks in place of drops: as section 4 of RFC 8290 asks of ECN."""
import math

from model import CAPABLE, Queue, size


class Control:
    """The variables of one queue. `queue` is a list of packets, the oldest first."""

    def __init__(self, config, owner, queue):
        self.target, self.interval = config["target"], config["interval"]
        self.maxpacket, self.ecn = config["mtu"], config["ecn"]
        self.ce_threshold, self.reuse = config["ce_threshold"], config["count_reuse"]
        self.owner, self.queue = owner, queue
        self.first_above_time = 0
        self.drop_next = 0
        self.count = self.lastcount = 0
        self.dropping = False

    def control_law(self, t):
        # The greatest integer not above interval / sqrt(count).
        return t + math.isqrt(self.interval**2 // self.count)

    def dodequeue(self, now):
        if not self.queue:
            self.first_above_time = 0
            return None, False
        packet = self.queue.pop(0)
        sojourn_time = now - packet.enqueued
        ok_to_drop = False
        if sojourn_time < self.target or size(self.queue) <= self.maxpacket:
            self.first_above_time = 0
        elif self.first_above_time == 0:
            self.first_above_time = now + self.interval
        elif now >= self.first_above_time:
            ok_to_drop = True
        return packet, ok_to_drop

    def signals_by_mark(self, packet, now):
        state = now - packet.enqueued, self.dropping, self.count, self.drop_next
        if self.ecn and packet.ecn in CAPABLE:
            self.owner.mark(packet, "codel", *state)
            return True
        self.owner.drop(packet, "codel", *state)
        return False

    def dequeue(self, now):
        packet = self.control(now)
        if packet is not None and self.ce_threshold is not None:
            if now - packet.enqueued > self.ce_threshold and packet.ecn in CAPABLE:
                self.owner.mark(packet, "step", now - packet.enqueued, self.ce_threshold)
        return packet

    def control(self, now):
        packet, ok_to_drop = self.dodequeue(now)
        if self.dropping:
            if not ok_to_drop:
                self.dropping = False
            while now >= self.drop_next and self.dropping:
                marked = self.signals_by_mark(packet, now)
                self.count += 1
                if marked:
                    self.drop_next = self.control_law(self.drop_next)
                    break
                packet, ok_to_drop = self.dodequeue(now)
                if not ok_to_drop:
                    self.dropping = False
                else:
                    self.drop_next = self.control_law(self.drop_next)
        elif ok_to_drop:
            if not self.signals_by_mark(packet, now):
                packet, ok_to_drop = self.dodequeue(now)
            self.dropping = True
            recent = now - self.drop_next
            if self.reuse == "delta":
                delta = self.count - self.lastcount
                self.count = 1
                if delta > 1 and recent < 16 * self.interval:
                    self.count = delta
            elif self.reuse == "minus_two":
                self.count = self.count - 2 if self.count > 2 and recent < self.interval else 1
            else:
                self.count = 1
            self.drop_next = self.control_law(now)
            self.lastcount = self.count
        return packet


class Model(Queue):
    def __init__(self, config, numbers, make):
        super().__init__()
        self.limit = config["limit"]
        self.waiting = []
        self.codel = Control(config, self, self.waiting)

    def enqueue(self, now, packet):
        packet.enqueued = now
        if len(self.waiting) >= self.limit:
            self.drop(packet, "full")
        else:
            self.waiting.append(packet)

    def dequeue(self, now):
        return self.codel.dequeue(now)

    def next_time(self, now):
        return now if self.waiting else None
