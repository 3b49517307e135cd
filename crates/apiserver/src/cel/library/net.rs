//! `ip('10.0.0.1')` and `cidr('10.0.0.0/8')`

use std::net::IpAddr;
use std::sync::Arc;

use super::Outcome;
use crate::cel::error::EvalError;
use crate::cel::value::{Object, Value};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ip(IpAddr);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cidr {
    address: IpAddr,
    length: u8,
}

fn address(text: &str) -> Result<IpAddr, EvalError> {
    if text.contains('%') {
        return Err(EvalError::new(format!("IP address {text:?} with zone value is not allowed")));
    }
    let address: IpAddr = text.parse().map_err(|_| {
        EvalError::new(format!(
            "IP Address {text:?} parse error during conversion from string: ParseAddr({text:?}): unable to parse IP"
        ))
    })?;
    match address {
        IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => {
            Err(EvalError::new(format!("IPv4-mapped IPv6 address {text:?} is not allowed")))
        }
        other => Ok(other),
    }
}

pub(super) fn ip(text: &str) -> Outcome {
    address(text).map(|address| Value::Object(Arc::new(Ip(address))))
}

pub(super) fn is_canonical(text: &str) -> Outcome {
    address(text).map(|address| Value::Bool(address.to_string() == text))
}

pub(super) fn cidr(text: &str) -> Outcome {
    read(text).map(|cidr| Value::Object(Arc::new(cidr)))
}

fn read(text: &str) -> Result<Cidr, EvalError> {
    let wrong = |why: &str| {
        EvalError::new(format!(
            "network address parse error during conversion from string: netip.ParsePrefix({text:?}): {why}"
        ))
    };
    let (host, length) = text.split_once('/').ok_or_else(|| wrong("no '/'"))?;
    let parsed: IpAddr =
        host.parse().map_err(|_| wrong(&format!("ParseAddr({host:?}): unable to parse IP")))?;
    if let IpAddr::V6(v6) = parsed
        && v6.to_ipv4_mapped().is_some()
    {
        return Err(EvalError::new(format!("IPv4-mapped IPv6 address {text:?} is not allowed")));
    }
    let number: u8 =
        length.parse().map_err(|_| wrong(&format!("bad bits after slash: {length:?}")))?;
    if number > bits(parsed) || (length.len() > 1 && length.starts_with('0')) {
        return Err(wrong("prefix length out of range"));
    }
    Ok(Cidr { address: parsed, length: number })
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(u32::from(v4)),
        IpAddr::V6(v6) => u128::from(v6),
    }
}

impl Cidr {
    fn contains(self, address: IpAddr) -> bool {
        if bits(address) != bits(self.address) {
            return false;
        }
        let shift = u32::from(bits(address) - self.length);
        let masked = |n: u128| if shift >= 128 { 0 } else { n >> shift };
        masked(number(address)) == masked(number(self.address))
    }

    fn masked(self) -> Self {
        let shift = u32::from(bits(self.address) - self.length);
        let kept = if shift >= 128 { 0 } else { (number(self.address) >> shift) << shift };
        let address = match self.address {
            IpAddr::V4(_) => IpAddr::V4(u32::try_from(kept).unwrap_or(0).into()),
            IpAddr::V6(_) => IpAddr::V6(kept.into()),
        };
        Self { address, length: self.length }
    }
}

impl Object for Ip {
    fn type_name(&self) -> &'static str {
        "net.IP"
    }

    fn identity(&self) -> Option<String> {
        Some(self.0.to_string())
    }

    fn any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    fn call(&self, function: &str, arguments: &[Value]) -> Option<Outcome> {
        if !arguments.is_empty() {
            return None;
        }
        let link_local = match self.0 {
            IpAddr::V4(v4) => v4.is_link_local(),
            IpAddr::V6(v6) => v6.is_unicast_link_local(),
        };
        let broadcast = matches!(self.0, IpAddr::V4(v4) if v4.is_broadcast());
        Some(Ok(match function {
            "string" => Value::String(self.0.to_string().into()),
            "family" => Value::Int(if self.0.is_ipv4() { 4 } else { 6 }),
            "isUnspecified" => Value::Bool(self.0.is_unspecified()),
            "isLoopback" => Value::Bool(self.0.is_loopback()),
            "isLinkLocalMulticast" => Value::Bool(match self.0 {
                IpAddr::V4(v4) => v4.octets()[..3] == [224, 0, 0],
                IpAddr::V6(v6) => v6.segments()[0] & 0xff0f == 0xff02,
            }),
            "isLinkLocalUnicast" => Value::Bool(link_local),
            "isGlobalUnicast" => Value::Bool(
                !self.0.is_unspecified()
                    && !self.0.is_loopback()
                    && !self.0.is_multicast()
                    && !link_local
                    && !broadcast,
            ),
            _ => return None,
        }))
    }
}

impl Object for Cidr {
    fn type_name(&self) -> &'static str {
        "net.CIDR"
    }

    fn identity(&self) -> Option<String> {
        Some(format!("{}/{}", self.address, self.length))
    }

    fn any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    fn call(&self, function: &str, arguments: &[Value]) -> Option<Outcome> {
        let contains_cidr = |other: Cidr| {
            Value::Bool(
                self.length <= other.length
                    && self.contains(other.address)
                    && other.masked().length >= self.length,
            )
        };
        Some(match (function, arguments) {
            ("string", []) => Ok(Value::String(format!("{}/{}", self.address, self.length).into())),
            ("ip", []) => Ok(Value::Object(Arc::new(Ip(self.address)))),
            ("prefixLength", []) => Ok(Value::Int(i64::from(self.length))),
            ("masked", []) => Ok(Value::Object(Arc::new(self.masked()))),
            ("containsIP", [Value::String(text)]) => {
                address(text).map(|ip| Value::Bool(self.contains(ip)))
            }
            ("containsIP", [Value::Object(object)]) => {
                Ok(Value::Bool(self.contains(object.any()?.downcast_ref::<Ip>()?.0)))
            }
            ("containsCIDR", [Value::String(text)]) => read(text).map(contains_cidr),
            ("containsCIDR", [Value::Object(object)]) => {
                Ok(contains_cidr(*object.any()?.downcast_ref::<Cidr>()?))
            }
            _ => return None,
        })
    }
}
