"""The disciplines that are compared: in tc's words for Linux, and for a lab file.

LINE: a leaf behind 10 Mb/s, in words that both read, or in tc's and a lab's. CLASSES: likewise, with classes for the four flows. SHAPERS: they make a rate by themselves. NETEM: words
of netem, for Linux's and for a node `delay`.
"""

# Linux's is not gentle, and tc's words give a gentle one here: a table. tc makes the weight 2^-5 of `burst`.
_RED = "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 bandwidth 10mbit"
_WORDS = "kind = 'red', limit = '400 kB', min = '30 kB', max = '90 kB', avpkt = 1000, wlog = 5, gentle = false"
_DUAL = "dualpi2 limit 10000 target 15ms tupdate 16ms alpha 0.16 beta 3.2 coupling_factor 2 step_thresh 1ms classic_protection 10"
# Linux leaves the last two frames alone; tc has no word for that.
_DUAL_WORDS = "{ kind = 'dualpi2', step_thresh = '1 ms', range = '0 s', min_backlog = 3028 }"
LINE = {
    "pfifo": "pfifo limit 100",
    "bfifo": "bfifo limit 60k",
    "pfifo_head_drop": "pfifo_head_drop limit 100",
    "red": (f"{_RED} probability 0.1", f"{{ {_WORDS}, probability = 0.1 }}"),
    "red ecn": (f"{_RED} probability 0.1 ecn", f"{{ {_WORDS}, probability = 0.1, ecn = true }}"),
    "red adaptive": (f"{_RED} probability 0.02 adaptive", f"{{ {_WORDS}, probability = 0.02, adaptive = true }}"),
    "codel": "codel limit 1000 target 5ms interval 100ms noecn",
    "codel ecn": "codel limit 1000 target 5ms interval 100ms ecn",
    "fq_codel": "fq_codel limit 10240 flows 1024 quantum 1514 target 5ms interval 100ms noecn",
    "fq_codel ecn": "fq_codel limit 10240 flows 1024 quantum 1514 target 5ms interval 100ms ecn",
    "pie": "pie limit 1000 target 15ms tupdate 15ms",
    "pie ecn": "pie limit 1000 target 15ms tupdate 15ms ecn",
    "dualpi2": (_DUAL, _DUAL_WORDS),
    "dualpi2 l4s": (_DUAL, _DUAL_WORDS),
}

# Linux: commands after `tc`, where `PARENT` is the place of the leaf. A packet of the flow N has the priority 2:N+1.
_BANDS = ["qdisc add dev b parent PARENT handle 2: prio bands 4 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"]
_BANDS += [f"qdisc add dev b parent 2:{n} pfifo limit 50" for n in range(1, 5)]
_ROUNDS = ["qdisc add dev b parent PARENT handle 2: drr"]
for _n, _quantum in enumerate((1514, 3028, 1514, 4542), 1):
    _ROUNDS += [f"class add dev b parent 2: classid 2:{_n} drr quantum {_quantum}", f"qdisc add dev b parent 2:{_n} pfifo limit 50"]
# A class for each flow, whose number the class selector of its DSCP gives: bulk 0, web 1, video 4, voice 5.
_MAP = "by = 'priority', priomap = [0, 1, 0, 0, 3, 2]"
_FIFO = "{ kind = 'fifo', limit = 50 }"
CLASSES = {
    "prio": (_BANDS, f"{{ kind = 'prio', bands = [{', '.join([_FIFO] * 4)}], {_MAP} }}"),
    "drr": (
        _ROUNDS,
        "{ kind = 'drr', classes = [%s], %s }"
        % (", ".join(f"{{ quantum = {quantum}, child = {_FIFO} }}" for quantum in (1514, 3028, 1514, 4542)), _MAP),
    ),
}

_RATES = (2, 3, 1, 3)
_CLASSES = ["qdisc add dev b root handle 2: htb", "class add dev b parent 2: classid 2:10 htb rate 9mbit ceil 9mbit burst 3028 cburst 3028"]
for _n, _rate in enumerate(_RATES, 1):
    _CLASSES += [
        f"class add dev b parent 2:10 classid 2:{_n} htb rate {_rate}mbit ceil 9mbit burst 3028 cburst 3028 quantum 1514",
        f"qdisc add dev b parent 2:{_n} pfifo limit 50",
    ]
_LEAVES = ", ".join(
    f"{{ rate = '{rate} Mb/s', ceil = '9 Mb/s', burst = 3028, cburst = 3028, quantum = 1514, child = {_FIFO} }}" for rate in _RATES
)
SHAPERS = {
    "tbf": (["qdisc add dev b root tbf rate 9mbit burst 10k limit 60k"], "'tbf rate 9mbit burst 10k limit 60k'"),
    "tbf peakrate": (
        ["qdisc add dev b root tbf rate 8mbit burst 50k limit 60k peakrate 11mbit mtu 1514"],
        "'tbf rate 8mbit burst 50k limit 60k peakrate 11mbit mtu 1514'",
    ),
    "htb": (
        _CLASSES,
        "{ kind = 'htb', classes = [{ rate = '9 Mb/s', ceil = '9 Mb/s', burst = 3028, cburst = 3028, classes = [%s] }], %s }" % (_LEAVES, _MAP),
    ),
    "police": (
        ["qdisc add dev b clsact", "filter add dev b egress matchall action police rate 9mbit burst 20k conform-exceed drop"],
        "{ kind = 'policer', rate = '9 Mb/s', burst = '20480 B' }",
    ),
    "cake": (
        ["qdisc add dev b root cake bandwidth 10mbit besteffort flows overhead 38 mpu 84 rtt 100ms"],
        "'cake bandwidth 10mbit besteffort flows overhead 38 mpu 84 rtt 100ms'",
    ),
    "cake diffserv": (
        ["qdisc add dev b root cake bandwidth 10mbit diffserv4 triple-isolate overhead 38 mpu 84 rtt 100ms"],
        "'cake bandwidth 10mbit diffserv4 triple-isolate overhead 38 mpu 84 rtt 100ms'",
    ),
}

NETEM = {
    "netem delay": "delay 20ms limit 10000",
    "netem jitter": "delay 20ms 5ms limit 10000",
    "netem normal": "delay 20ms 3ms distribution normal limit 10000",
    "netem pareto": "delay 20ms 3ms distribution pareto limit 10000",
    "netem loss": "loss 3% limit 10000",
    "netem gemodel": "loss gemodel 2% 20% limit 10000",
    "netem rate": "rate 12mbit limit 100",
    "netem rate and delay": "rate 12mbit delay 20ms limit 200",
    "netem duplicate": "delay 5ms duplicate 4% limit 10000",
    "netem reorder": "delay 10ms reorder 25% gap 5 limit 10000",
}
