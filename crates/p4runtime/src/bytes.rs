//! Values as P4Runtime's byte strings (specification, section 8.4).

use p4::value::Bits;
use tonic::{Code, Status};

/// A value of so many bits. The string may have leading zeros, and must not be empty.
pub fn read(bytes: &[u8], width: u32, what: &str) -> Result<Bits, Status> {
    if bytes.is_empty() {
        return Err(Status::new(
            Code::InvalidArgument,
            format!("{what}: an empty string is not a value"),
        ));
    }
    // Leading zeros beyond the width say nothing, but there is a bound to the work.
    let start = bytes
        .iter()
        .position(|byte| *byte != 0)
        .unwrap_or(bytes.len() - 1);
    let digits = &bytes[start..];
    if digits.len() * 8 > width as usize + 7 {
        return Err(too_wide(what, width));
    }
    let mut limbs = vec![0u64; digits.len().div_ceil(8)];
    for (index, byte) in digits.iter().rev().enumerate() {
        limbs[index / 8] |= u64::from(*byte) << (index % 8 * 8);
    }
    let value = Bits::from_limbs(digits.len() as u32 * 8, &limbs);
    if value.unsigned().bits() > u64::from(width) {
        return Err(too_wide(what, width));
    }
    Ok(value.resize(width))
}

fn too_wide(what: &str, width: u32) -> Status {
    Status::new(
        Code::OutOfRange,
        format!("{what}: the value has more than {width} bits"),
    )
}

/// The shortest string that has the value.
pub fn write(value: &Bits) -> Vec<u8> {
    value.unsigned().to_bytes_be()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_may_have_leading_zeros_and_answers_have_none() {
        for (bytes, width, value) in [
            (&[0u8][..], 9, 0u64),
            (&[1, 255], 9, 511),
            (&[0, 0, 0, 7], 3, 7),
            (&[1, 2, 3, 4, 5, 6, 7, 8], 64, 0x0102_0304_0506_0708),
        ] {
            let read = read(bytes, width, "x").unwrap();
            assert_eq!(read, Bits::new(width, value));
            assert!(write(&read)[0] != 0 || write(&read).len() == 1);
        }
        let long = read(&[9; 16], 128, "x").unwrap();
        assert_eq!(write(&long), [9; 16]);
    }

    #[test]
    fn what_does_not_fit_is_out_of_range() {
        assert_eq!(read(&[2, 0], 9, "x").unwrap_err().code(), Code::OutOfRange);
        assert_eq!(read(&[1; 99], 9, "x").unwrap_err().code(), Code::OutOfRange);
        assert_eq!(read(&[], 9, "x").unwrap_err().code(), Code::InvalidArgument);
    }
}
