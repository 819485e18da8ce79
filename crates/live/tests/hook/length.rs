//! Packets that grow, chains of segments, fragments.

use super::*;

/// Makes a datagram's payload longer, with all lengths and without a checksum of IPv4; that of IPv6 is made anew.
fn grow(frame: &mut Frame, more: usize) {
    let v4 = frame[12] == 8;
    let start = if v4 { 34 } else { 54 };
    let len = frame.len() + more;
    frame.resize(len);
    let udp = (len - start) as u16;
    frame[start + 4..start + 6].copy_from_slice(&udp.to_be_bytes());
    frame[start + 6..start + 8].fill(0);
    if v4 {
        frame[16..18].copy_from_slice(&((len - 14) as u16).to_be_bytes());
        frame[24..26].fill(0);
        let sum = packet::checksum::checksum(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
    } else {
        frame[18..20].copy_from_slice(&udp.to_be_bytes());
        let source = frame[22..38].try_into().unwrap();
        let destination = frame[38..54].try_into().unwrap();
        let pseudo = packet::checksum::Pseudo::ipv6(source, destination, 17);
        let sum = pseudo.sum(udp.into()).plus(&frame[start..]).udp_checksum();
        frame[start + 6..start + 8].copy_from_slice(&sum.to_be_bytes());
    }
}

/// What the kernel of `a` believes to be the MTU to where a socket is connected.
fn path_mtu(socket: &UdpSocket, v6: bool) -> i32 {
    let (level, option) = match v6 {
        false => (libc::IPPROTO_IP, libc::IP_MTU),
        true => (libc::IPPROTO_IPV6, libc::IPV6_MTU),
    };
    let mut mtu: libc::c_int = 0;
    let mut len = 4;
    // SAFETY: a valid integer and its length.
    unsafe {
        let at = (&raw mut mtu).cast();
        libc::getsockopt(socket.as_raw_fd(), level, option, at, &mut len)
    };
    mtu
}

fn set(socket: &UdpSocket, level: i32, option: i32, value: libc::c_int) {
    // SAFETY: a valid integer and its length.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            4,
        )
    };
    assert_eq!(result, 0);
}

#[test]
fn what_grew_beyond_the_mtu_is_fragmented_where_it_may_be_and_else_its_sender_is_told_what_fits() {
    let injects = each(|_, port, mut frame, out| {
        grow(&mut frame, 40);
        let copy = out.copy(&frame);
        out.send(other(port), copy);
        out.done(frame);
    });
    let changes = each(|_, port, mut frame, out| {
        grow(&mut frame, 40);
        out.send(other(port), frame);
    });
    for (nodes, what, told) in [(changes, "changed", 1460), (injects, "injected", 1500)] {
        // Anew, since hosts remember what they were told.
        let Some(bed) = Bed::new() else { return };
        let relay = bed.relay(&matching("udp port 7006"), nodes);
        // IPv4 without DF: the datagram comes whole, in two pieces.
        let (sink, source) = (bed.sink(0, 7006), bed.source(0, 7006));
        let level = libc::IPPROTO_IP;
        let (option, without) = (libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DONT);
        set(&source, level, option, without);
        source.send(&[7; 1472]).unwrap();
        assert_eq!(next(&sink).map(|bytes| bytes.len()), Some(1512), "{what}");
        // With DF nothing comes; the sender learns what would pass.
        set(&source, level, option, libc::IP_PMTUDISC_DO);
        source.send(&[7; 1472]).unwrap();
        assert!(come(&sink, 0).is_empty(), "{what}");
        assert_eq!(path_mtu(&source, false), told, "{what}");
        if told < 1500 {
            let _ = source.send(b"an error waits here");
            source.send(&vec![7; told as usize - 28]).unwrap();
            let came = come(&sink, 1);
            assert!(came.last().is_some_and(|bytes| bytes.len() == 1472));
        }
        // IPv6 is never fragmented on its way.
        let (sink, source) = (bed.sink(1, 7006), bed.source(1, 7006));
        source.send(&[7; 1452]).unwrap();
        assert!(come(&sink, 0).is_empty(), "{what}");
        assert_eq!(path_mtu(&source, true), told, "{what}");
        let counts = end(relay);
        assert_eq!(counts.too_big, 2, "{what}: {counts:?}");
        assert_eq!(counts.refused, 0, "{what}: {counts:?}");
    }
}

/// Sends bytes over TCP from `a` to `b`; whether all came as they were sent.
fn transfer(bed: &Bed, family: usize, len: usize) -> bool {
    let at = SocketAddr::from((ip(B[family]), 7100));
    let listener = bed.b.enter(|| TcpListener::bind(at)).unwrap().unwrap();
    let mut sender = bed.a.enter(|| TcpStream::connect(at)).unwrap().unwrap();
    let (mut receiver, _) = listener.accept().unwrap();
    let bytes: Vec<u8> = (0..len).map(|byte| (byte * 7 + byte / 251) as u8).collect();
    let sent = bytes.clone();
    let thread = std::thread::spawn(move || {
        sender.write_all(&sent).unwrap();
    });
    let mut came = Vec::new();
    let wait = Some(Duration::from_secs(20));
    receiver.set_read_timeout(wait).unwrap();
    receiver.read_to_end(&mut came).unwrap();
    thread.join().unwrap();
    came == bytes
}

#[test]
fn chains_of_segments_pass_whole_unless_the_node_changes_frames() {
    let Some(bed) = Bed::new() else { return };
    for family in FAMILIES {
        for changes in [false, true] {
            let longest = Arc::new(AtomicUsize::new(0));
            let seen = longest.clone();
            let node = Each {
                ports: 2,
                changes,
                act: move |_, port, mut frame: Frame, out: &mut Out| {
                    seen.fetch_max(frame.len(), Ordering::Relaxed);
                    if changes {
                        // Written into, though with what was there: the whole packet goes back.
                        frame[0] |= 0;
                    }
                    out.send(other(port), frame);
                },
            };
            let relay = bed.relay(&matching("tcp port 7100"), vec![Box::new(node)]);
            assert!(transfer(&bed, family, 8 << 20), "{}", B[family]);
            let counts = end(relay);
            let longest = longest.load(Ordering::Relaxed);
            match changes {
                false => assert!(longest > 20_000, "{longest}"),
                true => assert_eq!(longest, 1514),
            }
            assert_eq!(
                (counts.changed > 0, counts.accepted > 0),
                (changes, !changes)
            );
            assert_eq!(counts.dropped, 0);
        }
    }
}

#[test]
fn fragments_pass_one_by_one() {
    let Some(bed) = Bed::new() else { return };
    let relay = bed.relay(&config(), through());
    for family in FAMILIES {
        let (sink, source) = (bed.sink(family, 7008), bed.source(family, 7008));
        source.send(&[5; 4000]).unwrap();
        assert_eq!(next(&sink).map(|bytes| bytes.len()), Some(4000));
    }
    assert!(end(relay).accepted >= 6);
}
