//! Tautline on one shared-memory node: the workers are threads of this process.

mod arch;
mod fence;
#[cfg(all(unix, feature = "signals"))]
pub mod interrupts;
#[cfg(feature = "loopback")]
mod loopback;
pub mod machine;
mod park;
mod phaser;
pub mod pool;
pub mod process;
pub mod signal;

pub use fence::{ProcessFences, heavy as heavy_fence};
#[cfg(feature = "loopback")]
pub use loopback::Loopback;
pub use machine::Machine;
pub use park::wakes;
pub use phaser::{Sleeps, SpinThenYield, Waiter};
