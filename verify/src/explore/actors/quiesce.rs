//! Quiescence: tokens that ranks pass on at will, while rounds of counting run.

use crate::explore::{Actors, Flaw, Out, View};
use tautline_core::collective::{Branch, Counts, InRound, Message, Quiesce, Stray, Verdict};
use tautline_core::machine::{Action, Machine, Step};
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

/// One rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    machine: Quiesce,
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
        take: impl FnOnce(&mut Quiesce, &mut Step<'_, Quiesce>) -> Result<(), Stray>,
    ) {
        let mut verdict = None;
        let mut act = |action: Action<Quiesce>| match action {
            Action::Send(to, message) => out.sent.push((PlaceId(to.0), Sent::Round(message))),
            Action::Effect(found) => verdict = Some(found),
        };
        let taken = take(&mut site.machine, &mut Step::new(&mut (), &mut act));
        out.ghost.is_refused |= taken.is_err();
        match verdict {
            None => {}
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
            machine: Quiesce::new(branch),
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
                self.on_round(site, out, |machine, step| {
                    machine.event(counts, step);
                    Ok(())
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
        self.on_round(site, out, |machine, step| {
            machine.receive(Rank(from.0), message, step)
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
