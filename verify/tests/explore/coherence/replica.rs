//! The memory of an object at a rank: a version, and the accesses of the rank.

use tautline_core::Rank;
use tautline_core::coherence::{Access, CopyState, Kind, Memory};

/// An access that was performed, for the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Performed {
    /// A read on a copy.
    Seen(u8),
    /// A read of a value that was current at the home, and the latest version when it began.
    Fetched { value: u8, latest: u8 },
    /// A write, by the version before.
    Wrote(u8),
    /// The end of an access, since this rank was lost.
    Failed(Rank),
    /// An access that had been performed.
    Again,
}

/// The memory at one rank. Every write increments the version.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Replica {
    pub(super) here: Rank,
    pub(super) value: u8,
    pub(super) copy: CopyState,
    /// Whether a value was installed ahead of the right to use it.
    pub(super) is_early: bool,
    /// Accesses that have begun.
    pub(super) begun: u8,
    /// Those of them that write.
    pub(super) writes: u8,
    /// Accesses that have not been performed, with the latest version when they began.
    pub(super) open: Vec<(Access, u8)>,
    /// Accesses performed in this step.
    pub(super) log: Vec<Performed>,
    /// Whether accesses are performed later, by mistake.
    pub(super) postpones: bool,
    pub(super) postponed: Vec<Access>,
}

impl Replica {
    pub(super) fn new(here: Rank, home: Rank, postpones: bool) -> Self {
        let copy = match here == home {
            true => CopyState::Exclusive,
            false => CopyState::Invalid,
        };
        Self {
            here,
            value: 0,
            copy,
            is_early: false,
            begun: 0,
            writes: 0,
            open: Vec::new(),
            log: Vec::new(),
            postpones,
            postponed: Vec::new(),
        }
    }

    pub(super) fn begin(&mut self, kind: Kind, latest: u8) -> Access {
        let number = self.begun.into();
        self.begun += 1;
        self.writes += u8::from(kind != Kind::Read);
        let access = Access { number, kind };
        self.open.push((access, latest));
        access
    }

    /// Forgets a value that no access can see, so that states do not differ by it.
    pub(super) fn forget(&mut self, is_idle: bool) {
        if self.copy == CopyState::Invalid && (is_idle || !self.is_early) {
            (self.value, self.is_early) = (0, false);
        }
    }

    /// Takes an access out of those that are open, with the latest version when it began.
    fn end(&mut self, number: u64) -> Option<u8> {
        let at = self
            .open
            .iter()
            .position(|(access, _)| access.number == number);
        if at.is_none() {
            self.log.push(Performed::Again);
        }
        at.map(|at| self.open.remove(at).1)
    }

    pub(super) fn finish(&mut self, access: Access) {
        let Some(latest) = self.end(access.number) else {
            return;
        };
        let value = self.value;
        let performed = match (access.kind, self.copy) {
            (Kind::Read, CopyState::Invalid) => Performed::Fetched { value, latest },
            (Kind::Read, _) => Performed::Seen(value),
            (Kind::Update | Kind::Modify, _) => self.write(),
        };
        self.log.push(performed);
    }

    fn write(&mut self) -> Performed {
        self.value = self.value.wrapping_add(1);
        Performed::Wrote(self.value.wrapping_sub(1))
    }
}

impl Memory for Replica {
    type Value = u8;
    type Operation = ();
    type Output = ();

    fn hold(&mut self, state: CopyState) {
        self.copy = state;
        self.is_early = false;
    }

    fn value(&mut self) -> u8 {
        self.value
    }

    fn install(&mut self, value: u8) {
        self.value = value;
        self.is_early = true;
    }

    fn perform(&mut self, access: Access) {
        match self.postpones {
            true => self.postponed.push(access),
            false => self.finish(access),
        }
    }

    fn operation(&mut self, _: Access) {}

    fn operate(&mut self, (): ()) {
        let wrote = self.write();
        self.log.push(wrote);
    }

    fn complete(&mut self, access: u64, (): ()) {
        self.end(access);
    }

    fn fail(&mut self, access: u64, lost: Rank) {
        self.log.push(Performed::Failed(lost));
        self.end(access);
    }
}
