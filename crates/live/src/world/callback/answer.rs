//! What a program says, cut into answers.

use node::Port;
use packet::{Stamp, line, record};

/// The longest line that can be a packet.
const LINE: usize = line::MAX_LINE_LEN;

/// What a program says of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing yet.
    None,
    /// It goes on as it came.
    Through,
    /// It goes on as [`Answers::packet`].
    Packet,
    /// It ends.
    Drop,
    /// [`Answers::packet`] is sent beside it, by this port if it names one. This answers nothing.
    Beside(Option<Port>),
    /// This is no answer.
    Wrong,
    /// Where a record should begin none does.
    OutOfStep,
}

/// What has been said and not been looked at.
pub struct Answers {
    raw: bool,
    said: Vec<u8>,
    /// What was looked at.
    used: usize,
    /// How far no end of a line is.
    seen: usize,
    /// Whether a line that is too long goes on.
    too_long: bool,
    packet: Vec<u8>,
    stamp: Option<Stamp>,
}

impl Answers {
    /// Of a program that has said nothing yet.
    pub fn new(raw: bool) -> Answers {
        Answers {
            raw,
            said: Vec::new(),
            used: 0,
            seen: 0,
            too_long: false,
            packet: Vec::new(),
            stamp: None,
        }
    }

    /// Bytes that were said and not looked at.
    pub fn unseen(&self) -> usize {
        self.said.len() - self.used
    }

    /// Whether more should be read before some is looked at.
    pub fn has_room(&self) -> bool {
        self.unseen() < super::MAX_UNREAD_BYTES
    }

    /// It has said this.
    pub fn add(&mut self, bytes: &[u8]) {
        if self.used > 0 {
            self.said.drain(..self.used);
            self.seen -= self.used;
            self.used = 0;
        }
        self.said.extend_from_slice(bytes);
    }

    /// The packet that was said last.
    pub fn packet(&self) -> &[u8] {
        &self.packet
    }

    /// Its stamp, if it has one.
    pub fn stamp(&self) -> Option<Stamp> {
        self.stamp
    }

    /// The next answer.
    pub fn next(&mut self) -> Answer {
        match self.raw {
            true => self.next_record(),
            false => self.next_line(),
        }
    }

    fn next_line(&mut self) -> Answer {
        loop {
            let Some(len) = self.said[self.seen..]
                .iter()
                .position(|&byte| byte == b'\n')
            else {
                self.seen = self.said.len();
                if self.seen - self.used > LINE {
                    // It has answered, if with nonsense: the rest of the line is passed over.
                    self.used = self.seen;
                    self.too_long = true;
                }
                return Answer::None;
            };
            let end = self.seen + len;
            let start = std::mem::replace(&mut self.used, end + 1);
            self.seen = end + 1;
            if std::mem::take(&mut self.too_long) || end - start > LINE {
                return Answer::Wrong;
            }
            let text = &self.said[start..end];
            let text = text.strip_suffix(b"\r").unwrap_or(text);
            let mut decode = |text: &[u8], packet: &mut Vec<u8>| match line::decode(text, packet) {
                Ok(Some(head)) => {
                    self.stamp = head.stamp;
                    true
                }
                _ => false,
            };
            return match text {
                [b'#', ..] => continue,
                b"" | b"drop" => Answer::Drop,
                b"through" => Answer::Through,
                // `+1 LINE` names a port; a line of its own begins with more digits than one.
                [b'+', port @ b'0'..=b'9', b' ', rest @ ..] => match decode(rest, &mut self.packet)
                {
                    true => Answer::Beside(Some(Port(u16::from(port - b'0')))),
                    false => continue,
                },
                [b'+', rest @ ..] => match decode(rest, &mut self.packet) {
                    true => Answer::Beside(None),
                    // Nothing is answered by it, and nothing is sent.
                    false => continue,
                },
                text => match decode(text, &mut self.packet) {
                    true => Answer::Packet,
                    false => Answer::Wrong,
                },
            };
        }
    }

    fn next_record(&mut self) -> Answer {
        let rest = &self.said[self.used..];
        // Nobody looks for ends of lines here.
        self.seen = self.used;
        if rest.len() < record::HEADER {
            return Answer::None;
        }
        let frame = match record::frame(rest) {
            Some(frame) => frame,
            // A header without a frame.
            None if rest[..2] == record::MAGIC.to_be_bytes() && rest[2..4] == [0; 2] => {
                record::HEADER..record::HEADER
            }
            // The rest of a header that tells the length behind itself may be under way.
            None if record::may_begin(rest) => return Answer::None,
            None => return Answer::OutOfStep,
        };
        let Some(bytes) = rest.get(frame.clone()) else {
            return Answer::None;
        };
        let beside = rest[..2] == record::MAGIC.to_be_bytes() && rest[4..12] == [0; 8];
        self.stamp = match record::next(rest, true) {
            record::Step::Packet { packet, .. } => packet.stamp,
            _ => None,
        };
        self.packet.clear();
        self.packet.extend_from_slice(bytes);
        self.used += frame.end;
        self.seen = self.used;
        match (bytes.is_empty(), beside) {
            (true, _) => Answer::Drop,
            (_, true) => Answer::Beside(None),
            (_, false) => Answer::Packet,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "001122334455 66778899AABB 0800 45 00";

    /// All answers to what is said in pieces of this length.
    fn all(raw: bool, said: &[u8], piece: usize) -> Vec<Answer> {
        let mut answers = Answers::new(raw);
        let mut all = Vec::new();
        for piece in said.chunks(piece) {
            answers.add(piece);
            loop {
                match answers.next() {
                    Answer::None => break,
                    Answer::OutOfStep => {
                        all.push(Answer::OutOfStep);
                        return all;
                    }
                    answer => all.push(answer),
                }
            }
        }
        all
    }

    #[test]
    fn lines_are_answers_however_they_are_cut() {
        let long = "x".repeat(LINE + 100_000);
        let said = format!(
            "{A}\nthrough\r\n\ndrop\n# a remark\n+{A}\n+1 {A}\n+nonsense\nwhat?\n{long}\n{}\n00",
            A.to_lowercase()
        );
        use Answer::{Beside, Drop, Packet, Through, Wrong};
        let wanted = [
            Packet,
            Through,
            Drop,
            Drop,
            Beside(None),
            Beside(Some(Port(1))),
            Wrong,
            Wrong,
            Packet,
        ];
        for piece in [1, 7, 4096, 1 << 20] {
            assert_eq!(all(false, said.as_bytes(), piece), wanted, "{piece}");
        }
    }

    #[test]
    fn records_are_answers_however_they_are_cut() {
        let mut said = Vec::new();
        for (word, len) in [(5, 20), (0, 20), (5, 20_000)] {
            let packet = packet::Packet {
                stamp: Some(packet::Stamp::Word(word)),
                hash: None,
                bytes: &[7; 20_000][..len],
            };
            record::encode(&packet, &mut said).unwrap();
        }
        said.extend_from_slice(&[0x37, 0x76, 0, 0]);
        said.extend_from_slice(&[0; 12]);
        said.extend_from_slice(&[1; 16]);
        use Answer::{Beside, Drop, OutOfStep, Packet};
        for piece in [1, 7, 4096] {
            assert_eq!(
                all(true, &said, piece),
                [Packet, Beside(None), Packet, Drop, OutOfStep],
                "{piece}"
            );
        }
    }
}
