//! Fences that order less than they must. Not public: safe functions of the core rely on fences.

use super::Broken;
use crate::{Threads, fences};
use tautline_core::port::Fence;
use tautline_core::sync::{full_fence, light_fence};

/// A fault of [`Fences`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Both halves order what the compiler does, and not the processor.
    Neither,
    /// The heavy half returns true without an effect.
    LightAlone,
    /// The heavy half is a fence of its own thread, which does not make up for the light one.
    HeavyAlone,
}

struct Fences(Fault);

fn full(is_there: bool) {
    match is_there {
        true => full_fence(),
        false => light_fence(),
    }
}

// SAFETY: not met by intent; only the suite uses these, and no memory depends on what it observes.
unsafe impl Fence for Fences {
    fn light_fence(&self) {
        full(self.0 == Fault::LightAlone);
    }

    fn heavy_fence(&self) -> bool {
        full(self.0 == Fault::HeavyAlone);
        true
    }
}

pub(super) fn broken(pin: impl Fn(usize) + Copy + Send + Sync + 'static) -> Vec<Broken> {
    let faults = [Fault::Neither, Fault::LightAlone, Fault::HeavyAlone];
    let broken = |fault| {
        let judge = move || _ = fences(&Threads, Fences(fault), pin);
        Broken::new(("Fence", "fences"), fault, judge)
    };
    faults.map(broken).into()
}
