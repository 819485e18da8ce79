//! The standard, a bit at a time: written from its figures and tables, not from the crate's code, and
//! slow. It works on vectors of characters and of bits only.

/// A character of the XGMII: whether it is a control character, and its eight bits.
pub type Character = (bool, u8);

pub const IDLE: Character = (true, 0x07);
pub const START: Character = (true, 0xFB);
pub const TERMINATE: Character = (true, 0xFD);
pub const ERROR: Character = (true, 0xFE);
pub const SEQUENCE: Character = (true, 0x9C);
pub const SIGNAL: Character = (true, 0x5C);

/// Figure 49-7: the characters of a block (C control, S start, T terminate, O ordered set, D data), its
/// type, and its fields in order. `0` is a bit of nothing.
const FORMATS: [(&str, u8, &str); 15] = [
    ("CCCCCCCC", 0x1E, "C0 C1 C2 C3 C4 C5 C6 C7"),
    ("CCCCODDD", 0x2D, "C0 C1 C2 C3 O4 D5 D6 D7"),
    ("CCCCSDDD", 0x33, "C0 C1 C2 C3 0 0 0 0 D5 D6 D7"),
    ("ODDDSDDD", 0x66, "D1 D2 D3 O0 0 0 0 0 D5 D6 D7"),
    ("ODDDODDD", 0x55, "D1 D2 D3 O0 O4 D5 D6 D7"),
    ("SDDDDDDD", 0x78, "D1 D2 D3 D4 D5 D6 D7"),
    ("ODDDCCCC", 0x4B, "D1 D2 D3 O0 C4 C5 C6 C7"),
    ("TCCCCCCC", 0x87, "0 0 0 0 0 0 0 C1 C2 C3 C4 C5 C6 C7"),
    ("DTCCCCCC", 0x99, "D0 0 0 0 0 0 0 C2 C3 C4 C5 C6 C7"),
    ("DDTCCCCC", 0xAA, "D0 D1 0 0 0 0 0 C3 C4 C5 C6 C7"),
    ("DDDTCCCC", 0xB4, "D0 D1 D2 0 0 0 0 C4 C5 C6 C7"),
    ("DDDDTCCC", 0xCC, "D0 D1 D2 D3 0 0 0 C5 C6 C7"),
    ("DDDDDTCC", 0xD2, "D0 D1 D2 D3 D4 0 0 C6 C7"),
    ("DDDDDDTC", 0xE1, "D0 D1 D2 D3 D4 D5 0 C7"),
    ("DDDDDDDT", 0xFF, "D0 D1 D2 D3 D4 D5 D6"),
];

/// Table 49-1: control characters and their seven bits.
const CONTROL: [(u8, u8); 9] = [
    (0x07, 0x00),
    (0x06, 0x06),
    (0xFE, 0x1E),
    (0x1C, 0x2D),
    (0x3C, 0x33),
    (0x7C, 0x4B),
    (0xBC, 0x55),
    (0xDC, 0x66),
    (0xF7, 0x78),
];

fn letter((control, byte): Character) -> char {
    match (control, byte) {
        (false, _) => 'D',
        (true, 0xFB) => 'S',
        (true, 0xFD) => 'T',
        (true, 0x9C | 0x5C) => 'O',
        (true, _) => 'C',
    }
}

fn push(bits: &mut Vec<bool>, value: u8, count: usize) {
    bits.extend((0..count).map(|n| value >> n & 1 == 1));
}

