//! Plain texts and numbers as Go's older YAML library and Go itself read and write them.

/// What a plain text is in YAML 1.1, as Go's second YAML library knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Plain {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text,
}

/// The type of a plain text.
pub(super) fn resolve(text: &str) -> Plain {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Plain::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Plain::Bool(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Plain::Bool(false);
        }
        ".nan" | ".NaN" | ".NAN" => return Plain::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => {
            return Plain::Float(f64::INFINITY);
        }
        "-.inf" | "-.Inf" | "-.INF" => return Plain::Float(f64::NEG_INFINITY),
        _ => {}
    }
    match text.as_bytes() {
        [b'.', b'0'..=b'9', ..] => float(text).map_or(Plain::Text, Plain::Float),
        [b'0'..=b'9' | b'+' | b'-', ..] => {
            let plain = text.replace('_', "");
            match integer(&plain) {
                Some(number) => Plain::Int(number),
                None => float(&plain).map_or(Plain::Text, Plain::Float),
            }
        }
        _ => Plain::Text,
    }
}

/// A whole number in any base that Go knows, if it fits into 64 bits.
fn integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = if let Some(rest) = lower.strip_prefix("0x") {
        (16, rest)
    } else if let Some(rest) = lower.strip_prefix("0b") {
        (2, rest)
    } else if let Some(rest) = lower.strip_prefix("0o") {
        (8, rest)
    } else if lower.len() > 1 && lower.starts_with('0') {
        (8, &lower[1..])
    } else {
        (10, lower.as_str())
    };
    if !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    let number = i128::from(u64::from_str_radix(digits, radix).ok()?);
    let number = if negative { -number } else { number };
    // A sign makes it a signed number, which ends earlier.
    let signed = text.starts_with(['+', '-']);
    (!signed || i64::try_from(number).is_ok()).then_some(number)
}

/// A decimal number: digits, maybe a dot, maybe an exponent.
fn float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let has_number = !whole.is_empty() || !fraction.is_empty();
    let exponent_fits = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    if !has_number || !digits(whole) || !digits(fraction) || !exponent_fits {
        return None;
    }
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// A number as Go writes it into JSON.
pub(super) fn json(number: f64) -> String {
    let size = number.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{number:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let sign = if exponent.starts_with('-') { "" } else { "+" };
        return format!("{mantissa}e{sign}{exponent}");
    }
    if number == 0.0 && number.is_sign_negative() {
        return "-0".to_owned();
    }
    format!("{number}")
}

/// A number as Go prints it: the shortest text, with an exponent from a million on.
pub(super) fn general(number: f64) -> String {
    shortest(&format!("{number:e}"), &format!("{number}"))
}

/// The same with half the digits.
pub(super) fn general_short(number: f64) -> String {
    let number = number as f32;
    shortest(&format!("{number:e}"), &format!("{number}"))
}

fn shortest(scientific: &str, plain: &str) -> String {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).count();
    let most = i32::try_from(digits).unwrap_or(21).max(6);
    if (-4..most.min(21)).contains(&exponent) && exponent < 21 {
        return plain.to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_texts_have_the_types_of_yaml_1_1() {
        let cases = [
            ("yes", Plain::Bool(true)),
            ("Off", Plain::Bool(false)),
            ("y", Plain::Bool(true)),
            ("~", Plain::Null),
            ("0755", Plain::Int(493)),
            ("0o17", Plain::Int(15)),
            ("0x1F", Plain::Int(31)),
            ("-0b11", Plain::Int(-3)),
            ("1_000", Plain::Int(1000)),
            ("18446744073709551615", Plain::Int(u64::MAX.into())),
            ("18446744073709551616", Plain::Float(18_446_744_073_709_551_616.0)),
            ("1e3", Plain::Float(1000.0)),
            ("09", Plain::Float(9.0)),
            (".5", Plain::Float(0.5)),
            ("1.2.3", Plain::Text),
            ("1e", Plain::Text),
            ("-", Plain::Text),
            ("2024-01-02", Plain::Text),
            ("12:30:45", Plain::Text),
            ("0x", Plain::Text),
            ("nope", Plain::Text),
        ];
        for (text, expected) in cases {
            assert_eq!(resolve(text), expected, "{text}");
        }
    }

    #[test]
    fn numbers_are_written_as_go_writes_them() {
        let cases = [
            (1.0, "1"),
            (1.5, "1.5"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1e-7, "1e-7"),
            (0.000_001, "0.000001"),
            (9_007_199_254_740_993.0, "9007199254740992"),
            (12_345_678_901_234_567_890.0, "12345678901234567000"),
        ];
        for (number, text) in cases {
            assert_eq!(json(number), text);
        }
    }
}
