//! Amounts of resources: `500m`, `1Gi`, `1e3`.

use std::cmp::Ordering;
use std::fmt;

/// How an amount is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `12e6`
    DecimalExponent,
    /// `12Mi`
    Binary,
    /// `12M`
    Decimal,
}

/// An amount: a decimal number and how to print it. Equality is that of the number.
#[derive(Debug, Clone)]
pub struct Quantity {
    mantissa: i128,
    /// Power of ten.
    exponent: i32,
    format: Format,
    /// The text it was read from, if that is canonical enough to be kept.
    kept: Option<Box<str>>,
}

/// Why a text is no quantity, in the API server's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Neither a number nor a number with a suffix.
    #[error(
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )]
    Form,
    /// The number is not one.
    #[error("unable to parse numeric part of quantity")]
    Number,
    /// Looks like a suffix but is none.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

const DECIMAL: [(&str, i32); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];
const BINARY: [(&str, u32); 6] =
    [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
/// The smallest unit: a billionth.
const NANO: i32 = -9;

struct Parts<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(text.len()))
}

fn split(text: &str) -> Result<Parts<'_>, Error> {
    let negative = text.starts_with('-');
    let rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, rest) = digits(rest.trim_start_matches('0'));
    let whole = if whole.is_empty() { "0" } else { whole };
    let (fraction, rest) = rest.strip_prefix('.').map_or(("", rest), digits);
    let exponent = rest.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let exponent = if exponent.is_empty() {
        exponent
    } else {
        exponent.strip_prefix(['-', '+']).unwrap_or(exponent)
    };
    if !exponent.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Error::Form);
    }
    Ok(Parts { negative, whole, fraction, suffix: rest })
}

enum Suffix {
    Ten(i32, Format),
    Two(u32),
}