/// The 66 bits of a block in the order of the wire, not scrambled.
pub fn block(characters: &[Character]) -> Option<Vec<bool>> {
    assert_eq!(characters.len(), 8);
    let letters: String = characters.iter().map(|&c| letter(c)).collect();
    if letters == "DDDDDDDD" {
        let mut bits = vec![false, true];
        for &(_, byte) in characters {
            push(&mut bits, byte, 8);
        }
        return Some(bits);
    }
    let (_, kind, fields) = FORMATS.iter().find(|format| format.0 == letters)?;
    let mut bits = vec![true, false];
    push(&mut bits, *kind, 8);
    for name in fields.split(' ') {
        let lane = || usize::from(name.as_bytes()[1] - b'0');
        match name.as_bytes()[0] {
            b'0' => bits.push(false),
            b'D' => push(&mut bits, characters[lane()].1, 8),
            b'O' if characters[lane()] == SEQUENCE => push(&mut bits, 0x0, 4),
            b'O' => push(&mut bits, 0xF, 4),
            _ => {
                let code = CONTROL.iter().find(|row| row.0 == characters[lane()].1)?;
                push(&mut bits, code.1, 7);
            }
        }
    }
    assert_eq!(bits.len(), 66);
    Some(bits)
}

/// The characters of a block; `None` where the standard has no such block.
pub fn characters(bits: &[bool]) -> Option<Vec<Character>> {
    let value = |from: usize, count: usize| -> u8 {
        (0..count).map(|n| u8::from(bits[from + n]) << n).sum()
    };
    match (bits[0], bits[1]) {
        (false, true) => return Some((0..8).map(|n| (false, value(2 + 8 * n, 8))).collect()),
        (true, false) => {}
        _ => return None,
    }
    let (letters, _, fields) = FORMATS.iter().find(|format| format.1 == value(2, 8))?;
    let mut characters: Vec<Character> = letters
        .chars()
        .map(|letter| match letter {
            'S' => START,
            'T' => TERMINATE,
            _ => (true, 0),
        })
        .collect();
    let mut at = 10;
    for name in fields.split(' ') {
        let lane = || usize::from(name.as_bytes()[1] - b'0');
        match name.as_bytes()[0] {
            b'0' => at += 1,
            b'D' => {
                characters[lane()] = (false, value(at, 8));
                at += 8;
            }
            b'O' => {
                characters[lane()] = match value(at, 4) {
                    0x0 => SEQUENCE,
                    0xF => SIGNAL,
                    _ => return None,
                };
                at += 4;
            }
            _ => {
                let code = CONTROL.iter().find(|row| row.1 == value(at, 7))?;
                characters[lane()] = (true, code.0);
                at += 7;
            }
        }
    }
    Some(characters)
}

/// CRC-32 as Clause 3.2.9 describes it: a long division, a bit at a time.
pub fn fcs(frame: &[u8]) -> [u8; 4] {
    let mut sum = u32::MAX;
    for bit in frame
        .iter()
        .flat_map(|&byte| (0..8).map(move |n| byte >> n & 1))
    {
        let carry = (sum >> 31) ^ u32::from(bit);
        sum = (sum << 1) ^ if carry == 1 { 0x04C1_1DB7 } else { 0 };
    }
    (!sum.reverse_bits()).to_le_bytes()
}

/// A frame without FCS from its start to its last byte: preamble, SFD, padding, FCS.
pub fn frame(bytes: &[u8]) -> Vec<Character> {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().max(60), 0);
    let mut characters = vec![START];
    characters.extend([(false, 0x55); 6]);
    characters.push((false, 0xD5));
    characters.extend(padded.iter().map(|&byte| (false, byte)));
    characters.extend(fcs(&padded).map(|byte| (false, byte)));
    characters
}

/// Figure 49-8: a shift register of 58 bits. `register[0]` is the bit last sent.
pub struct Scrambler {
    pub register: Vec<bool>,
}

impl Scrambler {
    /// From a word whose top bit was sent last.
    pub fn new(state: u64) -> Scrambler {
        Scrambler {
            register: (0..58).map(|n| state >> (63 - n) & 1 == 1).collect(),
        }
    }

    pub fn scramble(&mut self, bit: bool) -> bool {
        let out = bit ^ self.register[38] ^ self.register[57];
        self.register.pop();
        self.register.insert(0, out);
        out
    }
}

