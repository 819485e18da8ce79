"""Strict priority among bands."""
from model import Queue, spread


def class_of(packet, config, count, perturbation):
    if config["by"] == "flow":
        return spread(perturbation, packet.flow, count)
    value = {"priority": packet.priority, "dscp": packet.dscp, "queue": packet.queue}[config["by"]]
    return config["priomap"][value] if value < len(config["priomap"]) else count - 1


class Model(Queue):
    def __init__(self, config, numbers, make):
        super().__init__()
        self.config = config
        self.perturbation = next(numbers)
        self.bands = [make(band, numbers) for band in config["bands"]]

    def enqueue(self, now, packet):
        packet.enqueued = now
        band = self.bands[class_of(packet, self.config, len(self.bands), self.perturbation)]
        band.enqueue(now, packet)
        self.take(band)

    def dequeue(self, now):
        for band in self.bands:
            packet = band.dequeue(now)
            self.take(band)
            if packet is not None:
                return packet
        return None

    def next_time(self, now):
        times = [time for time in (band.next_time(now) for band in self.bands) if time is not None]
        return min(times, default=None)
