//! Packets in fragments: cut, mixed up, doubled, overlapping, lost.

use crate::hand::{Hand, mac};
use ip::fragments::{self, Fragment, MAX_BYTES, Reassembly};
use node::random::Random;
use node::{Frame, Node, Out, Time};
use nodes::host::{Config, Host};
use packet::ethernet::{Ethernet, Mac, ethertype};
use packet::icmp::{Icmp, IcmpView};
use packet::ip::IpView;
use packet::ipv4::{Ipv4, Ipv4View, protocol};
use packet::ipv6::Ipv6;

/// A packet with that payload.
fn packet(v4: bool, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    let ethernet = Ethernet {
        destination: Mac(mac(2)),
        source: Mac(mac(1)),
        tags: &[],
        ethertype: if v4 { ethertype::IPV4 } else { ethertype::IPV6 },
    };
    let fill = |out: &mut Vec<u8>| out.extend(payload);
    ethernet.build(&mut frame, |out| match v4 {
        true => {
            Ipv4::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), protocol::UDP).build(out, fill)
        }
        false => {
            let [a, b] = ["fd00::1", "fd00::2"].map(|text| text.parse().unwrap());
            Ipv6::new(a, b, protocol::UDP).build(out, fill);
        }
    });
    frame
}

fn cut(frame: &[u8], mtu: usize, identification: u32) -> Vec<Vec<u8>> {
    let (mut out, mut all) = (Out::default(), Vec::new());
    fragments::cut(
        Frame::new(frame),
        mtu,
        identification,
        &mut out,
        |frame, _| {
            all.push(frame.to_vec());
        },
    );
    all
}

/// Result of a frame.
fn take(reassembly: &mut Reassembly, now: Time, frame: &[u8], out: &mut Out) -> Option<Vec<u8>> {
    let mut whole = Frame::new(frame);
    whole.set_arrived(now);
    let fragment = Fragment::read(frame)?;
    let whole = reassembly.take(now, fragment, whole, out)?;
    assert_eq!(whole.arrived(), now);
    Some(whole.to_vec())
}

fn payload(frame: &[u8]) -> &[u8] {
    let kind = u16::from_be_bytes([frame[12], frame[13]]);
    IpView::new(kind, &frame[14..]).unwrap().payload()
}

fn shuffle<T>(all: &mut [T], random: &mut Random) {
    for index in (1..all.len()).rev() {
        all.swap(index, random.below(index as u64 + 1) as usize);
    }
}

#[test]
fn what_is_cut_at_any_mtu_is_put_together_from_any_order() {
    let mut random = Random::new(1);
    let mut reassembly = Reassembly::default();
    let mut out = Out::default();
    for round in 0..2_000 {
        let v4 = random.chance(0.5);
        let most = [2_000, 65_000][usize::from(random.chance(0.1))];
        let bytes: Vec<u8> = (0..1 + random.below(most))
            .map(|_| random.bits() as u8)
            .collect();
        let mtu = if v4 { 68 } else { 1_280 } + random.below(3_000) as usize;
        let whole = packet(v4, &bytes);
        let mut pieces = cut(&whole, mtu, round);
        assert!(pieces.iter().all(|piece| piece.len() <= 14 + mtu));
        if whole.len() <= 14 + mtu {
            assert_eq!(pieces, [whole]);
            continue;
        }
        if v4 {
            let headers = pieces
                .iter()
                .map(|piece| Ipv4View::new(&piece[14..]).unwrap());
            assert!(
                headers
                    .clone()
                    .all(|ip| ip.is_checksum_valid() && !ip.dont_fragment())
            );
        }
        // One may come twice.
        let doubles = random.below(2);
        for _ in 0..doubles {
            let again = pieces[random.below(pieces.len() as u64) as usize].clone();
            pieces.push(again);
        }
        shuffle(&mut pieces, &mut random);
        let now = Time::from_us(round.into());
        let made: Vec<_> = pieces
            .iter()
            .filter_map(|piece| take(&mut reassembly, now, piece, &mut out))
            .collect();
        assert_eq!(made.len(), 1, "round {round}");
        let made = &made[0];
        assert_eq!((payload(made), made.len()), (&bytes[..], whole.len()));
        assert_eq!(Fragment::read(made), None);
        // The rest of the duplicates is given up in time.
        reassembly.wake(now + Time::from_secs(60), &mut out, |_, _| {});
        assert_eq!(reassembly.next_wake(), None);
    }
}

