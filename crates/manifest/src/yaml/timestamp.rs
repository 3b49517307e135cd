//! Dates and times as Go's YAML library recognises them: four formats, read as Go reads them.

use std::fmt::Write;

/// A moment, as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timestamp {
    date: (u16, u8, u8),
    time: (u8, u8, u8),
    nanoseconds: u32,
    /// Minutes east of Greenwich.
    offset: i32,
}

impl Timestamp {
    /// RFC 3339; nothing if the offset is more than that knows.
    pub(super) fn to_json(self) -> Option<String> {
        let Self { date: (year, month, day), time: (hour, minute, second), .. } = self;
        let mut text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
        if self.nanoseconds > 0 {
            let fraction = format!("{:09}", self.nanoseconds);
            text.push('.');
            text.push_str(fraction.trim_end_matches('0'));
        }
        if self.offset == 0 {
            text.push('Z');
        } else {
            let (sign, minutes) = (if self.offset < 0 { '-' } else { '+' }, self.offset.abs());
            if minutes >= 24 * 60 {
                return None;
            }
            write!(text, "{sign}{:02}:{:02}", minutes / 60, minutes % 60).ok()?;
        }
        Some(text)
    }
}

/// The moment a text says, if it does.
pub(super) fn parse(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    if bytes.get(4) != Some(&b'-') || !bytes[..4].iter().all(u8::is_ascii_digit) {
        return None;
    }
    let mut rest = Rest(&bytes[5..]);
    let year = text.get(..4)?.parse().ok()?;
    let month = rest.number()?;
    rest.expect(b'-')?;
    let day = rest.number()?;
    if !(1..=12).contains(&month) || day < 1 || day > days_in(month, year) {
        return None;
    }
    let mut timestamp =
        Timestamp { date: (year, month, day), time: (0, 0, 0), nanoseconds: 0, offset: 0 };
    let zoned = match rest.0.first() {
        None => return Some(timestamp),
        Some(b'T' | b't') => {
            rest.0 = &rest.0[1..];
            true
        }
        Some(b' ') => {
            while rest.expect(b' ').is_some() {}
            false
        }
        Some(_) => return None,
    };
    let hour = rest.number()?;
    rest.expect(b':')?;
    let minute = rest.number()?;
    rest.expect(b':')?;
    let second = rest.number()?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    timestamp.time = (hour, minute, second);
    timestamp.nanoseconds = rest.fraction();
    if zoned {
        timestamp.offset = rest.offset()?;
    }
    rest.0.is_empty().then_some(timestamp)
}

fn days_in(month: u8, year: u16) -> u8 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 => 28 + u8::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn expect(&mut self, byte: u8) -> Option<()> {
        let (first, rest) = self.0.split_first()?;
        (*first == byte).then(|| self.0 = rest)
    }

    /// One digit or two.
    fn number(&mut self) -> Option<u8> {
        let count = self.0.iter().take(2).take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return None;
        }
        let (digits, rest) = self.0.split_at(count);
        self.0 = rest;
        Some(digits.iter().fold(0, |number, digit| number * 10 + (digit - b'0')))
    }

    fn fraction(&mut self) -> u32 {
        let [b'.' | b',', after @ ..] = self.0 else { return 0 };
        let count = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return 0;
        }
        self.0 = &after[count..];
        let digit = |place: usize| if place < count { u32::from(after[place] - b'0') } else { 0 };
        (0..9).fold(0, |number, place| number * 10 + digit(place))
    }

    fn offset(&mut self) -> Option<i32> {
        if self.expect(b'Z').is_some() {
            return Some(0);
        }
        let [sign, hour @ .., b':', _, _] = self.0.get(..6)? else { return None };
        let two = |digits: &[u8]| -> Option<i32> {
            let [ten @ b'0'..=b'9', one @ b'0'..=b'9'] = digits else { return None };
            Some(i32::from(ten - b'0') * 10 + i32::from(one - b'0'))
        };
        let (hours, minutes) = (two(hour)?, two(self.0.get(4..6)?)?);
        let sign = match sign {
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        if hours > 24 || minutes > 60 {
            return None;
        }
        self.0 = &self.0[6..];
        Some(sign * (hours * 60 + minutes))
    }
}
