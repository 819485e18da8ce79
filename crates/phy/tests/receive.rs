//! The receive side: what the line does to it, and what it tells.

use crate::reference;
use crate::reference::Random;
use phy::block::Class;
use phy::lock::{Lock, Monitor};
use phy::xgmii::{Code, Set};
use phy::{
    Block, Blocks, Encoder, Event, Fault, Item, Line, Receiver, Sink, Stamp, Start, Verdict,
};
use proptest::prelude::*;

/// Stamp, idles before it, bytes.
type Sending = (Stamp, u64, Vec<u8>);

fn bits_of(blocks: &Blocks) -> Vec<bool> {
    let (mut line, mut words) = (Line::default(), Vec::new());
    line.push(blocks, &mut words);
    words.push(line.rest().0);
    let mut bits = reference::bits(&words);
    bits.truncate(line.bits() as usize);
    bits
}

/// A stream of good frames with idles before them, and what was sent.
fn stream(random: &mut Random, frames: usize, longest: u64) -> (Vec<bool>, Vec<Sending>) {
    let (mut encoder, mut blocks) = (Encoder::new(), Blocks::new());
    encoder.idle_until(Stamp::of_block(400), &mut blocks);
    let mut sent = vec![];
    for _ in 0..frames {
        let length = 60 + random.below(longest - 59) as usize;
        let bytes = random.bytes(length);
        let start = Start::After(random.below(60));
        let told = encoder.frame(&bytes, start, &mut blocks).unwrap();
        sent.push((told.stamp, told.idles, bytes));
    }
    encoder.idle_until(encoder.stamp() + 1000, &mut blocks);
    (bits_of(&blocks), sent)
}

