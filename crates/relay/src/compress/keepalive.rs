//! Whether the far node is there: a compressed packet that nobody restores is lost.
//!
//! The near node asks by a packet of the encapsulation's protocol with the addresses of one that it compresses, so that it takes the same way; the far node takes
//! it out and sends it back. Behind the IP header there is
//!
//! | octets | what |
//! |---|---|
//! | 0, 1 | the mark, as of a compressed packet |
//! | 2 | version (4 bits, 1) and 15 |
//! | 3 | 0: a question, 1: its answer |
//! | 4 to 7 | the question's number |
//! | 8 to 11 | 0 |
//!
//! It asks only while it compresses, [`every`](super::Config::keepalive) so often. When three questions in a row have no answer it compresses nothing, and goes on
//! asking; with the first answer it compresses again.

use crate::encapsulation::{MARK, Offsets, VERSION};
use node::{Frame, Out, Time};
use packet::checksum::checksum;

/// In the place of an algorithm's number.
const KIND: u8 = 15;
/// Behind the IP header.
const LEN: usize = 12;
/// Number of intervals without an answer after which the far end is unreachable.
const UNREACHABLE_LIMIT: u64 = 3;
/// The hop limit of questions and answers.
const HOPS: u8 = 64;

/// Content of such a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Are you there?
    Question(u32),
    /// Yes.
    Answer(u32),
}

/// State of the far node.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keepalive {
    every: Time,
    next: Option<Time>,
    /// When the first of the questions went that have no answer yet.
    since: Option<Time>,
    number: u32,
    /// Questions.
    pub asked: u64,
    /// Of those.
    pub answered: u64,
}

impl Keepalive {
    /// Asks so often; with 0 never.
    pub fn new(every: Time) -> Keepalive {
        Keepalive {
            every,
            ..Keepalive::default()
        }
    }

    /// Whether the far node has answered, or still may.
    pub fn is_there(&self, now: Time) -> bool {
        let patience = Time::from_ps(UNREACHABLE_LIMIT.saturating_mul(self.every.as_ps()));
        self.since.is_none_or(|since| now < since + patience)
    }

    /// A packet is to be compressed: the number of the question that is due, if one is.
    pub fn question(&mut self, now: Time) -> Option<u32> {
        if self.every == Time::ZERO {
            return None;
        }
        let next = *self.next.get_or_insert(now + self.every);
        if now < next {
            return None;
        }
        if now >= next + self.every {
            // Nothing was asked meanwhile, since there was nothing to compress.
            self.since = None;
        }
        self.next = Some(now + self.every);
        self.since.get_or_insert(now);
        self.number = self.number.wrapping_add(1);
        self.asked += 1;
        Some(self.number)
    }

    /// An answer has come; whether it is to one of the last questions.
    pub fn confirm(&mut self, number: u32) -> bool {
        let recent =
            u64::from(self.number.wrapping_sub(number)) < UNREACHABLE_LIMIT.min(self.asked);
        if recent {
            self.since = None;
            self.answered += 1;
        }
        recent
    }
}

/// What the body of a marked packet says, if it is no compressed one.
pub fn read(body: &[u8]) -> Option<Message> {
    let [_, _, kind, which, a, b, c, d] = *body.first_chunk()?;
    if kind != VERSION << 4 | KIND || body.len() < LEN {
        return None;
    }
    let number = u32::from_be_bytes([a, b, c, d]);
    match which {
        0 => Some(Message::Question(number)),
        1 => Some(Message::Answer(number)),
        _ => None,
    }
}

/// A packet that says this, with the addresses of `like`, in which `offsets` was found; an answer's are turned round.
pub fn packet(
    like: &[u8],
    offsets: &Offsets,
    protocol: u8,
    message: Message,
    out: &mut Out,
) -> Frame {
    let (which, number) = match message {
        Message::Question(number) => (0, number),
        Message::Answer(number) => (1, number),
    };
    let ip = offsets.ip();
    let mut frame = out.frame();
    frame.extend(&like[..ip]);
    if which == 1 {
        frame[..12].rotate_left(6);
    }
    let header = if like[ip] >> 4 == 4 { 20 } else { 40 };
    let mut head = [0; 40];
    head[..header].copy_from_slice(&like[ip..ip + header]);
    let (addresses, length) = match header {
        20 => {
            // No options, no fragment.
            head[0] = 0x45;
            head[4..8].copy_from_slice(&[0, 0, 0x40, 0]);
            (head[8], head[9]) = (HOPS, protocol);
            head[10..12].fill(0);
            (12..20, (20 + LEN) as u16)
        }
        _ => {
            (head[6], head[7]) = (protocol, HOPS);
            (8..40, LEN as u16)
        }
    };
    let at = if header == 20 { 2 } else { 4 };
    head[at..at + 2].copy_from_slice(&length.to_be_bytes());
    if which == 1 {
        let half = addresses.len() / 2;
        head[addresses].rotate_left(half);
    }
    if header == 20 {
        let sum = checksum(&head[..20]);
        head[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    frame.extend(&head[..header]);
    frame.extend(&MARK);
    frame.extend(&[VERSION << 4 | KIND, which]);
    frame.extend(&number.to_be_bytes());
    frame.extend(&[0; 4]);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Time = Time::from_ms(250);

    #[test]
    fn three_questions_without_an_answer_are_enough_and_one_answer_is() {
        let mut keepalive = Keepalive::new(EVERY);
        let at = |ms| Time::from_ms(ms);
        assert_eq!(keepalive.question(at(0)), None);
        assert_eq!(keepalive.question(at(250)), Some(1));
        assert!(keepalive.confirm(1) && keepalive.is_there(at(10_000)));
        assert_eq!(keepalive.question(at(400)), None);
        assert_eq!(keepalive.question(at(500)), Some(2));
        assert_eq!(keepalive.question(at(750)), Some(3));
        assert!(keepalive.is_there(at(1249)) && !keepalive.is_there(at(1250)));
        // Another node's answer, or one from long ago.
        assert!(!keepalive.confirm(7) && !keepalive.confirm(u32::MAX));
        assert!(!keepalive.is_there(at(1300)));
        assert!(keepalive.confirm(2) && keepalive.is_there(at(1300)));
    }

    #[test]
    fn a_question_that_was_lost_long_ago_says_nothing() {
        let mut keepalive = Keepalive::new(EVERY);
        keepalive.question(Time::ZERO);
        assert_eq!(keepalive.question(EVERY), Some(1));
        let later = Time::from_secs(60);
        assert_eq!(keepalive.question(later), Some(2));
        assert!(keepalive.is_there(later));
        assert_eq!(Keepalive::new(Time::ZERO).question(later), None);
    }
}
