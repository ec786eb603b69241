//! Built-in servers: for demos, for truth tests, and as examples of a [`Service`](crate::service::Service).

pub mod kv;
pub mod tcp;
