#!/usr/bin/env python3
"""A relay that transforms payloads: XML in datagrams to port 9 leaves without the blanks between its elements (paper 004 section 3.2)."""
import re

from packets import answer, datagram, make, packets

for frame in packets():
    found = datagram(frame)
    if found is None or found[3] != 9 or not found[4].lstrip().startswith(b"<"):
        answer("through")
        continue
    source, destination, sport, dport, payload = found
    short = re.sub(rb">\s+<", b"><", payload.rstrip(b"\0")).strip()
    answer(make(frame[:12], source, destination, (sport, dport), short))
