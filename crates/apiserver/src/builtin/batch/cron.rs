//! Cron schedules, as the server reads them.

/// The five fields: name of the lowest and highest number, and words that stand for numbers.
const FIELDS: [(u64, u64, &[&str]); 5] = [
    (0, 59, &[]),
    (0, 23, &[]),
    (1, 31, &[]),
    (
        1,
        12,
        &["", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    ),
    (0, 6, &["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
];

/// Why a text is no schedule.
pub fn fault(schedule: &str) -> Option<String> {
    let mut rest = schedule;
    if rest.starts_with("TZ=") || rest.starts_with("CRON_TZ=") {
        let start = rest.find('=')? + 1;
        let Some(end) = rest.find(' ') else {
            return Some(
                "invalid schedule format: runtime error: slice bounds out of range [:-1]"
                    .to_owned(),
            );
        };
        let zone = rest.get(start..end).unwrap_or_default();
        if let Some(why) = zone_fault(zone) {
            return Some(format!("provided bad location {zone}: {why}"));
        }
        rest = rest.get(end..).unwrap_or_default().trim();
    }
    if rest.starts_with('@') {
        return descriptor(rest);
    }
    let fields: Vec<&str> = rest.split_whitespace().collect();
    if fields.len() != 5 {
        return Some(format!(
            "expected exactly 5 fields, found {}: [{}]",
            fields.len(),
            fields.join(" ")
        ));
    }
    fields.iter().zip(FIELDS).find_map(|(field, (low, high, words))| {
        field
            .split(',')
            .filter(|part| !part.is_empty())
            .find_map(|part| range(part, low, high, words))
    })
}

fn range(part: &str, low: u64, high: u64, words: &[&str]) -> Option<String> {
    let steps: Vec<&str> = part.split('/').collect();
    let ends: Vec<&str> = steps.first()?.split('-').collect();
    let number = |text: &str| -> Result<u64, String> {
        let lower = text.to_lowercase();
        match words.iter().position(|w| !w.is_empty() && *w == lower) {
            Some(found) => Ok(found as u64),
            None => integer(text),
        }
    };
    let (start, mut end) = match ends.as_slice() {
        ["*" | "?", ..] => (low, high),
        [only] => match number(only) {
            Ok(number) => (number, number),
            Err(why) => return Some(why),
        },
        [first, last] => match (number(first), number(last)) {
            (Err(why), _) | (_, Err(why)) => return Some(why),
            (Ok(first), Ok(last)) => (first, last),
        },
        [first, ..] => {
            return Some(
                number(first).err().unwrap_or_else(|| format!("too many hyphens: {part}")),
            );
        }
        [] => return None,
    };
    let step = match steps.as_slice() {
        [_] => 1,
        [_, step] => {
            if ends.len() == 1 {
                end = high;
            }
            match integer(step) {
                Ok(step) => step,
                Err(why) => return Some(why),
            }
        }
        _ => return Some(format!("too many slashes: {part}")),
    };
    if start < low {
        return Some(format!("beginning of range ({start}) below minimum ({low}): {part}"));
    }
    if end > high {
        return Some(format!("end of range ({end}) above maximum ({high}): {part}"));
    }
    if start > end {
        return Some(format!("beginning of range ({start}) beyond end of range ({end}): {part}"));
    }
    (step == 0).then(|| format!("step of range should be a positive number: {part}"))
}

fn integer(text: &str) -> Result<u64, String> {
    let failed = |why: &str| {
        format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: {why}")
    };
    match text.parse::<i64>() {
        Ok(number) if number < 0 => Err(format!("negative number ({number}) not allowed: {text}")),
        Ok(number) => Ok(number.unsigned_abs()),
        Err(error) => Err(match error.kind() {
            std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => {
                failed("value out of range")
            }
            _ => failed("invalid syntax"),
        }),
    }
}

fn descriptor(text: &str) -> Option<String> {
    match text {
        "@yearly" | "@annually" | "@monthly" | "@weekly" | "@daily" | "@midnight" | "@hourly" => {
            None
        }
        _ => match text.strip_prefix("@every ") {
            Some(duration) => duration_fault(duration)
                .map(|why| format!("failed to parse duration {text}: {why}")),
            None => Some(format!("unrecognized descriptor: {text}")),
        },
    }
}

/// Why a text is no duration (`1h30m`).
fn duration_fault(text: &str) -> Option<String> {
    let invalid = || Some(format!("time: invalid duration {text:?}"));
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return None;
    }
    if rest.is_empty() {
        return invalid();
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        if !number.contains(|c: char| c.is_ascii_digit()) || number.matches('.').count() > 1 {
            return invalid();
        }
        let unit_end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, next) = after.split_at(unit_end);
        match unit {
            "" => return Some(format!("time: missing unit in duration {text:?}")),
            "ns" | "us" | "µs" | "μs" | "ms" | "s" | "m" | "h" => {}
            _ => return Some(format!("time: unknown unit {unit:?} in duration {text:?}")),
        }
        rest = next;
    }
    None
}

/// Why a text names no time zone.
pub fn zone_fault(zone: &str) -> Option<String> {
    if matches!(zone, "" | "UTC" | "Local") {
        return None;
    }
    if zone.contains("..") || zone.starts_with('/') || zone.contains('\\') {
        return Some("time: invalid location name".to_owned());
    }
    let found = jiff::tz::TimeZoneDatabase::bundled().get(zone);
    let known = found.is_ok_and(|found| found.iana_name() == Some(zone));
    (!known).then(|| format!("unknown time zone {zone}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_read() {
        for good in [
            "* * * * *",
            "*/5 0-6 1,15 jan-MAR sun",
            "0 0 ? * mon-fri",
            "@hourly",
            "@every 1h30m",
            "5/10 * * * *",
            " 1  2 3 4 5 ",
            "TZ=Europe/Berlin 0 0 * * *",
        ] {
            assert_eq!(fault(good), None, "{good}");
        }
    }

    #[test]
    fn faults_are_named() {
        for (schedule, why) in [
            ("a b", "expected exactly 5 fields, found 2: [a b]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
            ("1/2/3 * * * *", "too many slashes: 1/2/3"),
            (
                "x * * * *",
                "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax",
            ),
            ("@never", "unrecognized descriptor: @never"),
            ("@every x", "failed to parse duration @every x: time: invalid duration \"x\""),
        ] {
            assert_eq!(fault(schedule).as_deref(), Some(why), "{schedule}");
        }
    }
}