/// Characters to the bits of the line. They are a whole number of blocks.
pub fn line(characters: &[Character], state: u64) -> Vec<bool> {
    let mut scrambler = Scrambler::new(state);
    let mut line = vec![];
    for eight in characters.chunks(8) {
        let bits = block(eight).unwrap_or_else(|| panic!("no block carries {eight:02X?}"));
        line.extend(&bits[..2]);
        line.extend(bits[2..].iter().map(|&bit| scrambler.scramble(bit)));
    }
    line
}

/// Bits as words; the last is filled up with zeros.
pub fn words(bits: &[bool]) -> Vec<u64> {
    let word = |bits: &[bool]| (0..).zip(bits).map(|(n, &bit)| u64::from(bit) << n).sum();
    bits.chunks(64).map(word).collect()
}

/// The bits of words.
pub fn bits(words: &[u64]) -> Vec<bool> {
    let bits = |word: &u64| {
        let word = *word;
        (0..64).map(move |n| word >> n & 1 == 1)
    };
    words.iter().flat_map(bits).collect()
}

/// A small generator, so that a failure can be had again.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }
}

/// R_BLOCK_TYPE of 49.2.13.2.3, from the bits of a block.
pub fn class(bits: &[bool]) -> char {
    let Some(characters) = characters(bits) else {
        return 'E';
    };
    match &characters[..] {
        c if c.iter().all(|c| !c.0) => 'D',
        c if c.contains(&TERMINATE) => 'T',
        c if c.contains(&START) => 'S',
        c if c.iter().all(|c| c.0) && c.contains(&ERROR) => 'E',
        _ => 'C',
    }
}

/// Figure 49-17: what the receive process gives for each block, from RX_INIT on. The last block's
/// successor is taken for a control block.
pub fn receive(blocks: &[Vec<bool>]) -> Vec<Vec<Character>> {
    let error = vec![ERROR; 8];
    let classes: Vec<char> = blocks.iter().map(|block| class(block)).collect();
    let mut state = "INIT";
    let mut raw = vec![];
    for (index, &class) in classes.iter().enumerate() {
        let next = classes.get(index + 1).copied().unwrap_or('C');
        let ends = class == 'T' && matches!(next, 'S' | 'C');
        state = match (state, class) {
            ("INIT" | "C" | "T", 'C') => "C",
            ("INIT" | "C" | "T", 'S') => "D",
            ("INIT" | "C" | "T", _) => "E",
            ("D", 'D') => "D",
            ("D", 'T') if ends => "T",
            ("D", _) => "E",
            ("E", 'C') => "C",
            ("E", 'D') => "D",
            ("E", 'T') if ends => "T",
            ("E", _) => "E",
            _ => unreachable!(),
        };
        raw.push(match state {
            "E" => error.clone(),
            _ => characters(&blocks[index]).expect("a block that is no error"),
        });
    }
    raw
}

/// Frames of the MAC in characters: the place of the first byte behind the SFD, and the bytes with
/// FCS; those that start, have nothing but data, and end with a terminate.
pub fn frames(characters: &[Character]) -> Vec<(u64, Vec<u8>)> {
    let mut frames = vec![];
    let mut open: Option<(u64, Vec<u8>)> = None;
    for (place, &character) in (0..).zip(characters) {
        match character {
            START => open = Some((place + 8, vec![])),
            (false, byte) => {
                if let Some((_, bytes)) = &mut open {
                    bytes.push(byte);
                }
            }
            TERMINATE => {
                if let Some((place, bytes)) = open.take()
                    && bytes.len() >= 7
                    && bytes[6] == 0xD5
                {
                    frames.push((place, bytes[7..].to_vec()));
                }
            }
            _ => open = None,
        }
    }
    frames
}

/// Whether the MAC takes a frame, given with FCS, for good.
pub fn is_good(frame: &[u8]) -> bool {
    frame.len() >= 64 && fcs(&frame[..frame.len() - 4]) == frame[frame.len() - 4..]
}
