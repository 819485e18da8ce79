//! PNA's programs in both engines, packet by packet: what comes out, what is learned, and what is
//! counted.

use crate::random::Choices;
use jit::Jit;
use p4::compile::{Options, compile};
use p4::ir::Program;
use p4::library::WithFiles;
use pipeline::architecture::{Collected, Config, Pipeline};
use pipeline::control::Control;
use pipeline::engine::Engine;
use pipeline::environment::Environment;
use pipeline::interpreter::Interpreter;
use std::path::Path;
use std::sync::Arc;

fn program(name: &str, unoptimized: bool) -> Arc<Program> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/p4");
    let text = std::fs::read_to_string(folder.join(name)).expect(name);
    let options = Options {
        unoptimized,
        ..Options::default()
    };
    let compiled = compile(name, &text, &mut WithFiles(|_: &str| None), &options);
    Arc::new(compiled.program.expect(name))
}

/// A program in an engine, and its controller.
fn device(program: &Arc<Program>, fast: bool) -> (Pipeline, Control) {
    let environment = Environment::new(program.clone(), Default::default()).expect("it is made");
    let environment = Arc::new(environment);
    let engine: Box<dyn Engine> = match fast {
        true => Box::new(Jit::new(&environment).expect("it is compiled")),
        false => Box::new(Interpreter::new(&environment).expect("it is known")),
    };
    let pipeline = Pipeline::new(&environment, engine, &Config::default()).expect("it runs");
    (pipeline, Control::new(environment))
}

/// Says the same to all, who must say the same.
fn say(devices: &[(Pipeline, Control)], line: &str) {
    let mut answers = devices
        .iter()
        .map(|(_, control)| control.say(line).map_err(|error| error.message));
    let first = answers.next().expect("there is one");
    for answer in answers {
        assert_eq!(answer, first, "{line}");
    }
}

/// How many packets came out, and how many entries the first table had at most.
fn compared(name: &str, setup: &[&str], random: &mut Choices<'_>, length: usize) -> (usize, usize) {
    let mut devices = [(true, false), (false, false), (false, true)]
        .map(|(unoptimized, fast)| device(&program(name, unoptimized), fast));
    for line in setup {
        say(&devices, line);
    }
    let (mut sent, mut most) = (0, 0);
    let mut now = node::Time::ZERO;
    for _ in 0..3000 {
        if random.one_in(40) {
            let port = random.below(6);
            let side = ["set 0 net", "set 4 host", "rm 0", "rm 4"][random.below(4)];
            let side = side.replace(['0', '4'], &port.to_string());
            say(&devices, &format!("port {side}"));
        }
        let wait = [1, 1, 1, 100, 3000, 20_000][random.below(6)];
        now += node::Time::from_ms(wait);
        let mut bytes: Vec<u8> = (0..length).map(|_| random.below(4) as u8).collect();
        bytes[0] = random.below(12) as u8;
        bytes.truncate(if random.one_in(10) {
            random.below(length + 1)
        } else {
            length
        });
        let port = random.below(6) as u32;
        let mut outs = devices.iter_mut().map(|(pipeline, _)| {
            let mut out = Collected::default();
            pipeline.process(now, port, &bytes, &mut out);
            out
        });
        let first = outs.next().expect("there is one");
        sent += first.packets.len();
        for out in outs {
            assert_eq!(out, first, "{name}: {bytes:02x?} at port {port}, {now:?}");
        }
        for line in ["table dump", "counter ls"] {
            say(&devices, line);
        }
        most = most.max(devices[0].1.environment().tables.len(p4::ir::TableId(0)));
        let mut digests = devices
            .iter()
            .map(|(_, control)| control.environment().digests.drain());
        let first = digests.next().expect("there is one");
        assert!(
            digests.all(|others| others == first),
            "{name}: {bytes:02x?}"
        );
    }
    (sent, most)
}

#[test]
fn engines_agree_on_every_way_through_a_nic() {
    let setup = [
        "mirror add 5 7",
        "mirror add 6 8 truncate 2",
        "mirror add 9 2",
        "table add ports op=7 near=1 do to 3",
        "table add ports op=7 near=2 do mirror 0 5",
        "table add outs 1 do to 1",
        "table add outs 2 do to 4",
        "table add outs 3 do to 9",
        "table add ports op=8 near=3 do mirror 4 6",
    ];
    let (sent, _) = compared("pna_paths.p4", &setup, &mut Choices::new(&[], 1), 6);
    assert!(sent > 1500, "{sent}");
}

#[test]
fn engines_learn_and_forget_the_same() {
    let setup = ["port set 4 host", "port set 0 net", "expiry set 4 never"];
    let (sent, most) = compared("pna_learning.p4", &setup, &mut Choices::new(&[], 2), 10);
    assert!(sent > 300 && most == 3, "{sent} sent, {most} entries");
}

#[test]
fn engines_agree_on_a_nic_s_objects() {
    let setup = [
        "meter set Main.meter 1 2:10 4:20",
        "profile add selector member 1 do to 6",
        "profile add selector member 2 do to 7",
        "profile add selector group 1 1 2",
        "table add members 1 do member 1",
        "table add members 2 do group 1",
        "table add measured 1 do measure",
        "table add measured 2 do measure",
        "meter set metered 1 10:300 20:500",
    ];
    let (sent, _) = compared("pna_externs.p4", &setup, &mut Choices::new(&[], 3), 11);
    assert!(sent > 2000, "{sent}");
}
