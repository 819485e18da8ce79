//! `cargo bench -p wireline-live --bench switch`: our OpenFlow switch over veth pairs, beside Open vSwitch's userspace datapath in the same
//! run.
//!
//! `rate` is what comes out behind the switch, by the kernel's counter, of a flood of 64-byte packets (60 and FCS) by another thread; `us of
//! processor` is what each packet took of the switch's own time, which other programs on the machine do not change much. `p50`
//! and `p99` are of a closed loop: the next packet goes when the last has come through. `BENCH_SECONDS` (default 2) is the
//! time of each flood. Needs root; makes namespaces of its own.

#[path = "bed/mod.rs"]
mod bed;
#[path = "../../openflow/benches/switch/flows.rs"]
#[allow(dead_code, reason = "the switch's benchmark in memory needs the rest")]
mod flows;
#[path = "../../openflow/benches/switch/remote.rs"]
#[allow(dead_code, reason = "the switch's benchmark in memory needs the rest")]
mod remote;

use ::capture::clock::now_ns;
use bed::{Bed, pause, processor};
use flows::{Shape, Traffic, entry, fill, sequence, template};
use live::netns::Namespace;
use live::port::{self, Options, Port};
use openflow::message::FlowCommand;
use openflow::version::Version;
use remote::{Remote, change};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The word that makes this program the switch.
const SWITCH: &str = "--switch";
/// Frames that a call sends.
const BATCH: usize = 64;
/// Different frames of a flood.
const FRAMES: usize = 4096;
/// Packets of a closed loop.
const LOOPS: usize = 3000;

/// What a switch has done.
struct Row {
    name: String,
    rate: f64,
    /// Of the switch's processor, a packet.
    us: f64,
    p50: f64,
    p99: f64,
    lost: usize,
}

fn main() {
    // `cargo test` runs benches too, with `--test`: there is nothing to check here.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, word, count, control] = &arguments[..]
        && word == SWITCH
    {
        return switch(count.parse().expect("a number"), control);
    }
    let Some(bed) = Bed::new("switch", 2.0) else {
        return;
    };
    println!(
        "{:<34} {:>11} {:>13} {:>9} {:>9} {:>6}",
        "", "rate, k/s", "us processor", "p50, us", "p99, us", "lost"
    );
    let mut bare = Row {
        name: "bare veth".into(),
        ..bed.measure((&bed.b, "b"), 1, &|| 0)
    };
    bare.us = 0.0;
    show(&bare);
    for count in [1, 10_000] {
        let ours = match bed.ours(count) {
            Ok(row) => row,
            Err(reason) => {
                println!("wire of switch: skipped: {reason}");
                continue;
            }
        };
        show(&ours);
        match bed.openvswitch(count) {
            Err(reason) => println!("Open vSwitch: skipped: {reason}"),
            Ok(theirs) => {
                show(&theirs);
                println!(
                    "{:<34} rate {:.2} (mark: 2), processor {:.2}, p50 {:.2} (mark: 0.5)",
                    "  wire over Open vSwitch",
                    ours.rate / theirs.rate,
                    ours.us / theirs.us,
                    ours.p50 / theirs.p50,
                );
            }
        }
    }
}

fn show(row: &Row) {
    println!(
        "{:<34} {:>11.1} {:>13.2} {:>9.1} {:>9.1} {:>6}",
        row.name,
        row.rate / 1e3,
        row.us,
        row.p50,
        row.p99,
        row.lost
    );
}

fn port(namespace: &Namespace, name: &str) -> Port {
    bed::open(namespace, name, &Options::default()).expect("a port")
}

/// Our switch, in a process of its own as `wire of switch` has it.
fn switch(count: u32, control: &str) {
    let mut remote = Remote::with_ports(Version::V13, 2);
    let mut bytes = Vec::new();
    for number in 0..count {
        bytes.clear();
        let rule = rule(count, number);
        change(Version::V13, FlowCommand::Add, &rule, 2, &mut bytes);
        remote.send(&bytes);
    }
    let open = |name: &str| {
        let spec = name.parse().expect("a port's name");
        port::open(&spec, &Options::of_nodes(2)).expect("a port")
    };
    ::capture::signal::install();
    let ports = vec![open("b"), open("out"), open(control)];
    live::world::on_ports("switch", Box::new(remote.switch), ports, None).expect("a run");
}

