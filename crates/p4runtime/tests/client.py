"""A controller in the way of PTF's P4Runtime tests: raw messages over gRPC. Arguments: the server's address and the name of a scenario."""
import os
import queue
import sys
import threading
import time

import grpc
from google.rpc import code_pb2, status_pb2
from p4.v1 import p4runtime_pb2 as p4rt
from p4.v1 import p4runtime_pb2_grpc

ADDRESS, SCENARIO = sys.argv[1], sys.argv[2]


class Controller:
    def __init__(self, election, role=None):
        self.channel = grpc.insecure_channel(ADDRESS)
        self.stub = p4runtime_pb2_grpc.P4RuntimeStub(self.channel)
        self.election = election
        self.requests, self.answers = queue.Queue(), queue.Queue()
        self.stream = self.stub.StreamChannel(iter(self.requests.get, None))
        threading.Thread(target=self.listen, daemon=True).start()
        self.role = role
        self.offer(election)

    def offer(self, election):
        self.election = election
        request = p4rt.StreamMessageRequest()
        request.arbitration.device_id = 1
        request.arbitration.election_id.low = election
        if self.role:
            request.arbitration.role.name = self.role
        self.requests.put(request)

    def listen(self):
        try:
            for answer in self.stream:
                self.answers.put(answer)
        except grpc.RpcError as error:
            self.answers.put(error)

    def expect(self, kind, timeout=10):
        end = time.time() + timeout
        while True:
            answer = self.answers.get(timeout=max(0.01, end - time.time()))
            if isinstance(answer, grpc.RpcError):
                raise answer
            if answer.WhichOneof("update") == kind:
                return getattr(answer, kind)

    def learn(self):
        config = self.stub.GetForwardingPipelineConfig(p4rt.GetForwardingPipelineConfigRequest(device_id=1)).config
        self.info, self.program = config.p4info, config.p4_device_config

    def find(self, kind, name):
        for thing in getattr(self.info, kind):
            if thing.preamble.alias == name:
                return thing
        raise KeyError(name)

    def id(self, kind, name):
        return self.find(kind, name).preamble.id

    def request(self, *updates, atomicity=0):
        request = p4rt.WriteRequest(device_id=1, atomicity=atomicity)
        request.election_id.low = self.election
        request.role = self.role or ""
        for kind, entity in updates:
            request.updates.add(type=kind, entity=entity)
        return request

    def write(self, *updates, **more):
        return self.stub.Write(self.request(*updates, **more))

    def read(self, entity):
        request = p4rt.ReadRequest(device_id=1, entities=[entity])
        return [e for answer in self.stub.Read(request) for e in answer.entities]

    def route(self, prefix, length, action, *params):
        entity = p4rt.Entity()
        entry = entity.table_entry
        entry.table_id = self.id("tables", "routes")
        match = entry.match.add(field_id=1)
        match.lpm.value, match.lpm.prefix_len = prefix, length
        entry.action.action.action_id = self.id("actions", action)
        for number, value in enumerate(params, 1):
            entry.action.action.params.add(param_id=number, value=value)
        return entity

    def send(self, port, payload):
        request = p4rt.StreamMessageRequest()
        request.packet.payload = payload
        request.packet.metadata.add(metadata_id=1, value=port.to_bytes(2, "big"))
        request.packet.metadata.add(metadata_id=2, value=b"\0")
        self.requests.put(request)


def ip(destination, source=bytes([192, 168, 0, 1]), mac=b"\0\0\0\0\0\7"):
    header = bytes([0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0]) + source + destination
    return b"\0\0\0\0\0\1" + mac + b"\x08\0" + header


INSERT, MODIFY, DELETE = 1, 2, 3


def details(error):
    """The error of each update, from the trailing metadata."""
    trailing = dict(error.trailing_metadata())
    status = status_pb2.Status.FromString(trailing["grpc-status-details-bin"])
    errors = []
    for detail in status.details:
        one = p4rt.Error()
        assert detail.Unpack(one), detail
        errors.append(one)
    return errors


def primary(election=1):
    controller = Controller(election)
    assert controller.expect("arbitration").status.code == code_pb2.OK
    controller.learn()
    return controller


