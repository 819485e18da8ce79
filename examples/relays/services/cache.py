#!/usr/bin/env python3
"""Data caching: answers to DNS questions are remembered, and the next question of that kind is answered here."""
from packets import answer, beside, datagram, known, make, packets

remembered = {}
for frame in packets():
    found = datagram(frame)
    if found is None or 53 not in found[2:4]:
        answer("through")
        continue
    source, destination, sport, dport, message = found
    if dport != 53:
        # An answer: its question ends behind the first name, type and class.
        end = message.index(0, 12) + 5
        remembered[message[12:end]] = message[2:]
        answer("through")
        continue
    reply = remembered.get(message[12:])
    if reply is None:
        answer("through")
        continue
    stations = frame[6:12] + frame[:6]
    back = make(stations, destination, source, (dport, sport), message[:2] + reply)
    beside(back, int(known["port"]))
    answer("drop")
