//! Quiescence: tokens that ranks pass on at will, while rounds of counting run.

use crate::explore::{At, Checked, Flaw, Part, PartOf, Parts, View};
use tautline_core::Rank;
use tautline_core::collective::{Branch, Counts, InRound, Message, Quiesce, Stray, Verdict};
use tautline_core::machine::{Action, Machine, Step, no_calls};

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

/// The machine of a rank with the tokens that it counts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Passer {
    quiesce: Quiesce,
    counts: Counts,
    /// Tokens that have arrived and were not processed.
    tokens: u32,
}

/// Messages between ranks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Sent {
    /// A token.
    Token,
    /// A message of the machine.
    Round(InRound),
}

/// An act of a rank.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// Sends the first token.
    Start(Rank),
    /// Processes a token, which ends there.
    End,
    /// Processes a token, and sends one.
    Pass(Rank),
    /// Processes a token, and sends two.
    Fork(Rank),
    /// Begins a round.
    Begin,
}

impl Act {
    /// Returns the number of tokens that it sends after the first.
    fn passes(self) -> u32 {
        match self {
            Self::Pass(_) => 1,
            Self::Fork(_) => 2,
            Self::Start(_) | Self::End | Self::Begin => 0,
        }
    }
}

impl Passer {
    /// Processes a token, and sends others.
    fn process<const N: usize>(&mut self, sent: [Rank; N], step: &mut Step<'_, Self>) {
        self.tokens -= 1;
        self.counts.processed += 1;
        self.send(sent, step);
    }

    fn send<const N: usize>(&mut self, sent: [Rank; N], step: &mut Step<'_, Self>) {
        self.counts.sent += N as u64;
        for to in sent {
            step.send(to, Sent::Token);
        }
    }

    /// Lets the machine of the rounds take a step.
    fn round<T>(
        &mut self,
        step: &mut Step<'_, Self>,
        take: impl FnOnce(&mut Quiesce, &mut Step<'_, Quiesce>) -> T,
    ) -> T {
        let quiesce = &mut self.quiesce;
        step.within(
            |action, act| {
                act(match action {
                    Action::Send(to, message) => Action::Send(to, Sent::Round(message)),
                    Action::Effect(verdict) => Action::Effect(verdict),
                });
            },
            |step| take(quiesce, step),
        )
    }
}

impl Machine for Passer {
    type Peer = Rank;
    type Message = Sent;
    type Event = Act;
    type Effect = Verdict;
    type Calls = ();
    type Refusal = Stray;

    fn event(&mut self, act: Act, step: &mut Step<'_, Self>) {
        match act {
            Act::Start(to) => self.send([to], step),
            Act::End => self.process([], step),
            Act::Pass(to) => self.process([to], step),
            Act::Fork(to) => self.process([to, to], step),
            Act::Begin => {
                let counts = self.counts;
                self.round(step, |quiesce, step| quiesce.event(counts, step));
            }
        }
    }

    fn receive(
        &mut self,
        from: Rank,
        message: Sent,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Stray> {
        match message {
            Sent::Token => {
                self.tokens += 1;
                Ok(())
            }
            Sent::Round(message) => {
                self.round(step, |quiesce, step| quiesce.receive(from, message, step))
            }
        }
    }
}

/// The state of a rank's driver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rounds {
    /// Whether it has begun the round.
    is_open: bool,
    is_quiet: bool,
    rounds: u32,
}

impl Checked for Tokens {
    type Machine = Passer;
    type Driver = Rounds;
    type Act = Act;
    /// Tokens sent after the first.
    type Ghost = u32;

    fn peers(&self) -> u32 {
        self.ranks
    }

    fn start(&self, here: Rank) -> PartOf<Self> {
        let branch = Branch::new(here, self.ranks, self.radix);
        Part {
            machine: Passer {
                quiesce: Quiesce::new(branch),
                counts: Counts::default(),
                tokens: 0,
            },
            driver: Rounds::default(),
        }
    }

    /// Rank 0 sends a token to the last rank, or to itself.
    fn first(&self, here: Rank) -> Vec<Act> {
        let start = (here == Rank(0)).then_some(Act::Start(Rank(self.ranks - 1)));
        start.into_iter().collect()
    }

    fn acts(&self, here: Rank, Part { machine, driver }: &PartOf<Self>, passes: &u32) -> Vec<Act> {
        let mut acts = Vec::new();
        if machine.tokens > 0 {
            acts.push(Act::End);
            let others = (0..self.ranks).map(Rank).filter(|to| *to != here);
            let all = others.flat_map(|to| [Act::Pass(to), Act::Fork(to)]);
            acts.extend(all.filter(|act| passes + act.passes() <= self.passes));
        }
        if !driver.is_open && !driver.is_quiet && driver.rounds < self.rounds {
            acts.push(Act::Begin);
        }
        acts
    }

    fn event(&self, at: &mut At<'_, Self>, act: Act) -> Option<Act> {
        *at.ghost += act.passes();
        at.driver.is_open |= matches!(act, Act::Begin);
        Some(act)
    }

    fn calls(_: &mut Rounds) -> &mut () {
        no_calls()
    }

    fn effect(&self, at: &mut At<'_, Self>, _: &Passer, verdict: Verdict) -> Option<Act> {
        at.driver.is_open = false;
        match verdict {
            Verdict::Busy => at.driver.rounds += 1,
            Verdict::Quiet => at.driver.is_quiet = true,
        }
        None
    }

    fn receive(&self, at: &mut At<'_, Self>, from: Rank, message: Sent) -> Option<(Rank, Sent)> {
        if let Sent::Round(InRound {
            message: Message::Down(sums),
            ..
        }) = message
        {
            at.driver.is_quiet |= self.one_round && sums.sent == sums.processed;
        }
        Some((from, message))
    }

    fn judge(&self, view: &View<Parts<Self>>) -> Option<Flaw> {
        let under_way = view
            .parcels
            .iter()
            .any(|parcel| parcel.message == Some(Sent::Token));
        let waits = view.sites.iter().any(|part| part.machine.tokens > 0);
        let ended = view.sites.iter().any(|part| part.driver.is_quiet);
        (ended && (under_way || waits)).then_some(Flaw::Early)
    }

    /// A rank that has begun its last round need not find out; one that ended by error lets the
    /// others wait.
    fn is_final(&self, view: &View<Parts<Self>>) -> bool {
        let mut rounds = view.sites.iter().map(|part| &part.driver);
        let is_spent = |rounds: &Rounds| rounds.rounds == self.rounds;
        self.one_round || rounds.clone().all(|rounds| rounds.is_quiet) || rounds.any(is_spent)
    }
}
