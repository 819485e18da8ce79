"""p4runtime-shell steers a program in the kernel while frames go through it: kernel.py ADDRESS P4INFO PROGRAM CLONING, between y0 and y1.

CLONING is a program that the kernel refuses, beside whose P4Info it stands (CLONING.txtpb)."""
import socket
import sys
import time

import grpc
import p4runtime_sh.shell as sh

ADDRESS, INFO, PROGRAM, CLONING = sys.argv[1:5]


def card(name):
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
    opened.bind((name, 0))
    opened.settimeout(0.2)
    return opened


near, far = card("y0"), card("y1")


def frame(last, source=7, kind=b"\x08\x00"):
    header = bytes([0x45, 0, 0, 46, 0, 1, 0, 0, 64, 17, 0, 0, 192, 168, 0, 1, 10, 79, 2, last])
    return b"\0\x11\x22\x33\x44\x66" + bytes([0, 0, 0, 0, 0, source]) + kind + header + bytes(26)


def through(sent, patience=10):
    """What of a frame arrives at the other side."""
    near.send(sent)
    until = time.time() + patience
    while time.time() < until:
        try:
            found = far.recv(2000)
        except socket.timeout:
            continue
        if found[6:12] == sent[6:12]:
            return found
    return None


def counted(entity):
    found = []
    entity.read(found.append)
    return found


# The program in the kernel is replaced while it is attached.
sh.setup(device_id=1, grpc_addr=ADDRESS, election_id=(0, 1), config=sh.FwdPipeConfig(INFO, PROGRAM))
assert through(frame(2), 0.5) is None
entry = sh.TableEntry("Routing.routes")(action="Routing.forward")
entry.match["hdr.ipv4.dst"] = "10.79.2.0/24"
entry.action["port"] = "1"
entry.action["mac"] = "00:11:22:33:44:55"
entry.insert()
for number in range(3):
    assert through(frame(number))[:6] == b"\0\x11\x22\x33\x44\x55"
[hit] = counted(sh.DirectCounterEntry("Routing.hits"))
assert hit.packet_count == 3 and hit.byte_count == 180, hit
by_port = sh.CounterEntry("Routing.by_port")
by_port.index = 0
[port] = counted(by_port)
assert port.packet_count >= 4, port
# What the controller sets, packets count on from.
by_port.packet_count = 1000
by_port.modify()
assert through(frame(9))
[port] = counted(by_port)
assert 1001 <= port.packet_count < 1100, port
print("counters")

digest = sh.DigestEntry("learn_t")
digest.max_list_size = 1
digest.insert()
lists = sh.DigestList()
assert through(frame(4, source=0x42))
found = []
lists.sniff(lambda one: found.append(str(one)), timeout=3)
assert any("B" in one or "0x42" in one for one in found), found
print("digests")

member = sh.ActionProfileMember("Routing.paths")(member_id=1, action="Routing.go")
member.action["port"] = "1"
member.insert()
group = sh.ActionProfileGroup("Routing.paths")(group_id=5)
group.add(1)
group.insert()
balance = sh.TableEntry("Routing.balance")(group_id=5)
balance.match["hdr.ethernet.type"] = "0x88b5"
balance.insert()
far.close()
far = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88B5))
far.bind(("y1", 0))
far.settimeout(0.2)
assert through(frame(1, kind=b"\x88\xb5"))
member.action["port"] = "200"
member.modify()
assert through(frame(1, kind=b"\x88\xb5"), 0.5) is None
print("selectors")

# A program that the kernel cannot do leaves the other where it is.
try:
    sh.client.set_fwd_pipe_config(f"{CLONING}.txtpb", CLONING)
    raise AssertionError("the kernel took a clone")
except Exception as refused:
    assert "cannot copy a packet" in str(refused), refused
far.close()
far = card("y1")
assert through(frame(1))
print("done", flush=True)
sh.teardown()
