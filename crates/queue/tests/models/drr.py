"""Deficit round robin as in Shreedhar and Varghese, SIGCOMM 1995, figure 3: the quantum comes when a turn begins."""
from model import Queue
from prio import class_of


class Class:
    def __init__(self, config, numbers, make):
        self.quantum = config["quantum"]
        self.child = make(config["child"], numbers)
        self.head = None
        self.deficit = 0

    def look(self, now, owner):
        if self.head is None:
            self.head = self.child.dequeue(now)
            owner.take(self.child)

    def empty(self):
        return self.head is None and self.child.next_time(0) is None


class Model(Queue):
    def __init__(self, config, numbers, make):
        super().__init__()
        self.config = config
        self.perturbation = next(numbers)
        self.classes = [Class(part, numbers, make) for part in config["classes"]]
        self.active = []
        self.serving = False

    def enqueue(self, now, packet):
        packet.enqueued = now
        one = self.classes[class_of(packet, self.config, len(self.classes), self.perturbation)]
        one.child.enqueue(now, packet)
        self.take(one.child)
        if one not in self.active and not one.empty():
            one.deficit = 0
            self.active.append(one)

    def dequeue(self, now):
        while self.active:
            one = self.active[0]
            if not self.serving:
                one.deficit += one.quantum
                self.serving = True
            one.look(now, self)
            if one.head is not None and one.head.len <= one.deficit:
                packet, one.head = one.head, None
                one.deficit -= packet.len
                if one.empty():
                    self.active.pop(0)
                    self.serving = False
                return packet
            self.active.pop(0)
            self.serving = False
            if one.head is not None:
                self.active.append(one)
        return None

    def next_time(self, now):
        return now if self.active else None
