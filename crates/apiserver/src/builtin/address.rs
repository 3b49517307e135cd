//! Addresses and networks as text.

use std::net::IpAddr;

use serde_json::Value;

use super::format;
use crate::fields::{FieldError, Path};

const NOT_A_NETWORK: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

/// A network: its address and the length of its mask.
pub fn network(text: &str) -> Option<(IpAddr, u8)> {
    let (address, bits) = text.split_once('/')?;
    let address: IpAddr = address.parse().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let valid = !bits.is_empty()
        && bits.bytes().all(|c| c.is_ascii_digit())
        && (bits == "0" || !bits.starts_with('0'));
    let bits: u8 = bits.parse().ok().filter(|&bits| valid && bits <= most)?;
    Some((address, bits))
}

/// Whether the network contains the address.
pub fn contains(network: (IpAddr, u8), address: IpAddr) -> bool {
    let (base, bits) = network;
    base.is_ipv4() == address.is_ipv4() && masked(base, bits) == masked(address, bits)
}

fn masked(address: IpAddr, bits: u8) -> u128 {
    let (number, size) = match address {
        IpAddr::V4(v4) => (u128::from(u32::from(v4)), 32),
        IpAddr::V6(v6) => (u128::from(v6), 128),
    };
    number.checked_shr(u32::from(size - bits)).unwrap_or(0)
}

/// What is wrong with a network.
pub fn network_errors(path: &Path, text: &str) -> Vec<FieldError> {
    let invalid = |detail: String| vec![FieldError::invalid(path, &Value::from(text), detail)];
    match network(text) {
        None => invalid(NOT_A_NETWORK.to_owned()),
        Some((address, bits)) => {
            let size: u8 = if address.is_ipv4() { 32 } else { 128 };
            let kept = masked(address, bits).checked_shl(u32::from(size - bits)).unwrap_or(0);
            let base = if address.is_ipv4() {
                IpAddr::from(u32::try_from(kept).unwrap_or(0).to_be_bytes())
            } else {
                IpAddr::from(kept.to_be_bytes())
            };
            if base == address {
                Vec::new()
            } else {
                invalid("must not have bits set beyond the prefix length".to_owned())
            }
        }
    }
}

/// What is wrong with an address that traffic is sent to.
pub fn endpoint_errors(path: &Path, text: &str) -> Vec<FieldError> {
    let invalid = |detail: String| FieldError::invalid(path, &Value::from(text), detail);
    let Ok(address) = text.parse::<IpAddr>() else {
        return vec![invalid("must be a valid IP address".to_owned())];
    };
    let mut errors = Vec::new();
    if address.is_unspecified() {
        errors.push(invalid(format!("may not be unspecified ({text})")));
    }
    if address.is_loopback() {
        errors.push(invalid("may not be in the loopback range (127.0.0.0/8, ::1/128)".to_owned()));
    }
    let (link_local, multicast) = match address {
        IpAddr::V4(v4) => (
            v4.is_link_local(),
            v4.octets()[0] == 224 && v4.octets()[1] == 0 && v4.octets()[2] == 0,
        ),
        IpAddr::V6(v6) => (v6.is_unicast_link_local(), v6.segments()[0] & 0xff0f == 0xff02),
    };
    if link_local {
        errors.push(invalid(
            "may not be in the link-local range (169.254.0.0/16, fe80::/10)".to_owned(),
        ));
    }
    if multicast {
        errors.push(invalid(
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".to_owned(),
        ));
    }
    errors
}

/// What is wrong with an address in a field that has always taken one.
pub fn address_errors(path: &Path, text: &str) -> Vec<FieldError> {
    format::ip_address(path, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks() {
        let path = Path::new("a");
        assert!(network_errors(&path, "10.0.0.0/8").is_empty());
        assert!(network_errors(&path, "2001:db8::/64").is_empty());
        assert!(network_errors(&path, "0.0.0.0/0").is_empty());
        assert_eq!(network_errors(&path, "10.0.0.1/8").len(), 1);
        for bad in ["x", "10.0.0.0", "10.0.0.0/33", "10.0.0.0/08", "/8"] {
            assert_eq!(network(bad), None, "{bad}");
        }
        let net = network("10.96.0.0/16").unwrap();
        assert!(contains(net, "10.96.3.4".parse().unwrap()));
        assert!(!contains(net, "10.97.0.0".parse().unwrap()));
    }

    #[test]
    fn endpoints() {
        let said = |text: &str| endpoint_errors(&Path::new("a"), text).len();
        assert_eq!(
            [
                said("10.0.0.1"),
                said("127.0.0.1"),
                said("0.0.0.0"),
                said("169.254.1.1"),
                said("224.0.0.1"),
                said("fe80::1"),
                said("x")
            ],
            [0, 1, 1, 1, 1, 1, 1]
        );
    }
}
