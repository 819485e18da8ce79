#!/usr/bin/env python3
"""A test of one's own for `wire of flops`: the time until an entry of a higher priority takes over.

Probes pass through an entry that forwards; the test adds an entry above it that drops. Reported: the barrier's reply, the
last probe that still came through, and the probes in between. The first argument is the number of repetitions.
"""
import json
import sys

MS = 10**9  # picoseconds
GAP = 20 * 10**6
repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 3
state = {"round": 0, "added": 0, "last": 0, "barrier": 0}


def start(event):
    state["round"] += 1
    return [
        {"do": "flow", "command": "delete", "flow": "priority=9,in_port=%d" % event.get("enters", 1)},
        {"do": "flow", "flow": "priority=1,in_port=1,actions=output:2"},
        {"do": "barrier", "as": "ready"},
    ]


def message(event):
    if event["as"] == "ready":
        at = event["at_ps"] + MS
        return [
            {"do": "generate", "stream": state["round"], "start_ps": at, "gap_ps": GAP},
            {"do": "timer", "at_ps": at + 10 * MS, "number": 1},
        ]
    if event["as"] == "added":
        state["barrier"] = event["at_ps"]
        return [{"do": "timer", "at_ps": event["at_ps"] + 100 * MS, "number": 2}]
    return [{"do": "fault", "text": "unexpected: " + event["type"]}] if event["type"] == "error" else []


def probe(event):
    state["last"] = event["at_ps"]
    return []


def timer(event):
    if event["number"] == 1:
        state["added"] = event["at_ps"]
        return [{"do": "flow", "flow": "priority=9,in_port=1,actions=drop"}, {"do": "barrier", "as": "added"}]
    since = state["added"]
    row = "drop"
    done = [
        {"do": "stop", "stream": state["round"]},
        {"do": "time", "row": row, "series": "barrier", "ps": state["barrier"] - since},
        {"do": "time", "row": row, "series": "last packet", "ps": max(0, state["last"] - since)},
    ]
    if state["round"] < repeats:
        return done + start(event)
    return done + [{"do": "finish", "of": "action above"}]


answers = {"start": start, "message": message, "probe": probe, "timer": timer}
for line in sys.stdin:
    event = json.loads(line)
    print(json.dumps(answers.get(event["event"], lambda _: [])(event)), flush=True)
