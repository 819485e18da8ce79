//! What came out, beside what was expected.

use super::*;
use crate::control::ErrorKind;
use crate::stf::script::{Pattern, nibble};

impl Run<'_> {
    /// Compares all that came out with all that is wanted.
    pub(super) fn judge(&mut self) {
        let wanted = core::mem::take(&mut self.wanted);
        let mut cursor = Cursor {
            digests: vec![false; self.digests.len()],
            ..Cursor::default()
        };
        let mut findings = Vec::new();
        for wanted in &wanted {
            self.meet(wanted, &mut cursor, &mut findings);
        }
        self.outcome.failures.append(&mut findings);
        self.outcome.met += cursor.met;
        for (port, packets) in &self.out {
            let taken = cursor.taken.get(port).copied().unwrap_or(0);
            if cursor.open.contains(port) {
                continue;
            }
            for packet in &packets[taken.min(packets.len())..] {
                let message = format!(
                    "a packet of {} bytes at port {port} that no line expects: {}",
                    packet.len(),
                    hex(packet)
                );
                let finding = Finding { line: 0, message };
                match self.mentioned.contains(port) {
                    true => self.outcome.failures.push(finding),
                    false => self.outcome.notes.push(finding),
                }
            }
        }
        self.outcome.failures.sort_by_key(|finding| {
            if finding.line == 0 {
                u32::MAX
            } else {
                finding.line
            }
        });
    }

    /// Whether what is wanted came, and what came instead.
    fn meet(&self, wanted: &Wanted, cursor: &mut Cursor, findings: &mut Vec<Finding>) {
        let mut fail = |message: String| {
            findings.push(Finding {
                line: wanted.line,
                message,
            })
        };
        match &wanted.kind {
            WantedKind::Packet(Expected { port, data: None }) => cursor.open.push(*port),
            WantedKind::Packet(Expected {
                port,
                data: Some(pattern),
            }) => {
                let taken = cursor.taken.entry(*port).or_default();
                let got = self.out.get(port).and_then(|packets| packets.get(*taken));
                *taken += 1;
                match got {
                    None => fail(format!(
                        "no packet came out at port {port}{}",
                        self.elsewhere(pattern, *port)
                    )),
                    Some(packet) if pattern.matches(packet) => cursor.met += 1,
                    Some(packet) => fail(difference(*port, pattern, packet)),
                }
            }
            WantedKind::Nothing(counts) => {
                let mut told = false;
                for (port, count) in counts {
                    let taken = cursor.taken.get(port).copied().unwrap_or(0);
                    if *count > taken && !cursor.open.contains(port) {
                        let packet = &self.out[port][taken];
                        fail(format!(
                            "a packet of {} bytes came out at port {port}: {}",
                            packet.len(),
                            hex(packet)
                        ));
                        told = true;
                        cursor.taken.insert(*port, *count);
                    }
                }
                cursor.met += usize::from(!told);
            }
            WantedKind::Digest { name, fields } => match self.digest(name, fields, &cursor.digests)
            {
                Ok(index) => {
                    cursor.digests[index] = true;
                    cursor.met += 1;
                }
                Err(error) => fail(error.message),
            },
            WantedKind::Either(branches) => {
                let mut best: Option<(Cursor, Vec<Finding>)> = None;
                for branch in branches {
                    let (mut tried, mut found) = (cursor.clone(), Vec::new());
                    for wanted in branch {
                        self.meet(wanted, &mut tried, &mut found);
                    }
                    if best
                        .as_ref()
                        .is_none_or(|(_, least)| found.len() < least.len())
                    {
                        best = Some((tried, found));
                    }
                }
                if let Some((tried, mut found)) = best {
                    *cursor = tried;
                    for finding in &mut found {
                        finding.message = format!(
                            "none of {} alternatives holds; the nearest: {}",
                            branches.len(),
                            finding.message
                        );
                    }
                    findings.append(&mut found);
                }
            }
        }
    }

    /// Where else a packet came out that would have done.
    fn elsewhere(&self, pattern: &Pattern, port: u32) -> String {
        let found = self.out.iter().find(|(other, packets)| {
            **other != port && packets.iter().any(|packet| pattern.matches(packet))
        });
        found
            .map(|(other, _)| format!("; one like it came out at port {other}"))
            .unwrap_or_default()
    }

    /// The first digest that is like this and was not taken.
    fn digest(
        &self,
        name: &str,
        fields: &[(String, String)],
        taken: &[bool],
    ) -> Result<usize, Error> {
        let names = self.control.digests();
        let known = names.iter().map(|digest| &*digest.name);
        let wanted = names::resolve("digest", name, known)?;
        let wanted = &names[wanted];
        let mut nearest = None;
        for (index, digest) in self.digests.iter().enumerate() {
            if taken[index] || !wanted.is(digest) {
                continue;
            }
            let found = |field: &str| {
                digest
                    .fields
                    .iter()
                    .find(|(name, _)| **name == *field || name.ends_with(&format!(".{field}")))
            };
            let holds = |(field, text): &(String, String)| {
                let wanted = number(text);
                found(field).is_some_and(|(_, bits)| {
                    u128::try_from(bits.unsigned().clone()).ok() == wanted && wanted.is_some()
                })
            };
            if fields.iter().all(holds) {
                return Ok(index);
            }
            nearest.get_or_insert(digest);
        }
        let shown = |digest: &Digest| {
            digest
                .fields
                .iter()
                .map(|(name, bits)| format!(" {name}:{:#x}", bits.unsigned()))
                .collect::<String>()
        };
        let message = match nearest {
            Some(digest) => format!(
                "no such digest `{name}` came; one that did:{}",
                shown(digest)
            ),
            None => format!("no digest `{name}` came"),
        };
        Err(Error::new(ErrorKind::Absent, message))
    }
}

