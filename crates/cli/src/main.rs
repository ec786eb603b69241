//! The `tailcore` command.
fn main() {}
