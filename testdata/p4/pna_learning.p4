// PNA: a firewall that learns from the host which flows it has, and forgets them.
#include <core.p4>
#include <pna.p4>

header flow_t { bit<8> op; bit<16> near; bit<16> far; bit<8> result; bit<32> id; }
struct headers { flow_t flow; }
struct meta { bit<8> profile; }
struct known_t { PortId_t port; bit<32> id; }

parser MainParser(packet_in packet, out headers h, inout meta m, in pna_main_parser_input_metadata_t i) {
    state start { packet.extract(h.flow); transition accept; }
}

control Pre(in headers h, inout meta m, in pna_pre_input_metadata_t i, inout pna_pre_output_metadata_t o) {
    apply { }
}

control Main(inout headers h, inout meta m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o) {
    DirectCounter<bit<32>>(PNA_CounterType_t.PACKETS_AND_BYTES) hits;
    bool added = false;
    bool tried = false;

    action known(PortId_t port, bit<32> id) {
        h.flow.id = id;
        hits.count();
        if (h.flow.op == 1) {
            restart_expire_timer();
        } else if (h.flow.op == 2) {
            set_entry_expire_time((ExpireTimeProfileId_t)8w4);
        }
        if (i.direction == PNA_Direction_t.HOST_TO_NET) {
            send_to_port((PortId_t)32w0);
        } else {
            send_to_port(port);
        }
    }
    action unknown() {
        drop_packet();
        if (i.direction == PNA_Direction_t.HOST_TO_NET) {
            tried = true;
            FlowId_t id = allocate_flow_id();
            added = add_entry("known", (known_t){ i.input_port, (FlowIdUint_t)id },
                (ExpireTimeProfileId_t)m.profile);
        }
    }
    table flows {
        key = {
            SelectByDirection(i.direction, h.flow.far, h.flow.near): exact @name("host");
            SelectByDirection(i.direction, h.flow.near, h.flow.far): exact @name("peer");
        }
        actions = { @tableonly known; @defaultonly unknown; }
        add_on_miss = true;
        idle_timeout_with_auto_delete = true;
        const default_action = unknown;
        pna_direct_counter = hits;
        size = 3;
    }

    apply {
        m.profile = h.flow.op == 3 ? 8w4 : 8w2;
        if (flows.apply().miss) {
            h.flow.result = added ? 8w1 : 8w2;
            if (tried && h.flow.op == 4 && added) {
                // Through the table once more, which knows the flow by then.
                recirculate();
            } else if (tried) {
                send_to_port((PortId_t)32w0);
            }
        }
    }
}

control Emit(packet_out packet, in headers h, in meta m, in pna_main_output_metadata_t o) {
    apply { packet.emit(h.flow); }
}

PNA_NIC(MainParser(), Pre(), Main(), Emit()) main;