def routes():
    c = primary()
    route = c.route(b"\x0a\0\0\0", 8, "forward", b"\2", b"\x11\x22\x33\x44\x55\x66")
    route.table_entry.metadata = b"mine"
    c.write((INSERT, route))
    wanted = p4rt.Entity()
    wanted.table_entry.counter_data.SetInParent()
    (back,) = c.read(wanted)
    entry = back.table_entry
    assert entry.table_id == c.id("tables", "routes")
    assert entry.match == route.table_entry.match, entry
    assert entry.action == route.table_entry.action, entry
    assert entry.metadata == b"mine"
    assert entry.counter_data.packet_count == 0
    for _ in range(3):
        c.send(9, ip(bytes([10, 1, 2, 3])))
    wanted.Clear()
    wanted.direct_counter_entry.table_entry.table_id = entry.table_id
    for _ in range(200):
        (back,) = c.read(wanted)
        if back.direct_counter_entry.data.packet_count == 3:
            break
        time.sleep(0.02)
    assert back.direct_counter_entry.data.packet_count == 3, back
    assert back.direct_counter_entry.data.byte_count == 3 * 36, back
    wanted.Clear()
    wanted.counter_entry.counter_id = c.id("counters", "by_port")
    cells = c.read(wanted)
    assert len(cells) == 16 and sum(cell.counter_entry.data.packet_count for cell in cells) == 3
    wanted.Clear()
    wanted.register_entry.register_id = c.id("registers", "last_address")
    wanted.register_entry.index.index = 0
    (register,) = c.read(wanted)
    assert register.register_entry.data.bitstring == bytes([10, 1, 2, 3]), register
    route.table_entry.action.action.params[0].value = b"\3"
    c.write((MODIFY, route))
    c.write((DELETE, route))
    try:
        c.write((DELETE, route))
        raise AssertionError("deleted twice")
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.UNKNOWN
        assert details(error)[0].canonical_code == code_pb2.NOT_FOUND
    default = p4rt.Entity()
    default.table_entry.table_id = c.id("tables", "routes")
    default.table_entry.is_default_action = True
    default.table_entry.action.action.action_id = c.id("actions", "punt")
    c.write((MODIFY, default))
    (back,) = c.read(default)
    assert back.table_entry.action == default.table_entry.action


def packets():
    c = primary()
    c.write((INSERT, c.route(b"\x0a\0\0\0", 8, "punt")))
    c.send(9, ip(bytes([10, 1, 2, 3])))
    packet = c.expect("packet")
    assert packet.payload == ip(bytes([10, 1, 2, 3])), packet
    assert {m.metadata_id: m.value for m in packet.metadata} == {1: (510).to_bytes(2, "big"), 2: b"\1"}, packet
    request = p4rt.StreamMessageRequest()
    request.packet.payload = b"x"
    c.requests.put(request)
    refused = c.expect("error")
    assert refused.canonical_code == code_pb2.INVALID_ARGUMENT and refused.packet_out.packet_out.payload == b"x"
    # To itself, without IP: the packet leaves by the controller's port.
    c.send(510, b"\0\0\0\0\0\1\0\0\0\0\0\2\x12\x34hello")
    assert c.expect("packet").payload.endswith(b"hello")


def digests():
    c = primary()
    entity = p4rt.Entity()
    entity.digest_entry.digest_id = c.info.digests[0].preamble.id
    entity.digest_entry.config.max_list_size = 2
    entity.digest_entry.config.max_timeout_ns = 3600 * 10**9
    entity.digest_entry.config.ack_timeout_ns = 3600 * 10**9
    c.write((INSERT, entity))
    (back,) = c.read(entity)
    assert back == entity, back
    for mac in (b"\0\0\0\0\0\1", b"\0\0\0\0\0\1", b"\0\0\0\0\0\2"):
        c.send(9, ip(bytes([10, 0, 0, 1]), mac=mac))
    digest = c.expect("digest")
    assert len(digest.data) == 2, digest
    first = digest.data[0].struct.members
    assert first[0].bitstring == b"\1" and first[1].bitstring == (510).to_bytes(2, "big"), digest
    request = p4rt.StreamMessageRequest()
    request.digest_ack.digest_id, request.digest_ack.list_id = digest.digest_id, digest.list_id
    c.requests.put(request)
    # Once acknowledged the same is told again.
    for mac in (b"\0\0\0\0\0\1", b"\0\0\0\0\0\2"):
        c.send(9, ip(bytes([10, 0, 0, 1]), mac=mac))
    assert c.expect("digest").list_id == digest.list_id + 1
    c.write((DELETE, entity))
    assert not c.read(entity)


