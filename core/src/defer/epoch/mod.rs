//! Self-scheduling without a central queue: ranks execute their own iterations, and only the right
//! to a chunk is competed for.
//!
//! # Algorithm
//! Distributed self-scheduling and distributed tapering (Lucco 1995, 003:366-397; spec 2.5). Each
//! rank begins with a block of the iterations. All ranks use one chunk size, that of the *epoch*. A
//! rank that begins a chunk sends a token up the tree of ranks; one without iterations sends a
//! *hungry* token, once an epoch. When p tokens have arrived, the root ends the epoch: it computes
//! the next chunk size from the iterations left, and orders ranks that are behind to send a chunk
//! to ranks that are ahead. An epoch in which no rank has begun a chunk does not end, as all
//! iterations left are then on their way.
//!
//! Tokens are combined: a node of the tree passes on as many as its subtree has ranks (003:370), so
//! an epoch costs about one message up and one down an edge. A token of an old epoch counts for the
//! present one (003:395). What a token carries are sums since the beginning, not differences:
//! messages may overtake each other.
//!
//! # Prediction
//! The cached variants (003:534-548; spec 2.11) have chunks of equal predicted work, and level
//! predicted work between ranks. See `root`.
//!
//! The iterations' data travels with [`Message::Data`], in the same envelope; what it consists of
//! is the driver's business.
//!
//! # Proved
//! Over every order of deliveries for up to 4 ranks (`verify/tests/explore/defer.rs`): every
//! iteration begins exactly once, the end is reported once at each rank, after all have begun, and
//! the epoch of a rank never decreases.

mod gather;
mod message;
mod root;

pub use message::{Epoch, Message, Order, Progress};

use super::phase::Phase;
use super::{Count, Effect, Event, Predict, Refusal, Stock};
use crate::collective::Branch;
use crate::id::Rank;
use crate::machine::{Machine, Step};
use crate::taper::{Instance, Policy, Summary, blocked};
use alloc::vec::Vec;
use core::ops::Range;
use gather::Gather;
use root::Root;

/// One rank's part in a self-scheduled loop: it executes chunks, combines the tokens of its
/// subtree, and at rank 0 ends epochs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Epochs<W = Count> {
    branch: Branch,
    n: u64,
    predict: W,
    /// The work of all iterations.
    whole: u64,
    /// Whether iterations are where they were before, and move one by one.
    is_placed: bool,
    p: u32,
    phase: Phase,
    /// Whether all iterations of the loop have begun.
    is_over: bool,
    epoch: u64,
    chunk: u64,
    stock: Stock,
    own: Progress,
    gather: Gather,
    /// At rank 0.
    root: Option<Root>,
}

impl Epochs {
    /// Creates the machine of rank `here` in a loop, whose processors are the ranks. All ranks give
    /// the same loop and policy.
    ///
    /// # Panics
    /// If `here` is not one of the ranks.
    pub fn new(here: Rank, instance: Instance, policy: Policy) -> Self {
        Self::predicted(here, instance, policy, Count)
    }
}

impl<W: Predict> Epochs<W> {
    /// Creates the machine of the cached variant of the policy, which schedules predicted work. All
    /// ranks give the same prediction.
    ///
    /// # Panics
    /// If `here` is not one of the ranks.
    pub fn predicted(here: Rank, instance: Instance, policy: Policy, predict: W) -> Self {
        let (n, p) = (instance.n(), instance.p());
        let share = |rank| blocked(rank, n, p);
        let left = |predict: &W, rank| predict.work(share(rank));
        Self::start(
            here,
            instance,
            policy,
            predict,
            Stock::new(share(here.0)),
            left,
        )
    }

    /// Creates the same machine for a rank that begins with the iterations of `stock`, in the order
    /// of their predicted work, longest first: those that it executed in the instance before, so
    /// that only what has changed since has to move. Iterations move one by one, so they must not
    /// communicate. The stocks of all ranks are the loop.
    ///
    /// # Panics
    /// If `here` is not one of the ranks.
    pub fn placed(
        here: Rank,
        instance: Instance,
        policy: Policy,
        predict: W,
        stock: Stock,
    ) -> Self {
        let p = u64::from(instance.p());
        // Until a rank reports, it is taken to have its share.
        let share = |predict: &W, _| predict.work(0..instance.n()) / p;
        Self {
            is_placed: true,
            ..Self::start(here, instance, policy, predict, stock, share)
        }
    }

