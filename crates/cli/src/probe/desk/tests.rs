use super::*;
use packet::udpstp::Integrity;

fn desk() -> Desk {
    Desk {
        at_once: 4,
        public: false,
        any_client: false,
        signer: None,
        cookies: Cookies::new().unwrap(),
        running: Running::default(),
        setups: BTreeMap::new(),
    }
}

fn key(text: &'static str) -> Signer {
    let key = hmac::Key::new(hmac::HMAC_SHA256, text.as_bytes());
    Signer::new(move |bytes| hmac::sign(&key, bytes).as_ref().try_into().unwrap())
}

fn client(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn setup(mode: u8) -> Setup {
    let integrity = Integrity {
        mode,
        ..Integrity::default()
    };
    Setup {
        version: 20,
        connections: 1,
        integrity,
        ..Setup::default()
    }
}

fn activation(integrity: Integrity) -> Activation {
    Activation {
        version: 20,
        test_time: 10,
        integrity,
        ..Activation::default()
    }
}

#[test]
fn a_forger_who_sees_no_answer_starts_nothing_and_takes_no_room() {
    let mut desk = desk();
    let victim = client("10.0.0.3:5555");
    // As many setups as it likes.
    for port in 1..2000 {
        let forged = SocketAddr::new(victim.ip(), port);
        assert!(desk.grant(forged, 24601, &setup(0), 100).is_ok());
    }
    assert!(desk.setups.is_empty() && desk.running.is_empty());
    let mut random = node::random::Random::new(5);
    for _ in 0..2000 {
        let guess = Integrity {
            mode: 0,
            unix_time: 100,
            digest: std::array::from_fn(|_| random.bits() as u8),
            key: random.below(4) as u8,
        };
        let refused = desk.activate(victim, &activation(guess), 100);
        assert_eq!(refused, Err(Refusal::Unproven));
    }
    // A cookie of the forger's own is good for its own address.
    let own = desk
        .grant(client("10.0.0.2:5555"), 24601, &setup(0), 100)
        .unwrap();
    let refused = desk.activate(victim, &activation(own.integrity), 100);
    assert_eq!(refused, Err(Refusal::Unproven));
    assert!(desk.running.is_empty());
    let shown = desk.grant(victim, 24601, &setup(0), 100).unwrap();
    assert!(
        desk.activate(victim, &activation(shown.integrity), 101)
            .is_ok()
    );
    // The answer was lost, and it asks again.
    let again = desk.activate(victim, &activation(shown.integrity), 102);
    assert_eq!(again, Err(Refusal::Runs));
}

#[test]
fn an_address_has_one_test_and_all_together_have_as_many_as_may_be() {
    let mut desk = desk();
    let start = |desk: &mut Desk, text: &str| {
        let from = client(text);
        let granted = desk.grant(from, 24601, &setup(0), 7).ok()?;
        desk.activate(from, &activation(granted.integrity), 7).ok()
    };
    assert!(start(&mut desk, "10.0.0.1:1").is_some());
    assert!(start(&mut desk, "10.0.0.1:2").is_none());
    assert!(start(&mut desk, "[::ffff:10.0.0.1]:3").is_none());
    // Programs of this machine share an address.
    assert!(start(&mut desk, "127.0.0.1:1").is_some());
    assert!(start(&mut desk, "127.0.0.1:2").is_some());
    assert!(start(&mut desk, "10.0.0.2:1").is_some());
    assert!(start(&mut desk, "10.0.0.3:1").is_none());
    desk.running.end(client("10.0.0.1:1"));
    assert!(start(&mut desk, "10.0.0.1:2").is_some());
}

#[test]
fn clients_of_the_internet_need_the_key_unless_the_operator_says_otherwise() {
    let far = client("8.8.8.8:1");
    let mut closed = desk();
    assert_eq!(
        closed.grant(far, 1, &setup(0), 7).err(),
        Some(SetupAnswer::KEY_WANTED)
    );
    assert_eq!(
        closed.grant(far, 1, &setup(1), 7).err(),
        Some(SetupAnswer::KEY_WANTED)
    );
    let near = client("10.0.0.1:1");
    assert_eq!(
        closed.grant(near, 1, &setup(1), 7).err(),
        Some(SetupAnswer::NO_KEYS)
    );
    let mut open = Desk {
        public: true,
        ..desk()
    };
    assert!(open.grant(far, 1, &setup(0), 7).is_ok());
    let mut keyed = Desk {
        signer: Some(key("right")),
        ..desk()
    };
    for from in [far, near] {
        assert_eq!(
            keyed.grant(from, 1, &setup(0), 7).err(),
            Some(SetupAnswer::KEY_WANTED)
        );
        let shown = keyed.grant(from, 1, &setup(1), 7).unwrap().integrity;
        for (signer, good) in [
            (None, false),
            (Some(key("wrong")), false),
            (Some(key("right")), true),
        ] {
            let mut request = activation(shown);
            if let Some(signer) = signer {
                request.integrity.digest = signer.digest(&request, &shown);
            }
            assert_eq!(keyed.activate(from, &request, 8).is_ok(), good);
        }
        keyed.running.end(from);
        // A signed message cannot be changed.
        let mut request = activation(shown);
        request.integrity.digest = key("right").digest(&request, &shown);
        request.test_time = 3600;
        assert_eq!(keyed.activate(from, &request, 8), Err(Refusal::Unproven));
    }
}

#[test]
fn a_client_without_cookies_is_served_only_when_the_operator_says_so() {
    let from = client("10.0.0.1:1");
    let bare = activation(Integrity::default());
    let mut strict = desk();
    strict.grant(from, 1, &setup(0), 7).unwrap();
    assert_eq!(strict.activate(from, &bare, 7), Err(Refusal::Unproven));
    let mut lenient = Desk {
        any_client: true,
        ..desk()
    };
    assert_eq!(lenient.activate(from, &bare, 7), Err(Refusal::Unproven));
    for port in 0..5000 {
        let _ = lenient.grant(SocketAddr::new(from.ip(), port), 1, &setup(0), 7);
    }
    assert!(lenient.setups.len() <= MAX_SETUPS);
    lenient.grant(from, 1, &setup(0), 7).unwrap();
    assert!(lenient.activate(from, &bare, 7).is_ok());
}

#[test]
fn addresses_of_private_networks_are_not_public() {
    for (text, public) in [
        ("127.0.0.1", false),
        ("10.1.2.3", false),
        ("172.16.0.1", false),
        ("192.168.1.1", false),
        ("169.254.1.1", false),
        ("198.18.0.1", false),
        ("::1", false),
        ("fd00::1", false),
        ("fe80::1", false),
        ("::ffff:10.0.0.1", false),
        ("8.8.8.8", true),
        ("172.32.0.1", true),
        ("198.20.0.1", true),
        ("2001:db8::1", true),
        ("::ffff:8.8.8.8", true),
    ] {
        assert_eq!(is_public(text.parse().unwrap()), public, "{text}");
    }
}
