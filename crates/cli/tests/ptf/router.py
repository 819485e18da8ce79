"""PTF tests of `wire p4 run` with router.p4: the test sends and sees packets by PTF's data plane, and programs the pipeline by P4Runtime."""
import queue
import threading

import grpc
import ptf
import ptf.testutils as testutils
from p4.v1 import p4runtime_pb2 as p4rt
from p4.v1 import p4runtime_pb2_grpc
from ptf.base_tests import BaseTest

MAC = "00:11:22:33:44:55"


def word(value, size):
    """The shortest bytes of a value, as P4Runtime wants them."""
    return value.to_bytes(size, "big").lstrip(b"\0") or b"\0"


class Router(BaseTest):
    """A controller that is master, and a pipeline without entries."""

    def setUp(self):
        BaseTest.setUp(self)
        self.dataplane = ptf.dataplane_instance
        self.dataplane.flush()
        address = testutils.test_param_get("grpcaddr")
        self.channel = grpc.insecure_channel(address)
        self.stub = p4runtime_pb2_grpc.P4RuntimeStub(self.channel)
        self.requests, self.answers = queue.Queue(), queue.Queue()
        stream = self.stub.StreamChannel(iter(self.requests.get, None))
        self.listener = threading.Thread(target=self.listen, args=(stream,), daemon=True)
        self.listener.start()
        offer = p4rt.StreamMessageRequest()
        offer.arbitration.device_id = 1
        offer.arbitration.election_id.low = 1
        self.requests.put(offer)
        self.assertEqual(self.expect("arbitration").status.code, 0)
        request = p4rt.GetForwardingPipelineConfigRequest(device_id=1)
        self.info = self.stub.GetForwardingPipelineConfig(request).config.p4info
        self.written = []

    def tearDown(self):
        for entity in reversed(self.written):
            self.update(p4rt.Update.DELETE, entity)
        self.requests.put(None)
        # A stream that is open while the interpreter ends sometimes keeps grpc from ending.
        self.listener.join(10)
        self.channel.close()
        BaseTest.tearDown(self)

    def listen(self, stream):
        try:
            for answer in stream:
                self.answers.put(answer)
        except grpc.RpcError:
            pass

    def expect(self, kind):
        while True:
            answer = self.answers.get(timeout=10)
            if answer.WhichOneof("update") == kind:
                return getattr(answer, kind)

    def find(self, kind, alias):
        [found] = [thing for thing in getattr(self.info, kind) if thing.preamble.alias == alias]
        return found

    def update(self, kind, entity):
        request = p4rt.WriteRequest(device_id=1)
        request.election_id.low = 1
        request.updates.add(type=kind, entity=entity)
        self.stub.Write(request)

    def route(self, prefix, length, action, **arguments):
        entity = p4rt.Entity()
        entry = entity.table_entry
        entry.table_id = self.find("tables", "routes").preamble.id
        match = entry.match.add(field_id=1)
        match.lpm.value = word(prefix, 4)
        match.lpm.prefix_len = length
        described = self.find("actions", action)
        entry.action.action.action_id = described.preamble.id
        for parameter in described.params:
            size = (parameter.bitwidth + 7) // 8
            value = word(arguments[parameter.name], size)
            entry.action.action.params.add(param_id=parameter.id, value=value)
        self.update(p4rt.Update.INSERT, entity)
        self.written.append(entity)


class RouteForwards(Router):
    """A packet goes where its route says, with the next hop's address, and none goes elsewhere."""

    def runTest(self):
        packet = testutils.simple_udp_packet(eth_dst="02:00:00:00:00:01", ip_dst="10.1.2.3")
        testutils.send_packet(self, 0, packet)
        testutils.verify_no_other_packets(self)
        self.route(0x0A000000, 8, "forward", port=1, mac=0x001122334455)
        testutils.send_packet(self, 0, packet)
        expected = testutils.simple_udp_packet(eth_dst=MAC, ip_dst="10.1.2.3")
        testutils.verify_packets(self, expected, [1])
        other = testutils.simple_udp_packet(eth_dst="02:00:00:00:00:01", ip_dst="11.1.2.3")
        testutils.send_packet(self, 0, other)
        testutils.verify_no_other_packets(self)


class LongestPrefixWins(Router):
    """Of two routes the longer one is taken, whichever came first."""

    def runTest(self):
        self.route(0x0A010000, 16, "forward", port=0, mac=0x001122334455)
        self.route(0x0A000000, 8, "forward", port=1, mac=0x001122334455)
        for address, port in [("10.1.2.3", 0), ("10.2.2.3", 1)]:
            packet = testutils.simple_tcp_packet(eth_dst="02:00:00:00:00:01", ip_dst=address)
            testutils.send_packet(self, 1 - port, packet)
            expected = testutils.simple_tcp_packet(eth_dst=MAC, ip_dst=address)
            testutils.verify_packets(self, expected, [port])


class ControllerSeesAndSends(Router):
    """A punted packet comes to the controller with its port; one that the controller sends leaves by the port it names."""

    def runTest(self):
        self.route(0x0B000000, 8, "punt")
        packet = testutils.simple_udp_packet(ip_dst="11.1.1.1")
        testutils.send_packet(self, 1, packet)
        came = self.expect("packet")
        self.assertEqual(came.payload, bytes(packet))
        fields = {field.metadata_id: field.value for field in came.metadata}
        described = self.find("controller_packet_metadata", "packet_in").metadata
        self.assertEqual(fields[described[0].id], b"\x01")
        # No IP: the program's routes have no say.
        packet = testutils.simple_arp_packet(pktlen=60)
        request = p4rt.StreamMessageRequest()
        request.packet.payload = bytes(packet)
        for field in self.find("controller_packet_metadata", "packet_out").metadata:
            request.packet.metadata.add(metadata_id=field.id, value=b"\0")
        self.requests.put(request)
        testutils.verify_packets(self, packet, [0])