    fn start(
        here: Rank,
        instance: Instance,
        policy: Policy,
        predict: W,
        stock: Stock,
        left: impl Fn(&W, u32) -> u64,
    ) -> Self {
        let (n, p) = (instance.n(), instance.p());
        let whole = predict.work(0..n);
        let branch = Branch::new(here, p, 2);
        let size = 1 + branch.sizes().sum::<usize>() as u32;
        let root = Root::new(policy, instance, whole, predict.estimate());
        Self {
            n,
            p,
            phase: Phase::New,
            is_over: false,
            epoch: 0,
            chunk: root.first(),
            stock,
            own: Progress::default(),
            gather: Gather::new(here.0..here.0 + size, |rank| left(&predict, rank)),
            root: branch.parent().is_none().then_some(root),
            branch,
            whole,
            is_placed: false,
            predict,
        }
    }

    /// Returns the number of the epoch.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the work of a chunk in this epoch: the number of its iterations, unless another work
    /// is predicted.
    pub fn chunk(&self) -> u64 {
        self.chunk
    }

    /// Returns whether this rank is done.
    pub fn has_ended(&self) -> bool {
        self.phase == Phase::Ended
    }

    /// Begins the next chunk, or reports that no iteration is left.
    fn go_on(&mut self, step: &mut Step<'_, Self>) {
        if self.is_over {
            self.phase = Phase::Ended;
            return step.effect(Effect::End);
        }
        if !self.stock.is_empty() {
            let len = self.stock.fit_front(self.chunk, &self.predict).max(1);
            self.phase = Phase::Busy;
            self.own.chunks += 1;
            self.own.started += len;
            step.effect(Effect::Execute(self.stock.take_front(len)));
        } else if self.own.hungry == self.epoch + 1 {
            return;
        } else {
            self.own.hungry = self.epoch + 1;
        }
        self.own.left = self.stock.work(&self.predict);
        self.own.epoch = self.epoch;
        self.gather.record(self.branch.here(), self.own);
        self.pass_on(step);
    }

    /// Passes tokens to the parent if enough of them are here; at the root, ends the epoch or the
    /// loop.
    fn pass_on(&mut self, step: &mut Step<'_, Self>) {
        let started = self.gather.started();
        let (is_due, chunks) = (self.gather.is_due(self.epoch), self.gather.chunks());
        let Some(root) = &mut self.root else {
            if is_due && let Some(parent) = self.branch.parent() {
                step.send(parent, Message::Tokens(self.gather.pass()));
            }
            return;
        };
        if self.is_over {
            return;
        }
        if started == self.n {
            return self.finish(step);
        }
        if is_due && chunks > 0 {
            let epoch = root.close(self.epoch, self.chunk, started, self.gather.reports());
            self.gather.pass();
            self.enter(epoch, step);
        }
    }

    /// Enters an epoch, and sends what the orders for this rank demand. A late message has orders
    /// only.
    fn enter(&mut self, epoch: Epoch, step: &mut Step<'_, Self>) {
        let is_new = epoch.number > self.epoch;
        for (child, ranks) in children(&self.branch) {
            let orders = epoch.orders.iter().copied();
            let below: Vec<_> = orders
                .filter(|order| ranks.contains(&order.donor.0))
                .collect();
            if is_new || !below.is_empty() {
                let epoch = Epoch {
                    orders: below,
                    ..epoch
                };
                step.send(child, Message::Epoch(epoch));
            }
        }
        for order in &epoch.orders {
            let is_mine = order.donor == self.branch.here();
            let parts = match (is_mine, self.is_placed) {
                (false, _) => continue,
                (true, false) => {
                    let fitting = self.stock.fit_back(order.amount, &self.predict);
                    self.stock.take_back(fitting)
                }
                (true, true) => self.stock.take_fitting(order.amount, &self.predict),
            };
            if !parts.is_empty() {
                step.send(order.receiver, Message::Data(parts));
            }
        }
        if !is_new {
            return;
        }
        self.epoch = epoch.number;
        self.chunk = epoch.chunk;
        match self.phase {
            Phase::Waiting => self.go_on(step),
            _ => self.pass_on(step),
        }
    }

