"""Installs an exercise's program in s1 as the tutorials' controllers do, and two routes: controller.py ADDRESS DEVICE BUILD."""
import queue
import sys

import grpc
from google.protobuf import text_format
from p4.config.v1 import p4info_pb2
from p4.v1 import p4runtime_pb2 as p4
from p4.v1 import p4runtime_pb2_grpc

address, device, build = sys.argv[1], int(sys.argv[2]), sys.argv[3]
stub = p4runtime_pb2_grpc.P4RuntimeStub(grpc.insecure_channel(address))

messages = queue.Queue()
message = p4.StreamMessageRequest()
message.arbitration.device_id = device
message.arbitration.election_id.low = 1
messages.put(message)
# The channel stays open until None comes.
answers = stub.StreamChannel(iter(messages.get, None))
assert next(answers).arbitration.status.code == 0

info = text_format.Parse(open(f"{build}/pair.p4.p4info.txtpb").read(), p4info_pb2.P4Info())
program = open(f"{build}/pair.json", "rb").read()
length = len(program)
varint = b""
while length > 127:
    varint, length = varint + bytes([length & 127 | 128]), length >> 7
varint += bytes([length])
request = p4.SetForwardingPipelineConfigRequest(device_id=device, action=p4.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT)
request.election_id.low = 1
request.config.p4info.CopyFrom(info)
# p4.tmp.P4DeviceConfig: reassign, device_data.
request.config.p4_device_config = b"\x08\x01\x1a" + varint + program
stub.SetForwardingPipelineConfig(request)

table = next(table for table in info.tables if table.preamble.name == "In.route")
action = next(action for action in info.actions if action.preamble.name == "In.forward")
for network, station, port in [("0a000101", "080000000111", 1), ("0a000202", "080000000200", 3)]:
    write = p4.WriteRequest(device_id=device)
    write.election_id.low = 1
    entry = write.updates.add(type=p4.Update.INSERT).entity.table_entry
    entry.table_id = table.preamble.id
    match = entry.match.add(field_id=1)
    match.lpm.value, match.lpm.prefix_len = bytes.fromhex(network), 32
    entry.action.action.action_id = action.preamble.id
    entry.action.action.params.add(param_id=1, value=bytes.fromhex(station))
    entry.action.action.params.add(param_id=2, value=bytes([port]))
    stub.Write(write)
read = p4.ReadRequest(device_id=device)
read.entities.add().table_entry.table_id = table.preamble.id
print(sum(len(answer.entities) for answer in stub.Read(read)), "entries")
messages.put(None)
# Left open, the channel sometimes keeps grpc from ending with the interpreter.
for _ in answers:
    pass