def groups():
    c = primary()
    entity = p4rt.Entity()
    group = entity.packet_replication_engine_entry.multicast_group_entry
    group.multicast_group_id = 7
    group.replicas.add(egress_port=510, instance=1)
    group.replicas.add(egress_port=510, instance=2)
    c.write((INSERT, entity), (INSERT, c.route(b"\x0a\0\0\0", 8, "flood", b"\7")))
    (back,) = c.read(entity)
    assert back == entity, back
    c.send(9, ip(bytes([10, 0, 0, 1])))
    assert c.expect("packet").payload == c.expect("packet").payload
    clone = p4rt.Entity()
    session = clone.packet_replication_engine_entry.clone_session_entry
    session.session_id, session.packet_length_bytes = 3, 64
    session.replicas.add(egress_port=1, instance=0)
    c.write((INSERT, clone))
    (back,) = c.read(clone)
    assert back == clone, back
    c.write((DELETE, entity), (DELETE, clone))
    assert not c.read(entity) and not c.read(clone)


def timeouts():
    c = primary()
    route = c.route(b"\x0a\0\0\0", 8, "drop")
    route.table_entry.idle_timeout_ns = 30 * 10**6
    c.write((INSERT, route))
    told = c.expect("idle_timeout_notification")
    assert told.table_entry[0].match == route.table_entry.match, told
    assert told.table_entry[0].idle_timeout_ns == 30 * 10**6
    wanted = p4rt.Entity()
    wanted.table_entry.table_id = c.id("tables", "routes")
    wanted.table_entry.time_since_last_hit.SetInParent()
    (back,) = c.read(wanted)
    assert back.table_entry.time_since_last_hit.elapsed_ns >= 30 * 10**6, back


def arbitration():
    first = primary(5)
    second = Controller(3)
    assert second.expect("arbitration").status.code == code_pb2.ALREADY_EXISTS
    second.learn()
    route = second.route(b"\x0a\0\0\0", 8, "drop")
    try:
        second.write((INSERT, route))
        raise AssertionError("a backup wrote")
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.PERMISSION_DENIED
    second.offer(9)
    assert first.expect("arbitration").status.code == code_pb2.ALREADY_EXISTS
    told = second.expect("arbitration")
    assert told.status.code == code_pb2.OK and told.election_id.low == 9
    second.write((INSERT, route))
    try:
        first.write((DELETE, route))
        raise AssertionError("the old primary wrote")
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.PERMISSION_DENIED
    # A reader needs no election.
    wanted = p4rt.Entity()
    wanted.table_entry.table_id = 0
    assert len(first.read(wanted)) == 1
    monitor = Controller(1, role="monitor")
    assert monitor.expect("arbitration").status.code == code_pb2.OK
    second.requests.put(None)
    assert first.expect("arbitration").status.code == code_pb2.NOT_FOUND
    third = Controller(5)
    try:
        third.expect("arbitration")
        raise AssertionError("an election id was taken twice")
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.INVALID_ARGUMENT


def batches():
    c = primary()
    good = c.route(b"\x0a\0\0\0", 8, "drop")
    bad = c.route(b"\x0a\0\0\1", 8, "drop")
    wide = c.route(b"\x0b\0\0\0", 8, "forward", b"\2\0", b"\0")
    also = c.route(b"\x0c\0\0\0", 8, "drop")
    wanted = p4rt.Entity()
    wanted.table_entry.table_id = c.id("tables", "routes")
    for atomicity, left in ((1, 0), (2, 0), (0, 2)):
        try:
            c.write((INSERT, good), (INSERT, bad), (INSERT, wide), (INSERT, also), atomicity=atomicity)
            raise AssertionError("a bad batch was taken")
        except grpc.RpcError as error:
            codes = [one.canonical_code for one in details(error)]
        if atomicity:
            assert codes == [code_pb2.ABORTED, code_pb2.INVALID_ARGUMENT, code_pb2.ABORTED, code_pb2.ABORTED], codes
        else:
            assert codes == [code_pb2.OK, code_pb2.INVALID_ARGUMENT, code_pb2.OUT_OF_RANGE, code_pb2.OK], codes
        assert len(c.read(wanted)) == left, atomicity


