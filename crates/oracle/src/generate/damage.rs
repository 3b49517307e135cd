//! What people get wrong.

use fastrand::Rng;

use super::{Tree, pick};

/// Breaks something, mostly.
pub fn some(rng: &mut Rng, tree: &mut Tree) {
    let paths: Vec<String> = tree.files.keys().cloned().collect();
    let path = pick(rng, &paths).clone();
    if rng.u32(..10) == 0 {
        tree.files.remove(&path);
        return;
    }
    let Some(text) = tree.files.get_mut(&path) else { return };
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.is_empty() {
        lines.push("unknown: field".to_owned());
    }
    let place = rng.usize(..lines.len());
    match rng.u32(..16) {
        13 => {
            // A line from another place of the same file, as deep as this one.
            let other = pick(rng, &lines).trim_start().to_owned();
            let deep = lines[place].len() - lines[place].trim_start().len();
            lines.insert(place, format!("{}{other}", " ".repeat(deep)));
        }
        14 => {
            let other = rng.usize(..lines.len());
            lines.swap(place, other);
        }
        15 => {
            if let Some((key, _)) = lines[place].split_once(": ") {
                const VALUES: [&str; 12] = [
                    "web",
                    "'1'",
                    "1.5",
                    "\"\"",
                    "~",
                    ".*",
                    "'*'",
                    "a.b",
                    "Deployment",
                    "v1",
                    "-x",
                    "1e3",
                ];
                lines[place] = format!("{key}: {}", pick(rng, &VALUES));
            }
        }
        0 => drop(lines.remove(place)),
        1 => lines.insert(place, lines[place].clone()),
        2 => lines[place].insert(0, ' '),
        3 => lines[place] = lines[place].trim_start().to_owned(),
        4 => lines[place] = lines[place].replace(':', ""),
        5 => lines.push("unknownField: 1".to_owned()),
        6 => lines[place] = lines[place].replace("name", "nmae"),
        7 => lines[place].push('\t'),
        8 => lines[place].push_str(" x: y"),
        9 => lines[place] = lines[place].replace(['a', 'e'], ""),
        10 => {
            if let Some((key, _)) = lines[place].split_once(':') {
                let value = pick(rng, &["[1, 2]", "{a: b}", "5", "true", "null", "'x", "*none"]);
                lines[place] = format!("{key}: {value}");
            }
        }
        11 => lines.truncate(place),
        _ => lines[place] = lines[place].replace("yaml", "yml"),
    }
    *text = lines.join("\n") + "\n";
}