fn suffix(text: &str) -> Result<Suffix, Error> {
    if let Some((_, exponent)) = DECIMAL.iter().find(|(name, _)| *name == text) {
        return Ok(Suffix::Ten(*exponent, Format::Decimal));
    }
    if let Some((_, exponent)) = BINARY.iter().find(|(name, _)| *name == text) {
        return Ok(Suffix::Two(*exponent));
    }
    let power = text.strip_prefix(['e', 'E']).filter(|power| !power.is_empty());
    let power = power.and_then(|power| power.parse::<i32>().ok()).ok_or(Error::Suffix)?;
    Ok(Suffix::Ten(power, Format::DecimalExponent))
}

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self::whole(0);

    /// Reads an amount, or nothing if it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        Self::checked(text.trim()).ok()
    }

    /// Reads an amount from JSON: a string or a number.
    pub fn read(value: &serde_json::Value) -> Option<Self> {
        match value {
            serde_json::Value::String(text) => Self::parse(text),
            serde_json::Value::Number(number) => Self::parse(&number.to_string()),
            _ => None,
        }
    }

    /// Reads an amount, or says why it is none.
    pub fn checked(text: &str) -> Result<Self, Error> {
        if text.is_empty() {
            return Err(Error::Form);
        }
        let parts = split(text)?;
        let suffix = suffix(parts.suffix)?;
        let joined = [parts.whole, parts.fraction].concat();
        let (mut mantissa, dropped) = read(&joined);
        let places = i32::try_from(parts.fraction.len()).unwrap_or(i32::MAX);
        let (exponent, format, keep) = match suffix {
            Suffix::Ten(power, format) => {
                let exponent = power.saturating_sub(places);
                // Go keeps the text of a number that is nearly canonical already.
                let keep = joined.len() <= 18
                    && exponent >= NANO
                    && exponent % 3 == 0
                    && !joined.ends_with("000")
                    && !joined.starts_with('0');
                (exponent, format, keep || text == "0")
            }
            Suffix::Two(power) => {
                let digits = i32::try_from(joined.len()).unwrap_or(i32::MAX);
                let precise = 15 - digits - i32::try_from(power * 3 / 10).unwrap_or(0) > 0;
                let keep = places == 0 && precise && mantissa & 7 != 0;
                mantissa = mantissa.saturating_mul(1 << power);
                (-places, Format::Binary, keep)
            }
        };
        let mut quantity = Self {
            mantissa: if parts.negative { -mantissa } else { mantissa },
            exponent: exponent.saturating_add(dropped),
            format,
            kept: keep.then(|| text.into()),
        };
        quantity.bound();
        Ok(quantity)
    }

    /// Rounds to a billionth, away from zero; caps binary amounts at what 64 bits hold.
    fn bound(&mut self) {
        if self.exponent < NANO {
            let shift = u32::try_from(NANO - self.exponent).unwrap_or(u32::MAX);
            let divisor = 10i128.checked_pow(shift).unwrap_or(i128::MAX);
            let (whole, rest) = (self.mantissa / divisor, self.mantissa % divisor);
            self.mantissa = whole + rest.signum();
            self.exponent = NANO;
        }
        if self.format == Format::Binary {
            let cap = Self::whole(i64::MAX.into());
            if self.cmp_number(&cap) == Ordering::Greater {
                (self.mantissa, self.exponent) = (cap.mantissa, cap.exponent);
                self.kept = None;
            }
            let one = Self::whole(1);
            if self.mantissa > 0 && self.cmp_number(&one) == Ordering::Less {
                self.format = Format::Decimal;
            }
        }
    }

    const fn whole(number: i128) -> Self {
        Self { mantissa: number, exponent: 0, format: Format::Decimal, kept: None }
    }

    /// An amount of whole units.
    pub fn from_units(units: i64, format: Format) -> Self {
        Self { format, ..Self::whole(units.into()) }
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.mantissa == 0
    }

    /// Below nothing.
    pub fn is_negative(&self) -> bool {
        self.mantissa < 0
    }

    /// How it is printed.
    pub fn format(&self) -> Format {
        self.format
    }

    /// In whole units if it is a whole number of them.
    pub fn as_units(&self) -> Option<i64> {
        let (number, exact) = self.scaled(0);
        exact.then_some(number).and_then(|number| number.try_into().ok())
    }

    /// The amount in whole units, rounded up.
    pub fn value(&self) -> i128 {
        self.scaled(0).0
    }

    /// The amount in thousandths, rounded up.
    pub fn milli_value(&self) -> i128 {
        self.scaled(-3).0
    }

    /// Rounded up to thousandths, as resource lists are.
    #[must_use]
    pub fn rounded_up_to_milli(self) -> Self {
        match self.scaled(-3) {
            (_, true) => self,
            (millis, false) => Self { mantissa: millis, exponent: -3, kept: None, ..self },
        }
    }

    /// As a float, roughly.
    #[expect(clippy::cast_precision_loss, reason = "the name says it")]
    pub fn approximate(&self) -> f64 {
        self.mantissa as f64 * 10f64.powi(self.exponent)
    }

    /// The sum, in this amount's format (or the other's if this is zero).
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let exponent = self.exponent.min(other.exponent);
        let sum = self.scaled(exponent).0.saturating_add(other.scaled(exponent).0);
        let format = if self.is_zero() { other.format } else { self.format };
        Self { mantissa: sum, exponent, format, kept: None }
    }

    /// The difference, in this amount's format.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        let negative = Self { mantissa: -other.mantissa, kept: None, ..other.clone() };
        self.plus(&negative)
    }

    /// The number in units of a power of ten, rounded away from zero, and whether that is exact.
    fn scaled(&self, exponent: i32) -> (i128, bool) {
        let shift = self.exponent.saturating_sub(exponent);
        let power = 10i128.checked_pow(shift.unsigned_abs()).unwrap_or(i128::MAX);
        if shift >= 0 {
            (self.mantissa.saturating_mul(power), true)
        } else {
            let rest = self.mantissa % power;
            (self.mantissa / power + rest.signum(), rest == 0)
        }
    }

    fn cmp_number(&self, other: &Self) -> Ordering {
        match self.mantissa.signum().cmp(&other.mantissa.signum()) {
            Ordering::Equal => {}
            unequal => return unequal,
        }
        let exponent = self.exponent.min(other.exponent);
        self.scaled(exponent).0.cmp(&other.scaled(exponent).0)
    }

    fn binary_text(&self) -> Option<String> {
        let (mut number, exact) = self.scaled(0);
        if !exact || number.abs() < 1024 {
            return None;
        }
        let mut power = 0;
        while number % 1024 == 0 && power < 60 {
            number /= 1024;
            power += 10;
        }
        let suffix = BINARY.iter().find(|(_, p)| *p == power).map_or("", |(name, _)| name);
        Some(format!("{number}{suffix}"))
    }

    fn decimal_text(&self) -> String {
        let (mut number, mut exponent) = (self.mantissa, self.exponent);
        while number % 10 == 0 {
            number /= 10;
            exponent += 1;
        }
        let over = exponent.rem_euclid(3);
        number = number.saturating_mul(10i128.pow(over.unsigned_abs()));
        exponent -= over;
        if self.format == Format::DecimalExponent {
            return if exponent == 0 { number.to_string() } else { format!("{number}e{exponent}") };
        }
        let suffix = DECIMAL.iter().find(|(_, e)| *e == exponent).map_or("", |(name, _)| name);
        format!("{number}{suffix}")
    }
}

