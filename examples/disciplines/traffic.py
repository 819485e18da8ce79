"""The traffic that Linux's disciplines and ours are offered, and the figures of what came through.

Four flows of UDP, all drawn from a seed, together some 10 Mb/s: far more at times, far less at others.
"""
import random
import statistics
import struct

SECONDS = 10
# DSCP with the ECN field in its low two bits, and what the packets are.
FLOWS = {
    "bulk": (0 << 2 | 2, "1400 bytes at 12 Mb/s, on and off for 400 ms in the mean"),
    "web": (8 << 2 | 0, "100 to 1400 bytes, a Poisson process of 2 Mb/s"),
    "voice": (46 << 2 | 0, "160 bytes every 20 ms"),
    "video": (34 << 2 | 2, "4 to 9 packets of 1200 bytes every 40 ms"),
}
NAMES = list(FLOWS)


def fields(case):
    """The DSCP with ECN of each flow. In a case of L4S the ECN-capable flows send ECT(1) in place of ECT(0)."""
    return [field ^ 3 if case.endswith(" l4s") and field & 3 == 2 else field for field, _ in FLOWS.values()]


PORT = 5000
HEADERS = 14 + 20 + 8
# Number of the packet, and of its flow.
LABEL = struct.Struct("!IB")


def arrivals(seed):
    """Time in ns, flow and payload length of each packet, in order."""
    chance = random.Random(seed)
    packets, now = [], 0.0
    while now < SECONDS:
        end = min(SECONDS, now + chance.expovariate(1 / 0.4))
        while now < end:
            packets.append((now, 0, 1400))
            now += (HEADERS + 24 + 1400) * 8 / 12e6
        now += chance.expovariate(1 / 0.4)
    now = chance.expovariate(333)
    while now < SECONDS:
        packets.append((now, 1, chance.randint(100, 1400)))
        now += chance.expovariate(333)
    packets += [(0.003 + n * 0.02, 2, 160) for n in range(50 * SECONDS)]
    for n in range(25 * SECONDS):
        packets += [(0.011 + n * 0.04 + k * 0.0002, 3, 1200) for k in range(chance.randint(4, 9))]
    return sorted((round(time * 1e9), flow, length) for time, flow, length in packets)


def figures(sent, received):
    """Of one run: shares in percent, times in ms.

    `sent` has the time and the flow of each packet; `received` the time and whether it is marked, by number.
    """
    waits = [(time - sent[number][0]) / 1e6 for number, (time, _) in received.items()]
    voice = [(time - sent[number][0]) / 1e6 for number, (time, _) in received.items() if NAMES[sent[number][1]] == "voice"]
    bulk = sum(NAMES[sent[number][1]] == "bulk" for number in received)
    return {
        "lost": 100 * (1 - len(received) / len(sent)),
        "marked": 100 * sum(marked for _, marked in received.values()) / len(sent),
        "mean": statistics.mean(waits),
        "p95": statistics.quantiles(waits, n=20)[-1],
        "voice": statistics.mean(voice) if voice else float("nan"),
        "bulk": 100 * bulk / len(received),
    }
