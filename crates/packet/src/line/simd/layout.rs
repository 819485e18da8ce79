//! Where the front of a line stands, in each form: what the vector paths make their tables from.

use crate::MIN_FRAME_LEN;

/// Sources from here on are bytes of word (8) and hash (4), least byte first.
pub(super) const HEAD: usize = 64;
const WORD: usize = HEAD;
const HASH: usize = HEAD + 8;

/// The fixed fields of a form, and as many payload bytes behind them as fit in 64 characters.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    /// Digits before the addresses: of the word, of the hash.
    word: usize,
    hash: usize,
    /// Characters of the fixed fields, without the space that follows: 30 to 56.
    pub(super) fixed: usize,
    /// Characters that fit: 62 or 63.
    pub(super) characters: usize,
    /// Frame bytes that they show: 16 to 25.
    pub(super) bytes: usize,
}

impl Layout {
    /// Of a form: bit 0 for the time, bit 1 for the hash.
    pub(super) const fn of(form: usize) -> Layout {
        let (word, hash) = (16 * (form & 1), 8 * (form >> 1));
        let fixed = word + (word != 0) as usize + hash + (hash != 0) as usize + 30;
        let payload = (64 - fixed) / 3;
        Layout {
            word,
            hash,
            fixed,
            characters: fixed + 3 * payload,
            bytes: MIN_FRAME_LEN + payload,
        }
    }

    /// Characters of the line of a frame of `frame` bytes, with its end.
    pub(super) const fn length(self, frame: usize) -> usize {
        self.fixed + 3 * (frame - MIN_FRAME_LEN) + 1
    }

    /// Source byte, and whether its upper half, of the character at `at`; `None` for a space.
    pub(super) const fn digit(self, at: usize) -> Option<(usize, bool)> {
        // (first character, digits, first source byte, whether the last byte comes first)
        let dst = self.fixed - 30;
        let fields = [
            (0, self.word, WORD, true),
            (
                dst - (self.hash != 0) as usize - self.hash,
                self.hash,
                HASH,
                true,
            ),
            (dst, 12, 0, false),
            (dst + 13, 12, 6, false),
            (dst + 26, 4, 12, false),
        ];
        let mut index = 0;
        while index < fields.len() {
            let (start, digits, source, reversed) = fields[index];
            if at >= start && at < start + digits {
                let byte = (at - start) / 2;
                let byte = if reversed {
                    digits / 2 - 1 - byte
                } else {
                    byte
                };
                return Some((source + byte, (at - start).is_multiple_of(2)));
            }
            index += 1;
        }
        if at < self.fixed || (at - self.fixed).is_multiple_of(3) {
            return None;
        }
        let group = at - self.fixed;
        Some((MIN_FRAME_LEN + group / 3, group % 3 == 1))
    }
}
