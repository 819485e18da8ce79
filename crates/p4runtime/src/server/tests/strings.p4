// Types that a controller has strings for, and entries that a program restricts.
#include <core.p4>
#include <v1model.p4>

@p4runtime_translation("example.org/port", string)
type bit<9> port_id_t;
@p4runtime_translation("", string)
@p4runtime_translation_mappings({ { "", 0 }, { "blue", 7 } })
type bit<10> vrf_id_t;

header data_t { bit<16> kind; bit<32> address; }
@controller_header("packet_in")
header in_t { port_id_t port; @hidden bit<7> pad; }
@controller_header("packet_out")
header out_t { port_id_t port; @hidden bit<7> pad; }
struct headers { data_t data; }
struct metadata { vrf_id_t vrf; port_id_t from; }

parser Parse(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start { p.extract(h.data); transition accept; }
}
control Verify(inout headers h, inout metadata m) { apply { } }
control ingress(inout headers h, inout metadata m, inout standard_metadata_t s) {
    meter(4, MeterType.bytes) rate;
    @action_restriction("queue < 8")
    action to(port_id_t port, bit<8> queue) { s.egress_spec = (bit<9>)port; }
    action vrf(vrf_id_t vrf) { m.vrf = vrf; }
    @entry_restriction("
        // An address is of a packet that has one.
        address::mask != 0 -> kind == 0x0800;
        ::priority < 100
    ")
    table acl {
        key = {
            h.data.kind: ternary @name("kind");
            h.data.address: ternary @name("address");
            m.from: optional @name("from");
        }
        actions = { to; NoAction; }
        default_action = NoAction;
    }
    table vrfs {
        key = { m.vrf: exact @name("vrf"); }
        actions = { vrf; to; NoAction; }
        default_action = NoAction;
    }
    apply {
        m.from = (port_id_t)s.ingress_port;
        vrfs.apply();
        acl.apply();
        bit<2> colour;
        rate.execute_meter(0, colour);
    }
}
control egress(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { } }
control Compute(inout headers h, inout metadata m) { apply { } }
control Emit(packet_out p, in headers h) { apply { p.emit(h.data); } }
V1Switch(Parse(), Verify(), ingress(), egress(), Compute(), Emit()) main;
