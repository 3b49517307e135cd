//! Numbers as Go writes them.

/// The shortest form that reads back the same, with an exponent if the number is large or small:
/// `100000`, `1e+06`, `0.0001`, `1e-05`.
pub(crate) fn go_float(number: f64) -> String {
    written(number, -4, 6, 2)
}

/// The form of JSON: an exponent only from 1e21 on and below 1e-6.
pub(crate) fn json_float(number: f64) -> String {
    let magnitude = number.abs();
    if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        written(number, i32::MAX, i32::MIN, 1)
    } else {
        written(number, i32::MIN, i32::MAX, 1)
    }
}

/// `lowest..highest` are the exponents that are written out.
fn written(number: f64, lowest: i32, highest: i32, width: usize) -> String {
    if number == 0.0 {
        return if number.is_sign_negative() { "-0".to_owned() } else { "0".to_owned() };
    }
    // Rust's shortest digits are Go's: both read back the same and are as few as possible.
    let shown = format!("{number:e}");
    let Some((digits, exponent)) = shown.split_once('e') else { return shown };
    let Ok(exponent) = exponent.parse::<i32>() else { return shown };
    if (lowest..highest).contains(&exponent) {
        return format!("{number}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:0width$}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_go_writes_them() {
        let cases = [
            (80.0, "80"),
            (100_000.0, "100000"),
            (1_000_000.0, "1e+06"),
            (123_456_789.0, "1.23456789e+08"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (-1.5, "-1.5"),
            (1e100, "1e+100"),
        ];
        for (number, text) in cases {
            assert_eq!(go_float(number), text);
        }
        let cases = [(1e6, "1000000"), (1e21, "1e+21"), (1e-7, "1e-7"), (0.000_001, "0.000001")];
        for (number, text) in cases {
            assert_eq!(json_float(number), text);
        }
    }
}
