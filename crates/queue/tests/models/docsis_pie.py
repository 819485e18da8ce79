"""DOCSIS-PIE (RFC 8034 sections 4.2 to 4.6 and appendix A). Probabilities are integers in 2^-40; whatever is calculated is rounded down."""
from fractions import Fraction
from math import floor

from model import Queue, size

ONE = 2**40
SECOND = 10**12
PROB_LOW, PROB_HIGH = ONE * 85 // 100, ONE * 85 // 10
# The change of a probability below each bound is divided by a number.
TUNING = [
    (Fraction(1, 10**6), 2048),
    (Fraction(1, 10**5), 512),
    (Fraction(1, 10**4), 128),
    (Fraction(1, 1000), 32),
    (Fraction(1, 100), 8),
    (Fraction(1, 10), 2),
    (1, Fraction(1, 2)),
    (10, Fraction(1, 8)),
]


class Model(Queue):
    def __init__(self, config, numbers, make):
        super().__init__()
        self.config, self.numbers = config, numbers
        self.packets = []
        self.drop_prob = self.accu_prob = 0
        self.qdelay_old = self.burst_allowance = 0
        self.aqm_state, self.burst_reset = "INACTIVE", 0
        self.next_update = config["tupdate"]
        # Tokens of the modem's bucket in bits, and when they were counted.
        self.tokens, self.counted = 8 * (config["burst"] or 0), 0

    def timer(self, now):
        while self.next_update <= now:
            self.calculate_drop_prob()
            self.next_update += self.config["tupdate"]

    def refill(self, now):
        more = Fraction(self.config["rate"] * (now - self.counted), SECOND)
        self.tokens, self.counted = min(8 * self.config["burst"], self.tokens + more), now

    def estimate_delay(self):
        """4.2, at the time of an update: what the tokens cover leaves at the peak rate."""
        bits, rate, peak = 8 * size(self.packets), self.config["rate"], self.config["peakrate"]
        if peak is None:
            return bits * SECOND // rate
        self.refill(self.next_update)
        tokens = max(0, self.tokens)
        if bits <= tokens:
            return bits * SECOND // peak
        return (bits - tokens) * SECOND // rate + tokens * SECOND // peak

    def calculate_drop_prob(self):
        config = self.config
        qdelay = self.estimate_delay()
        if self.burst_allowance > 0:
            self.drop_prob = 0
        else:
            # alpha and beta are in 1/16 Hz.
            p = Fraction(config["alpha"] * (qdelay - config["target"]) + config["beta"] * (qdelay - self.qdelay_old), 16 * SECOND)
            # 4.4
            divisor = next((divisor for bound, divisor in TUNING if self.drop_prob < floor(bound * ONE)), Fraction(1, 32))
            p = floor(p / divisor * ONE)
            if self.drop_prob >= ONE // 10:
                p = min(p, ONE // 50)
            self.drop_prob += p
            # 4.5
            if max(qdelay, self.qdelay_old) < config["latency_low"]:
                self.drop_prob = self.drop_prob * 98 // 100
            elif qdelay > config["latency_high"]:
                self.drop_prob += ONE // 50
            # 4.6: of a packet of 64 bytes it is at most PROB_LOW.
            self.drop_prob = max(0, min(self.drop_prob, PROB_LOW * config["mean_packet"] // 64))
        self.burst_allowance = max(0, self.burst_allowance - config["tupdate"])
        # 4.3
        good = 2 * max(qdelay, self.qdelay_old) < config["target"]
        if good and self.drop_prob == 0 and self.burst_allowance == 0:
            if self.aqm_state == "ACTIVE":
                self.aqm_state, self.burst_reset = "QUIESCENT", 0
            elif self.aqm_state == "QUIESCENT":
                self.burst_reset += 1
                if self.burst_reset > config["burst_reset"] // config["tupdate"]:
                    self.aqm_state, self.burst_reset = "INACTIVE", 0
        elif self.aqm_state == "QUIESCENT":
            self.burst_reset = 0
        self.qdelay_old = qdelay

    def drop_early(self, packet):
        """The probability by which the packet is dropped, or None."""
        config, length = self.config, size(self.packets)
        if self.burst_allowance > 0:
            return None
        if self.drop_prob == 0:
            self.accu_prob = 0
        if self.aqm_state == "INACTIVE":
            if 3 * length < config["limit"]:
                return None
            self.aqm_state = "QUIESCENT"
        p = min(self.drop_prob * packet.len // config["mean_packet"], PROB_LOW)
        self.accu_prob += p
        if 2 * self.qdelay_old < config["target"] and self.drop_prob < ONE // 5:
            return None
        if length <= 2 * config["mean_packet"] or self.accu_prob < PROB_LOW:
            return None
        if self.accu_prob < PROB_HIGH and next(self.numbers) // 2**24 >= p:
            return None
        self.accu_prob = 0
        if self.aqm_state == "QUIESCENT":
            self.aqm_state, self.burst_allowance = "ACTIVE", config["max_burst"]
        return p

    def enqueue(self, now, packet):
        self.timer(now)
        packet.enqueued = now
        if size(self.packets) + packet.len > self.config["limit"]:
            self.drop(packet, "full")
            self.accu_prob = 0
            return
        p = self.drop_early(packet)
        if p is None:
            self.packets.append(packet)
        else:
            self.drop(packet, "pie", p, self.qdelay_old)

    def dequeue(self, now):
        self.timer(now)
        if not self.packets:
            return None
        packet = self.packets.pop(0)
        if self.config["peakrate"] is not None:
            self.refill(now)
            self.tokens -= 8 * packet.len
        return packet

    def next_time(self, now):
        return now if self.packets else None
