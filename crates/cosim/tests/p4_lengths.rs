//! Packets whose length changes, one behind the other: their bytes are those of the interpreter,
//! and they take as many cycles as they have
//! words, as they come or as they leave.

use crate::p4::{of_text, tools};
use cosim::p4::{Outcome, Rtl};
use node::random::Random;
use pipeline::architecture::{Collected, Config, Pipeline};
use pipeline::context::Context;
use pipeline::engine::Engine;
use pipeline::interpreter::Interpreter;
use std::sync::Arc;

/// A program that replaces a header of one length at the front by one of another.
const EXCHANGE: &str = "#include <core.p4>
#include <v1model.p4>
header old_t { bit<OLD> bits; }
header new_t { bit<NEW> bits; }
struct headers { new_t after; old_t before; }
struct metadata { }
parser P(packet_in b, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start { b.extract(h.before); transition accept; }
}
control V(inout headers h, inout metadata m) { apply { } }
control I(inout headers h, inout metadata m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        h.after.setValid();
        h.after.bits = ~(bit<NEW>) h.before.bits;
        h.before.setInvalid();
    }
}
control E(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { } }
control C(inout headers h, inout metadata m) { apply { } }
control D(packet_out b, in headers h) { apply { b.emit(h.after); b.emit(h.before); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";

#[test]
fn packets_that_shrink_or_grow_take_as_many_cycles_as_they_have_words() {
    if !tools() {
        return;
    }
    // Bytes, as a VLAN tag or two are taken off or put on.
    for (old, new) in [(18, 14), (22, 14), (14, 18)] {
        let text = EXCHANGE.replace("OLD", &(8 * old).to_string());
        let environment = of_text(&text.replace("NEW", &(8 * new).to_string()));
        let interpreter = Box::new(Interpreter::new(&environment).expect("it runs"));
        let mut asked =
            Pipeline::new(&environment, interpreter, &Config::default()).expect("it runs");
        let mut rtl = Rtl::new(&environment);
        rtl.prepare(asked.path()).expect("it is hardware");
        let context = Context::new(Arc::clone(&environment), 0);
        let mut random = Random::new(old);
        let same = |length: usize| vec![length; 100];
        let mixed = (0..300).map(|_| 60 + random.below(200) as usize).collect();
        for lengths in [same(64), same(65), same(128), mixed] {
            let packets: Vec<Vec<u8>> = lengths
                .iter()
                .map(|&length| {
                    (0..length)
                        .map(|place| (place * 7 + length) as u8)
                        .collect()
                })
                .collect();
            let many: Vec<(u16, &[u8])> = packets.iter().map(|packet| (0, &packet[..])).collect();
            let passages = rtl.stream(&many, &context).expect("it goes on");
            assert_eq!(passages.len(), packets.len());
            let (mut most, mut taken) = (0, 0);
            let mut before = None;
            for (passage, packet) in passages.iter().zip(&packets) {
                let mut out = Collected::default();
                asked.process(node::Time::ZERO, 0, packet, &mut out);
                let Outcome::Sent(1, bytes) = &passage.outcome else {
                    panic!("{:?}", passage.outcome);
                };
                assert_eq!(*bytes, out.packets[0].1.to_vec());
                let words = packet.len().max(bytes.len()).div_ceil(64) as u64;
                if let Some(before) = before {
                    most += words;
                    taken += passage.last_out - before;
                }
                before = Some(passage.last_out);
            }
            let of = lengths
                .first()
                .filter(|first| lengths.iter().all(|length| length == *first));
            let of = of.map_or("60 to 259".into(), usize::to_string);
            println!(
                "{old} to {new} bytes, packets of {of}: {taken} cycles between last words, {most} words, {:.3} cycles a word",
                taken as f64 / most as f64
            );
            // The last word of one, and not of another, may leave a cycle behind the last that
            // comes.
            assert!(
                taken <= most + 1,
                "{old} to {new} bytes: {taken} cycles for {most} words"
            );
        }
    }
}
