//! The order of keys in what is printed.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::Entry;

/// Sorts by key. Upstream's order has circles (`a2`, `a10`, `a1b`), which Rust's own sort may refuse.
pub(super) fn sort(entries: &mut Vec<(Cow<'_, str>, &Entry)>) {
    let ordered = |one: &(Cow<'_, str>, &Entry), two: &(Cow<'_, str>, &Entry)| {
        compare(&one.0, &two.0) != Ordering::Greater
    };
    if entries.is_sorted_by(ordered) {
        return;
    }
    entries.sort_by(|one, two| one.0.cmp(&two.0));
    if entries.is_sorted_by(ordered) {
        return;
    }
    let mut rest = std::mem::take(entries);
    let mut runs: Vec<Vec<_>> = rest.drain(..).map(|entry| vec![entry]).collect();
    while runs.len() > 1 {
        let mut merged = Vec::with_capacity(runs.len().div_ceil(2));
        let mut pairs = runs.into_iter();
        while let Some(one) = pairs.next() {
            let Some(two) = pairs.next() else {
                merged.push(one);
                break;
            };
            let mut both = Vec::with_capacity(one.len() + two.len());
            let (mut one, mut two) = (one.into_iter().peekable(), two.into_iter().peekable());
            while let (Some(first), Some(second)) = (one.peek(), two.peek()) {
                both.extend(if ordered(first, second) { one.next() } else { two.next() });
            }
            both.extend(one);
            both.extend(two);
            merged.push(both);
        }
        runs = merged;
    }
    *entries = runs.pop().unwrap_or_default();
}

/// The order of keys: letters after everything else, numbers by value.
fn compare(one: &str, two: &str) -> Ordering {
    let same = one.bytes().zip(two.bytes()).take_while(|(left, right)| left == right).count();
    if same == one.len() || same == two.len() {
        return one.len().cmp(&two.len());
    }
    let mut same = same;
    while !one.is_char_boundary(same) {
        same -= 1;
    }
    let (Some(left), Some(right)) = (one[same..].chars().next(), two[same..].chars().next()) else {
        return Ordering::Equal;
    };
    match (left.is_alphabetic(), right.is_alphabetic()) {
        (true, true) => return left.cmp(&right),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    let mut start = 0;
    if left == '0' || right == '0' {
        let before = one[..same].bytes().rev().take_while(u8::is_ascii_digit);
        start = i64::from(before.into_iter().any(|digit| digit != b'0'));
    }
    let number = |text: &str| {
        let digits = text.bytes().take_while(u8::is_ascii_digit);
        digits.fold((start, 0_usize), |(value, count), digit| {
            (value.wrapping_mul(10).wrapping_add(i64::from(digit - b'0')), count + 1)
        })
    };
    number(&one[same..]).cmp(&number(&two[same..])).then(left.cmp(&right))
}
