"""PIE (RFC 8033 sections 4 and 5). Probabilities are integers in 2^-40; whatever is calculated is rounded down."""
from model import CAPABLE, Queue, size

ONE = 2**40
SECOND = 10**12


class Model(Queue):
    def __init__(self, config, numbers, make):
        super().__init__()
        self.config, self.numbers = config, numbers
        self.packets = []
        self.drop_prob = self.accu_prob = 0
        self.qdelay = self.qdelay_old = 0
        self.burst_allowance = config["max_burst"]
        self.next_update = config["tupdate"]

    def current_qdelay(self):
        if self.config["rate"] is not None:
            return size(self.packets) * 8 * SECOND // self.config["rate"]
        return self.qdelay

    def timer(self, now):
        while self.next_update <= now:
            self.calculate_drop_prob()
            self.next_update += self.config["tupdate"]

    def calculate_drop_prob(self):
        reference = self.config["target"]
        qdelay = self.current_qdelay()
        # 4.2: alpha and beta are in 1/16 Hz.
        p = self.config["alpha"] * (qdelay - reference) + self.config["beta"] * (qdelay - self.qdelay_old)
        divisor = 1
        for bound, other in ((10, 2), (100, 8), (1_000, 32), (10_000, 128), (100_000, 512), (1_000_000, 2048)):
            if self.drop_prob < ONE // bound:
                divisor = other
        p = p * ONE // (16 * SECOND * divisor)
        # 5.5: cap drop adjustment.
        if self.drop_prob >= ONE // 10 and p > ONE // 50:
            p = ONE // 50
        self.drop_prob = min(max(self.drop_prob + p, 0), ONE)
        if qdelay == 0 and self.qdelay_old == 0:
            self.drop_prob = self.drop_prob * 98 // 100
        # 4.4
        self.burst_allowance = max(0, self.burst_allowance - self.config["tupdate"])
        if self.drop_prob == 0 and 2 * qdelay < reference and 2 * self.qdelay_old < reference:
            self.burst_allowance = self.config["max_burst"]
        self.qdelay_old = qdelay

    def drop_early(self, packet):
        mean = self.config["mean_packet"]
        if self.burst_allowance > 0:
            return False
        # 4.1: safeguards
        if 2 * self.qdelay_old < self.config["target"] and self.drop_prob < ONE // 5:
            return False
        if size(self.packets) <= 2 * mean:
            return False
        # 5.4: de-randomisation; by packet size as RFC 8034 section 4.6 has it
        p = self.drop_prob
        if self.config["bytemode"]:
            p = min(p * packet.len // mean, ONE * 85 // 100)
        if self.drop_prob == 0:
            self.accu_prob = 0
        self.accu_prob += p
        if self.accu_prob < ONE * 85 // 100:
            return False
        if self.accu_prob >= ONE * 85 // 10:
            return True
        return next(self.numbers) // 2**24 < p

    def enqueue(self, now, packet):
        self.timer(now)
        packet.enqueued = now
        if len(self.packets) >= self.config["limit"]:
            self.drop(packet, "full")
            self.accu_prob = 0
            return
        if self.drop_early(packet):
            self.accu_prob = 0
            state = self.drop_prob, self.qdelay_old
            if self.config["ecn"] and packet.ecn in CAPABLE and self.drop_prob < ONE // 10:
                self.mark(packet, "pie", *state)
            else:
                self.drop(packet, "pie", *state)
                return
        self.packets.append(packet)

    def dequeue(self, now):
        self.timer(now)
        if not self.packets:
            return None
        packet = self.packets.pop(0)
        self.qdelay = now - packet.enqueued if self.packets else 0
        return packet

    def next_time(self, now):
        return now if self.packets else None
