//! Encoding, and channels over a link in one thread.

#[path = "wire/bounds.rs"]
mod bounds;
#[path = "wire/codec.rs"]
mod codec;
#[path = "wire/ends.rs"]
mod ends;
#[path = "wire/hostile.rs"]
mod hostile;
#[path = "wire/losses.rs"]
mod losses;
#[path = "wire/net.rs"]
mod net;
#[path = "wire/opening.rs"]
mod opening;
#[path = "wire/operations.rs"]
mod operations;
#[path = "wire/random.rs"]
mod random;
#[path = "wire/tasks.rs"]
mod tasks;
