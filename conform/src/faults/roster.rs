//! Rosters under one lock, right or with a fault.

use super::Broken;
use crate::attends;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tautline_core::Rank;
use tautline_core::channel::Roster;
use tautline_core::port::Fence;

/// A fault of a [`Register`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A bell is not heard.
    Deaf,
    /// A bell that rings before the wait is not heard.
    NotSticky,
    /// The bell of another rank rings.
    Misdirected,
    /// One ring in a hundred is lost.
    Forgetful,
    /// A wait does not end by time.
    Patient,
    /// A rank that has left seems present.
    NeverGone,
    /// After one rank has left, all seem gone.
    AllGone,
}

/// Full fences on both sides.
#[derive(Clone, Copy, Debug)]
pub struct FullFences;

// SAFETY: the provided methods are full fences.
unsafe impl Fence for FullFences {}

/// The ranks of one process: their bells, and which of them have left.
#[derive(Debug)]
pub struct Register {
    fault: Option<Fault>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// By rank.
    bells: Vec<Bell>,
    rings: usize,
}

#[derive(Clone, Debug, Default)]
struct Bell {
    is_rung: bool,
    waits: bool,
    is_gone: bool,
}

impl Register {
    /// Creates the views of all ranks; without a fault, they conform.
    pub fn views(fault: Option<Fault>, ranks: u32) -> Vec<Arc<Self>> {
        let state = State {
            bells: vec![Bell::default(); ranks as usize],
            rings: 0,
        };
        let register = Arc::new(Self {
            fault,
            state: Mutex::new(state),
            changed: Condvar::new(),
        });
        vec![register; ranks as usize]
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Roster for Register {
    type Fence = FullFences;

    fn fence(&self) -> &FullFences {
        &FullFences
    }

    fn is_gone(&self, rank: Rank) -> bool {
        let bells = &self.state().bells;
        match self.fault {
            Some(Fault::NeverGone) => false,
            Some(Fault::AllGone) => bells.iter().any(|bell| bell.is_gone),
            _ => bells[rank.index()].is_gone,
        }
    }

    fn leave(&self, rank: Rank) {
        self.state().bells[rank.index()].is_gone = true;
    }

    fn ring(&self, rank: Rank) {
        let mut state = self.state();
        state.rings += 1;
        let ranks = state.bells.len();
        let rung = match self.fault {
            Some(Fault::Misdirected) => (rank.index() + 1) % ranks,
            _ => rank.index(),
        };
        let is_lost = match self.fault {
            Some(Fault::Deaf) => true,
            Some(Fault::NotSticky) => !state.bells[rung].waits,
            Some(Fault::Forgetful) => state.rings % 100 == 0,
            _ => false,
        };
        state.bells[rung].is_rung |= !is_lost;
        self.changed.notify_all();
    }

    fn wait(&self, rank: Rank, ticks: u64) {
        let ticks = match self.fault {
            Some(Fault::Patient) => u64::MAX,
            _ => ticks,
        };
        let mut state = self.state();
        state.bells[rank.index()].waits = true;
        let limit = Duration::from_nanos(ticks);
        let is_silent = |state: &mut State| !state.bells[rank.index()].is_rung;
        let waited = self.changed.wait_timeout_while(state, limit, is_silent);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let bell = &mut state.bells[rank.index()];
        (bell.is_rung, bell.waits) = (false, false);
    }
}

pub(super) fn broken() -> Vec<Broken> {
    use Fault::*;
    let faults = [
        Deaf,
        NotSticky,
        Misdirected,
        Forgetful,
        Patient,
        NeverGone,
        AllGone,
    ];
    let broken = |fault| {
        let judge = move || attends(|ranks| Register::views(Some(fault), ranks));
        Broken::new(("channel::Roster", "attends"), fault, judge)
    };
    faults.map(broken).into()
}
