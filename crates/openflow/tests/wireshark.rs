//! Wireshark's dissector reads every message that we make: none malformed, each of its type. Skipped without tshark.

use crate::samples;
use openflow::message::{Header, Version};
use packet::ethernet::{Ethernet, Mac, ethertype};
use packet::ipv4::{Ipv4, protocol};
use std::process::Command;

/// A classic capture file with each message in a TCP segment to port 6653.
fn capture(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1] {
        file.extend(word.to_le_bytes());
    }
    let mut sequence = 1_u32;
    for (index, message) in messages.iter().enumerate() {
        let ethernet = Ethernet {
            destination: Mac([2, 0, 0, 0, 0, 2]),
            source: Mac([2, 0, 0, 0, 0, 1]),
            tags: &[],
            ethertype: ethertype::IPV4,
        };
        let ip = Ipv4::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), protocol::TCP);
        let mut frame = Vec::new();
        ethernet.build(&mut frame, |out| {
            ip.build(out, |out| {
                out.extend(6633_u16.to_be_bytes());
                out.extend(6653_u16.to_be_bytes());
                out.extend(sequence.to_be_bytes());
                out.extend(1_u32.to_be_bytes());
                out.extend([0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0]);
                out.extend(message);
            })
        });
        sequence = sequence.wrapping_add(message.len() as u32);
        for word in [index as u32, 0, frame.len() as u32, frame.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(frame);
    }
    file
}

#[test]
fn wireshark_finds_no_message_malformed_and_each_of_its_type() {
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("skipped: no tshark");
        return;
    }
    for version in Version::ALL {
        let mut made = Vec::new();
        for seed in 0..6 {
            for message in samples::messages(version, seed) {
                let mut bytes = Vec::new();
                message
                    .encode(version, 7, &mut bytes)
                    .expect("it has a form");
                made.push((message, bytes));
            }
        }
        let bytes: Vec<Vec<u8>> = made.iter().map(|(_, bytes)| bytes.clone()).collect();
        let folder = std::env::temp_dir();
        let path = folder.join(format!(
            "wire-openflow-{version}-{}.pcap",
            std::process::id()
        ));
        std::fs::write(&path, capture(&bytes)).expect("a temporary file");
        let kind = if version == Version::V10 {
            "openflow_1_0.type"
        } else {
            "openflow_v4.type"
        };
        let output = Command::new("tshark")
            .args(["-r".as_ref(), path.as_os_str()])
            .args([
                "-d",
                "tcp.port==6653,openflow",
                "-T",
                "fields",
                "-E",
                "occurrence=a",
            ])
            .args(["-o", "tcp.desegment_tcp_streams:FALSE"])
            .args([
                "-e",
                kind,
                "-e",
                "_ws.malformed",
                "-e",
                "_ws.expert.message",
            ])
            .output()
            .expect("tshark runs");
        std::fs::remove_file(&path).expect("it was there");
        let told = String::from_utf8_lossy(&output.stdout);
        assert_eq!(
            told.lines().count(),
            made.len(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let mut wrong = Vec::new();
        for ((message, bytes), line) in made.iter().zip(told.lines()) {
            let columns: Vec<&str> = line.split('\t').collect();
            let kind = Header::peek(bytes).expect("a header").kind.to_string();
            let types = columns.first().copied().unwrap_or("");
            let malformed = columns.get(1).is_some_and(|text| !text.is_empty());
            // It knows no vendor's action in 1.0, and loses its place behind one.
            let vendor = line.contains("Action not dissected yet")
                && format!("{message:?}").contains("Experimenter {");
            let malformed = malformed && !vendor;
            if types.split(',').next() != Some(&kind) || malformed {
                wrong.push(format!("{line}\n    {message:?}\n    {bytes:02x?}"));
            }
        }
        assert!(
            wrong.is_empty(),
            "{version}: {} of {}:\n{}",
            wrong.len(),
            made.len(),
            wrong.join("\n")
        );
    }
}
