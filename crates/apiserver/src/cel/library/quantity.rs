//! `quantity('1Gi')`

use std::cmp::Ordering;
use std::sync::Arc;

use super::Outcome;
use crate::cel::error::EvalError;
use crate::cel::value::{Object, Value};

/// An exact amount: `digits × 10^exponent`, where binary suffixes are already multiplied out.
#[derive(Debug, Clone, Copy)]
struct Quantity {
    digits: i128,
    exponent: i32,
}

const WRONG: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

pub(super) fn parse(text: &str) -> Outcome {
    read(text).map(value).ok_or_else(|| EvalError::new(WRONG))
}

fn value(quantity: Quantity) -> Value {
    Value::Object(Arc::new(quantity))
}

fn read(text: &str) -> Option<Quantity> {
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let length = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let (number, suffix) = rest.split_at(length);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let mut digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let mut exponent = -i32::try_from(fraction.len()).ok()?;
    let binary = match suffix {
        "Ki" => 1,
        "Mi" => 2,
        "Gi" => 3,
        "Ti" => 4,
        "Pi" => 5,
        "Ei" => 6,
        _ => 0,
    };
    if binary > 0 {
        digits = digits.checked_mul(1i128 << (10 * binary))?;
    } else {
        exponent += match suffix {
            "" => 0,
            "n" => -9,
            "u" => -6,
            "m" => -3,
            "k" => 3,
            "M" => 6,
            "G" => 9,
            "T" => 12,
            "P" => 15,
            "E" => 18,
            other => other.strip_prefix(['e', 'E'])?.parse().ok()?,
        };
    }
    if exponent.abs() > 40 {
        return None;
    }
    Some(Quantity { digits: if negative { -digits } else { digits }, exponent }.reduced())
}

impl Quantity {
    fn reduced(mut self) -> Self {
        while self.digits != 0 && self.digits % 10 == 0 {
            self.digits /= 10;
            self.exponent += 1;
        }
        if self.digits == 0 {
            self.exponent = 0;
        }
        self
    }

    fn of_int(number: i64) -> Self {
        Self { digits: i128::from(number), exponent: 0 }.reduced()
    }

    /// Both as digits of the same exponent.
    fn aligned(self, other: Self) -> Option<(i128, i128, i32)> {
        let exponent = self.exponent.min(other.exponent);
        let scaled = |q: Self| {
            let shift = u32::try_from(q.exponent - exponent).ok()?;
            q.digits.checked_mul(10i128.checked_pow(shift)?)
        };
        Some((scaled(self)?, scaled(other)?, exponent))
    }

    fn integer(self) -> Option<i64> {
        let shift = u32::try_from(self.exponent).ok()?;
        i64::try_from(self.digits.checked_mul(10i128.checked_pow(shift)?)?).ok()
    }

    fn compare(self, other: Self) -> Ordering {
        match self.aligned(other) {
            Some((a, b, _)) => a.cmp(&b),
            // Too far apart to align: the larger exponent decides, unless the signs do.
            None => match self.digits.signum().cmp(&other.digits.signum()) {
                Ordering::Equal if self.digits > 0 => self.exponent.cmp(&other.exponent),
                Ordering::Equal => other.exponent.cmp(&self.exponent),
                order => order,
            },
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "the function promises an approximation")]
    fn float(self) -> f64 {
        self.digits as f64 * 10f64.powi(self.exponent)
    }
}

fn other(argument: &Value) -> Option<Quantity> {
    match argument {
        Value::Int(number) => Some(Quantity::of_int(*number)),
        Value::Object(object) => object.any()?.downcast_ref::<Quantity>().copied(),
        _ => None,
    }
}

impl Object for Quantity {
    fn type_name(&self) -> &'static str {
        "kubernetes.Quantity"
    }

    fn identity(&self) -> Option<String> {
        Some(format!("{}e{}", self.digits, self.exponent))
    }

    fn any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    fn call(&self, function: &str, arguments: &[Value]) -> Option<Outcome> {
        Some(Ok(match (function, arguments) {
            ("isInteger", []) => Value::Bool(self.integer().is_some()),
            ("asInteger", []) => match self.integer() {
                Some(number) => Value::Int(number),
                None => return Some(Err(EvalError::new("cannot convert value to integer"))),
            },
            ("asApproximateFloat", []) => Value::Double(self.float()),
            ("sign", []) => Value::Int(i64::try_from(self.digits.signum()).unwrap_or(0)),
            ("isLessThan", [with]) => Value::Bool(self.compare(other(with)?) == Ordering::Less),
            ("isGreaterThan", [with]) => {
                Value::Bool(self.compare(other(with)?) == Ordering::Greater)
            }
            ("compareTo", [with]) => Value::Int(self.compare(other(with)?) as i64),
            ("add" | "sub", [with]) => {
                let (a, b, exponent) = self.aligned(other(with)?)?;
                let digits = if function == "add" { a.checked_add(b)? } else { a.checked_sub(b)? };
                value(Quantity { digits, exponent }.reduced())
            }
            _ => return None,
        }))
    }
}
