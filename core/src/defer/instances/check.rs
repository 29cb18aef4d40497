//! Validation of notices.

use super::message::{Account, Move, Notice};
use super::parts::{contains, len, overlaps, remove};
use super::profile::are_sections;
use super::{Deferred, Plan};
use crate::defer::Refusal;
use crate::id::Rank;
use core::ops::Range;
use core::slice;

impl Deferred {
    pub(super) fn check(&self, from: Rank, notice: &Notice) -> Result<(), Refusal> {
        match notice {
            Notice::Accounts(instance, accounts) => self.check_accounts(from, *instance, accounts),
            Notice::Next {
                instance,
                switch,
                plan,
            } => {
                require(self.branch.parent() == Some(from), Refusal::Path)?;
                require(self.waits && *instance == self.instance + 1, Refusal::Range)?;
                let is_ready = |plan: &Plan| plan.number == self.ready();
                let may_switch = self.plan.as_ref().is_some_and(is_ready);
                require(!*switch || may_switch, Refusal::Unasked)?;
                let is_free = self.plan.is_none() || *switch;
                require(plan.is_none() || is_free, Refusal::Unasked)?;
                plan.as_ref().map_or(Ok(()), |plan| self.check_plan(plan))
            }
            Notice::Plan(moves) => {
                require(self.branch.parent() == Some(from), Refusal::Path)?;
                let is_paced = self.conditions.pace.is_some();
                require(self.plan.is_none() && is_paced, Refusal::Unasked)?;
                self.check_plan(moves)
            }
            Notice::Data(number, part) => self.check_data(from, *number, part),
        }
    }

    fn check_accounts(
        &self,
        from: Rank,
        instance: u64,
        accounts: &[Account],
    ) -> Result<(), Refusal> {
        let mut children = self.branch.children().zip(self.branch.sizes()).zip(0..);
        let child = children.find(|((child, _), _)| *child == from);
        let ((_, size), at) = child.ok_or(Refusal::Path)?;
        require(instance <= self.instance, Refusal::Range)?;
        require(accounts.len() == size, Refusal::Count)?;
        let is_stale = self.is_stale(at, instance, accounts);
        // Of several reports in an instance a later one may arrive first.
        require(
            !is_stale || self.conditions.pace.is_some(),
            Refusal::Unasked,
        )?;
        if is_stale {
            return Ok(());
        }
        for (rank, account) in (from.0..).map(Rank).zip(accounts) {
            let owned = &self.owned[(rank.0 - self.branch.here().0) as usize];
            let done = len(owned).checked_sub(account.left);
            let fits = |done| are_sections(&account.sections, done);
            let is_whole = self.conditions.pace.is_some() || account.left == 0;
            let is_sound = account.same <= account.all && account.ready <= self.plans;
            let is_sound = is_sound && is_whole && done.is_some_and(fits);
            require(is_sound, Refusal::Progress(rank))?;
        }
        Ok(())
    }

    fn check_data(&self, from: Rank, number: u64, part: &Range<u64>) -> Result<(), Refusal> {
        let here = self.branch.here();
        require(from.0 < self.p && from != here, Refusal::Path)?;
        let known = self.plan.as_ref().filter(|plan| plan.number == number);
        // The data may overtake the plan, which then is the next.
        let is_early = number == self.plans + 1;
        require(known.is_some() || is_early, Refusal::Range)?;
        let of_plan = |step: &Move| (step.from, step.to, &step.part) == (from, here, part);
        let fits = match known {
            Some(plan) => plan.moves.iter().any(of_plan),
            // What leaves by this plan may come back by the next.
            None => {
                let mut stays = self.owned[0].clone();
                let leaving = self.plan.iter().flat_map(|plan| &plan.moves);
                let leaving = leaving.filter(|step| step.from == here);
                leaving.for_each(|step| remove(&mut stays, &step.part));
                part.start < part.end && part.end <= self.n && !overlaps(&stays, part)
            }
        };
        let is_old = |(_, of, other): &(Rank, u64, Range<u64>)| {
            *of == number && overlaps(slice::from_ref(other), part)
        };
        require(
            fits && !self.arrived.iter().any(is_old),
            Refusal::Iterations,
        )
    }

    /// Checks a plan that takes effect after the present one.
    fn check_plan(&self, moves: &[Move]) -> Result<(), Refusal> {
        let first = self.branch.here().0;
        let mut owned = self.owned.clone();
        let present = self.plan.iter();
        present.for_each(|plan| plan.apply(Rank(first), &mut owned));
        for Move { from, to, part } in moves {
            require(from.0 < self.p && from != to, Refusal::Names(*from))?;
            require(to.0 < self.p, Refusal::Names(*to))?;
            require(part.start < part.end && part.end <= self.n, Refusal::Range)?;
            let at = |rank: &Rank| rank.0.checked_sub(first).map(|at| at as usize);
            let donor = at(from).and_then(|at| owned.get_mut(at));
            let is_theirs = donor.as_ref().is_none_or(|own| contains(own, part));
            require(is_theirs, Refusal::Iterations)?;
            let is_below = donor.is_some();
            donor.into_iter().for_each(|own| remove(own, part));
            let receiver = at(to).and_then(|at| self.owned.get(at));
            require(is_below || receiver.is_some(), Refusal::Names(*from))?;
        }
        Ok(())
    }
}

fn require(holds: bool, why: Refusal) -> Result<(), Refusal> {
    if holds { Ok(()) } else { Err(why) }
}
