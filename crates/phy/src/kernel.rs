//! Loops over words that do the work on runs of blocks: plain code, which `simd` compiles once more
//! for wider registers.
//!
//! 32 blocks are a group: their 66 bits each are 33 words, so each group of a stream begins at the
//! same bit of a word.

/// Blocks of a group.
pub const GROUP: usize = 32;
/// Words of a group on the line.
pub const WORDS: usize = 33;
/// Groups done at once: they stay in the first-level cache.
pub const BATCH: usize = 8;

/// 64 bits of the low bit of each header, in every other bit.
const LOW: u64 = 0x5555_5555_5555_5555;

/// Scrambles payloads in place, from a state to the next: look-ahead by two squarings.
///
/// With P = 1 + x^39 + x^58 the line is `d / P`. Over two elements P^2 is 1 + x^78 + x^116, and so on,
/// so `d / P` is `d * P * P^2 / P^4`. The multiplications look at known words only, and do not wait
/// for each other. The division by P^4 = 1 + x^156 + x^232 reaches back more than two words, so that
/// two words at a time wait for earlier ones, and not for each other.
///
/// What went before needs no history: all that the state does is to change the first word.
#[inline(always)]
pub fn look_ahead(state: u64, payloads: &mut [u64]) -> u64 {
    if payloads.len() < 64 {
        return words(state, payloads);
    }
    payloads[0] ^= state >> 6 ^ state >> 25;
    let mut before = 0;
    // The last two words behind P, the last four of the line; the latest first.
    let mut p = [0; 2];
    let mut y = [0; 4];
    let (chunks, rest) = payloads.as_chunks_mut::<64>();
    for chunk in chunks {
        let (mut u, mut v) = ([0; 66], [0; 64]);
        [u[1], u[0]] = p;
        u[2] = chunk[0] ^ (chunk[0] << 39 | before >> 25) ^ (chunk[0] << 58 | before >> 6);
        for i in 1..64 {
            let (one, two) = (chunk[i], chunk[i - 1]);
            u[i + 2] = one ^ (one << 39 | two >> 25) ^ (one << 58 | two >> 6);
        }
        before = chunk[63];
        p = [u[65], u[64]];
        for i in 0..64 {
            v[i] = u[i + 2] ^ (u[i + 1] << 14 | u[i] >> 50) ^ (u[i + 1] << 52 | u[i] >> 12);
        }
        for (chunk, v) in chunk
            .as_chunks_mut::<2>()
            .0
            .iter_mut()
            .zip(v.as_chunks::<2>().0)
        {
            // Shifted parts of different words have no bit in common; the order of the sums keeps
            // the latest words last, since they are what the next step waits for.
            let a = (v[0] ^ y[2] >> 36 ^ y[3] >> 24) ^ (y[1] << 28 ^ y[2] << 40);
            let b = (v[1] ^ y[1] >> 36 ^ y[2] >> 24) ^ (y[0] << 28 ^ y[1] << 40);
            *chunk = [a, b];
            y = [b, a, y[0], y[1]];
        }
    }
    words(y[0], rest)
}

/// The same, a word at a time (paper 002, algorithm 2).
#[inline(always)]
pub fn words(mut state: u64, payloads: &mut [u64]) -> u64 {
    for payload in payloads {
        let r = *payload ^ state >> 6 ^ state >> 25;
        state = r ^ r << 39 ^ r << 58;
        *payload = state;
    }
    state
}

/// The same, a bit at a time (figure 49-8; paper 002, algorithm 1).
pub fn bits(mut state: u64, payloads: &mut [u64]) -> u64 {
    for payload in payloads {
        for n in 0..64 {
            let bit = (*payload >> n ^ state >> 25 ^ state >> 6) & 1;
            state = state >> 1 | bit << 63;
        }
        *payload = state;
    }
    state
}

/// Descrambles from the line into payloads, from a state to the next.
#[inline(always)]
pub fn descramble(state: u64, line: &[u64], payloads: &mut [u64]) -> u64 {
    let (Some(&first), Some(&last)) = (line.first(), line.last()) else {
        return state;
    };
    payloads[0] = first ^ (first << 39 | state >> 25) ^ (first << 58 | state >> 6);
    for ((to, one), two) in payloads[1..].iter_mut().zip(&line[1..]).zip(line) {
        *to = one ^ (one << 39 | two >> 25) ^ (one << 58 | two >> 6);
    }
    last
}

/// Headers from a bit for each block: 1 for control, which is `01`, the low bit first.
#[inline(always)]
pub fn headers(control: u32) -> u64 {
    let mut bits = u64::from(control);
    bits = (bits | bits << 16) & 0x0000_FFFF_0000_FFFF;
    bits = (bits | bits << 8) & 0x00FF_00FF_00FF_00FF;
    bits = (bits | bits << 4) & 0x0F0F_0F0F_0F0F_0F0F;
    bits = (bits | bits << 2) & 0x3333_3333_3333_3333;
    bits = (bits | bits << 1) & LOW;
    bits | (!bits & LOW) << 1
}

/// Whether the first headers are good: of two different bits.
#[inline(always)]
pub fn all_good(headers: u64, count: usize) -> bool {
    !(headers ^ headers >> 1) & LOW & u64::MAX >> (64 - 2 * count) == 0
}

/// A bit for each block: control. For good headers; the inverse of [`headers`].
#[inline(always)]
pub fn control(headers: u64) -> u32 {
    let mut bits = headers & LOW;
    bits = (bits | bits >> 1) & 0x3333_3333_3333_3333;
    bits = (bits | bits >> 2) & 0x0F0F_0F0F_0F0F_0F0F;
    bits = (bits | bits >> 4) & 0x00FF_00FF_00FF_00FF;
    bits = (bits | bits >> 8) & 0x0000_FFFF_0000_FFFF;
    (bits | bits >> 16) as u32
}