/// The number of some digits, and how many of them did not fit.
fn read(digits: &str) -> (i128, i32) {
    let mut number = 0i128;
    let mut dropped = 0;
    for byte in digits.bytes() {
        let next = number.checked_mul(10).and_then(|n| n.checked_add(i128::from(byte - b'0')));
        match next {
            Some(next) if dropped == 0 && next < i128::MAX / 4 => number = next,
            _ => dropped += 1,
        }
    }
    (number, dropped)
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(kept) = &self.kept {
            return f.write_str(kept);
        }
        if self.is_zero() {
            return f.write_str("0");
        }
        let binary = (self.format == Format::Binary).then(|| self.binary_text()).flatten();
        f.write_str(&binary.unwrap_or_else(|| self.decimal_text()))
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp_number(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.cmp_number(other)
    }
}

/// The canonical text of an amount: `1024Mi` is `1Gi`, `0.5` is `500m`.
pub fn canonical(text: &str) -> Result<String, Error> {
    Quantity::checked(text).map(|quantity| quantity.to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn canonical_forms_are_those_of_the_server() {
        for (text, expected) in [
            ("1024Mi", "1Gi"),
            ("0.5", "500m"),
            ("1500m", "1500m"),
            ("1.5", "1500m"),
            ("1000m", "1"),
            ("1000", "1k"),
            ("0", "0"),
            ("0Gi", "0"),
            ("1.5Gi", "1536Mi"),
            ("0.1Mi", "104857600m"),
            ("512", "512"),
            ("2048Ki", "2Mi"),
            ("1e3", "1e3"),
            ("10e3", "10e3"),
            ("1e4", "10e3"),
            ("0.0000000001", "1n"),
            ("-5m", "-5m"),
            ("+5", "+5"),
            ("1.500", "1.500"),
            ("1G", "1G"),
            ("1000Mi", "1000Mi"),
            ("100000Ki", "100000Ki"),
        ] {
            assert_eq!(canonical(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity() {
        for (text, error) in [
            ("", Error::Form),
            ("x", Error::Form),
            ("1.5.5", Error::Form),
            ("1Zi", Error::Form),
            ("1 Gi", Error::Form),
            ("1eM", Error::Suffix),
            ("1ee", Error::Suffix),
            ("1KM", Error::Suffix),
        ] {
            assert_eq!(Quantity::checked(text).unwrap_err(), error, "{text}");
        }
    }

    #[test]
    fn compared_by_number() {
        let q = |text| Quantity::parse(text).unwrap();
        assert_eq!(q("1Gi"), q("1024Mi"));
        assert_eq!(q("1"), q("1000m"));
        assert!(q("1G") < q("1Gi"));
        assert!(q("-1") < q("0"));
        assert_eq!(q("1Gi").plus(&q("1Mi")).to_string(), "1025Mi");
        assert_eq!(q("1").minus(&q("250m")).to_string(), "750m");
        assert_eq!(q("1500m").value(), 2);
        assert_eq!(q("1500m").as_units(), None);
        assert_eq!(q("2Ki").as_units(), Some(2048));
    }

    proptest! {
        #[test]
        fn canonical_is_idempotent_and_keeps_the_number(
            text in "[+-]?[0-9]{1,12}(\\.[0-9]{0,6})?(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|e[0-9]|E-?[0-9])?"
        ) {
            let first = Quantity::parse(&text).unwrap();
            let second = Quantity::parse(&first.to_string()).unwrap();
            prop_assert_eq!(first.to_string(), second.to_string());
            prop_assert_eq!(first, second);
        }

        #[test]
        fn never_panics(text in ".{0,24}") {
            let _ = canonical(&text);
        }
    }
}
