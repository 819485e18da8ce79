parser p(packet_in b, out H h) { value_set<bit<8>>(4) vs; state start { b.extract(h.e);
 transition select(h.e.t, h.e.u) { (0x800, 1 .. 2): ip; vs: accept; default: reject; } } state ip { transition accept; } }
