"""The real p4runtime-shell installs a route and reads it back. Arguments: the server's address, the P4Info, the program."""
import sys

import p4runtime_sh.shell as sh

ADDRESS, INFO, PROGRAM = sys.argv[1:4]
sh.setup(device_id=1, grpc_addr=ADDRESS, election_id=(0, 1), config=sh.FwdPipeConfig(INFO, PROGRAM))
entry = sh.TableEntry("Routing.routes")(action="Routing.forward")
entry.match["hdr.ipv4.dst"] = "10.0.0.0/8"
entry.action["port"] = "2"
entry.action["mac"] = "00:11:22:33:44:55"
entry.insert()
found = []
sh.TableEntry("Routing.routes").read(lambda one: found.append(one))
assert len(found) == 1, found
assert str(found[0].match["hdr.ipv4.dst"]).find("prefix_len: 8") >= 0, found[0]
entry.action["port"] = "3"
entry.modify()
group = sh.MulticastGroupEntry(5)
group.add(1, 1).add(2, 1)
group.insert()
found = []
sh.CounterEntry("Routing.by_port").read(lambda one: found.append(one))
assert len(found) == 16, found
entry.delete()
group.delete()
sh.teardown()
print("done", flush=True)