    /// Ends the loop in the subtree: all iterations have begun.
    fn finish(&mut self, step: &mut Step<'_, Self>) {
        self.is_over = true;
        for (child, _) in children(&self.branch) {
            step.send(child, Message::End);
        }
        if self.phase == Phase::Waiting {
            self.phase = Phase::Ended;
            step.effect(Effect::End);
        }
    }

    fn check(&self, from: Rank, epoch: &Epoch) -> Result<(), Refusal> {
        if self.branch.parent() != Some(from) {
            return Err(Refusal::Path);
        }
        let in_loop = |work| (1..=self.whole.max(1)).contains(&work);
        if !(1..=self.n).contains(&epoch.number) || !in_loop(epoch.chunk) {
            return Err(Refusal::Range);
        }
        let subtree = self.gather.ranks();
        for order in &epoch.orders {
            if !subtree.contains(&order.donor.0) {
                return Err(Refusal::Names(order.donor));
            }
            if order.receiver.0 >= self.p || order.receiver == order.donor {
                return Err(Refusal::Names(order.receiver));
            }
            if !in_loop(order.amount) {
                return Err(Refusal::Range);
            }
        }
        Ok(())
    }
}

impl<W: Predict> Machine for Epochs<W> {
    type Peer = Rank;
    type Message = Message;
    /// Of a chunk it takes the times of iterations, some of which were timed.
    type Event = Event<Summary>;
    type Effect = Effect;
    type Calls = ();
    type Refusal = Refusal;

    /// # Panics
    /// If the loop begins twice, or a chunk was executed that had not begun.
    fn event(&mut self, event: Event<Summary>, step: &mut Step<'_, Self>) {
        match event {
            Event::Begin => self.phase.begin(),
            Event::Executed(times) => {
                self.phase.free();
                self.own.times.merge(&times);
            }
        }
        self.go_on(step);
    }

    fn receive(
        &mut self,
        from: Rank,
        message: Message,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Refusal> {
        match message {
            Message::Tokens(tokens) => {
                let child = children(&self.branch).find(|(child, _)| *child == from);
                let (_, child) = child.ok_or(Refusal::Path)?;
                let bounds = (self.epoch, self.n, self.whole);
                self.gather.check(&tokens, &child, bounds)?;
                for (rank, progress) in tokens {
                    self.gather.record(rank, progress);
                }
                self.pass_on(step);
            }
            Message::Epoch(epoch) => {
                self.check(from, &epoch)?;
                // What overtook the end concerns no iteration any more.
                if !self.is_over {
                    self.enter(epoch, step);
                }
            }
            Message::Data(parts) => {
                if self.is_over {
                    return Err(Refusal::End);
                }
                let is_stranger = from.0 >= self.p || from == self.branch.here();
                if is_stranger || !self.stock.admits(&parts, self.n) {
                    return Err(Refusal::Iterations);
                }
                match self.is_placed {
                    true => self.stock.put_first(parts),
                    false => self.stock.put(parts),
                }
                if self.phase == Phase::Waiting {
                    self.go_on(step);
                }
            }
            Message::End => {
                if self.branch.parent() != Some(from) {
                    return Err(Refusal::Path);
                }
                if self.is_over || !self.stock.is_empty() {
                    return Err(Refusal::End);
                }
                self.finish(step);
            }
        }
        Ok(())
    }
}

/// Returns the children, each with the ranks of its subtree.
fn children(branch: &Branch) -> impl Iterator<Item = (Rank, Range<u32>)> {
    let subtree = |(child, size): (Rank, usize)| (child, child.0..child.0 + size as u32);
    branch.children().zip(branch.sizes()).map(subtree)
}
