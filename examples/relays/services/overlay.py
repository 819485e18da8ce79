#!/usr/bin/env python3
"""A many-to-many overlay: whoever sends a datagram to port 7000 of the group's address is a member, and gets what the others send there."""
import sys

from packets import answer, beside, datagram, known, make, packets

GROUP = bytes(int(part) for part in sys.argv[1].split("."))
members = {}
for frame in packets():
    found = datagram(frame)
    if found is None or found[1] != GROUP or found[3] != 7000:
        answer("through")
        continue
    source, _, sport, _, payload = found
    port = int(known["port"])
    members[source, sport] = (port, frame[6:12])
    for (address, aport), (where, station) in members.items():
        if (address, aport) != (source, sport):
            stations = station + frame[:6]
            beside(make(stations, GROUP, address, (7000, aport), payload), where)
    answer("drop")
