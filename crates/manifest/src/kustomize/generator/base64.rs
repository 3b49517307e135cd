//! Base64 as kustomize writes it: in lines of 70 if one is not enough.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const LINE: usize = 70;

/// The bytes in base64; every line ends with a break once there are two.
pub(super) fn encode(bytes: &[u8]) -> String {
    let text = STANDARD.encode(bytes);
    if text.len() < LINE {
        return text;
    }
    let mut lines = String::with_capacity(text.len() + text.len() / LINE + 1);
    for (place, character) in text.chars().enumerate() {
        if place > 0 && place % LINE == 0 {
            lines.push('\n');
        }
        lines.push(character);
    }
    lines.push('\n');
    lines
}
