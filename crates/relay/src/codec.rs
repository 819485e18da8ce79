//! The compressors: one set for a node, with the memory that they need kept from packet to packet.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use lz4_flex::block::{CompressTable, compress_into_with_table, decompress_into};
use zstd_safe::{CCtx, CParameter, DCtx};

/// Magic number of a zstd frame; it is not sent.
const MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
/// The first bytes of what was compressed, which are in clear.
pub const CLEAR: usize = 8;
/// Maximum length of a dictionary, bytes.
pub const MAX_DICTIONARY_LEN: usize = 1 << 20;

/// An algorithm, as the header names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Algorithm {
    /// LZ4 block.
    Lz4,
    /// zstd frame without its magic number.
    Zstd,
    /// The same with a dictionary that both nodes have.
    ZstdDictionary,
}

impl Algorithm {
    /// All of them, fastest first.
    pub const ALL: [Algorithm; 3] = [Algorithm::Lz4, Algorithm::Zstd, Algorithm::ZstdDictionary];

    /// Its number in the header, 4 bits.
    pub const fn number(self) -> u8 {
        self as u8 + 1
    }

    pub fn of_number(number: u8) -> Option<Algorithm> {
        let all = Algorithm::ALL.into_iter();
        all.into_iter()
            .find(|algorithm| algorithm.number() == number)
    }

    /// Its name, as configurations and counters have it.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::Lz4 => "lz4",
            Algorithm::Zstd => "zstd",
            Algorithm::ZstdDictionary => "zstd-dictionary",
        }
    }
}

/// Why bytes cannot be decompressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecodeError {
    /// There is no dictionary here.
    Dictionary,
    /// They make no sense, or give another number of bytes.
    Data,
}

/// Why compressors cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// The level is out of its range.
    #[error("a level of zstd is -7 to 19")]
    Level,
    /// The dictionary has another size.
    #[error("a dictionary has 8 bytes to 1 MiB")]
    DictionarySize,
    /// The dictionary compresses nothing.
    #[error("zstd finds no sense in this dictionary")]
    Dictionary,
    /// zstd gets no memory.
    #[error("no memory for zstd")]
    Memory,
    /// What zstd says.
    #[error("{0}")]
    Zstd(&'static str),
}

/// What zstd's library says by a number.
fn refused(code: usize) -> CodecError {
    CodecError::Zstd(zstd_safe::get_error_name(code))
}

/// The compressors, and what they write into.
pub struct Codec {
    lz4: Box<CompressTable>,
    zstd: CCtx<'static>,
    unzstd: DCtx<'static>,
    with: Option<Dictionary>,
    /// What was compressed last lies at `written` in it; what is restored, at its front.
    scratch: Vec<u8>,
    written: Range<usize>,
}

/// A dictionary, and what is made of it once.
struct Dictionary {
    number: u32,
    zstd: CCtx<'static>,
    unzstd: DCtx<'static>,
}

impl Codec {
    /// Compressors with this level of zstd, -7 to 19, and, unless it is empty, this dictionary, as zstd trains them, or any bytes.
    ///
    /// # Errors
    /// When the level or the dictionary is out of its range, or zstd refuses the dictionary; with what is allowed.
    pub fn new(level: i32, dictionary: &[u8]) -> Result<Codec, CodecError> {
        if !(-7..=19).contains(&level) {
            return Err(CodecError::Level);
        }
        let longest = lz4_flex::block::get_maximum_output_size(packet::MAX_WIRE_FRAME_LEN);
        let mut codec = Codec {
            lz4: Box::new(CompressTable::small()),
            zstd: compressor(level)?,
            unzstd: DCtx::try_create().ok_or(CodecError::Memory)?,
            with: None,
            scratch: vec![0; longest.max(zstd_safe::compress_bound(packet::MAX_WIRE_FRAME_LEN))],
            written: 0..0,
        };
        if !dictionary.is_empty() {
            codec.with = Some(Dictionary::new(level, dictionary)?);
            let tried = codec.compress(Algorithm::ZstdDictionary, &dictionary[..8], 64);
            tried.ok_or(CodecError::Dictionary)?;
        }
        Ok(codec)
    }

