//! A Kubernetes API server in the process, without etcd, containers or sockets.
//!
//! It speaks the REST protocol of kube-apiserver 1.36 as a [`tower::Service`], so that `kube::Client`
//! can call it directly and `kubectl` can reach it through [`http`]. What it answers is held to the
//! real server by the conformance suite in the `world` crate.
//!
//! Rooms, from the outside in: `server` (routing and verbs), `admission`, `patch` and `apply` (what a
//! write means), `builtin` and `crd` (what a kind allows), `schema` and `status` (the words they share),
//! `store` (what is kept, and who watches).
#![forbid(unsafe_code)]

pub mod admission;
pub mod apply;
pub mod builtin;
pub mod cel;
pub mod crd;
pub mod decode;
pub mod fields;
pub mod http;
pub mod identity;
pub mod openapi;
pub mod patch;
pub mod quantity;
pub mod rbac;
pub mod resource;
pub mod schema;
pub mod selector;
pub mod server;
pub mod status;
pub mod store;
pub mod table;
pub mod wire;
