//! Amounts of a resource: `500m`, `1Gi`, `1e3`.

use std::fmt;

/// The finest amount that is told apart.
const NANO: i128 = 1_000_000_000;

/// How an amount was written, and is written again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Notation {
    /// `1500m`, `2k`
    Decimal,
    /// `1Gi`
    Binary,
    /// `1e3`
    Exponent,
}

/// An amount of a resource.
#[derive(Debug, Clone)]
pub struct Quantity {
    nanos: i128,
    notation: Notation,
    /// The text as sent, where the server keeps it.
    sent: Option<String>,
}

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self { nanos: 0, notation: Notation::Decimal, sent: None };

    /// Reads an amount, or nothing if it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (negative, unsigned) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let digits = unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len());
        let (whole, rest) = unsigned.split_at(digits);
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => {
                let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                rest.split_at(end)
            }
            None => ("", rest),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let (notation, exponent) = notation(suffix)?;
        let mantissa: i128 = format!("0{whole}{fraction}").parse().unwrap_or(i128::MAX);
        let places = i32::try_from(fraction.len()).ok()?;
        let mut nanos = match notation {
            Notation::Binary => scale(mantissa.checked_shl(exponent.unsigned_abs())?, 9 - places),
            Notation::Decimal | Notation::Exponent => scale(mantissa, 9 - places + exponent),
        };
        if notation == Notation::Binary {
            nanos = nanos.min(i128::from(i64::MAX) * NANO);
        }
        let shifted = format!("{whole}{fraction}");
        let kept = match notation {
            Notation::Binary => fraction.is_empty() && mantissa & 7 != 0,
            Notation::Decimal | Notation::Exponent => {
                (exponent - places) % 3 == 0
                    && exponent - places >= -9
                    && !shifted.ends_with("000")
                    && !shifted.starts_with('0')
                    && shifted.len() <= 18
            }
        };
        Some(Self {
            nanos: if negative { -nanos } else { nanos },
            notation,
            sent: (kept || text == "0").then(|| text.to_owned()),
        })
    }

    /// Reads an amount from JSON: a string or a number.
    pub fn read(value: &serde_json::Value) -> Option<Self> {
        match value {
            serde_json::Value::String(text) => Self::parse(text),
            serde_json::Value::Number(number) => Self::parse(&number.to_string()),
            _ => None,
        }
    }

    /// Below nothing.
    pub fn is_negative(&self) -> bool {
        self.nanos < 0
    }

    /// Nothing at all.
    pub fn is_zero(&self) -> bool {
        self.nanos == 0
    }

    /// The amount in whole units, rounded up.
    pub fn value(&self) -> i128 {
        ceil_div(self.nanos, NANO)
    }

    /// The amount in thousandths, rounded up.
    pub fn milli_value(&self) -> i128 {
        ceil_div(self.nanos, NANO / 1000)
    }

    /// The amount with nothing finer than a thousandth.
    #[must_use]
    pub fn rounded_up_to_milli(self) -> Self {
        let nanos = self.milli_value() * (NANO / 1000);
        if nanos == self.nanos { self } else { Self { nanos, sent: None, ..self } }
    }

    /// The sum, written like `self`.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let notation = if self.nanos == 0 { other.notation } else { self.notation };
        Self { nanos: self.nanos + other.nanos, notation, sent: None }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(sent) = &self.sent {
            return f.write_str(sent);
        }
        if self.nanos == 0 {
            return f.write_str("0");
        }
        let small = self.nanos.abs() < 1024 * NANO;
        if self.notation == Notation::Binary && !small && self.nanos % NANO == 0 {
            let mut amount = self.nanos / NANO;
            let mut steps = 0;
            while amount % 1024 == 0 && steps < BINARY.len() - 1 {
                amount /= 1024;
                steps += 1;
            }
            return write!(f, "{amount}{}", BINARY.get(steps).copied().unwrap_or_default());
        }
        let mut amount = self.nanos;
        let mut exponent = -9_i32;
        while amount % 1000 == 0 && exponent < 18 {
            amount /= 1000;
            exponent += 3;
        }
        if self.notation == Notation::Exponent {
            return if exponent == 0 {
                write!(f, "{amount}")
            } else {
                write!(f, "{amount}e{exponent}")
            };
        }
        let step = usize::try_from((exponent + 9) / 3).unwrap_or_default();
        write!(f, "{amount}{}", DECIMAL.get(step).copied().unwrap_or_default())
    }
}

const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];

fn notation(suffix: &str) -> Option<(Notation, i32)> {
    if suffix.is_empty() {
        return Some((Notation::Decimal, 0));
    }
    if let Some(step) = BINARY.iter().position(|s| *s == suffix) {
        return Some((Notation::Binary, i32::try_from(step).ok()? * 10));
    }
    if let Some(step) = DECIMAL.iter().position(|s| *s == suffix) {
        return Some((Notation::Decimal, i32::try_from(step).ok()? * 3 - 9));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    Some((Notation::Exponent, exponent.strip_prefix('+').unwrap_or(exponent).parse().ok()?))
}

/// `mantissa · 10^power`, rounded away from nothing.
fn scale(mantissa: i128, power: i32) -> i128 {
    let factor = 10_i128.checked_pow(power.unsigned_abs());
    if power >= 0 {
        factor.map_or(i128::MAX, |f| mantissa.saturating_mul(f))
    } else {
        factor.map_or(i128::from(mantissa != 0), |f| ceil_div(mantissa, f))
    }
}

fn ceil_div(amount: i128, by: i128) -> i128 {
    let whole = amount / by;
    if amount % by == 0 { whole } else { whole + amount.signum() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_written_in_one_way() {
        for (sent, stored) in [
            ("0", "0"),
            ("0.5", "500m"),
            ("1000m", "1"),
            ("1500m", "1500m"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("512Ki", "512Ki"),
            ("1000Ki", "1000Ki"),
            ("0.1Gi", "107374182400m"),
            ("1e3", "1e3"),
            ("2000", "2k"),
            ("1100", "1100"),
            ("100.500", "100.500"),
            ("-5", "-5"),
            ("1024Ki", "1Mi"),
            ("512", "512"),
            ("0.00000000001", "1n"),
            ("0Gi", "0"),
            ("1E", "1E"),
        ] {
            let read = Quantity::parse(sent).map(|q| q.to_string());
            assert_eq!(read.as_deref(), Some(stored), "{sent}");
        }
    }

    #[test]
    fn text_that_is_no_amount_is_refused() {
        for text in ["", "abc", "1x", "1.2.3", "Gi", "1 Gi", "--1"] {
            assert!(Quantity::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn amounts_compare_by_size() {
        let parse = |t| Quantity::parse(t).unwrap();
        assert!(parse("1Gi") > parse("1G"));
        assert_eq!(parse("1"), parse("1000m"));
        assert_eq!(parse("100m").plus(&parse("900m")).to_string(), "1");
        assert_eq!(parse("1n").rounded_up_to_milli().to_string(), "1m");
    }
}