/// Pushes bits as words, in pieces of some size.
fn push(receiver: &mut Receiver, bits: &[bool], piece: usize, mut each: impl FnMut(Item<'_>)) {
    let (words, rest) = bits.split_at(bits.len() / 64 * 64);
    for words in reference::words(words).chunks(piece) {
        receiver.push(words, &mut each);
    }
    if let Some(&word) = reference::words(rest).first() {
        receiver.push_bits(word, rest.len() as u32, &mut each);
    }
}

/// All that a receiver tells, in words.
fn told(bits: &[bool], mut piece: impl FnMut() -> usize) -> Vec<String> {
    let (mut receiver, mut told) = (Receiver::new(2000), vec![]);
    let mut each = |item: Item<'_>| told.push(format!("{item:?}"));
    let mut rest = bits;
    while !rest.is_empty() {
        let (now, behind) = rest.split_at(piece().clamp(1, rest.len()));
        push(&mut receiver, now, usize::MAX, &mut each);
        rest = behind;
    }
    receiver.finish(&mut each);
    told
}

#[test]
fn blocks_are_found_from_every_alignment_and_every_frame_comes_out() {
    let mut random = Random(1);
    let (bits, sent) = stream(&mut random, 20, 260);
    for lead in 0..66 {
        let mut shifted: Vec<bool> = (0..lead).map(|_| random.below(2) == 1).collect();
        shifted.extend(&bits);
        let (mut receiver, mut seen, mut events) = (Receiver::default(), vec![], vec![]);
        push(&mut receiver, &shifted, 1 + lead, |item| match item {
            Item::Frame(frame) => {
                assert_eq!(frame.verdict, Verdict::Good);
                let stamp = Stamp(frame.stamp - Stamp(lead as u64));
                seen.push((stamp, frame.idles, frame.bytes.to_vec()));
            }
            Item::Event(_, event) => events.push(event),
        });
        assert_eq!(events, [Event::Lock], "{lead}");
        assert_eq!(seen.len(), sent.len(), "{lead}");
        for (n, (seen, sent)) in seen.iter().zip(&sent).enumerate() {
            let idles = (n > 0).then_some(sent.1);
            assert_eq!((seen.0, seen.1, &seen.2), (sent.0, idles, &sent.2));
        }
    }
}

#[test]
fn lock_needs_64_good_headers_and_16_bad_ones_of_64_lose_it() {
    let mut lock = Lock::new();
    for _ in 0..63 {
        assert!(!lock.header(true) && !lock.is_locked());
    }
    // One bad header on the way to lock: slip, and from the start.
    assert!(lock.header(false) && !lock.is_locked());
    for n in 1..=64 {
        assert!(!lock.header(true));
        assert_eq!(lock.is_locked(), n == 64);
    }
    // 15 of 64 are borne, round after round; what counts are rounds, not a window that moves.
    for _ in 0..10 {
        for n in 0..64 {
            assert!(!lock.header(n < 49));
        }
        assert!(lock.is_locked());
    }
    for n in 0..15 {
        assert!(!lock.header(false), "{n}");
    }
    assert!(lock.header(false) && !lock.is_locked());
}

#[test]
fn the_error_rate_is_high_from_the_16th_bad_header_until_125_us_have_fewer() {
    let mut monitor = Monitor::new();
    let window = |monitor: &mut Monitor, bad: u32| {
        for n in 0..Monitor::BLOCKS {
            monitor.header(n >= bad);
        }
    };
    window(&mut monitor, 15);
    assert!(!monitor.is_high());
    for n in 0..16 {
        assert!(!monitor.is_high(), "{n}");
        monitor.header(false);
    }
    assert!(monitor.is_high());
    for _ in 16..Monitor::BLOCKS {
        assert!(monitor.is_high());
        monitor.header(true);
    }
    // That window had 16.
    assert!(monitor.is_high());
    window(&mut monitor, 16);
    assert!(monitor.is_high());
    window(&mut monitor, 15);
    assert!(!monitor.is_high());
}

#[test]
fn a_high_error_rate_stops_frames_and_is_told_twice() {
    let mut random = Random(5);
    let (mut encoder, mut blocks) = (Encoder::new(), Blocks::new());
    encoder.idle_until(Stamp::of_block(400), &mut blocks);
    while blocks.len() < 3 * Monitor::BLOCKS as usize {
        let bytes = random.bytes(1514);
        encoder
            .frame(&bytes, Start::After(12), &mut blocks)
            .unwrap();
    }
    let frames = encoder.blocks();
    let mut bits = bits_of(&blocks);
    // Sixteen bad headers, ten blocks apart.
    for n in 0..16 {
        bits[66 * (1000 + 10 * n)] ^= true;
    }
    let (mut receiver, mut events, mut good, mut silent) = (Receiver::default(), vec![], 0, true);
    let mut high = None;
    push(&mut receiver, &bits, 100, |item| match item {
        Item::Event(at, Event::HighErrorRate(on)) => {
            high = on.then_some(at);
            events.push((at.0 / 66, on));
        }
        Item::Frame(frame) => {
            silent &= high.is_none_or(|at| frame.stamp < at);
            good += u64::from(frame.verdict == Verdict::Good);
        }
        _ => {}
    });
    assert!(silent);
    // Lock was found at block 63; windows count from there.
    let end = 64 + u64::from(2 * Monitor::BLOCKS) - 1;
    assert_eq!(events, [(1150, true), (end, false)]);
    assert!(good > 50 && good < frames / 192, "{good}");
    assert!(receiver.is_locked() && !receiver.is_error_rate_high());
}

#[test]
fn an_inserted_or_deleted_bit_loses_the_lock_and_finds_it_again() {
    let mut random = Random(8);
    for (delete, count) in [(true, 1), (false, 1), (true, 2), (true, 33), (false, 65)] {
        let (mut bits, sent) = stream(&mut random, 200, 400);
        let place = bits.len() / 2;
        if delete {
            bits.drain(place..place + count);
        } else {
            bits.splice(place..place, (0..count).map(|_| random.below(2) == 1));
        }
        let (mut receiver, mut events, mut seen) = (Receiver::default(), vec![], 0);
        let (mut known, mut counted) = (true, 0);
        push(&mut receiver, &bits, 64, |item| match item {
            Item::Event(_, event @ (Event::Lock | Event::Loss)) => events.push(event),
            Item::Frame(frame) if frame.verdict == Verdict::Good => {
                let sent = sent.iter().find(|sent| sent.2 == frame.bytes);
                let sent = sent.expect("a frame that was sent");
                // Behind the slip, all stamps are off by as much.
                let off = frame.stamp.0 as i64 - sent.0.0 as i64;
                let shift = if delete {
                    -(count as i64)
                } else {
                    count as i64
                };
                assert_eq!(off, if events.len() > 1 { shift } else { 0 });
                known &= frame.idles.is_none_or(|idles| idles == sent.1);
                counted += usize::from(frame.idles.is_some());
                seen += 1;
            }
            _ => {}
        });
        assert_eq!(events, [Event::Lock, Event::Loss, Event::Lock]);
        assert!(
            known && seen > 150 && counted >= seen - 2,
            "{seen} {counted}"
        );
    }
}

#[test]
fn no_error_rate_makes_it_panic_or_take_a_bad_frame_for_a_good_one() {
    for exponent in 2..=6 {
        let mut random = Random(exponent);
        let rate = 10u64.pow(exponent as u32);
        let (mut bits, sent) = stream(&mut random, 1200, 1000);
        let (clean, clean_sent) = stream(&mut random, 20, 300);
        let mut errors = 0;
        for bit in &mut bits {
            if random.below(rate) == 0 {
                *bit ^= true;
                errors += 1;
            }
        }
        // The line gets well again: it must, too. 125 us and more of idles for the monitor.
        let mut idle = Blocks::new();
        idle.idle(3 * u64::from(Monitor::BLOCKS));
        bits.extend(bits_of(&idle));
        bits.extend(clean);

        let (mut receiver, mut good, mut bad, mut tail) = (Receiver::default(), 0, 0, 0);
        let mut place = 0;
        push(&mut receiver, &bits, 200, |item| {
            let Item::Frame(frame) = item else { return };
            if frame.verdict != Verdict::Good {
                bad += 1;
            } else if let Some(next) = sent[place..].iter().position(|sent| sent.2 == frame.bytes) {
                // In their order.
                place += next + 1;
                good += 1;
            } else {
                let known = clean_sent.iter().any(|sent| sent.2 == frame.bytes);
                assert!(known, "a frame that nobody sent, at 1e-{exponent}");
                tail += 1;
            }
        });
        println!(
            "1e-{exponent}: {errors} wrong bits; frames: {good} good, {bad} bad of {}",
            sent.len()
        );
        assert_eq!(tail, clean_sent.len(), "1e-{exponent}");
        assert!(receiver.is_locked());
        assert!(exponent < 4 || good > 600 && good + bad <= sent.len());
        assert!(exponent > 5 || bad > 0 || good == 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn what_is_told_does_not_depend_on_the_pieces(
        seed: u64,
        rate in prop::sample::select(vec![50u64, 500, 3000, 1_000_000]),
        slips in prop::collection::vec(0usize..40_000, 0..3),
        headers in prop::collection::vec(0usize..600, 0..40),
    ) {
        let mut random = Random(seed);
        let (mut bits, _) = stream(&mut random, 60, 2200);
        for bit in &mut bits {
            *bit ^= random.below(rate) == 0;
        }
        for block in headers {
            bits[66 * block] ^= true;
        }
        for slip in slips {
            bits.remove(slip % bits.len());
        }
        // Bit by bit there are no runs; in large pieces there are.
        let slow = told(&bits, || 1);
        prop_assert!(slow.len() > 1);
        prop_assert_eq!(&told(&bits, || usize::MAX), &slow);
        prop_assert_eq!(&told(&bits, || 64 * (1 + random.below(80)) as usize), &slow);
        prop_assert_eq!(&told(&bits, || 1 + random.below(5000) as usize), &slow);
    }
}

#[test]
fn noise_is_never_a_frame() {
    let mut random = Random(6);
    let mut receiver = Receiver::default();
    for _ in 0..200 {
        let words: Vec<u64> = (0..1000).map(|_| random.next()).collect();
        receiver.push(&words, |item| {
            if let Item::Frame(frame) = item {
                assert_ne!(frame.verdict, Verdict::Good);
            }
        });
    }
    // Ones only, zeros only: never a header.
    for word in [0, u64::MAX] {
        receiver.push(&vec![word; 10_000], |item| {
            assert!(!matches!(item, Item::Frame(_)))
        });
        assert!(!receiver.is_locked());
    }
}

/// The items that a receiver tells of blocks behind enough idles, without the lock.
fn items(fill: impl Fn(&mut Encoder, &mut Blocks)) -> Vec<Result<(Verdict, usize), Event>> {
    let (mut encoder, mut blocks) = (Encoder::new(), Blocks::new());
    encoder.idle_until(Stamp::of_block(100), &mut blocks);
    fill(&mut encoder, &mut blocks);
    blocks.idle(200);
    let (mut receiver, mut items) = (Receiver::new(1514), vec![]);
    push(&mut receiver, &bits_of(&blocks), 50, |item| match item {
        Item::Frame(frame) => items.push(Ok((frame.verdict, frame.length as usize))),
        Item::Event(_, Event::Lock) => {}
        Item::Event(_, event) => items.push(Err(event)),
    });
    items
}

#[test]
fn frames_are_told_with_what_is_wrong_with_them() {
    let whole = |length: usize| {
        let mut bytes = vec![0x42; length - 4];
        bytes.extend(reference::fcs(&bytes));
        bytes
    };
    let raw = |bytes: Vec<u8>| {
        items(move |encoder, out| {
            encoder.raw(&bytes, Start::After(12), out).unwrap();
        })
    };
    assert_eq!(raw(whole(64)), [Ok((Verdict::Good, 64))]);
    assert_eq!(raw(whole(63)), [Ok((Verdict::Short, 63))]);
    assert_eq!(raw(whole(1518)), [Ok((Verdict::Good, 1518))]);
    for length in [1519, 1520, 1526, 1527, 9018] {
        assert_eq!(raw(whole(length)), [Ok((Verdict::Long, length))]);
    }
    for length in 1..5 {
        assert_eq!(raw(vec![7; length]), [Ok((Verdict::BadFcs, length))]);
    }
    let mut wrong = whole(200);
    wrong[100] ^= 1;
    assert_eq!(raw(wrong), [Ok((Verdict::BadFcs, 200))]);

    let aborted = items(|encoder, out| {
        encoder.aborted(&[1; 100], Start::After(12), out).unwrap();
    });
    let payload = Block::ERROR.payload;
    assert_eq!(
        aborted,
        [Err(Event::BadBlock { payload }), Ok((Verdict::Broken, 108))]
    );

    let spoilt = items(|_, out| {
        out.block(Block {
            control: true,
            payload: Block::START.payload & !(1 << 63),
        });
        out.data(&whole(64));
        out.block(Block::terminate(&[]));
    });
    assert_eq!(spoilt, [Ok((Verdict::NoSfd, 64))]);
}

#[test]
fn what_is_out_of_place_is_told_and_breaks_the_frame() {
    let of = |blocks: &[Block]| items(|_, out| blocks.iter().for_each(|&block| out.block(block)));
    let (start, data, end) = (Block::START, Block::data([9; 8]), Block::terminate(&[1]));
    let place = |class| Err(Event::OutOfPlace(class));
    // The second block is taken for a frame's, the idles behind it are an error once more.
    let control = Class::Control;
    assert_eq!(of(&[data, data]), [place(Class::Data), place(control)]);
    assert_eq!(of(&[end]), [place(Class::Terminate)]);
    assert_eq!(of(&[start]), [place(control), Ok((Verdict::Broken, 8))]);
    assert_eq!(
        of(&[start, data]),
        [place(control), Ok((Verdict::Broken, 16))]
    );
    // A second start: all up to the terminate is one broken frame.
    assert_eq!(
        of(&[start, data, start, data, end]),
        [place(Class::Start), Ok((Verdict::Broken, 25))]
    );
    // A terminate that data follows was none.
    assert_eq!(
        of(&[start, data, end, data, end]),
        [place(Class::Terminate), Ok((Verdict::Broken, 18))]
    );
    assert_eq!(
        of(&[start, data, end, end]),
        [place(Class::Terminate), Ok((Verdict::Broken, 10))]
    );
    // A start may follow at once.
    assert_eq!(
        of(&[start, data, end, start, data, end]),
        [Ok((Verdict::BadFcs, 9)), Ok((Verdict::BadFcs, 9))]
    );
    // Behind an error a start is an error, too.
    let payload = 0x42;
    assert_eq!(
        of(&[Block::control(payload), start, data, end]),
        [Err(Event::BadBlock { payload }), place(Class::Start)]
    );
}

#[test]
fn link_faults_need_four_and_last_for_128_columns() {
    let fault = |set: Set, count: usize| {
        move |encoder: &mut Encoder, out: &mut Blocks| {
            for _ in 0..count {
                encoder.set(set, out);
            }
            encoder.flush(out);
        }
    };
    let set = |set| Err(Event::Set(set));
    assert_eq!(items(fault(Set::LOCAL_FAULT, 3)), [set(Set::LOCAL_FAULT)]);
    for (sequence, status) in [
        (Set::LOCAL_FAULT, Fault::Local),
        (Set::REMOTE_FAULT, Fault::Remote),
        (Set::LINK_INTERRUPTION, Fault::Interruption),
    ] {
        let expected = [
            set(sequence),
            Err(Event::Fault(Some(status))),
            Err(Event::Fault(None)),
        ];
        assert_eq!(items(fault(sequence, 4)), expected);
        assert_eq!(items(fault(sequence, 5000)), expected);
    }
    // Apart by 128 columns at most they count; by more they do not.
    let apart = |columns: usize| {
        items(move |encoder, out| {
            for _ in 0..4 {
                encoder.set(Set::REMOTE_FAULT, out);
                for _ in 0..columns - 1 {
                    encoder.codes([Code::Idle; 4], out);
                }
            }
        })
    };
    assert_eq!(
        apart(128)
            .iter()
            .filter(|item| **item == Err(Event::Fault(Some(Fault::Remote))))
            .count(),
        1
    );
    assert_eq!(apart(129), [set(Set::REMOTE_FAULT); 4]);
    // Other ordered sets mean nothing to the link.
    let other = Set::signal([1, 2, 3]);
    assert_eq!(items(fault(other, 10)), [set(other)]);
    // One kind is not counted for the other.
    let mixed = items(|encoder, out| {
        for n in 0..20 {
            encoder.set([Set::LOCAL_FAULT, Set::REMOTE_FAULT][n % 2], out);
        }
    });
    assert!(
        mixed
            .iter()
            .all(|item| !matches!(item, Err(Event::Fault(_))))
    );
}
