use super::*;
use std::vec;

/// 12 bytes of addresses, then this.
fn frame(rest: &[u8]) -> Vec<u8> {
    [&[0xAA; 12], rest, &[7; 46]].concat()
}

const PLAIN: [u8; 2] = [0x08, 0x00];

/// What comes out when `bytes` come in by `port`, without the addresses and the payload.
fn through(config: Config, port: u16, bytes: &[u8]) -> Result<Vec<u8>, &'static str> {
    let mut vlan = Vlan::new(config).unwrap();
    let mut out = Out::default();
    vlan.frame(Time::ZERO, Port(port), Frame::new(bytes), &mut out);
    let sent = out.sends().next();
    match sent {
        Some(departure) => {
            assert_eq!(departure.port, Port(port ^ 1));
            let bytes = departure.frame.to_vec();
            assert_eq!(
                (&bytes[..12], &bytes[bytes.len() - 46..]),
                (&[0xAA; 12][..], &[7; 46][..])
            );
            Ok(bytes[12..bytes.len() - 46].to_vec())
        }
        None => Err(out.drops()[0].0),
    }
}

fn tag(vlan: u16) -> Config {
    Config {
        vlan,
        ..Config::default()
    }
}

#[test]
fn a_tag_goes_on_one_way_and_comes_off_the_other() {
    let priority = Some(5);
    let tagged = [0x81, 0x00, 0xA0, 0x0A, 0x08, 0x00];
    let config = Config {
        priority,
        ..tag(10)
    };
    assert_eq!(through(config, 0, &frame(&PLAIN)).unwrap(), tagged);
    assert_eq!(through(tag(10), 1, &frame(&tagged)).unwrap(), PLAIN);
    assert_eq!(through(tag(11), 1, &frame(&tagged)), Err("other vlan"));
    assert_eq!(through(tag(10), 1, &frame(&PLAIN)), Err("no tag"));
    assert_eq!(through(tag(10), 0, &frame(&tagged)), Err("already tagged"));
}

#[test]
fn a_service_tag_goes_round_a_customer_tag_and_takes_its_priority() {
    let customer = [0x81, 0x00, 0x60, 0x0A, 0x08, 0x00];
    let both = [&[0x88, 0xA8, 0x60, 0x64][..], &customer].concat();
    let config = Config {
        service: true,
        ..tag(100)
    };
    assert_eq!(through(config.clone(), 0, &frame(&customer)).unwrap(), both);
    assert_eq!(through(config.clone(), 1, &frame(&both)).unwrap(), customer);
    assert_eq!(
        through(config.clone(), 0, &frame(&both)),
        Err("already tagged")
    );
    let stack = Config {
        stack: true,
        ..config
    };
    assert_eq!(through(stack, 0, &frame(&both)).unwrap()[..4], both[..4]);
}

#[test]
fn translation_keeps_priority_and_drop_eligible() {
    let translate = vec![(10, 110), (20, 10)];
    let config = Config {
        translate,
        ..Config::default()
    };
    let at_left = [0x81, 0x00, 0xF0, 10, 0x08, 0x00];
    let at_right = [0x81, 0x00, 0xF0, 110, 0x08, 0x00];
    assert_eq!(
        through(config.clone(), 0, &frame(&at_left)).unwrap(),
        at_right
    );
    assert_eq!(
        through(config.clone(), 1, &frame(&at_right)).unwrap(),
        at_left
    );
    assert_eq!(through(config.clone(), 1, &frame(&at_left)).unwrap()[3], 20);
    assert_eq!(
        through(config.clone(), 0, &frame(&at_right)),
        Err("other vlan")
    );
    let pass = Config {
        others: Others::Pass,
        ..config
    };
    assert_eq!(through(pass, 0, &frame(&PLAIN)).unwrap(), PLAIN);
}

#[test]
fn what_is_too_short_or_too_long_is_dropped() {
    assert_eq!(
        through(tag(1), 0, &[0; 13]),
        Err("shorter than an Ethernet header")
    );
    let full = [0; packet::MAX_FRAME_LEN - 3];
    assert_eq!(through(tag(1), 0, &full), Err("too long for a tag"));
    let cut = [&[0xAA; 12][..], &[0x81, 0x00, 0x00, 0x01]].concat();
    assert_eq!(through(tag(1), 1, &cut), Err("no tag"));
}

#[test]
fn what_cannot_work_is_refused_with_the_key() {
    let key = |config| Vlan::new(config).err().map(|error| error.key);
    assert_eq!(key(tag(0)), Some("vlan"));
    assert_eq!(key(tag(4095)), Some("vlan"));
    assert_eq!(
        key(Config {
            priority: Some(8),
            ..tag(1)
        }),
        Some("priority")
    );
    for translate in [vec![(1, 2), (1, 3)], vec![(1, 2), (3, 2)], vec![(0, 2)]] {
        assert_eq!(
            key(Config {
                translate,
                ..tag(1)
            }),
            Some("translate")
        );
    }
}
