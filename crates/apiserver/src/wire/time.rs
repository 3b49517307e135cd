//! Times as Go parses and prints them.

use jiff::Timestamp;
use jiff::civil::DateTime;

const LAYOUT: &str = "2006-01-02T15:04:05Z07:00";
const MICRO_LAYOUT: &str = "2006-01-02T15:04:05.000000Z07:00";

/// Reads an RFC 3339 time; the error is Go's message.
pub(crate) fn parse(text: &str) -> Result<Timestamp, String> {
    Reader { text, rest: text, layout: LAYOUT, micro: false }.time()
}

/// Reads a time with exactly six digits of fraction.
pub(crate) fn parse_micro(text: &str) -> Result<Timestamp, String> {
    Reader { text, rest: text, layout: MICRO_LAYOUT, micro: true }.time()
}

/// Whole seconds in UTC: `2026-01-02T03:04:05Z`.
pub(crate) fn print(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Microseconds in UTC: `2026-01-02T03:04:05.000000Z`.
pub(crate) fn print_micro(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
    layout: &'static str,
    micro: bool,
}

impl Reader<'_> {
    fn time(mut self) -> Result<Timestamp, String> {
        let year = self.digits(4, "2006")?;
        self.mark("-")?;
        let month = self.digits(2, "01")?;
        self.within(month, 1, 12, "month")?;
        self.mark("-")?;
        let day = self.digits(2, "02")?;
        self.mark("T")?;
        let hour = self.digits(2, "15")?;
        self.within(hour, 0, 23, "hour")?;
        self.mark(":")?;
        let minute = self.digits(2, "04")?;
        self.within(minute, 0, 59, "minute")?;
        self.mark(":")?;
        let second = self.digits(2, "05")?;
        self.within(second, 0, 59, "second")?;
        let nanos = self.fraction()?;
        let offset = self.zone()?;
        if !self.rest.is_empty() {
            let (text, rest) = (quoted(self.text), quoted(self.rest));
            return Err(format!("parsing time {text}: extra text: {rest}"));
        }
        let civil = DateTime::new(
            year,
            small(month),
            small(day),
            small(hour),
            small(minute),
            small(second),
            nanos,
        )
        .map_err(|_| self.out_of_range("day"))?;
        let utc = civil.to_zoned(jiff::tz::TimeZone::UTC).map_err(|_| self.out_of_range("year"))?;
        let shift = jiff::SignedDuration::from_mins(offset);
        utc.timestamp().checked_sub(shift).map_err(|_| self.out_of_range("year"))
    }

    fn digits(&mut self, count: usize, element: &str) -> Result<i16, String> {
        let found = self.rest.get(..count).filter(|d| d.bytes().all(|b| b.is_ascii_digit()));
        let Some(number) = found.and_then(|d| d.parse().ok()) else {
            return Err(self.cannot(element));
        };
        self.rest = self.rest.get(count..).unwrap_or_default();
        Ok(number)
    }

    fn mark(&mut self, mark: &str) -> Result<(), String> {
        match self.rest.strip_prefix(mark) {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None => Err(self.cannot(mark)),
        }
    }

    fn fraction(&mut self) -> Result<i32, String> {
        let digits: &str = match self.rest.strip_prefix(['.', ',']) {
            Some(rest) => {
                let end = rest.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(rest.len());
                rest.get(..end).unwrap_or_default()
            }
            None => "",
        };
        if self.micro && digits.len() != 6 {
            return Err(self.cannot(".000000"));
        }
        if digits.is_empty() {
            return Ok(0);
        }
        self.rest = self.rest.get(1 + digits.len()..).unwrap_or_default();
        let mut nanos = 0;
        for place in 0..9 {
            let digit = digits.as_bytes().get(place).map_or(0, |b| i32::from(b - b'0'));
            nanos = nanos * 10 + digit;
        }
        Ok(nanos)
    }

    /// Minutes east of UTC.
    fn zone(&mut self) -> Result<i64, String> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let bytes = self.rest.as_bytes();
        let shape = matches!(bytes, [b'+' | b'-', a, b, b':', c, d, ..]
            if [a, b, c, d].iter().all(|x| x.is_ascii_digit()));
        let (Some(hours), Some(minutes)) = (self.rest.get(1..3), self.rest.get(4..6)) else {
            return Err(self.cannot("Z07:00"));
        };
        let (Ok(hours), Ok(minutes), true) = (hours.parse::<i64>(), minutes.parse::<i64>(), shape)
        else {
            return Err(self.cannot("Z07:00"));
        };
        if hours > 24 {
            return Err(self.out_of_range("time zone offset hour"));
        }
        if minutes > 60 {
            return Err(self.out_of_range("time zone offset minute"));
        }
        let sign = if self.rest.starts_with('-') { -1 } else { 1 };
        self.rest = self.rest.get(6..).unwrap_or_default();
        Ok(sign * (hours * 60 + minutes))
    }

    fn within(&self, number: i16, low: i16, high: i16, what: &str) -> Result<(), String> {
        if (low..=high).contains(&number) { Ok(()) } else { Err(self.out_of_range(what)) }
    }

    fn cannot(&self, element: &str) -> String {
        let (text, rest) = (quoted(self.text), quoted(self.rest));
        format!("parsing time {text} as \"{}\": cannot parse {rest} as \"{element}\"", self.layout)
    }

    fn out_of_range(&self, what: &str) -> String {
        format!("parsing time {}: {what} out of range", quoted(self.text))
    }
}

fn small(number: i16) -> i8 {
    i8::try_from(number).unwrap_or(0)
}

fn quoted(text: &str) -> String {
    super::text::quote(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_those_of_go() {
        for (text, message) in [
            ("x", r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#),
            ("", r#"parsing time "" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006""#),
            (
                "2020-01-01",
                r#"parsing time "2020-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T""#,
            ),
            (
                "2020-01-01T00:00:00",
                r#"parsing time "2020-01-01T00:00:00" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00""#,
            ),
            ("2020-13-01T00:00:00Z", r#"parsing time "2020-13-01T00:00:00Z": month out of range"#),
            ("2020-01-32T00:00:00Z", r#"parsing time "2020-01-32T00:00:00Z": day out of range"#),
            ("2020-02-30T00:00:00Z", r#"parsing time "2020-02-30T00:00:00Z": day out of range"#),
        ] {
            assert_eq!(parse(text).unwrap_err(), message);
        }
    }

    #[test]
    fn printed_in_utc_and_whole_seconds() {
        let time = parse("2020-01-01T00:30:00.75+02:00").unwrap();
        assert_eq!(print(time), "2019-12-31T22:30:00Z");
        let micro = parse_micro("2020-01-01T00:00:00.120000Z").unwrap();
        assert_eq!(print_micro(micro), "2020-01-01T00:00:00.120000Z");
        assert!(parse_micro("2020-01-01T00:00:00Z").is_err());
    }
}
