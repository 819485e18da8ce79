// PSA: every way a packet can take, the state it meets, and what is handed from one end of the switch to the other.
#include <core.p4>
#include <psa.p4>

header data_t { bit<8> op; bit<8> a; bit<8> b; bit<8> c; }
struct headers { data_t data; }
struct meta { bit<8> mark; bit<1> egress_clone; }
struct empty { }
struct kept { bit<8> mark; }
struct learn_t { bit<8> a; PortId_t port; }

parser IP(packet_in packet, out headers h, inout meta m, in psa_ingress_parser_input_metadata_t i, in kept resubmitted, in kept recirculated) {
    state start {
        m.mark = 0;
        transition select(i.packet_path) {
            PSA_PacketPath_t.RESUBMIT: resubmit;
            PSA_PacketPath_t.RECIRCULATE: recirculate;
            default: data;
        }
    }
    state resubmit { m.mark = resubmitted.mark; transition data; }
    state recirculate { m.mark = recirculated.mark; transition data; }
    state data { packet.extract(h.data); transition accept; }
}

control I(inout headers h, inout meta m, in psa_ingress_input_metadata_t i, inout psa_ingress_output_metadata_t o) {
    Counter<bit<32>, bit<8>>(4, PSA_CounterType_t.PACKETS_AND_BYTES) counter;
    Register<bit<16>, bit<8>>(4, 16w3) register;
    Meter<bit<8>>(2, PSA_MeterType_t.PACKETS) meter;
    Random<bit<8>>(8w4, 8w5) random;
    Hash<bit<16>>(PSA_HashAlgorithm_t.CRC16) crc;
    Digest<learn_t>() learn;
    ActionProfile(8) profile;
    action to(PortIdUint_t port) { send_to_port(o, (PortId_t)port); }
    table members {
        key = { h.data.a: exact; }
        actions = { to; NoAction; }
        psa_implementation = profile;
    }
    apply {
        send_to_port(o, (PortId_t)32w1);
        if (h.data.op == 1) {
            ingress_drop(o);
        } else if (h.data.op == 2) {
            multicast(o, (MulticastGroup_t)32w7);
        } else if (h.data.op == 3) {
            if (i.packet_path == PSA_PacketPath_t.RESUBMIT) { h.data.c = m.mark; }
            else { ingress_drop(o); o.drop = false; o.resubmit = true; m.mark = 0x33; h.data.b = 0xff; }
        } else if (h.data.op == 4) {
            o.clone = true;
            o.clone_session_id = (CloneSessionId_t)16w5;
            m.mark = 0x44;
            h.data.a = 0xee;
        } else if (h.data.op == 5) {
            counter.count(h.data.a);
            bit<16> v = register.read(h.data.a);
            register.write(h.data.a, v + 1);
            h.data.c = v[7:0];
        } else if (h.data.op == 6) {
            h.data.c = meter.execute(h.data.a) == PSA_MeterColor_t.GREEN ? 8w1 : 8w2;
        } else if (h.data.op == 7) {
            bit<8> r = random.read();
            h.data.c = r == 4 || r == 5 ? 8w1 : 8w0;
            bit<16> x = crc.get_hash({ h.data.a, h.data.b });
            h.data.a = x[15:8];
            h.data.b = x[7:0];
        } else if (h.data.op == 8) {
            learn.pack({ h.data.a, i.ingress_port });
        } else if (h.data.op == 9) {
            members.apply();
        } else if (h.data.op == 10) {
            send_to_port(o, PSA_PORT_RECIRCULATE);
            if (i.packet_path == PSA_PacketPath_t.RECIRCULATE) {
                send_to_port(o, (PortId_t)32w1);
                h.data.c = m.mark;
            }
        } else if (h.data.op == 12) {
            o.class_of_service = (ClassOfService_t)8w3;
        }
    }
}

control ID(packet_out packet, out kept cloned, out kept resubmitted, out kept normal, inout headers h, in meta m, in psa_ingress_output_metadata_t o) {
    apply {
        if (psa_clone_i2e(o)) { cloned = { m.mark }; }
        if (psa_resubmit(o)) { resubmitted = { m.mark }; }
        if (psa_normal(o)) { normal = { h.data.op }; }
        packet.emit(h);
    }
}

parser EP(packet_in packet, out headers h, inout meta m, in psa_egress_parser_input_metadata_t i, in kept normal, in kept cloned, in kept egress_cloned) {
    state start {
        transition select(i.packet_path) {
            PSA_PacketPath_t.CLONE_I2E: clone;
            PSA_PacketPath_t.CLONE_E2E: egress_clone;
            default: normal_one;
        }
    }
    state clone { m.mark = cloned.mark; transition data; }
    state egress_clone { m.mark = egress_cloned.mark; m.egress_clone = 1; transition data; }
    state normal_one { m.mark = normal.mark; transition data; }
    state data { packet.extract(h.data); transition accept; }
}

control E(inout headers h, inout meta m, in psa_egress_input_metadata_t i, inout psa_egress_output_metadata_t o) {
    InternetChecksum() unused;
    apply {
        if (i.packet_path == PSA_PacketPath_t.NORMAL_MULTICAST) {
            h.data.c = (bit<8>)(EgressInstanceUint_t)i.instance;
            if (i.egress_port == (PortId_t)32w3) { egress_drop(o); }
        } else if (i.packet_path == PSA_PacketPath_t.CLONE_I2E) {
            h.data.c = m.mark;
        } else if (m.egress_clone == 1) {
            h.data.c = m.mark + 1;
        } else if (h.data.op == 11) {
            o.clone = true;
            o.clone_session_id = (CloneSessionId_t)16w6;
            h.data.b = m.mark;
            m.mark = 0x10;
        } else if (h.data.op == 12) {
            h.data.c = (bit<8>)(ClassOfServiceUint_t)i.class_of_service;
        }
    }
}

control ED(packet_out packet, out kept cloned, out kept recirculated, inout headers h, in meta m, in psa_egress_output_metadata_t o, in psa_egress_deparser_input_metadata_t i) {
    InternetChecksum() sum;
    apply {
        if (psa_clone_e2e(o)) { cloned = { m.mark }; }
        if (psa_recirculate(o, i)) { recirculated = { 0xaa }; }
        if (h.data.op == 13) {
            sum.clear();
            sum.add({ h.data.op, h.data.a });
            // What is taken away again changes nothing.
            sum.add({ h.data.b, h.data.c, h.data.a });
            sum.subtract({ h.data.b, h.data.c, h.data.a });
            bit<16> x = sum.get();
            h.data.b = x[15:8];
            h.data.c = x[7:0];
        }
        packet.emit(h);
    }
}

IngressPipeline(IP(), I(), ID()) ingress;
EgressPipeline(EP(), E(), ED()) egress;
PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;
