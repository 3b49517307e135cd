//! Scalars as people write them, and as they should not.

use fastrand::Rng;

use super::yaml::Yaml;

/// What parsers and writers disagree about most.
const ODD: &[&str] = &[
    "yes",
    "no",
    "on",
    "off",
    "y",
    "n",
    "Yes",
    "NO",
    "On",
    "true",
    "True",
    "TRUE",
    "false",
    "null",
    "Null",
    "~",
    "''",
    "\"\"",
    "0",
    "-0",
    "+1",
    "1",
    "-12",
    "007",
    "0777",
    "08",
    "0x1F",
    "0xG",
    "0o17",
    "0b11",
    "1_000",
    "1e3",
    "1E3",
    "1e-7",
    "1.0",
    "1.10",
    "3.14159",
    ".5",
    "-.5",
    "1.",
    "100000000000000000000",
    "123456789.0",
    "1e21",
    "0.000001",
    ".inf",
    "-.inf",
    ".nan",
    "12e03",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "2001-01-01",
    "2001-12-14t21:59:43.10-05:00",
    "2001-12-14 21:59:43.10 -5",
    "12:30:45",
    "190:20:30",
    "=",
    "'='",
    "'true'",
    "'yes'",
    "'null'",
    "'~'",
    "'1'",
    "\"1.10\"",
    "'1e3'",
    "'0x1F'",
    "'007'",
    "'1_000'",
    "'2001-01-01'",
    "'.5'",
    "'.inf'",
    "'12:30'",
    "'it''s'",
    "\"it's\"",
    "'say \"hi\"'",
    "\"tab\\there\"",
    "\"two\\nlines\"",
    "\"ends\\n\"",
    "\"\\n\"",
    "\"\\u00e9\"",
    "é",
    "日本",
    "'😀'",
    "\"bell\\a\"",
    "\"nul\\0\"",
    "\"esc\\e\"",
    "\"nbsp\\_x\"",
    "\"bom\\uFEFF\"",
    "'a: b'",
    "'# none'",
    "a#b",
    "' lead'",
    "'trail '",
    "'- dash'",
    "'*star'",
    "'&amp'",
    "'!bang'",
    "'%pct'",
    "'@at'",
    "'`tick'",
    "'{brace'",
    "'[brack'",
    "'}'",
    "a,b",
    "'a, b'",
    "'?'",
    "'-'",
    "'---'",
    "'...'",
    "':'",
    "a:b",
    "'a:'",
    "http://x.example:80/z?a=b&c=d",
    "-x",
    "?x",
    "'? x'",
    "a ? b",
    "!!str 123",
    "!!str true",
    "!!int 5",
    "!!float 1",
    "!!binary aGVsbG8=",
    "'multi word value'",
    "multi word value",
    "a  b",
    "'<<'",
    "\"\\\\d+\"",
    "'\\d+'",
    "[1, 2.50, true, 'x']",
    "{a: 1, b: null}",
    "[]",
    "{}",
    "[{a: b}]",
    "[[1], [2]]",
    "<a href=\"x\">&</a>",
    "'<b>'",
    "key=value",
    "'key = value'",
    "/path/to/file",
    "'*.example'",
    "\"*\"",
    "'%'",
    "1.2.3",
    "v1",
    "10m",
    "1Gi",
    "'08'",
    "\"0\"",
    "-",
    "--",
    "\"\\t\"",
    "\" \"",
];

const WORDS: &[&str] = &[
    "alpha",
    "beta",
    "gamma",
    "delta",
    "it's",
    "re:",
    "one,two",
    "#x",
    "\"quoted\"",
    "100%",
    "a",
    "verylongwordwithoutanyspaceinsidewhichdoesnotfitonaline",
    "{{x}}",
    "<y>",
    "&",
    "-",
    "é",
    "=",
];

/// A scalar from a real manifest or from a nightmare.
pub fn some(rng: &mut Rng) -> Yaml {
    match rng.u32(..20) {
        0..=9 => ODD[rng.usize(..ODD.len())].into(),
        10..=12 => long(rng),
        13..=15 => block(rng),
        16 => format!("{}", rng.i32(-5..100_000)).into(),
        17 => format!("{}.{}", rng.u32(..100), rng.u32(..1000)).into(),
        18 => format!("$({})", ["VAR_ONE", "VAR_TWO", "OTHER"][rng.usize(..3)]).into(),
        _ => word(rng).into(),
    }
}

/// A text, whatever it looks like.
pub fn text(rng: &mut Rng) -> Yaml {
    match rng.u32(..8) {
        0 => long(rng),
        1 => block(rng),
        2..=4 => {
            const TEXTS: &[&str] = &[
                "'true'",
                "\"yes\"",
                "'1'",
                "'1.10'",
                "\"null\"",
                "'~'",
                "''",
                "\"a b\"",
                "plain",
                "'a: b'",
                "\"two\\nlines\"",
                "'# x'",
                "\"0x10\"",
                "'é'",
                "x y z",
                "'on'",
                "\"n\"",
                "'='",
                "\"1e3\"",
                "'2001-01-01'",
                "$(VAR_ONE)/x",
                "\"\\\"\"",
                "'''x'''",
            ];
            TEXTS[rng.usize(..TEXTS.len())].into()
        }
        _ => word(rng).into(),
    }
}

/// A plain word.
pub fn word(rng: &mut Rng) -> String {
    const NAMES: [&str; 10] =
        ["red", "green", "blue", "fast", "slow", "big", "tiny", "north", "south", "x1"];
    NAMES[rng.usize(..NAMES.len())].to_owned()
}

fn long(rng: &mut Rng) -> Yaml {
    let words: Vec<&str> = (0..rng.usize(8..30)).map(|_| WORDS[rng.usize(..WORDS.len())]).collect();
    let text = words.join(if rng.u32(..6) == 0 { "  " } else { " " });
    if rng.bool() {
        format!("'{}'", text.replace('\'', "''")).into()
    } else {
        format!("\"{}\"", text.replace('"', "\\\"")).into()
    }
}

fn block(rng: &mut Rng) -> Yaml {
    const LINES: &[&str] = &[
        "first line",
        "second: line",
        "# not a comment",
        "",
        "",
        "  indented",
        "\ttabbed",
        "ends ",
        "- item",
        "key: |",
        "{{ template }}",
        "${VAR}",
        "'quoted'",
        "\"double\"",
        "é",
        "last",
        "a rather long line that goes on and on until it passes the eighty columns of a terminal",
        "#!/bin/sh",
        "set -e",
        "\\n",
        "0",
        "true",
        "---",
        "%x",
    ];
    const HEADERS: [&str; 8] = ["|", "|", "|-", "|+", ">", ">-", ">+", "|2-"];
    let header = HEADERS[rng.usize(..HEADERS.len())];
    let mut lines: Vec<String> =
        (0..rng.usize(1..6)).map(|_| LINES[rng.usize(..LINES.len())].to_owned()).collect();
    // The first line says how deep the text is.
    if header != "|2-" && (lines[0].starts_with([' ', '\t']) || lines[0].is_empty()) {
        lines[0] = "begin".to_owned();
    }
    if header == "|2-" {
        return Yaml::Block("|", vec!["plain".to_owned()]);
    }
    Yaml::Block(header, lines)
}
