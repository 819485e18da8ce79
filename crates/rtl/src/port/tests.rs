use super::*;
use live::port::pace::{PaceReport, Pacer};
use live::port::{Options, Port};
use packet::word::Timer;
use std::sync::Mutex;

const FRAME: [u8; 60] = [0x02; 60];

/// Both ends of a cable, unless there is no Verilog.
fn cable(name: &str) -> Option<[Port; 2]> {
    let end = |end: u8| {
        let spec = format!("rtl:cable:{name}.{end}").parse().unwrap();
        port::open(&spec, &Options::default())
    };
    live::port::hardware::provide(open);
    match (end(0), end(1)) {
        (Ok(a), Ok(b)) => Some([a, b]),
        (Err(error), _) | (_, Err(error)) => {
            let told = error.to_string();
            assert!(told.contains("without Verilator"), "{told}");
            println!("skipped: {told}");
            None
        }
    }
}

/// When so many frames arrived, in ticks.
fn arrivals(port: &mut Port, count: usize) -> Vec<u64> {
    let mut ticks = Vec::new();
    while ticks.len() < count {
        let mut take = |received: Received<'_>| ticks.push(received.at_ns / 8);
        port.rx.receive(Duration::from_secs(1), &mut take).unwrap();
    }
    ticks
}

fn finished(pacer: Pacer) -> PaceReport {
    let report = pacer.finish();
    assert!(report.error.is_none(), "{:?}", report.error);
    report
}

#[test]
fn what_is_sent_at_a_tick_arrives_at_that_tick() {
    let Some([a, mut b]) = cable("at") else {
        return;
    };
    let pacer = Pacer::start(a.tx, a.info.tick).unwrap();
    let first = clock::now_ns() / 8 + 100_000_000;
    let wanted: Vec<u64> = (0..50).map(|n| first + 12_345 * n).collect();
    for &tick in &wanted {
        pacer.submit(Departure::At(tick), &FRAME).unwrap();
    }
    assert_eq!(arrivals(&mut b, 50), wanted);
    let report = finished(pacer);
    assert_eq!((report.sent, report.timing.frames), (50, 50));
    assert_eq!(report.timing.raw.max, node::Time::ZERO);
}

#[test]
fn a_mark_sets_its_timer_to_the_departure_and_others_leave_relative_to_it() {
    let Some([a, mut b]) = cable("mark") else {
        return;
    };
    let pacer = Pacer::start(a.tx, a.info.tick).unwrap();
    let timer = Timer::new(3).unwrap();
    pacer.submit(Departure::Mark(timer), &FRAME).unwrap();
    // It is known without anything sent behind it.
    while pacer.watch().marks() == 0 {
        std::thread::park_timeout(Duration::from_millis(1));
    }
    for ticks in [50_000_000, 50_000_100, 90_000_000] {
        pacer
            .submit(Departure::After(timer, ticks), &FRAME)
            .unwrap();
    }
    let came = arrivals(&mut b, 4);
    assert_eq!(pacer.timers()[3], came[0]);
    let behind: Vec<u64> = came[1..].iter().map(|tick| tick - came[0]).collect();
    assert_eq!(behind, [50_000_000, 50_000_100, 90_000_000]);
    assert_eq!(finished(pacer).sent, 4);
}

#[test]
fn frames_at_once_leave_at_line_rate_both_ways_and_none_is_lost() {
    let Some([mut a, mut b]) = cable("rate") else {
        return;
    };
    let frames = [&FRAME[..]; 3_000];
    assert_eq!(a.tx.send(&frames).unwrap(), 3_000);
    assert_eq!(b.tx.send(&frames).unwrap(), 3_000);
    for port in [&mut b, &mut a] {
        let came = arrivals(port, 3_000);
        // The port has its first records before the last one is handed over: 84 cycles are a frame of 64 bytes on the wire.
        let gaps = came.windows(2).map(|pair| pair[1] - pair[0]);
        let exact = gaps.filter(|&gap| gap == 84).count();
        assert!(exact > 2_900, "{exact} of 2,999 gaps are the least");
        assert_eq!(port.rx.counters().dropped, 0);
    }
    a.tx.finish().unwrap();
}

