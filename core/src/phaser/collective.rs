//! What is done exactly once between the last signal of a phase and the first release.
//!
//! # Words
//! `wanted`: raised by whoever, before its signal, wants something done; `holders`: counted up by it then, and down when it waits no
//! more. `called`: raised by whoever finds that all have signalled, and cannot do it. `state`: by whoever does it.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | C1 | `done` | `begin`, `is_done` | what was done, to whoever ends the phase instead | `collective` |
//! | C2 | `let_go` | `is_wanted` | what was done, to whoever finds nobody left to do it | `single_panics` |
#![forbid(unsafe_code)]

use crate::sync::{AtomicUsize, Ordering};

/// How far phase p is, for p of the highest phase that got so far: idle is anything below `3 p + 1`.
const REQUESTED: usize = 1;
const DONE: usize = 2;

/// What [`Collective::begin`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// The caller is to do it, and then to call [`done`](Collective::done).
    Do,
    /// Somebody else is at it.
    Wait,
    /// It is done.
    Done,
}

/// One word for all phases: IDLE, REQUESTED, DONE (Chatterjee 2013, 6.5: what stands between the local gathering and the release).
#[derive(Debug)]
#[repr(C)]
pub struct Collective {
    state: AtomicUsize,
    wanted: AtomicUsize,
    holders: AtomicUsize,
    called: AtomicUsize,
}

impl Default for Collective {
    fn default() -> Self {
        Self::new()
    }
}

impl Collective {
    /// Nothing is wanted in any phase.
    pub fn new() -> Self {
        Self {
            state: AtomicUsize::new(0),
            wanted: AtomicUsize::new(0),
            holders: AtomicUsize::new(0),
            called: AtomicUsize::new(0),
        }
    }

    /// Something is to be done at the end of `phase`. By a task that has not signalled it, and that calls
    /// [`let_go`](Self::let_go) before it signals the next.
    pub fn want(&self, phase: usize) {
        // ORDERING: Relaxed: the signal that follows makes it visible to whoever sees all signals.
        self.holders.fetch_add(1, Ordering::Relaxed);
        // ORDERING: Relaxed: as above.
        self.wanted.fetch_max(phase + 1, Ordering::Relaxed);
    }

    /// A task that has wanted something done will not do it any more, if nobody has. It looks then whether the phase is over.
    pub fn let_go(&self) {
        // ORDERING: Release, pairs with Acquire in is_wanted (C2).
        self.holders.fetch_sub(1, Ordering::Release);
    }

    /// Something is to be done at the end of `phase`, and somebody is there who can. By whoever has seen all signals for it: so all
    /// who wanted something in earlier phases have let go.
    #[inline]
    pub fn is_wanted(&self, phase: usize) -> bool {
        // ORDERING: Relaxed: after all signals, see `want`.
        self.wanted.load(Ordering::Relaxed) == phase + 1
            // ORDERING: Acquire, pairs with Release in let_go (C2): it may have been done.
            && self.holders.load(Ordering::Acquire) > 0
    }

    /// True for the first who finds that all have signalled `phase` and who cannot do what is wanted: one call is enough, and two of
    /// them must not call each other for ever.
    pub fn call(&self, phase: usize) -> bool {
        // ORDERING: Relaxed: a fence follows.
        self.called.fetch_max(phase + 1, Ordering::Relaxed) <= phase
    }

    /// It has been done at the end of `phase`: whoever did it may be gone without ending the phase, by a panic.
    pub fn is_done(&self, phase: usize) -> bool {
        // ORDERING: Acquire, pairs with Release in done (C1).
        self.state.load(Ordering::Acquire) >= 3 * phase + DONE
    }

    /// Lets exactly one caller do it, for each phase.
    pub fn begin(&self, phase: usize) -> Begin {
        let base = 3 * phase;
        // ORDERING: Acquire, pairs with Release in done (C1); on failure too. On success no mutant: the load before read
        // the same store.
        let (yes, no) = (Ordering::Acquire, Ordering::Acquire);
        let mut state = self.state.load(no);
        while state < base + REQUESTED {
            match self
                .state
                .compare_exchange(state, base + REQUESTED, yes, no)
            {
                Ok(_) => return Begin::Do,
                Err(now) => state = now,
            }
        }
        if state == base + REQUESTED {
            return Begin::Wait;
        }
        Begin::Done
    }

    /// It has been done.
    pub fn done(&self, phase: usize) {
        // ORDERING: Release, pairs with Acquire in begin (C1).
        self.state.store(3 * phase + DONE, Ordering::Release);
    }

    /// Calls `body` if nobody has for this phase; false if somebody is at it. A panic of `body` counts as done: it goes to the
    /// scope of its task, and must not hold up the others.
    pub(super) fn once(&self, phase: usize, body: &mut dyn FnMut()) -> bool {
        match self.begin(phase) {
            Begin::Wait => false,
            Begin::Done => true,
            Begin::Do => {
                let _done = Doing(self, phase);
                body();
                true
            }
        }
    }
}

/// Says that it is done, whether by return or by panic.
struct Doing<'a>(&'a Collective, usize);

impl Drop for Doing<'_> {
    fn drop(&mut self) {
        self.0.done(self.1);
    }
}
