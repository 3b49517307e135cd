//! The values of a Secret's `data`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The bytes of a value; `None` if it is not base64. Line breaks in it do not count.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let text: String = text.chars().filter(|character| !matches!(character, '\n' | '\r')).collect();
    STANDARD.decode(text).ok()
}