/// The bytes that a receiver has, each with the run that it came in: what Linux does (`inet_frag_queue_insert`), on a map of bytes.
struct Model {
    runs: Vec<Option<usize>>,
    count: usize,
    end: Option<usize>,
    spoiled: bool,
}

impl Model {
    /// Whether the packet is whole with this fragment.
    fn take(&mut self, start: usize, length: usize, more: bool) -> bool {
        let end = start + length;
        let top = self
            .runs
            .iter()
            .rposition(Option::is_some)
            .map_or(0, |last| last + 1);
        // An end before what is there, another end, or more behind the end.
        let known = self.end;
        self.spoiled |= match more {
            true => known.is_some_and(|known| end > known),
            false => end < top || known.is_some_and(|known| end != known),
        };
        if self.spoiled {
            return false;
        }
        if !more {
            self.end = Some(end);
        }
        let here = &self.runs[start..end];
        match here.iter().flatten().count() {
            0 => {}
            _ if here.iter().all(|run| run.is_some() && *run == here[0]) => return false,
            _ => {
                self.spoiled = true;
                return false;
            }
        }
        self.count += 1;
        let run = match top == start && start > 0 {
            true => self.runs[start - 1],
            false => Some(self.count),
        };
        self.runs[start..end].fill(run);
        self.end
            .is_some_and(|end| self.runs[..end].iter().all(Option::is_some))
    }
}

#[test]
fn overlapping_and_lost_fragments_do_what_the_model_says() {
    let mut random = Random::new(2);
    let (mut wholes, mut spoils) = (0, 0);
    for round in 0..4_000u32 {
        let v4 = random.chance(0.5);
        let units = 2 + random.below(10) as usize;
        let bytes: Vec<u8> = (0..8 * units - 3).map(|_| random.bits() as u8).collect();
        let whole = packet(v4, &bytes);
        // Each fragment by itself, from any unit to any other; mostly those that fit.
        let mut ranges = Vec::new();
        let mut from = 0;
        while from < units {
            let to = (from + 1 + random.below(3) as usize).min(units);
            ranges.push(from..to);
            from = to;
        }
        if random.chance(0.3) {
            ranges.remove(random.below(ranges.len() as u64) as usize);
        }
        for _ in 0..random.below(3) {
            let from = random.below(units as u64) as usize;
            ranges.push(from..from + 1 + random.below((units - from) as u64) as usize);
        }
        // A whole packet is no fragment.
        ranges.retain(|range| *range != (0..units));
        shuffle(&mut ranges, &mut random);
        let mut reassembly = Reassembly::default();
        let mut model = Model {
            runs: vec![None; 8 * units],
            count: 0,
            end: None,
            spoiled: false,
        };
        let mut out = Out::default();
        for range in ranges {
            let (start, end) = (8 * range.start, (8 * range.end).min(bytes.len()));
            let more = range.end < units;
            let header = if v4 { 20 } else { 40 };
            let mut piece = whole[..14 + header].to_vec();
            piece.extend(&bytes[start..end]);
            let piece = piece_of(v4, piece, round, start, more);
            let made = take(&mut reassembly, Time::ZERO, &piece, &mut out);
            let whole = model.take(start, end - start, more);
            assert_eq!(made.is_some(), whole, "round {round}");
            if let Some(made) = made {
                assert_eq!(payload(&made), bytes, "round {round}");
                wholes += 1;
                break;
            }
            if model.spoiled {
                assert_eq!(reassembly.next_wake(), None, "nothing is kept");
                spoils += 1;
                break;
            }
        }
    }
    assert!(wholes > 1_000 && spoils > 300, "{wholes} {spoils}");
}