def selectors():
    c = primary()
    profile, go = c.id("action_profiles", "paths"), c.id("actions", "go")
    updates = []
    for number in (1, 2):
        entity = p4rt.Entity()
        member = entity.action_profile_member
        member.action_profile_id, member.member_id, member.action.action_id = profile, number, go
        member.action.params.add(param_id=1, value=(510).to_bytes(2, "big"))
        updates.append((INSERT, entity))
    entity = p4rt.Entity()
    group = entity.action_profile_group
    group.action_profile_id, group.group_id, group.max_size = profile, 1, 4
    for number in (1, 2):
        group.members.add(member_id=number, weight=number)
    updates.append((INSERT, entity))
    entry = p4rt.Entity()
    entry.table_entry.table_id = c.id("tables", "balance")
    entry.table_entry.match.add(field_id=1).exact.value = b"\x12\x34"
    entry.table_entry.action.action_profile_group_id = 1
    updates.append((INSERT, entry))
    c.write(*updates, atomicity=1)
    assert [back for back in c.read(entity)] == [entity]
    assert len(c.read(p4rt.Entity(action_profile_member=p4rt.ActionProfileMember()))) == 2
    c.send(9, b"\0\0\0\0\0\1\0\0\0\0\0\2\x12\x34hello")
    assert c.expect("packet").payload.endswith(b"hello")
    single = p4rt.Entity()
    single.table_entry.table_id = c.id("tables", "balance")
    single.table_entry.match.add(field_id=1).exact.value = b"\x56\x78"
    action = single.table_entry.action.action_profile_action_set.action_profile_actions.add(weight=3)
    action.action.action_id = go
    action.action.params.add(param_id=1, value=b"\4")
    c.write((INSERT, single))
    (back,) = c.read(single)
    assert back.table_entry.action == single.table_entry.action, back
    c.write((DELETE, single))
    assert len(c.read(p4rt.Entity(action_profile_member=p4rt.ActionProfileMember()))) == 2


def others():
    c = primary()
    entity = p4rt.Entity()
    entity.meter_entry.meter_id = c.id("meters", "rate")
    entity.meter_entry.index.index = 2
    config = entity.meter_entry.config
    config.cir, config.cburst, config.pir, config.pburst = 1000, 100, 2000, 200
    c.write((MODIFY, entity))
    (back,) = c.read(entity)
    assert back == entity, back
    types = p4rt.Entity()
    types.value_set_entry.value_set_id = c.id("value_sets", "types")
    types.value_set_entry.members.add().match.add(field_id=1).exact.value = b"\x88\xb5"
    c.write((MODIFY, types))
    assert c.read(types) == [types]
    acl = p4rt.Entity()
    acl.table_entry.table_id, acl.table_entry.priority = c.id("tables", "acl"), 10
    ternary = acl.table_entry.match.add(field_id=1).ternary
    ternary.value, ternary.mask = bytes([192, 0, 0, 0]), bytes([255, 0, 0, 0])
    between = acl.table_entry.match.add(field_id=2).range
    between.low, between.high = b"\5", b"\x11"
    acl.table_entry.match.add(field_id=3).optional.value = b"\x40"
    acl.table_entry.action.action.action_id = c.id("actions", "drop_it")
    c.write((INSERT, acl))
    (back,) = c.read(acl)
    assert back.table_entry.match == acl.table_entry.match and back.table_entry.priority == 10, back
    assert c.stub.Capabilities(p4rt.CapabilitiesRequest()).p4runtime_api_version.startswith("1.4")
    request = p4rt.SetForwardingPipelineConfigRequest(device_id=1, action=3)
    request.election_id.low = c.election
    request.config.p4info.CopyFrom(c.info)
    request.config.p4_device_config = c.program
    request.config.cookie.cookie = 77
    c.stub.SetForwardingPipelineConfig(request)
    assert not c.read(acl)
    config = c.stub.GetForwardingPipelineConfig(p4rt.GetForwardingPipelineConfigRequest(device_id=1, response_type=1)).config
    assert config.cookie.cookie == 77 and not config.p4info.tables
    # The new program forwards.
    c.write((INSERT, c.route(b"\x0a\0\0\0", 8, "punt")))
    c.send(9, ip(bytes([10, 1, 2, 3])))
    c.expect("packet")
    request.config.p4_device_config = b"control {"
    try:
        c.stub.SetForwardingPipelineConfig(request)
        raise AssertionError("a broken program was taken")
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.INVALID_ARGUMENT and "p4_device_config.p4:1" in error.details()


globals()[SCENARIO]()
print("done", flush=True)
# A stream that is open while the interpreter ends sometimes keeps grpc from ending.
os._exit(0)
