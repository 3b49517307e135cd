//! Free ports on loopback.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use super::error::{RealError, at};

/// As many free ports as asked for, all different. Nothing holds them: whoever is faster gets them, so
/// a start that lost one is tried again.
pub fn free<const N: usize>() -> Result<[u16; N], RealError> {
    let mut listeners = Vec::new();
    let mut ports = [0; N];
    for port in &mut ports {
        let place = Path::new("127.0.0.1:0");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(at(place))?;
        *port = listener.local_addr().map_err(at(place))?.port();
        listeners.push(listener);
    }
    Ok(ports)
}

#[cfg(test)]
mod tests {
    #[test]
    fn ports_differ() {
        let [a, b, c] = super::free::<3>().unwrap();
        assert!(a != b && b != c && a != c && a > 0);
    }
}