/// A frame with a whole packet's header and some of its payload as a fragment.
fn piece_of(v4: bool, mut frame: Vec<u8>, id: u32, start: usize, more: bool) -> Vec<u8> {
    let header = if v4 { 34 } else { 54 };
    let length = frame.len() - header;
    let place = start as u16 / 8;
    if v4 {
        frame[16..18].copy_from_slice(&(20 + length as u16).to_be_bytes());
        frame[18..20].copy_from_slice(&(id as u16).to_be_bytes());
        frame[20..22].copy_from_slice(&(place | u16::from(more) << 13).to_be_bytes());
        frame[24..26].fill(0);
        let sum = packet::checksum::checksum(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        return frame;
    }
    frame[18..20].copy_from_slice(&(8 + length as u16).to_be_bytes());
    let next = std::mem::replace(&mut frame[20], protocol::FRAGMENT);
    let place = (place << 3 | u16::from(more)).to_be_bytes();
    let mut between = vec![next, 0, place[0], place[1]];
    between.extend(id.to_be_bytes());
    frame.splice(header..header, between);
    frame
}

#[test]
fn fragments_that_wait_are_bounded_in_bytes_and_in_time() {
    let mut reassembly = Reassembly::default();
    let mut out = Out::default();
    let pieces = |id| cut(&packet(true, &[7; 3_000]), 1_500, id);
    for id in 0..4_000 {
        let first = &pieces(id)[0];
        assert_eq!(take(&mut reassembly, Time::ZERO, first, &mut out), None);
    }
    let dropped = out.drops()[0];
    assert_eq!(dropped.0, "too many fragments wait");
    let kept = 4_000 - dropped.1 as usize;
    assert!(kept * 1_514 <= MAX_BYTES && kept > 2_000, "{kept}");
    // A packet whose fragments are all there in time is no victim of those that wait.
    assert_eq!(reassembly.next_wake(), Some(Time::from_secs(30)));
    let mut late = 0;
    reassembly.wake(Time::from_secs(30), &mut out, |_, _| late += 1);
    assert_eq!((late, reassembly.next_wake()), (kept, None));
    let missing = out.drops().iter().find(|drop| drop.0.contains("missing"));
    assert_eq!(missing.unwrap().1 as usize, kept);
    let [first, rest @ ..] = &pieces(1)[..] else {
        unreachable!()
    };
    assert_eq!(
        take(&mut reassembly, Time::from_secs(31), first, &mut out),
        None
    );
    assert!(take(&mut reassembly, Time::from_secs(31), &rest[0], &mut out).is_none());
    assert!(take(&mut reassembly, Time::from_secs(31), &rest[1], &mut out).is_some());
}

fn host() -> Hand<Host> {
    Hand::new(Host::new(Config {
        mac: Mac(mac(2)),
        ipv4: Some([10, 0, 0, 2].into()),
        mtu: 1_000,
        ..Config::default()
    }))
}

/// An echo request of that many bytes.
fn ping(size: usize) -> Vec<u8> {
    let mut message = Vec::new();
    let request = Icmp::EchoRequest {
        identification: 3,
        sequence: 4,
    };
    request.build(&mut message, |out| {
        out.extend((0..size).map(|byte| byte as u8))
    });
    let mut frame = packet(true, &message);
    frame[23] = protocol::ICMP;
    frame[24..26].fill(0);
    let sum = packet::checksum::checksum(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame
}

#[test]
fn a_host_answers_a_long_ping_in_fragments_of_its_own() {
    let (mut host, request) = (host(), ping(4_000));
    let mut answers = Vec::new();
    for piece in cut(&request, 1_500, 9) {
        assert!(answers.is_empty());
        answers = host.frame(0, &piece);
    }
    assert_eq!((host.counter("pings"), host.counter("reassembled")), (1, 1));
    assert_eq!(answers.len(), 5, "4,008 bytes in pieces of 976");
    let mut reassembly = Reassembly::default();
    let mut out = Out::default();
    let pieces = answers.iter().map(|(_, _, frame)| frame);
    let made: Vec<_> = pieces
        .filter_map(|frame| take(&mut reassembly, Time::ZERO, frame, &mut out))
        .collect();
    let icmp = IcmpView::new(payload(&made[0])).unwrap();
    assert!(icmp.is_checksum_valid() && icmp.kind() == 0);
    assert_eq!(icmp.payload(), &payload(&request)[8..]);
}

#[test]
fn who_sent_half_a_packet_hears_of_it_after_thirty_seconds() {
    let mut host = host();
    let pieces = cut(&ping(4_000), 1_500, 9);
    // Those behind the first alone are no reason for an error (RFC 1122 section 3.3.2).
    for (sent, errors) in [(&pieces[1..2], 0), (&pieces[..2], 1)] {
        sent.iter().for_each(|piece| drop(host.frame(0, piece)));
        host.wait(Time::from_secs(30));
        assert_eq!(host.node.next_wake(), Some(host.now));
        let mut out = Out::default();
        host.node.wake(host.now, &mut out);
        let sent: Vec<_> = out.sends().map(|one| one.frame).collect();
        assert_eq!(sent.len(), errors);
        if let Some(error) = sent.first() {
            let icmp = IcmpView::new(payload(error)).unwrap();
            assert!(icmp.is_checksum_valid());
            assert_eq!((icmp.kind(), icmp.code()), (11, 1));
            assert_eq!(icmp.payload(), &pieces[0][14..][..548]);
            assert_eq!((&error[..6], &error[6..12]), (&mac(1)[..], &mac(2)[..]));
        }
    }
}
