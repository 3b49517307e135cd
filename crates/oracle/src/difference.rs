//! What differs between two texts, as lines.

use std::fmt::Write as _;

/// Longer texts are not compared line by line.
const LONGEST: usize = 1500;
/// Equal lines shown around what differs.
const AROUND: usize = 3;

/// The lines of both texts, those only in `wanted` marked `-`, those only in `got` marked `+`; far
/// from any difference they are left out.
pub fn lines(wanted: &str, got: &str) -> String {
    let (wanted, got): (Vec<&str>, Vec<&str>) =
        (wanted.split('\n').collect(), got.split('\n').collect());
    if wanted.len() > LONGEST || got.len() > LONGEST {
        return first(&wanted, &got);
    }
    let marked = mark(&wanted, &got);
    let mut text = String::new();
    let mut skipped = false;
    for (place, (sign, line)) in marked.iter().enumerate() {
        let from = place.saturating_sub(AROUND);
        let to = (place + AROUND + 1).min(marked.len());
        if marked[from..to].iter().all(|(sign, _)| *sign == ' ') {
            skipped = true;
            continue;
        }
        if std::mem::take(&mut skipped) {
            text.push_str("  ...\n");
        }
        let _ = writeln!(text, "{sign} {line}");
    }
    text
}

fn first(wanted: &[&str], got: &[&str]) -> String {
    let place = wanted.iter().zip(got).take_while(|(one, two)| one == two).count();
    let at = |lines: &[&str]| lines.get(place).map_or("nothing", |line| *line).to_owned();
    format!("line {}:\n- {}\n+ {}\n", place + 1, at(wanted), at(got))
}

/// The longest common lines, by the usual table.
fn mark<'a>(wanted: &[&'a str], got: &[&'a str]) -> Vec<(char, &'a str)> {
    let width = got.len() + 1;
    let mut table = vec![0_u32; (wanted.len() + 1) * width];
    for one in (0..wanted.len()).rev() {
        for two in (0..got.len()).rev() {
            table[one * width + two] = if wanted[one] == got[two] {
                table[(one + 1) * width + two + 1] + 1
            } else {
                table[(one + 1) * width + two].max(table[one * width + two + 1])
            };
        }
    }
    let (mut one, mut two, mut marked) = (0, 0, Vec::new());
    while one < wanted.len() || two < got.len() {
        if one < wanted.len() && two < got.len() && wanted[one] == got[two] {
            marked.push((' ', wanted[one]));
            (one, two) = (one + 1, two + 1);
        } else if two == got.len()
            || one < wanted.len() && table[(one + 1) * width + two] >= table[one * width + two + 1]
        {
            marked.push(('-', wanted[one]));
            one += 1;
        } else {
            marked.push(('+', got[two]));
            two += 1;
        }
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_shown_with_what_is_around_it() {
        let text = lines("a\nb\nc\nd\ne\nf\ng", "a\nb\nc\nd\ne\nX\ng\nh");
        assert_eq!(text, "  ...\n  c\n  d\n  e\n- f\n+ X\n  g\n+ h\n");
        assert_eq!(lines("a", "a"), "");
    }
}
