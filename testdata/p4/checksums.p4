// Checksums and hashes of fields, of payload, and of nothing at all.
#define OWN_VERIFY
#define OWN_COMPUTE
#define OWN_PARSER
#define TYPES header sum_t { bit<8> op; bit<8> flag; bit<16> a; bit<16> sum; bit<32> hash; } \
    struct headers { sum_t sum; } struct meta { bit<8> bad; }
#include "data.p4i"
parser P(packet_in packet, out headers h, inout meta m, inout standard_metadata_t s) {
    state start { packet.extract(h.sum); transition accept; }
}
control V(inout headers h, inout meta m) {
    apply {
        verify_checksum(h.sum.op == 1, { h.sum.op, h.sum.flag, h.sum.a }, h.sum.sum, HashAlgorithm.csum16);
        verify_checksum_with_payload(h.sum.op == 2, { h.sum.op, h.sum.flag, h.sum.a }, h.sum.sum, HashAlgorithm.csum16);
    }
}
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        h.sum.flag = (bit<8>)s.checksum_error;
        if (h.sum.op == 3) {
            bit<16> r;
            hash(r, HashAlgorithm.crc16, 16w0, { h.sum.a }, 32w0x10000);
            h.sum.hash = (bit<32>)r;
        } else if (h.sum.op == 4) {
            hash(h.sum.hash, HashAlgorithm.crc32, 32w0, { h.sum.a }, 64w0x100000000);
        } else if (h.sum.op == 5) {
            hash(h.sum.hash, HashAlgorithm.identity, 32w10, { h.sum.a }, 32w7);
        } else if (h.sum.op == 6) {
            bit<16> r;
            hash(r, HashAlgorithm.xor16, 16w0, { h.sum.a, h.sum.sum }, 32w0x10000);
            h.sum.hash = (bit<32>)r;
        } else if (h.sum.op == 7) {
            bit<16> r;
            hash(r, HashAlgorithm.csum16, 16w5, { h.sum.a, h.sum.sum }, 32w1);
            h.sum.hash = (bit<32>)r;
        }
    }
}
control C(inout headers h, inout meta m) {
    apply {
        update_checksum(h.sum.op == 8, { h.sum.op, h.sum.flag, h.sum.a }, h.sum.sum, HashAlgorithm.csum16);
        update_checksum_with_payload(h.sum.op == 9, { h.sum.op, h.sum.flag, h.sum.a }, h.sum.sum, HashAlgorithm.csum16);
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
