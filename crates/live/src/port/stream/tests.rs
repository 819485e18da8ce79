use super::*;
use crate::port::{self, PortSpec};
use std::time::Duration;

fn temporary(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("wl-live-{}-{name}", std::process::id()))
}

fn frames() -> Vec<Vec<u8>> {
    (0..200u8).map(|n| vec![n; 60 + usize::from(n)]).collect()
}

#[test]
fn what_is_written_to_a_file_port_is_read_back_from_it() {
    for (name, form) in [("x.pcapng", "pcap:"), ("0", ""), ("r0", "")] {
        let path = temporary(name.trim_start_matches('r'));
        let path = path.with_file_name(format!("{}{name}", std::process::id()));
        let path = if name == "r0" {
            temporary("dir").join("r0")
        } else {
            path
        };
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let spec: PortSpec = format!("{form}{}", path.display()).parse().unwrap();
        let before = clock::now_ns();
        let mut port = port::open(&spec, &Options::default()).unwrap();
        assert!(!path.exists(), "nothing is made before something is sent");
        let frames = frames();
        let slices: Vec<_> = frames.iter().map(|f| &f[..]).collect();
        assert_eq!(port.tx.send(&slices).unwrap(), 200);
        assert!(matches!(
            port.tx.send(&[&[1; 13]]),
            Err(PortError::TooShort { len: 13 })
        ));
        drop(port);
        let mut port = port::open(&spec, &Options::default()).unwrap();
        let mut got = Vec::new();
        let end = loop {
            let sink = &mut |packet: crate::port::Received<'_>| {
                // Ticks are 8 ns, and the epoch is read to within some 100 ns.
                assert!(packet.at_ns + 2000 > before && packet.at_ns < clock::now_ns() + 2000);
                got.push(packet.bytes.to_vec());
            };
            if let Err(error) = port.rx.receive(Duration::ZERO, sink) {
                break error;
            }
        };
        assert_eq!(got, frames, "{name}");
        assert!(matches!(end, PortError::Ended { .. }));
        std::fs::remove_file(&path).unwrap();
    }
    let _ = std::fs::remove_dir(temporary("dir"));
}

#[test]
fn a_capture_from_before_the_boot_has_its_own_zero() {
    let path = temporary("old.pcap");
    let mut bytes = Vec::new();
    let writer = packet::capture::PcapWriter::NANO;
    writer.header(1, 65_535, &mut bytes);
    for n in 0..2u128 {
        writer.packet((1_000_000_000_000_000_000 + n) * 1000, &[7; 60], &mut bytes);
    }
    std::fs::write(&path, bytes).unwrap();
    let mut port = open_capture(&path, &Options::default()).unwrap();
    assert_eq!(port.info.epoch_ns, 1_000_000_000_000_000_000);
    let mut stamps = Vec::new();
    port.rx
        .receive(Duration::ZERO, &mut |packet| stamps.push(packet.at_ns))
        .unwrap();
    assert_eq!(stamps, [0, 1]);
    std::fs::remove_file(&path).unwrap();
}
