//! Exact decimal numbers for conditions (`0.1 + 0.2 == 0.3`) with up to 39 digits. They never
//! round; a result that does not fit is `None`.

use std::cmp::Ordering;

const MAX_SCALE: u32 = 38;
const QUOTIENT_DIGITS: u32 = 12;

/// `units / 10^scale`, with no trailing zeros after the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    units: i128,
    scale: u32,
}

impl Number {
    /// Reads a plain decimal (`-12`, `3.50`); no exponent, no spaces, no leading plus.
    pub(super) fn parse_decimal(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let (whole, part) = match digits.split_once('.') {
            Some((_, "")) => return None,
            Some((whole, part)) => (whole, part.trim_end_matches('0')),
            None => (digits, ""),
        };
        let plain = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !plain(whole) || !plain(part) || part.len() > MAX_SCALE as usize {
            return None;
        }
        let units: i128 = format!("{whole}{part}").parse().ok()?;
        let units = if digits.len() < text.len() { -units } else { units };
        Some(Self::strip_zeros(units, u32::try_from(part.len()).ok()?))
    }

    pub(super) fn is_zero(self) -> bool {
        self.units == 0
    }

    pub(super) fn checked_neg(self) -> Option<Self> {
        Some(Self { units: self.units.checked_neg()?, scale: self.scale })
    }

    pub(super) fn checked_add(self, other: Self) -> Option<Self> {
        let (a, b, scale) = self.align_scales(other)?;
        Some(Self::strip_zeros(a.checked_add(b)?, scale))
    }

    pub(super) fn checked_sub(self, other: Self) -> Option<Self> {
        self.checked_add(other.checked_neg()?)
    }

    pub(super) fn checked_mul(self, other: Self) -> Option<Self> {
        let scale = self.scale + other.scale;
        let product = Self::strip_zeros(self.units.checked_mul(other.units)?, scale);
        (product.scale <= MAX_SCALE).then_some(product)
    }

    /// The quotient to twelve digits after the point; `None` also for a zero divisor.
    pub(super) fn checked_div(self, other: Self) -> Option<Self> {
        let (a, b, _) = self.align_scales(other)?;
        let scaled = a.checked_mul(10_i128.pow(QUOTIENT_DIGITS))?;
        Some(Self::strip_zeros(scaled.checked_div(b)?, QUOTIENT_DIGITS))
    }

    /// The remainder with the sign of `self`, as the shell counts it; `None` for a zero divisor.
    pub(super) fn checked_rem(self, other: Self) -> Option<Self> {
        let (a, b, scale) = self.align_scales(other)?;
        Some(Self::strip_zeros(a.checked_rem(b)?, scale))
    }

    fn strip_zeros(mut units: i128, mut scale: u32) -> Self {
        while scale > 0 && units % 10 == 0 {
            units /= 10;
            scale -= 1;
        }
        Self { units, scale }
    }

    fn align_scales(self, other: Self) -> Option<(i128, i128, u32)> {
        let scale = self.scale.max(other.scale);
        Some((self.units_at(scale)?, other.units_at(scale)?, scale))
    }

    fn units_at(self, scale: u32) -> Option<i128> {
        self.units.checked_mul(10_i128.checked_pow(scale - self.scale)?)
    }
}

impl Ord for Number {
    // Whole part first, then the rest: unlike aligning, this cannot overflow.
    fn cmp(&self, other: &Self) -> Ordering {
        let scale = self.scale.max(other.scale);
        let split = |n: &Self| {
            let one = 10_i128.pow(n.scale.min(MAX_SCALE));
            let rest = n.units.rem_euclid(one);
            let rest = rest.saturating_mul(10_i128.pow((scale - n.scale).min(MAX_SCALE)));
            (n.units.div_euclid(one), rest)
        };
        split(self).cmp(&split(other))
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = self.units.unsigned_abs().to_string();
        let scale = self.scale as usize;
        let padded = format!("{digits:0>width$}", width = scale + 1);
        let (whole, part) = padded.split_at(padded.len() - scale);
        let sign = if self.units < 0 { "-" } else { "" };
        let point = if part.is_empty() { "" } else { "." };
        write!(f, "{sign}{whole}{point}{part}")
    }
}
