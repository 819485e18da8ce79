"""One measurement of Mininet: mininet-measure.py pairs|switch HOSTS, mininet-measure.py delay|rate|tcp.

pairs and switch print the seconds until all is up, and until all is gone; delay the mean round trip over a link of 5 ms in ms;
rate and tcp what iperf3 got, in Mb/s, over a link of 100 Mb/s and through Open vSwitch's userspace datapath.
"""

import re
import sys
import time

from mininet.link import Link, TCLink
from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.node import OVSBridge
from mininet.topo import SingleSwitchTopo

setLogLevel("critical")


def pairs(hosts, **link):
    net = Mininet(controller=None, link=TCLink if link else Link)
    nodes = [net.addHost(f"h{number}", ip=f"10.0.0.{number + 1}/24") for number in range(hosts)]
    for first in range(0, hosts, 2):
        net.addLink(nodes[first], nodes[first + 1], **link)
    net.start()
    return net


def switch(hosts):
    user = lambda *words, **keys: OVSBridge(*words, datapath="user", **keys)
    net = Mininet(topo=SingleSwitchTopo(hosts), switch=user, controller=None)
    net.start()
    return net


def iperf3(net):
    server, client = net.hosts[1], net.hosts[0]
    server.cmd("iperf3 -s -D -1")
    time.sleep(0.3)
    text = client.cmd(f"timeout 8 iperf3 -c {server.IP()} -t 3 -f m --connect-timeout 2000")
    found = re.search(r"([\d.]+) Mbits/sec +receiver", text)
    return float(found.group(1)) if found else 0.0


what = sys.argv[1]
start = time.monotonic()
if what in ("pairs", "switch"):
    net = {"pairs": pairs, "switch": switch}[what](int(sys.argv[2]))
    up = time.monotonic()
    net.stop()
    print(up - start, time.monotonic() - up)
else:
    if what == "tcp":
        net = switch(2)
    else:
        net = pairs(2, **({"delay": "5ms"} if what == "delay" else {"bw": 100}))
    if what == "delay":
        text = net.hosts[0].cmd(f"ping -c 10 -i 0.05 -q {net.hosts[1].IP()}")
        found = re.search(r"= [\d.]+/([\d.]+)/", text)
        print(found.group(1) if found else "nan")
    else:
        print(iperf3(net))
    net.stop()
