//! Registration modes of tasks on a phaser.
#![forbid(unsafe_code)]

use core::fmt;

/// The mode in which a task is registered (Chatterjee 2013, 6.2: the lattice, and table 6.1).
///
/// | | `next` | `next_single` | `signal` | `wait` |
/// |---|---|---|---|---|
/// | `SignalWaitSingle` | signal + wait | signal + wait + statement | signal | wait |
/// | `SignalWait` | signal + wait | error | signal | wait |
/// | `Signal` | signal | error | signal | nothing |
/// | `Wait` | wait | error | nothing | wait |
///
/// A stage of a pipeline waits for the stage before it, and signals the one after it; the members
/// of a barrier do both on one phaser.
///
/// ```
/// # use tautline_core::{phaser::Mode, port::Host, task::Cx};
/// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
/// let mut member = cx.phaser(Mode::SignalWait).unwrap();
/// // A consumer: it waits for the signal of this task, which does not wait for it.
/// let consumer = member.wait_only();
/// cx.spawn_phased([consumer], async |mut task| {
///     task.members()[0].wait().await.unwrap();
///     println!("signalled");
/// })
/// .unwrap();
/// member.signal().unwrap();
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// A producer: other tasks wait for its signals; it does not wait.
    Signal,
    /// A consumer: it waits for signals; no task waits for it.
    Wait,
    /// A member of a barrier.
    SignalWait,
    /// A member of a barrier that may request a statement to run once between two phases.
    SignalWaitSingle,
}

impl Mode {
    /// All modes, the weaker first.
    pub const ALL: [Self; 4] = [
        Self::Signal,
        Self::Wait,
        Self::SignalWait,
        Self::SignalWaitSingle,
    ];

    /// Whether other tasks wait for the task's signals.
    ///
    /// ```
    /// # use tautline_core::phaser::Mode;
    /// assert!(Mode::Signal.signals() && !Mode::Wait.signals());
    /// ```
    #[inline]
    pub const fn signals(self) -> bool {
        !matches!(self, Self::Wait)
    }

    /// Whether the task waits for the others' signals.
    ///
    /// ```
    /// # use tautline_core::phaser::Mode;
    /// assert!(Mode::Wait.waits() && !Mode::Signal.waits());
    /// ```
    #[inline]
    pub const fn waits(self) -> bool {
        !matches!(self, Self::Signal)
    }

    /// Whether the task may request a statement between two phases.
    ///
    /// ```
    /// # use tautline_core::phaser::Mode;
    /// assert!(Mode::SignalWaitSingle.singles() && !Mode::SignalWait.singles());
    /// ```
    #[inline]
    pub const fn singles(self) -> bool {
        matches!(self, Self::SignalWaitSingle)
    }

    /// Whether a task in this mode may register a child as `child`: the child may do nothing that
    /// its parent may not.
    ///
    /// ```
    /// # use tautline_core::phaser::Mode;
    /// assert!(Mode::SignalWait.allows(Mode::Wait));
    /// assert!(!Mode::Wait.allows(Mode::SignalWait));
    /// ```
    pub const fn allows(self, child: Self) -> bool {
        (self.signals() || !child.signals())
            && (self.waits() || !child.waits())
            && (self.singles() || !child.singles())
    }

    /// Returns the name of the mode in messages.
    ///
    /// ```
    /// # use tautline_core::phaser::Mode;
    /// assert_eq!(Mode::SignalWait.name(), "signal-wait");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Self::Signal => "signal-only",
            Self::Wait => "wait-only",
            Self::SignalWait => "signal-wait",
            Self::SignalWaitSingle => "signal-wait-single",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
