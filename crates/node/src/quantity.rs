//! Numbers with a unit, read exactly.

/// Why a text is not a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// No number stands at the front.
    #[error("a number and its unit are wanted, such as \"{0}\"")]
    NoNumber(&'static str),
    /// The unit is missing or not known.
    #[error("unknown or missing unit: {0} are known")]
    Unit(&'static str),
    /// The value does not fit, or has digits below the smallest unit.
    #[error("out of range: {0}")]
    Range(&'static str),
}

/// Reads `digits[.digits] unit` as an exact count of the smallest unit.
pub(crate) fn quantity(
    text: &str,
    example: &'static str,
    range: &'static str,
    scale_of: impl Fn(&str) -> Result<u64, QuantityError>,
) -> Result<u64, QuantityError> {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && part.is_empty()) || part.contains('.') {
        return Err(QuantityError::NoNumber(example));
    }
    let scale = u128::from(scale_of(unit.trim())?);
    let out_of_range = QuantityError::Range(range);
    let (mut value, mut divisor) = (0u128, 1u128);
    for digit in whole.bytes().chain(part.bytes()).filter(|&b| b != b'_') {
        value = value * 10 + u128::from(digit - b'0');
        if value > 1 << 100 {
            return Err(out_of_range);
        }
    }
    for _ in part.bytes().filter(|&b| b != b'_') {
        divisor *= 10;
    }
    let scaled = value.checked_mul(scale).ok_or(out_of_range)?;
    if !scaled.is_multiple_of(divisor) {
        return Err(out_of_range);
    }
    u64::try_from(scaled / divisor).map_err(|_| out_of_range)
}
