//! cluster
#![forbid(unsafe_code)]
