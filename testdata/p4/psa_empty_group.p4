// PSA: what runs for a group of an action selector without members, with a property for it and without.
#include <core.p4>
#include <psa.p4>

header data_t { bit<8> which; bit<8> a; bit<8> b; bit<8> c; }
struct headers { data_t data; }
struct empty { }

parser IP(packet_in packet, out headers h, inout empty m, in psa_ingress_parser_input_metadata_t i, in empty resubmitted, in empty recirculated) {
    state start { packet.extract(h.data); transition accept; }
}

control I(inout headers h, inout empty m, in psa_ingress_input_metadata_t i, inout psa_ingress_output_metadata_t o) {
    @name("selector") ActionSelector(PSA_HashAlgorithm_t.CRC32, 16, 8) selector;
    action to(PortIdUint_t port, bit<8> c) { send_to_port(o, (PortId_t)port); h.data.c = c; }
    table with {
        key = { h.data.a: exact; h.data.b: selector; }
        actions = { NoAction; to; }
        psa_implementation = selector;
        psa_empty_group_action = to(32w7, 0xee);
    }
    table without {
        key = { h.data.a: exact; h.data.b: selector; }
        actions = { NoAction; to; }
        psa_implementation = selector;
    }
    apply {
        send_to_port(o, (PortId_t)32w1);
        if (h.data.which == 1) {
            switch (with.apply().action_run) {
                to: { h.data.b = 0x55; }
                default: { }
            }
        } else {
            without.apply();
        }
    }
}

control ID(packet_out packet, out empty cloned, out empty resubmitted, out empty normal, inout headers h, in empty m, in psa_ingress_output_metadata_t o) {
    apply { packet.emit(h); }
}

parser EP(packet_in packet, out headers h, inout empty m, in psa_egress_parser_input_metadata_t i, in empty normal, in empty cloned, in empty egress_cloned) {
    state start { transition accept; }
}

control E(inout headers h, inout empty m, in psa_egress_input_metadata_t i, inout psa_egress_output_metadata_t o) { apply { } }

control ED(packet_out packet, out empty cloned, out empty recirculated, inout headers h, in empty m, in psa_egress_output_metadata_t o, in psa_egress_deparser_input_metadata_t i) {
    apply { packet.emit(h); }
}

IngressPipeline(IP(), I(), ID()) ingress;
EgressPipeline(EP(), E(), ED()) egress;
PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;