/// Frames of so many flows; of one flow, all alike.
fn frames(count: u32) -> Vec<[u8; 60]> {
    let flows = sequence(Traffic::Uniform, count, FRAMES);
    flows
        .into_iter()
        .map(|number| {
            let mut frame = template();
            fill(&mut frame, number);
            frame
        })
        .collect()
}

impl Bed {
    /// A flood and a closed loop from `a` to the far end.
    fn measure(&self, far: (&Namespace, &str), count: u32, spent: &dyn Fn() -> u64) -> Row {
        let frames = frames(count);
        let (p50, p99, lost) = self.closed_loop(far, &frames);
        let stop = AtomicBool::new(false);
        let mut tx = port(&self.a, "a").tx;
        let (mut rate, mut us) = (0.0, 0.0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for batch in frames.chunks(BATCH).cycle() {
                    let slices: Vec<&[u8]> = batch.iter().map(|frame| &frame[..]).collect();
                    let _ = tx.send(&slices);
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
            pause(Duration::from_millis(200));
            let before = spent();
            let (packets, each_second) = bed::rate(far.0, far.1, self.time);
            rate = each_second;
            us = (spent() - before) as f64 / 1e3 / packets.max(1) as f64;
            stop.store(true, Ordering::Relaxed);
        });
        // What is still in queues does not disturb the next row.
        pause(Duration::from_millis(200));
        Row {
            name: String::new(),
            rate,
            us,
            p50,
            p99,
            lost,
        }
    }

    fn closed_loop(&self, far: (&Namespace, &str), frames: &[[u8; 60]]) -> (f64, f64, usize) {
        let mut tx = port(&self.a, "a").tx;
        let mut rx = port(far.0, far.1).rx;
        let (mut took, mut lost) = (Vec::with_capacity(LOOPS), 0);
        for frame in frames.iter().cycle().take(LOOPS) {
            let began = now_ns();
            tx.send(&[&frame[..]]).expect("a port that sends");
            let mut came = false;
            while !came && now_ns() - began < 20_000_000 {
                let wait = Duration::from_millis(20);
                let some = rx.receive(wait, &mut |packet| came |= packet.bytes == frame);
                some.expect("a port that receives");
            }
            match came {
                true => took.push(now_ns() - began),
                false => lost += 1,
            }
        }
        took.sort_unstable();
        let at = |share: f64| took.get((took.len() as f64 * share) as usize).copied();
        let us = |ns: Option<u64>| ns.unwrap_or(0) as f64 / 1e3;
        (us(at(0.5)), us(at(0.99)), lost)
    }

    fn ours(&self, count: u32) -> Result<Row, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = self.b.command(&program.display().to_string());
        let control = format!("punix:{}/control-{count}", self.place.display());
        command.args([SWITCH, &count.to_string(), &control]);
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        pause(Duration::from_millis(500));
        let process = child.id();
        let row = self.measure((&self.c, "c"), count, &|| processor(process));
        // SAFETY: a signal to a child that has not been waited for.
        unsafe { libc::kill(process as i32, libc::SIGTERM) };
        let _ = child.wait();
        Ok(Row {
            name: format!("wire of switch, {count} entries"),
            ..row
        })
    }

    fn openvswitch(&self, count: u32) -> Result<Row, String> {
        let peer = OpenVSwitch::start(&self.b, &self.place.join(format!("ovs-{count}")))?;
        let path = self.place.join("flows.txt");
        let lines: Vec<String> = (0..count)
            .map(|number| {
                let (fields, priority) = rule(count, number);
                let mut text = String::new();
                let matching = openflow::matching::Match::new(&fields[..]);
                openflow::text::show_match(&matching, &mut text);
                format!("priority={priority},{text},actions=output:2\n")
            })
            .collect();
        std::fs::write(&path, lines.concat()).map_err(|error| error.to_string())?;
        peer.call("ovs-ofctl", &["-OOpenFlow13", "del-flows", "br0"])?;
        let path = path.display().to_string();
        peer.call("ovs-ofctl", &["-OOpenFlow13", "add-flows", "br0", &path])?;
        let process = peer.process()?;
        let row = self.measure((&self.c, "c"), count, &|| processor(process));
        Ok(Row {
            name: format!("Open vSwitch, netdev, {count} entries"),
            ..row
        })
    }
}

