//! How long ago, in few letters.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// The time from a timestamp in an object until now; `<unknown>` where there is none.
pub fn since(value: &Value, now: Timestamp) -> String {
    read(value).map_or_else(|| "<unknown>".into(), |then| human(now.duration_since(then)))
}

/// The time between two timestamps in an object, if both are there.
pub fn between(start: &Value, end: &Value) -> Option<String> {
    Some(human(read(end)?.duration_since(read(start)?)))
}

fn read(value: &Value) -> Option<Timestamp> {
    value.as_str().and_then(|text| text.parse().ok())
}

/// Two or three significant figures: `59s`, `3m20s`, `5h`, `12d`, `2y3d`.
pub fn human(duration: SignedDuration) -> String {
    let seconds = duration.as_secs();
    // Clocks may differ a little; two seconds in the future are not.
    if seconds < -1 {
        return "<invalid>".into();
    }
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    let pair = |big: i64, unit: &str, small: i64, fraction: &str| {
        if small == 0 { format!("{big}{unit}") } else { format!("{big}{unit}{small}{fraction}") }
    };
    match (seconds, minutes, hours) {
        (..0, _, _) => "0s".into(),
        (..120, _, _) => format!("{seconds}s"),
        (_, ..10, _) => pair(minutes, "m", seconds % 60, "s"),
        (_, ..180, _) => format!("{minutes}m"),
        (_, _, ..8) => pair(hours, "h", minutes % 60, "m"),
        (_, _, ..48) => format!("{hours}h"),
        (_, _, ..192) => pair(days, "d", hours % 24, "h"),
        (_, _, ..17_520) => format!("{days}d"),
        (_, _, ..70_080) => pair(years, "y", days % 365, "d"),
        _ => format!("{years}y"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_lose_precision_as_they_grow() {
        let cases: [(i64, &str); 19] = [
            (-5, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (10_860, "3h1m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (176_400, "2d1h"),
            (691_200, "8d"),
            (63_071_999, "729d"),
            (63_072_000, "2y"),
            (63_158_400, "2y1d"),
            (252_288_000, "8y"),
        ];
        for (seconds, text) in cases {
            assert_eq!(human(SignedDuration::from_secs(seconds)), text, "{seconds}");
        }
    }

    #[test]
    fn what_is_not_a_time_is_unknown() {
        assert_eq!(since(&Value::Null, Timestamp::UNIX_EPOCH), "<unknown>");
        assert_eq!(
            between(&"2026-01-01T00:00:00Z".into(), &"2026-01-01T00:01:00Z".into()).as_deref(),
            Some("60s")
        );
    }
}