/// A group onto the line: header `n` is in bits `2n` and `2n + 1` of `headers`, which are its place in
/// word `n` too.
#[inline(always)]
pub fn pack(payloads: &[u64; GROUP], headers: u64, line: &mut [u64; WORDS]) {
    line[0] = headers & 3 | payloads[0] << 2;
    for n in 1..GROUP - 1 {
        let at = 2 * n as u32;
        line[n] = payloads[n - 1] >> (64 - at) | headers & 3 << at | payloads[n] << (at + 2);
    }
    line[31] = payloads[30] >> 2 | headers & 3 << 62;
    line[32] = payloads[31];
}

/// A group off the line, the inverse of [`pack`]: gives the headers.
#[inline(always)]
pub fn unpack(line: &[u64; WORDS], payloads: &mut [u64; GROUP]) -> u64 {
    // Two loops: each becomes vectors, which one that does both does not.
    let mut headers = 0;
    for (n, word) in line[..GROUP].iter().enumerate() {
        headers |= word & 3 << (2 * n);
    }
    for n in 0..GROUP - 1 {
        let at = 2 * n as u32;
        payloads[n] = line[n] >> (at + 2) | line[n + 1] << (62 - at);
    }
    payloads[31] = line[32];
    headers
}

/// Blocks onto the line: copied, scrambled, packed. The first is block `phase` of its group, so
/// `2 * phase` bits are held that fill no word. Gives the state and the bits held behind the last.
///
/// `control` tells which of the 32 blocks from a place on are control blocks. All of `line` is
/// filled: it has as many words as get full.
#[inline(always)]
#[allow(clippy::too_many_arguments)] // two of them are code
pub fn onto_line(
    scramble: impl Fn(u64, &mut [u64]) -> u64,
    pack: impl Fn(&[u64; GROUP], u64, &mut [u64; WORDS]),
    mut state: u64,
    mut held: u64,
    mut phase: usize,
    mut payloads: &[u64],
    control: impl Fn(usize) -> u32,
    mut line: &mut [u64],
) -> (u64, u64) {
    let (mut buffer, mut part) = ([[0; GROUP]; BATCH], [0; WORDS]);
    let mut place = 0;
    while !payloads.is_empty() {
        let room = BATCH * GROUP - phase;
        let (some, rest) = payloads.split_at(room.min(payloads.len()));
        payloads = rest;
        let words = &mut buffer.as_flattened_mut()[phase..][..some.len()];
        words.copy_from_slice(some);
        state = scramble(state, words);
        if phase > 0 {
            // As if the bits held came from a block before.
            buffer[0][phase - 1] = held << (64 - 2 * phase);
        }
        let mut end = phase + some.len();
        for payloads in &buffer[..end.div_ceil(GROUP)] {
            let headers = headers(control(place) << phase);
            if phase == 0 && end >= GROUP {
                let (group, behind) = line.split_first_chunk_mut().expect("words for a group");
                pack(payloads, headers, group);
                (line, held) = (behind, 0);
            } else {
                pack(payloads, headers, &mut part);
                // A whole group has a word more than blocks.
                let until = if end < GROUP { end } else { WORDS };
                let (words, behind) = line.split_at_mut(until - phase);
                words.copy_from_slice(&part[phase..until]);
                line = behind;
                held = if end < GROUP {
                    payloads[end - 1] >> (64 - 2 * end)
                } else {
                    0
                };
            }
            place += GROUP.min(end) - phase;
            end = end.saturating_sub(GROUP);
            phase = 0;
        }
    }
    (state, held)
}

/// What [`off_line`] fills.
#[derive(Clone, Debug)]
pub struct Groups {
    /// The words, shifted so that blocks begin at a word.
    shifted: [[u64; WORDS]; BATCH],
    /// As they are on the line.
    pub line: [[u64; GROUP]; BATCH],
    /// Descrambled.
    pub payloads: [[u64; GROUP]; BATCH],
    /// As [`pack`] has them.
    pub headers: [u64; BATCH],
}

impl Groups {
    /// Room for a batch.
    pub const fn new() -> Groups {
        Groups {
            shifted: [[0; WORDS]; BATCH],
            line: [[0; GROUP]; BATCH],
            payloads: [[0; GROUP]; BATCH],
            headers: [0; BATCH],
        }
    }
}

/// Up to a batch of groups off the line, and descrambled. The line is `held`, which has `bits` bits
/// that came before, and `words` behind them; as much of a last group as is there is done.
#[inline(always)]
pub fn off_line(
    unpack: impl Fn(&[u64; WORDS], &mut [u64; GROUP]) -> u64,
    state: u64,
    held: u64,
    bits: u32,
    words: &[u64],
    groups: &mut Groups,
) {
    let line = groups.shifted.as_flattened_mut();
    let count = words.len().min(line.len());
    let used = (count + 1).min(line.len());
    if bits == 0 {
        line[..count].copy_from_slice(&words[..count]);
    } else {
        let words = &words[..count];
        if let Some(&first) = words.first() {
            line[0] = held | first << bits;
        }
        for n in 1..count {
            line[n] = words[n - 1] >> (64 - bits) | words[n] << bits;
        }
        if used > count {
            line[count] = words.last().map_or(held, |last| last >> (64 - bits));
        }
    }
    let count = used.div_ceil(WORDS);
    for (n, line) in groups.shifted[..count].iter().enumerate() {
        groups.headers[n] = unpack(line, &mut groups.line[n]);
    }
    descramble(
        state,
        groups.line[..count].as_flattened(),
        groups.payloads[..count].as_flattened_mut(),
    );
}
