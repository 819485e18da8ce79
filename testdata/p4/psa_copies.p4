// PSA: what goes along with clones, resubmitted and recirculated packets, and what the deparsers are asked.
#include <core.p4>
#include <psa.p4>
header data_t { bit<8> op; bit<8> a; bit<8> b; bit<8> c; }
header note_t { bit<8> value; }
struct headers { data_t data; }
struct meta { bit<8> kept; }
struct empty { }
struct note { bit<8> value; }

parser IP(packet_in packet, out headers h, inout meta m, in psa_ingress_parser_input_metadata_t s,
          in note resubmitted, in note recirculated) {
    state start {
        packet.extract(h.data);
        m.kept = s.packet_path == PSA_PacketPath_t.RESUBMIT ? resubmitted.value
               : s.packet_path == PSA_PacketPath_t.RECIRCULATE ? recirculated.value : 0;
        transition accept;
    }
}
control I(inout headers h, inout meta m, in psa_ingress_input_metadata_t s, inout psa_ingress_output_metadata_t o) {
    apply {
        if (h.data.op == 1 && s.packet_path == PSA_PacketPath_t.NORMAL) {
            o.drop = false;
            o.resubmit = true;
            m.kept = 0x51;
            h.data.a = 0xff;
        } else if (s.packet_path == PSA_PacketPath_t.RESUBMIT || s.packet_path == PSA_PacketPath_t.RECIRCULATE) {
            h.data.b = m.kept;
            send_to_port(o, (PortId_t)1);
        } else if (h.data.op == 2) {
            // A dropped packet is cloned all the same.
            o.clone = true;
            o.clone_session_id = (CloneSessionId_t)5;
            m.kept = 0x52;
            h.data.a = 0xee;
        } else if (h.data.op == 3) {
            send_to_port(o, (PortId_t)2);
            m.kept = 0x53;
        } else if (h.data.op == 4) {
            send_to_port(o, PSA_PORT_RECIRCULATE);
        } else if (h.data.op == 5) {
            multicast(o, (MulticastGroup_t)7);
            o.class_of_service = (ClassOfService_t)3;
        } else if (h.data.op == 6) {
            // Nothing said is dropped.
        } else {
            send_to_port(o, (PortId_t)1);
        }
    }
}
control ID(packet_out packet, out note cloned, out note resubmitted, out note normal, inout headers h, in meta m,
           in psa_ingress_output_metadata_t o) {
    apply {
        if (psa_clone_i2e(o)) { cloned.value = m.kept + 1; }
        if (psa_resubmit(o)) { resubmitted.value = m.kept + 2; }
        if (psa_normal(o)) { normal.value = m.kept + 3; }
        packet.emit(h.data);
    }
}
parser EP(packet_in packet, out headers h, inout meta m, in psa_egress_parser_input_metadata_t s,
          in note normal, in note i2e, in note e2e) {
    state start {
        packet.extract(h.data);
        m.kept = s.packet_path == PSA_PacketPath_t.CLONE_I2E ? i2e.value
               : s.packet_path == PSA_PacketPath_t.CLONE_E2E ? e2e.value : normal.value;
        transition accept;
    }
}
control E(inout headers h, inout meta m, in psa_egress_input_metadata_t s, inout psa_egress_output_metadata_t o) {
    apply {
        if (s.packet_path == PSA_PacketPath_t.CLONE_I2E) {
            h.data.b = m.kept;
            h.data.c = 0xc1;
        } else if (s.packet_path == PSA_PacketPath_t.CLONE_E2E) {
            h.data.b = m.kept;
            h.data.c = 0xc2;
        } else if (h.data.op == 3) {
            h.data.a = m.kept;
            o.clone = true;
            o.clone_session_id = (CloneSessionId_t)6;
        } else if (h.data.op == 4 && s.egress_port == PSA_PORT_RECIRCULATE) {
            h.data.a = 0x77;
            m.kept = 0x54;
        } else if (h.data.op == 5) {
            h.data.a = (bit<8>)(ClassOfServiceUint_t)s.class_of_service;
            h.data.b = (bit<8>)(EgressInstanceUint_t)s.instance;
            if (s.egress_port == (PortId_t)3) { egress_drop(o); }
        }
    }
}
control ED(packet_out packet, out note e2e, out note recirculated, inout headers h, in meta m,
           in psa_egress_output_metadata_t o, in psa_egress_deparser_input_metadata_t s) {
    apply {
        if (psa_clone_e2e(o)) { e2e.value = m.kept + 4; }
        if (psa_recirculate(o, s)) { recirculated.value = m.kept + 5; }
        packet.emit(h.data);
    }
}
IngressPipeline(IP(), I(), ID()) ip;
EgressPipeline(EP(), E(), ED()) ep;
PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;
