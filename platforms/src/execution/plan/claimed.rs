//! The claim of a plan to the processors of its workers.
#![forbid(unsafe_code)]

use super::Plan;
use crate::host::pinning::{Claim, Refusal};
use crate::setting::{Choice, PIN, Source};

impl Plan {
    /// As [`explain`](Self::explain); and whether a runtime that is started at this moment would
    /// leave its workers unpinned, since another one has their processors, or may have them unseen.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// let other = Runtime::builder().pinned(true).build()?;
    /// let choices = Runtime::builder().plan()?.explain_now();
    /// assert!(choices.iter().any(|choice| choice.value.starts_with("not pinned")));
    /// # drop(other);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn explain_now(&self) -> Vec<Choice> {
        let mut choices = self.choices.clone();
        if let (true, Err(refusal)) = (self.yields, Claim::alone(&self.cpus)) {
            let line = refusal.line();
            choices.push(Choice::chosen(
                "placement",
                &line,
                Source::Detected,
                line.clone(),
            ));
        }
        choices
    }

    /// Claims the processors of the workers. If they are pinned only by default and another runtime
    /// has one of the processors, they are not pinned.
    pub(crate) fn claim(&mut self) -> Claim {
        if self.yields {
            match Claim::alone(&self.cpus) {
                Ok(claim) => return claim,
                Err(refusal) => self.leave_unpinned(&refusal),
            }
        }
        Claim::new(&self.cpus)
    }

    /// Does not pin the workers.
    fn leave_unpinned(&mut self, refusal: &Refusal) {
        self.cpus.clear();
        (self.pinned, self.yields) = (false, false);
        let choice = self.choices.iter_mut().find(|it| it.setting == PIN.name);
        let choice = choice.expect("every plan explains where workers are");
        choice.value = "not pinned".to_owned();
        choice.source = Source::Detected;
        choice.why = refusal.line();
    }
}