    /// The dictionary's number, its CRC-32, if there is one.
    pub fn dictionary(&self) -> Option<u32> {
        self.with.as_ref().map(|dictionary| dictionary.number)
    }

    /// Compresses `bytes`, at most [`packet::MAX_WIRE_FRAME_LEN`], to at most `most` bytes; `None`
    /// if they stay longer.
    pub fn compress(&mut self, algorithm: Algorithm, bytes: &[u8], most: usize) -> Option<()> {
        let scratch = &mut self.scratch[..];
        self.written = match algorithm {
            Algorithm::Lz4 => 0..compress_into_with_table(bytes, scratch, &mut self.lz4).ok()?,
            Algorithm::Zstd | Algorithm::ZstdDictionary => {
                let zstd = match algorithm {
                    Algorithm::ZstdDictionary => &mut self.with.as_mut()?.zstd,
                    _ => &mut self.zstd,
                };
                let room = scratch.len().min(most + MAGIC.len());
                let written = zstd.compress2(&mut scratch[..room], bytes).ok()?;
                MAGIC.len()..written
            }
        };
        (self.written.len() <= most).then_some(())
    }

    /// What was compressed last.
    pub fn compressed(&self) -> &[u8] {
        &self.scratch[self.written.clone()]
    }

    /// Begins what is restored with bytes that were in clear.
    pub(crate) fn begin(&mut self, clear: &[u8]) {
        self.scratch[..clear.len()].copy_from_slice(clear);
    }

    /// Decompresses `compressed`, a range of `frame` with [`CLEAR`] bytes before it that are no
    /// longer needed there, behind what was [begun](Codec::begin), to exactly `len` bytes in all.
    pub(crate) fn decompress(
        &mut self,
        algorithm: Algorithm,
        frame: &mut [u8],
        compressed: Range<usize>,
        len: usize,
    ) -> Result<(), DecodeError> {
        let restored = self.scratch.get_mut(CLEAR..len).ok_or(DecodeError::Data)?;
        let wanted = restored.len();
        let written = match algorithm {
            Algorithm::Lz4 => decompress_into(&frame[compressed], restored).ok(),
            Algorithm::Zstd | Algorithm::ZstdDictionary => {
                let unzstd = match algorithm {
                    Algorithm::ZstdDictionary => {
                        let with = self.with.as_mut().ok_or(DecodeError::Dictionary)?;
                        &mut with.unzstd
                    }
                    _ => &mut self.unzstd,
                };
                let begun = compressed.start - MAGIC.len();
                frame[begun..compressed.start].copy_from_slice(&MAGIC);
                unzstd
                    .decompress(restored, &frame[begun..compressed.end])
                    .ok()
            }
        };
        match written == Some(wanted) {
            true => Ok(()),
            false => Err(DecodeError::Data),
        }
    }

    /// The first `len` bytes of what was restored.
    pub(crate) fn restored(&self, len: usize) -> &[u8] {
        &self.scratch[..len]
    }
}

impl Dictionary {
    fn new(level: i32, bytes: &[u8]) -> Result<Dictionary, CodecError> {
        if !(8..=MAX_DICTIONARY_LEN).contains(&bytes.len()) {
            return Err(CodecError::DictionarySize);
        }
        let mut zstd = compressor(level)?;
        zstd.load_dictionary(bytes).map_err(refused)?;
        let mut unzstd = DCtx::try_create().ok_or(CodecError::Memory)?;
        unzstd.load_dictionary(bytes).map_err(refused)?;
        Ok(Dictionary {
            number: crc32fast::hash(bytes),
            zstd,
            unzstd,
        })
    }
}

/// zstd with everything left out of its frames that our own header says.
fn compressor(level: i32) -> Result<CCtx<'static>, CodecError> {
    let mut zstd = CCtx::try_create().ok_or(CodecError::Memory)?;
    for parameter in [
        CParameter::CompressionLevel(level),
        CParameter::ContentSizeFlag(false),
        CParameter::ChecksumFlag(false),
        CParameter::DictIdFlag(false),
    ] {
        let set = zstd.set_parameter(parameter);
        set.map_err(refused)?;
    }
    Ok(zstd)
}

impl core::fmt::Debug for Codec {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut show = f.debug_struct("Codec");
        show.field("dictionary", &self.dictionary())
            .finish_non_exhaustive()
    }
}
