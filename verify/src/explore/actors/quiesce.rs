//! Quiescence: tokens that ranks pass on at will, while rounds of counting run.

use crate::explore::{Actors, Flaw, Out, View};
use std::hash::{Hash, Hasher};
use tautline_core::collective::{Branch, Counts, InRound, Message, Quiesce, Verdict};
use tautline_core::{PlaceId, Rank};

/// Ranks that pass tokens.
#[derive(Clone, Copy, Debug)]
pub struct Tokens {
    /// The number of ranks.
    pub ranks: u32,
    /// Children of a rank, at most.
    pub radix: u32,
    /// Tokens sent after the first, in all.
    pub passes: u32,
    /// Rounds that end busy, at most.
    pub rounds: u32,
    /// An error: equal sums of one round suffice.
    pub one_round: bool,
}

/// The machine of one rank, compared by all of its fields.
#[derive(Clone, Debug)]
struct Machine(Quiesce, String);

impl Machine {
    fn new(quiesce: Quiesce) -> Self {
        let text = format!("{quiesce:?}");
        Self(quiesce, text)
    }
}

impl PartialEq for Machine {
    fn eq(&self, other: &Self) -> bool {
        self.1 == other.1
    }
}

impl Eq for Machine {}

impl Hash for Machine {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.1.hash(state);
    }
}

/// One rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    machine: Machine,
    counts: Counts,
    /// Tokens that have arrived and were not processed.
    tokens: u32,
    /// Whether it has begun the round.
    is_open: bool,
    is_quiet: bool,
    rounds: u32,
}

/// What ranks send each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Sent {
    /// A token.
    Token,
    /// A message of the machine.
    Round(InRound),
}

/// What a rank does.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// Processes a token, which ends there.
    End,
    /// Processes a token, and sends one.
    Pass(PlaceId),
    /// Processes a token, and sends two.
    Fork(PlaceId),
    /// Begins a round.
    Begin,
}

/// What the checks remember.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ghost {
    passes: u32,
    is_refused: bool,
}

impl Tokens {
    fn process<const N: usize>(site: &mut Site, sent: [PlaceId; N], out: &mut Out<Self>) {
        site.tokens -= 1;
        site.counts.processed += 1;
        site.counts.sent += N as u64;
        out.ghost.passes += N as u32;
        out.sent.extend(sent.map(|to| (to, Sent::Token)));
    }

    fn on_round(
        &self,
        site: &mut Site,
        out: &mut Out<Self>,
        step: impl FnOnce(&mut Quiesce, &mut Vec<(Rank, InRound)>) -> Option<Verdict>,
    ) {
        let mut sent = Vec::new();
        let mut quiesce = site.machine.0.clone();
        let verdict = step(&mut quiesce, &mut sent);
        site.machine = Machine::new(quiesce);
        out.sent.extend(
            sent.into_iter()
                .map(|(to, message)| (PlaceId(to.0), Sent::Round(message))),
        );
        match verdict {
            None => out.ghost.is_refused = true,
            Some(Verdict::Open) => {}
            Some(Verdict::Busy) => {
                site.is_open = false;
                site.rounds += 1;
            }
            Some(Verdict::Quiet) => {
                site.is_open = false;
                site.is_quiet = true;
            }
        }
    }
}

impl Actors for Tokens {
    type Site = Site;
    type Message = Sent;
    type Act = Act;
    type Ghost = Ghost;

    fn places(&self) -> u32 {
        self.ranks
    }

    /// Rank 0 sends a token to the last rank, and has one itself.
    fn start(&self, here: PlaceId, out: &mut Out<Self>) -> Site {
        let last = PlaceId(self.ranks - 1);
        let mut counts = Counts::default();
        if here == PlaceId::HOME {
            counts.sent = 1;
            out.sent.push((last, Sent::Token));
        }
        let branch = Branch::new(Rank(here.0), self.ranks, self.radix);
        Site {
            machine: Machine::new(Quiesce::new(branch)),
            counts,
            tokens: 0,
            is_open: false,
            is_quiet: false,
            rounds: 0,
        }
    }

    fn acts(&self, here: PlaceId, site: &Site, ghost: &Ghost) -> Vec<Act> {
        let mut acts = Vec::new();
        if site.tokens > 0 {
            acts.push(Act::End);
            let others = (0..self.ranks).map(PlaceId).filter(|to| *to != here);
            for to in others {
                acts.extend((ghost.passes < self.passes).then_some(Act::Pass(to)));
                acts.extend((ghost.passes + 1 < self.passes).then_some(Act::Fork(to)));
            }
        }
        if !site.is_open && !site.is_quiet && site.rounds < self.rounds {
            acts.push(Act::Begin);
        }
        acts
    }

    fn act(&self, _: PlaceId, site: &mut Site, act: Act, out: &mut Out<Self>) {
        match act {
            Act::End => Self::process(site, [], out),
            Act::Pass(to) => Self::process(site, [to], out),
            Act::Fork(to) => Self::process(site, [to, to], out),
            Act::Begin => {
                let counts = site.counts;
                site.is_open = true;
                self.on_round(site, out, |machine, sent| {
                    Some(machine.begin(counts, &mut |to, m| sent.push((to, m))))
                });
            }
        }
    }

    fn deliver(
        &self,
        _: PlaceId,
        site: &mut Site,
        from: PlaceId,
        message: Sent,
        out: &mut Out<Self>,
    ) {
        let Sent::Round(message) = message else {
            site.tokens += 1;
            return;
        };
        let equal = matches!(message.message, Message::Down(sums) if sums.sent == sums.processed);
        let was_quiet = site.is_quiet;
        self.on_round(site, out, |machine, sent| {
            machine
                .on(Rank(from.0), message, &mut |to, m| sent.push((to, m)))
                .ok()
        });
        site.is_quiet = was_quiet || site.is_quiet || self.one_round && equal;
    }

    fn judge(&self, view: &View<Self>) -> Option<Flaw> {
        if view.ghost.is_refused {
            return Some(Flaw::Refused);
        }
        let under_way = view
            .parcels
            .iter()
            .any(|parcel| parcel.message == Some(Sent::Token));
        let waits = view.sites.iter().any(|site| site.tokens > 0);
        let ended = view.sites.iter().any(|site| site.is_quiet);
        (ended && (under_way || waits)).then_some(Flaw::Early)
    }

    /// A rank that has begun its last round need not find out; one that ended by error lets the others wait.
    fn is_final(&self, view: &View<Self>) -> bool {
        let spent = |site: &Site| site.rounds == self.rounds;
        self.one_round
            || view.sites.iter().all(|site| site.is_quiet)
            || view.sites.iter().any(|site| spent(site))
    }
}
