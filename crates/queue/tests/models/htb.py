"""Hierarchical token bucket as the documentation of the module describes it, with the modes of a class that Linux names."""
from model import Queue
from prio import class_of

SECOND = 10**12
CANNOT_SEND, MAY_BORROW, CAN_SEND = range(3)


class Bucket:
    """Contents in 10^-12 bits, of which a rate of 1 b/s gives one each picosecond."""

    def __init__(self, rate, depth):
        self.rate, self.depth = rate, 8 * depth * SECOND
        self.bits, self.at = self.depth, 0

    def level(self, now):
        return min(self.depth, self.bits + (now - self.at) * self.rate)

    def charge(self, now, octets):
        self.bits, self.at = self.level(now) - 8 * octets * SECOND, now

    def zero(self, now):
        return now + max(0, -(self.level(now) // self.rate))


class Class:
    def __init__(self, config, parent, depth, owner, numbers, make):
        self.parent, self.depth = parent, depth
        self.rate = Bucket(config["rate"], config["burst"])
        self.ceil = Bucket(config["ceil"], config["cburst"])
        self.prio, self.quantum = config["prio"], config["quantum"]
        self.deficit = {}
        if config["classes"]:
            for part in config["classes"]:
                Class(part, self, depth + 1, owner, numbers, make)
        else:
            self.number = len(owner.leaves)
            owner.leaves.append(self)
            self.queue = make(config["child"], numbers)

    def mode(self, now):
        if self.ceil.level(now) < 0:
            return CANNOT_SEND
        return CAN_SEND if self.rate.level(now) >= 0 else MAY_BORROW

    def lender(self, now):
        one = self
        while one is not None and one.mode(now) == MAY_BORROW:
            one = one.parent
        return one if one is not None and one.mode(now) == CAN_SEND else None

    def path(self):
        return [self] + (self.parent.path() if self.parent else [])


class Model(Queue):
    def __init__(self, config, numbers, make):
        super().__init__()
        self.config = config
        self.perturbation = next(numbers)
        self.leaves = []
        for part in config["classes"]:
            Class(part, None, 1, self, numbers, make)
        self.turn = {}

    def enqueue(self, now, packet):
        packet.enqueued = now
        leaf = self.leaves[class_of(packet, self.config, len(self.leaves), self.perturbation)]
        leaf.queue.enqueue(now, packet)
        self.take(leaf.queue)

    def choose(self, now):
        able = []
        for leaf in self.leaves:
            lender = leaf.lender(now)
            if leaf.queue.next_time(now) == now and lender is not None:
                # Own rate first, then the deepest lender.
                able.append((0 if lender is leaf else 8 - lender.depth, leaf.prio, leaf, lender))
        if not able:
            return None
        rank = min(entry[:2] for entry in able)
        equals = [entry for entry in able if entry[:2] == rank]
        turn = self.turn.get(rank, 0)
        after = [entry for entry in equals if entry[2].number >= turn]
        return (after or equals)[0]

    def dequeue(self, now):
        while True:
            chosen = self.choose(now)
            if chosen is None:
                return None
            level, prio, leaf, lender = chosen
            packet = leaf.queue.dequeue(now)
            self.take(leaf.queue)
            if packet is None:
                continue
            deficit = leaf.deficit.get(level, 0) - packet.len
            next_turn = leaf.number
            if deficit < 0:
                deficit += leaf.quantum
                next_turn = leaf.number + 1
            leaf.deficit[level] = deficit
            self.turn[level, prio] = next_turn % len(self.leaves)
            lends = False
            for one in leaf.path():
                lends = lends or one is lender
                if lends:
                    one.rate.charge(now, packet.len)
                one.ceil.charge(now, packet.len)
            return packet

    def next_time(self, now):
        times = []
        for leaf in self.leaves:
            ready = leaf.queue.next_time(now)
            if ready is None:
                continue
            buckets = [bucket for one in leaf.path() for bucket in (one.rate, one.ceil)]
            moments = sorted({now, *(bucket.zero(now) for bucket in buckets)})
            times.append(next(moment for moment in moments if leaf.lender(moment) is not None))
            if times[-1] == now:
                break
        return min(times, default=None)