/// Bytes as digits, four bytes together, cut where they get long.
fn hex(packet: &[u8]) -> String {
    const MAX_SHOWN_BYTES: usize = 128;
    let shown: String = packet
        .iter()
        .take(MAX_SHOWN_BYTES)
        .enumerate()
        .map(|(at, byte)| format!("{}{byte:02x}", if at > 0 && at % 4 == 0 { " " } else { "" }))
        .collect();
    if packet.len() > MAX_SHOWN_BYTES {
        format!("{shown} ...")
    } else {
        shown
    }
}

/// The expected packet above the actual one, with carets below where they differ.
fn difference(port: u32, pattern: &Pattern, packet: &[u8]) -> String {
    let mut rows = [String::new(), String::new(), String::new()];
    let length = pattern.nibbles.len().max(packet.len() * 2);
    let differs: Vec<usize> = pattern.differences(packet).collect();
    for at in 0..length {
        if at > 0 && at % 8 == 0 {
            rows.iter_mut().for_each(|row| row.push(' '));
        }
        let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('?');
        let wanted = match pattern.nibbles.get(at) {
            Some(Some(nibble)) => digit(*nibble),
            Some(None) => '*',
            None if pattern.exact => ' ',
            None => '.',
        };
        let got = if at < packet.len() * 2 {
            digit(nibble(packet, at))
        } else {
            ' '
        };
        let missing = at >= packet.len() * 2 || at >= pattern.nibbles.len() && pattern.exact;
        let mark = if missing || differs.contains(&at) {
            '^'
        } else {
            ' '
        };
        for (row, sign) in rows.iter_mut().zip([wanted, got, mark]) {
            row.push(sign);
        }
    }
    let reason = match differs.first() {
        Some(at) => format!("byte {} differs", at / 2),
        None => format!(
            "{} bytes are wanted, {} came",
            pattern.nibbles.len().div_ceil(2),
            packet.len()
        ),
    };
    let [wanted, got, marks] = rows;
    format!(
        "port {port}: {reason}\n  wanted {wanted}\n  got    {got}\n         {}",
        marks.trim_end()
    )
}
