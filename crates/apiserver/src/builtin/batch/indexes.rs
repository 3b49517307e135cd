//! Sets of indexes of an indexed Job: `1,3-5,7`.

/// How many indexes a text names, or why it names none.
pub fn count(text: &str, completions: i64) -> Result<i64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    let mut total = 0;
    let mut last: Option<i64> = None;
    for part in text.split(',') {
        let (first, end) = interval(part, completions)?;
        if let Some(last) = last.filter(|last| *last >= first) {
            return Err(format!("non-increasing order, previous: {last}, current: {first}"));
        }
        total += end - first + 1;
        last = Some(end);
    }
    Ok(total)
}

/// An index that both texts name.
pub fn overlap(completed: &str, failed: &str, completions: i64) -> Option<String> {
    let read = |text: &str| -> Vec<(i64, i64)> {
        text.split(',').filter_map(|part| interval(part, completions).ok()).collect()
    };
    let failed = read(failed);
    for (first, end) in read(completed) {
        for (low, high) in &failed {
            if first <= *high && *low <= end {
                let at = first.max(*low);
                return Some(format!("failedIndexes and completedIndexes overlap at index: {at}"));
            }
        }
    }
    None
}

fn interval(part: &str, completions: i64) -> Result<(i64, i64), String> {
    let limits: Vec<&str> = part.split('-').collect();
    let index = |text: &str| -> Result<i64, String> {
        let number: i64 = text
            .parse()
            .map_err(|_| format!("cannot convert string to integer for index: {text:?}"))?;
        if number >= completions {
            return Err(format!("too large index: {text:?}"));
        }
        Ok(number)
    };
    match limits.as_slice() {
        [only] => index(only).map(|i| (i, i)),
        [first, end] => {
            let (first, end) = (index(first)?, index(end)?);
            if first >= end {
                return Err(format!("non-increasing order, previous: {first}, current: {end}"));
            }
            Ok((first, end))
        }
        _ => Err(format!(
            "the fragment {part:?} violates the requirement that an index interval can have at most two parts separated by '-'"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_counted_or_refused() {
        assert_eq!(count("", 5), Ok(0));
        assert_eq!(count("0,2-4", 5), Ok(4));
        for (text, why) in [
            ("5", "too large index: \"5\""),
            ("a", "cannot convert string to integer for index: \"a\""),
            ("2,1", "non-increasing order, previous: 2, current: 1"),
            ("3-3", "non-increasing order, previous: 3, current: 3"),
        ] {
            assert_eq!(count(text, 5), Err(why.to_owned()), "{text}");
        }
        assert_eq!(
            overlap("0-2", "2,4", 5).as_deref(),
            Some("failedIndexes and completedIndexes overlap at index: 2")
        );
    }
}
