// PNA: the objects of a NIC: counters, meters, registers, hashes, checksums, selectors and digests.
#include <core.p4>
#include <dpdk/pna.p4>

header data_t { bit<8> op; bit<8> a; bit<8> b; bit<8> c; }
header sum_t { bit<16> left; bit<16> right; bit<16> sum; }
struct headers { data_t data; sum_t sum; }
struct meta { bit<8> group; }
struct learn_t { bit<8> a; PortId_t port; }

parser MainParser(packet_in packet, out headers h, inout meta m, in pna_main_parser_input_metadata_t i) {
    InternetChecksum() check;
    state start {
        packet.extract(h.data);
        transition select(h.data.op) { 8: sum; default: accept; }
    }
    state sum {
        packet.extract(h.sum);
        check.add({ h.sum.left, h.sum.right });
        h.sum.sum = check.get();
        transition accept;
    }
}

control Pre(in headers h, inout meta m, in pna_pre_input_metadata_t i, inout pna_pre_output_metadata_t o) {
    apply { }
}

control Main(inout headers h, inout meta m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o) {
    Counter<bit<32>, bit<8>>(4, PNA_CounterType_t.PACKETS_AND_BYTES) counter;
    DirectCounter<bit<32>>(PNA_CounterType_t.BYTES) lengths;
    Meter<bit<8>>(4, PNA_MeterType_t.BYTES) meter;
    DirectMeter(PNA_MeterType_t.BYTES) metered;
    Register<bit<16>, bit<8>>(4, 16w3) register;
    Hash<bit<16>>(PNA_HashAlgorithm_t.CRC16) crc;
    Digest<learn_t>() learn;
    ActionSelector(PNA_HashAlgorithm_t.CRC32, 16, 8) selector;
    PNA_MeterColor_t colour = PNA_MeterColor_t.RED;

    action to(PortId_t port) { send_to_port(port); }
    action measure() {
        lengths.count(32w1000);
        colour = metered.dpdk_execute(PNA_MeterColor_t.GREEN, 32w100);
    }
    table members {
        key = { h.data.a: exact; h.data.b: selector; }
        actions = { to; NoAction; }
        pna_implementation = selector;
    }
    table measured {
        key = { h.data.a: exact; }
        actions = { measure; NoAction; }
        pna_direct_counter = lengths;
        pna_direct_meter = metered;
    }
    apply {
        send_to_port((PortId_t)32w1);
        if (h.data.op == 1) {
            counter.count(h.data.a);
        } else if (h.data.op == 2) {
            counter.count(h.data.a, 32w500);
        } else if (h.data.op == 3) {
            colour = meter.execute(h.data.a);
            h.data.c = colour == PNA_MeterColor_t.GREEN ? 8w1 : 8w2;
        } else if (h.data.op == 4) {
            colour = meter.dpdk_execute(h.data.a, PNA_MeterColor_t.GREEN, (bit<32>)h.data.b);
            h.data.c = colour == PNA_MeterColor_t.GREEN ? 8w1 : 8w2;
        } else if (h.data.op == 5) {
            bit<16> v = register.read(h.data.a);
            register.write(h.data.a, v + 1);
            h.data.c = v[7:0];
        } else if (h.data.op == 6) {
            bit<16> x = crc.get_hash({ h.data.a, h.data.b });
            h.data.a = x[15:8];
            h.data.b = x[7:0];
        } else if (h.data.op == 7) {
            learn.pack({ h.data.a, i.input_port });
        } else if (h.data.op == 9) {
            members.apply();
        } else if (h.data.op == 10) {
            measured.apply();
            h.data.c = colour == PNA_MeterColor_t.GREEN ? 8w1 : 8w2;
        }
    }
}

control Emit(packet_out packet, in headers h, in meta m, in pna_main_output_metadata_t o) {
    apply { packet.emit(h.data); packet.emit(h.sum); }
}

PNA_NIC(MainParser(), Pre(), Main(), Emit()) main;
