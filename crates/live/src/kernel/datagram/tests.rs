//! Two sockets of this machine.

use super::*;

fn pair(address: &str) -> [Datagrams; 2] {
    let here = Datagrams::bind(address.parse().unwrap()).unwrap();
    let mut there = Datagrams::bind(address.parse().unwrap()).unwrap();
    there.connect(here.local().unwrap()).unwrap();
    [here, there]
}

fn all(socket: &mut Datagrams, count: usize) -> Vec<Vec<u8>> {
    let mut got = Vec::new();
    while got.len() < count {
        socket.wait(false, Duration::from_secs(10)).unwrap();
        socket
            .receive(&mut |it| got.push(it.bytes.to_vec()))
            .unwrap();
    }
    got
}

#[test]
fn a_long_buffer_is_many_datagrams_and_the_last_may_be_shorter() {
    let [mut here, mut there] = pair("127.0.0.1:0");
    let bytes: Vec<u8> = (0..10_050u32).map(|at| at as u8).collect();
    for _ in 0..2 {
        assert_eq!(there.send(&bytes, 1_000, None).unwrap(), bytes.len());
        let got = all(&mut here, 11);
        assert_eq!(got.len(), 11);
        assert!(got[..10].iter().all(|datagram| datagram.len() == 1_000));
        assert_eq!(got.concat(), bytes);
        // The second time without offload.
        there.offload = false;
    }
    assert_eq!(here.lost(), 0);
}

#[test]
fn what_fills_the_mtu_is_left_to_offload() {
    for (address, headers) in [("127.0.0.1:0", 28), ("[::1]:0", 48)] {
        let [_here, there] = pair(address);
        assert_eq!(there.longest + headers, there.mtu().unwrap());
    }
}

#[test]
fn who_sends_and_when_is_told_and_an_empty_datagram_is_one() {
    let [mut here, mut there] = pair("127.0.0.1:0");
    let before = ::capture::clock::now_ns();
    let sender = there.local().unwrap();
    there.socket.send(&[]).unwrap();
    there.send(&[7; 100], 100, None).unwrap();
    let mut got = Vec::new();
    while got.len() < 2 {
        here.wait(false, Duration::from_secs(10)).unwrap();
        here.receive(&mut |it| got.push((it.from, it.bytes.len(), it.at_ns)))
            .unwrap();
    }
    let lengths: Vec<usize> = got.iter().map(|(_, len, _)| *len).collect();
    assert_eq!(lengths, [0, 100]);
    for (from, _, at) in got {
        assert_eq!(from, sender);
        assert!(
            at >= before && at <= ::capture::clock::now_ns(),
            "{at} {before}"
        );
    }
}

#[test]
fn what_finds_no_room_is_counted() {
    let [mut here, mut there] = pair("127.0.0.1:0");
    here.set(libc::SOL_SOCKET, libc::SO_RCVBUF, 20_000).unwrap();
    // Nobody takes them out meanwhile.
    for _ in 0..200 {
        there.send(&[1; 1_000], 1_000, None).unwrap();
    }
    let got = all(&mut here, 1).len();
    // Its own count comes with the next that finds room.
    there.send(&[1; 1_000], 1_000, None).unwrap();
    let got = got + all(&mut here, 1).len();
    assert_eq!(here.lost() + got as u64, 201);
    assert!(here.lost() > 100);
}

#[test]
fn where_nobody_is_the_system_says_so() {
    let free = {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.local_addr().unwrap()
    };
    let mut socket = Datagrams::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    socket.connect(free).unwrap();
    assert!(socket.mtu().is_some_and(|mtu| mtu > 1_000));
    socket.send(&[1; 10], 10, None).unwrap();
    socket.wait(false, Duration::from_secs(10)).unwrap();
    let error = socket.receive(&mut |_| {}).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
}

#[test]
fn a_socket_of_both_versions_of_ip_shows_ipv4_as_such() {
    let Ok(mut here) = Datagrams::bind("[::]:0".parse().unwrap()) else {
        return println!("skipped: a socket of both versions: there is no IPv6 here");
    };
    let port = here.local().unwrap().port();
    let mut there = Datagrams::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let to = SocketAddr::new("127.0.0.1".parse().unwrap(), port);
    there.send(&[1; 50], 50, Some(to)).unwrap();
    here.wait(false, Duration::from_secs(10)).unwrap();
    let mut from = None;
    here.receive(&mut |it| from = Some(it.from)).unwrap();
    assert!(from.is_some_and(|from| from.is_ipv4()), "{from:?}");
    // And it answers there.
    let to = there.local().unwrap();
    here.send(&[2; 50], 50, Some(to)).unwrap();
    assert_eq!(all(&mut there, 1), [[2; 50]]);
}

/// Loopback has all of 127.0.0.0/8, so that a machine with several addresses is at hand.
#[test]
fn an_answer_leaves_from_the_address_that_was_asked() {
    for any in ["0.0.0.0:0", "[::]:0"] {
        let mut server = Datagrams::bind(any.parse().unwrap()).unwrap();
        server.tell_destinations().unwrap();
        let port = server.local().unwrap().port();
        let mut client = Datagrams::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        client.connect(([127, 0, 0, 9], port).into()).unwrap();
        client.send(&[1; 10], 10, None).unwrap();
        let mut asked = None;
        while asked.is_none() {
            server.wait(false, Duration::from_secs(10)).unwrap();
            server
                .receive(&mut |it| asked = Some((it.from, it.to)))
                .unwrap();
        }
        let (from, to) = asked.unwrap();
        let to = to.expect("told");
        assert_eq!(to, IpAddr::from([127, 0, 0, 9]), "{any}");
        // The client hears 127.0.0.9 alone.
        assert_eq!(server.send_from(to, from, &[2; 12]).unwrap(), 12);
        assert_eq!(all(&mut client, 1), [vec![2; 12]]);
        let nobodys = [192, 0, 2, 1].into();
        assert!(server.send_from(nobodys, from, &[2; 12]).is_err());
    }
}