#[test]
fn an_end_of_a_cable_is_one_port_s_until_that_goes() {
    let Some([a, b]) = cable("ends") else { return };
    let spec = "rtl:cable:ends.0".parse().unwrap();
    let again = || port::open(&spec, &Options::default());
    let told = again().err().unwrap().to_string();
    assert!(told.contains("in use"), "{told}");
    drop((a, b));
    while again().is_err() {
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

#[test]
fn what_a_port_in_verilog_cannot_do_is_refused() {
    let Some([mut a, _b]) = cable("refused") else {
        return;
    };
    let long = vec![0; 16_001];
    let told = a.tx.send(&[&long]).unwrap_err().to_string();
    assert!(told.contains("16001 bytes does not fit"), "{told}");
    let told = a.tx.send(&[&[0; 13]]).unwrap_err().to_string();
    assert!(told.contains("13 bytes"), "{told}");
    let options = Options {
        tick: Tick::from_ps(6_400).unwrap(),
        ..Options::default()
    };
    let spec = "rtl:cable:refused-tick.0".parse().unwrap();
    let told = port::open(&spec, &options).err().unwrap().to_string();
    assert!(told.contains("8 ns"), "{told}");
    let spec = "rtl10g:cable:refused-tick.0".parse().unwrap();
    let told = port::open(&spec, &Options::default()).err().unwrap();
    assert!(told.to_string().contains("say --tick 6.4ns"), "{told}");
    let spec = "rtl:cable:speeds.0".parse().unwrap();
    let _slow = port::open(&spec, &Options::default()).unwrap();
    let spec = "rtl10g:cable:speeds.1".parse().unwrap();
    let told = port::open(&spec, &options).err().unwrap().to_string();
    assert!(told.contains("another speed"), "{told}");
}

/// Both ends of a cable of 10 Gb/s, unless there is no Verilog.
fn fast_cable(name: &str) -> Option<[Port; 2]> {
    cable(&format!("{name}-provides"))?;
    let options = Options {
        tick: SIX_POINT_FOUR_NS,
        ..Options::default()
    };
    let end = |end: u8| {
        let spec = format!("rtl10g:cable:{name}.{end}").parse().unwrap();
        port::open(&spec, &options).unwrap()
    };
    Some([end(0), end(1)])
}

/// The tick of 6.4 ns with which a port of 10 Gb/s has stamped what came at this time.
fn fast_ticks(ns: Vec<u64>) -> Vec<u64> {
    ns.iter().map(|ns| ns * 10 / 64).collect()
}

fn arrived_ns(port: &mut Port, count: usize) -> Vec<u64> {
    let mut all = Vec::new();
    while all.len() < count {
        let mut take = |received: Received<'_>| all.push(received.at_ns);
        port.rx.receive(Duration::from_secs(1), &mut take).unwrap();
    }
    all
}

#[test]
fn at_10_gigabits_what_is_sent_at_a_tick_arrives_at_that_tick() {
    let Some([a, mut b]) = fast_cable("fast") else {
        return;
    };
    assert_eq!(a.info.tick.as_ps(), 6_400);
    let pacer = Pacer::start(a.tx, a.info.tick).unwrap();
    let first = clock::now_ns() * 10 / 64 + 100_000_000;
    let wanted: Vec<u64> = (0..50).map(|n| first + 12_345 * n).collect();
    for &tick in &wanted {
        pacer.submit(Departure::At(tick), &FRAME).unwrap();
    }
    assert_eq!(fast_ticks(arrived_ns(&mut b, 50)), wanted);
    let report = finished(pacer);
    assert_eq!((report.sent, report.timing.frames), (50, 50));
    assert_eq!(report.timing.raw.max, node::Time::ZERO);
}

#[test]
fn at_10_gigabits_frames_at_once_leave_at_line_rate_both_ways_and_none_is_lost() {
    let Some([mut a, mut b]) = fast_cable("fast-rate") else {
        return;
    };
    let frames = [&FRAME[..]; 3_000];
    assert_eq!(a.tx.send(&frames).unwrap(), 3_000);
    assert_eq!(b.tx.send(&frames).unwrap(), 3_000);
    for port in [&mut b, &mut a] {
        let came = fast_ticks(arrived_ns(port, 3_000));
        // 10.5 ticks are a frame of 64 bytes on the wire: 21 for two.
        let gaps = came.windows(3).map(|three| three[2] - three[0]);
        let exact = gaps.filter(|&gap| gap == 21).count();
        assert!(exact > 2_900, "{exact} of 2,998 gaps are the least");
        assert_eq!(port.rx.counters().dropped, 0);
    }
    a.tx.finish().unwrap();
}

/// A port of the machine that takes its time, and keeps what it has taken until it is told that nothing more will come.
struct Slow {
    kept: usize,
    sent: Arc<Mutex<usize>>,
}

impl Transmit for Slow {
    fn send(&mut self, frames: &[&[u8]]) -> Result<usize, PortError> {
        std::thread::park_timeout(Duration::from_millis(20));
        self.kept += frames.len();
        Ok(frames.len())
    }

    fn finish(&mut self) -> Result<(), PortError> {
        *thread::lock(&self.sent) += self.kept;
        Ok(())
    }

    fn counters(&self) -> TxCounters {
        TxCounters::default()
    }
}

#[test]
fn who_waits_for_the_end_has_the_last_frame_on_its_cable() {
    let Ok(hardware) = Hardware::new(Speed::Gigabit) else {
        println!("skipped: this was built without Verilator");
        return;
    };
    let rings = Arc::new(Rings::new("slow".into(), 1 << 20).unwrap());
    let sent = Arc::new(Mutex::new(0));
    let slow = Slow {
        kept: 0,
        sent: sent.clone(),
    };
    let cable = Cable::Outside(Box::new(slow));
    card()
        .add(Nic::new(hardware, cable, rings.clone()))
        .unwrap();
    let mut tx = Sender {
        rings,
        tick: Tick::EIGHT_NS,
        counters: TxCounters::default(),
    };
    tx.send(&[&FRAME[..]; 3]).unwrap();
    tx.finish().unwrap();
    assert_eq!(*thread::lock(&sent), 3);
}

#[test]
fn the_end_of_a_cable_is_told_behind_the_last_frame_that_came_by_it() {
    let rings = Rings::new("ends".into(), 1 << 20).unwrap();
    let (mut down, mut coming, mut up) = Default::default();
    assert!(rings.come(7, &FRAME));
    rings.end(PortError::TooShort { len: 0 });
    // The card has the frame, and the hardware is at it.
    assert!(rings.take(&mut down, &mut coming));
    assert_eq!(coming.len(), 1);
    rings.receive(&mut up, Duration::from_millis(1)).unwrap();
    assert!(up.is_empty());
    rings.up(7, &FRAME);
    rings.settle();
    assert!(!rings.take(&mut down, &mut Default::default()));
    rings.receive(&mut up, Duration::from_millis(1)).unwrap();
    assert_eq!(up.len(), 1);
    up.clear();
    assert!(rings.receive(&mut up, Duration::from_millis(1)).is_err());
}