/// The entry of a flow; of one alone, for all that comes in by port 1.
fn rule(count: u32, number: u32) -> (Vec<openflow::oxm::Oxm>, u16) {
    match count {
        1 => {
            let oxm = openflow::oxm::Oxm::new(openflow::oxm::Field::InPort, 1);
            (vec![oxm], 100)
        }
        _ => entry(Shape::Exact, number),
    }
}

/// Open vSwitch with a database of its own.
struct OpenVSwitch<'a> {
    namespace: &'a Namespace,
    place: PathBuf,
    child: Child,
}

impl OpenVSwitch<'_> {
    fn start<'a>(namespace: &'a Namespace, place: &Path) -> Result<OpenVSwitch<'a>, String> {
        std::fs::create_dir_all(place).map_err(|error| error.to_string())?;
        let script = r#"PATH=$PATH:/usr/sbin:/sbin
command -v ovs-vswitchd >/dev/null || { echo "no ovs-vswitchd is installed" >&2; exit 1; }
cd "$OVS_RUNDIR" || exit 1
ovsdb-tool create conf.db /usr/share/openvswitch/vswitch.ovsschema || exit 1
ovsdb-server conf.db --remote="punix:$OVS_RUNDIR/db.sock" --unixctl="$OVS_RUNDIR/db.ctl" -vconsole:off -vsyslog:off -vfile:off &
for n in 1 2 3 4 5 6 7 8 9 10; do [ -S db.sock ] && break; sleep 0.1; done
echo $$ > switch.pid
exec ovs-vswitchd "unix:$OVS_RUNDIR/db.sock" --disable-system --unixctl="$OVS_RUNDIR/switch.ctl" -vconsole:off -vsyslog:off -vfile:off"#;
        let mut command = namespace.command("sh");
        command
            .args(["-c", script])
            .env("OVS_RUNDIR", place)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        let child = command.spawn().map_err(|error| error.to_string())?;
        let peer = OpenVSwitch {
            namespace,
            place: place.into(),
            child,
        };
        let bridge = "--timeout=15 add-br br0 -- set bridge br0 datapath_type=netdev fail_mode=secure \
            protocols=OpenFlow13 -- add-port br0 b -- set interface b ofport_request=1 -- add-port br0 out -- \
            set interface out ofport_request=2";
        let arguments: Vec<&str> = bridge.split_whitespace().collect();
        let database = format!("--db=unix:{}/db.sock", place.display());
        pause(Duration::from_millis(300));
        peer.call("ovs-vsctl", &[&[&database[..]], &arguments[..]].concat())?;
        Ok(peer)
    }

    fn call(&self, program: &str, arguments: &[&str]) -> Result<(), String> {
        let mut command: Command = self.namespace.command(program);
        let output = command
            .args(arguments)
            .env("OVS_RUNDIR", &self.place)
            .output()
            .map_err(|_| format!("{program} is not installed"))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!(
                "{program}: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            )),
        }
    }

    fn process(&self) -> Result<u32, String> {
        let text = std::fs::read_to_string(self.place.join("switch.pid"));
        let text = text.map_err(|error| error.to_string())?;
        text.trim()
            .parse()
            .map_err(|_| "no process number".to_string())
    }
}

impl Drop for OpenVSwitch<'_> {
    fn drop(&mut self) {
        let group = -(self.child.id() as i32);
        // SAFETY: a signal to a group that this program made and whose leader it has not lost sight of.
        unsafe { libc::kill(group, libc::SIGTERM) };
        pause(Duration::from_millis(300));
        // SAFETY: as above; the leader is not waited for yet.
        unsafe { libc::kill(group, libc::SIGKILL) };
        let _ = self.child.wait();
    }
}
