//! Applications without their types, as trait objects: one copy of the balancer, the simulator, the
//! sweeps and the reports serves all of them, which keeps the first build of the command short.
//!
//! | an application has | all have |
//! |---|---|
//! | [`App`] | [`AnyApp`] |
//! | [`Problem`] | [`AnyProblem`] |
//! | [`Bag`] | [`AnyBag`] |
//! | [`Bag::Shared`], [`Bag::Output`] | [`AnyShared`], [`AnyOutput`] |
//!
//! The types of a bag and of the state that it is given are compared once a call of
//! [`process`](Bag::process), never once a task.

use super::{About, Answer, App, Findings, Problem};
use crate::command::{Failure, Outcome};
use std::any::{Any, TypeId};
use std::fmt::Debug;
use std::sync::Arc;
use tautline::balance::{AnyBound, Bag, Config, Reason, Share};
use tautline_core::wire::{self, Malformed, Portable, Unencodable};

/// The options of any application.
pub(crate) trait AnyApp: Debug {
    /// Returns [`App::problem`].
    fn problem(&self, small: bool) -> Result<Arc<dyn AnyProblem>, Failure>;
}

impl<A: App<Problem: Problem>> AnyApp for A {
    fn problem(&self, small: bool) -> Result<Arc<dyn AnyProblem>, Failure> {
        Ok(Arc::new(App::problem(self, small)?))
    }
}

/// The problem of any application; [`Problem`] documents the methods.
pub(crate) trait AnyProblem: Send + Sync {
    fn about(&self) -> About;
    fn name(&self) -> String;
    fn check(&self, config: &Config) -> Outcome;
    fn work(&self, output: &AnyOutput, tasks: u64) -> u64;
    fn bag(&self) -> AnyBag;
    fn shared(&self) -> AnyShared;
    /// Returns the initial output, to which bags submit.
    fn output(&self) -> AnyOutput;
    fn findings(&self, output: &AnyOutput, complete: bool) -> Findings;
    fn pictures(&self) -> Vec<String>;
    fn deliver(&self, output: &AnyOutput) -> Outcome;
    fn smaller(&self) -> Option<(String, Arc<dyn AnyProblem>)>;
}

impl<P: Problem> AnyProblem for P {
    fn about(&self) -> About {
        Problem::about(self)
    }

    fn name(&self) -> String {
        Problem::name(self)
    }

    fn check(&self, config: &Config) -> Outcome {
        Problem::check(self, config)
    }

    fn work(&self, output: &AnyOutput, tasks: u64) -> u64 {
        Problem::work(self, typed(output.as_ref()), tasks)
    }

    fn bag(&self) -> AnyBag {
        AnyBag::new(Problem::bag(self))
    }

    fn shared(&self) -> AnyShared {
        AnyShared::of::<P::Bag>(Problem::shared(self))
    }

    fn output(&self) -> AnyOutput {
        Box::new(<P::Bag as Bag>::Output::default())
    }

    fn findings(&self, output: &AnyOutput, complete: bool) -> Findings {
        Problem::findings(self, typed(output.as_ref()), complete)
    }

    fn pictures(&self) -> Vec<String> {
        Problem::pictures(self)
    }

    fn deliver(&self, output: &AnyOutput) -> Outcome {
        Problem::deliver(self, typed(output.as_ref()))
    }

    fn smaller(&self) -> Option<(String, Arc<dyn AnyProblem>)> {
        let (name, smaller) = Problem::smaller(self)?;
        Some((name, Arc::new(smaller)))
    }
}

impl dyn AnyProblem + '_ {
    /// Evaluates `output` of this problem of `application` after `tasks` tasks. Without `stopped`
    /// all work was done.
    pub(crate) fn answer(
        &self,
        application: &'static str,
        output: &AnyOutput,
        tasks: u64,
        complete: bool,
        stopped: Option<Reason>,
    ) -> Answer {
        let About { unit, facts, .. } = self.about();
        Answer {
            application,
            unit,
            facts,
            findings: self.findings(output, complete),
            pictures: self.pictures(),
            tasks,
            work: self.work(output, tasks),
            // A run that was stopped too late to omit anything counts as complete.
            stopped: stopped.filter(|_| !complete),
            complete,
            unverified: "nothing published to compare with",
        }
    }
}

/// The bag of any application.
pub(crate) struct AnyBag(Box<dyn DynBag>);

/// The [`Bag::Shared`] of any application.
pub(crate) struct AnyShared(Box<dyn DynShared>);

/// The [`Bag::Output`] of any application.
pub(crate) type AnyOutput = Box<dyn Any>;

impl AnyBag {
    fn new(bag: impl Bag + Portable + 'static) -> Self {
        Self(Box::new(PaddedBag(bag)))
    }

    /// Returns the type of the application's bag.
    pub(super) fn kind(&self) -> TypeId {
        self.0.kind()
    }

    /// Encodes it, for a process that knows the type.
    pub(super) fn pack(&self) -> Result<Vec<u8>, Unencodable> {
        self.0.pack()
    }

    /// Decodes a bag of type `B`.
    pub(super) fn unpack<B: Bag + Portable + 'static>(bytes: &[u8]) -> Result<Self, Malformed> {
        wire::unpack::<B>(bytes).map(Self::new)
    }
}

impl AnyShared {
    fn of<B: Bag + 'static>(state: B::Shared) -> Self {
        Self(Box::new(PaddedShared::<B>(state)))
    }
}

impl Bag for AnyBag {
    type Shared = AnyShared;
    type Output = AnyOutput;

    fn process(&mut self, n: usize, shared: &AnyShared) -> usize {
        self.0.process(n, shared)
    }

    fn split(&mut self, share: Share) -> Option<Self> {
        self.0.split(share)
    }

    fn merge(&mut self, other: Self) {
        self.0.merge(other);
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn is_splittable(&self) -> bool {
        self.0.is_splittable()
    }

    fn bound(shared: &AnyShared) -> Option<&dyn AnyBound> {
        shared.0.bound()
    }

    fn verdict(&self) -> Option<Reason> {
        self.0.verdict()
    }

    fn drop_tasks(&mut self) {
        self.0.drop_tasks();
    }

    fn submit(self, output: &mut AnyOutput) {
        self.0.submit(output);
    }
}

/// The methods of [`Bag`] that take a bag.
trait DynBag: Any + Send {
    fn process(&mut self, n: usize, shared: &AnyShared) -> usize;
    fn split(&mut self, share: Share) -> Option<AnyBag>;
    fn merge(&mut self, other: AnyBag);
    fn len(&self) -> usize;
    fn is_empty(&self) -> bool;
    fn is_splittable(&self) -> bool;
    fn verdict(&self) -> Option<Reason>;
    fn drop_tasks(&mut self);
    fn submit(self: Box<Self>, output: &mut AnyOutput);
    fn kind(&self) -> TypeId;
    fn pack(&self) -> Result<Vec<u8>, Unencodable>;
}

/// A bag in cache lines of its own, as another worker may write to what follows it in memory.
/// Processors fetch lines in pairs.
#[repr(align(128))]
struct PaddedBag<B>(B);

impl<B: Bag + Portable + 'static> DynBag for PaddedBag<B> {
    fn process(&mut self, n: usize, shared: &AnyShared) -> usize {
        let shared: &PaddedShared<B> = typed(shared.0.as_ref());
        self.0.process(n, &shared.0)
    }

    fn split(&mut self, share: Share) -> Option<AnyBag> {
        self.0.split(share).map(AnyBag::new)
    }

    fn merge(&mut self, other: AnyBag) {
        let other: Box<dyn Any> = other.0;
        let PaddedBag(other) = *other.downcast().expect(ONE_APPLICATION);
        self.0.merge(other);
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn is_splittable(&self) -> bool {
        self.0.is_splittable()
    }

    fn verdict(&self) -> Option<Reason> {
        self.0.verdict()
    }

    fn drop_tasks(&mut self) {
        self.0.drop_tasks();
    }

    fn submit(self: Box<Self>, output: &mut AnyOutput) {
        self.0.submit(output.downcast_mut().expect(ONE_APPLICATION));
    }

    fn kind(&self) -> TypeId {
        TypeId::of::<B>()
    }

    fn pack(&self) -> Result<Vec<u8>, Unencodable> {
        let mut bytes = Vec::new();
        wire::pack(&self.0, &mut bytes)?;
        Ok(bytes)
    }
}

/// The method of [`Bag`] that takes the shared state alone.
trait DynShared: Any + Sync {
    fn bound(&self) -> Option<&dyn AnyBound>;
}

/// The shared state of bags of type `B`, padded to cache lines of its own.
#[repr(align(128))]
struct PaddedShared<B: Bag>(B::Shared);

impl<B: Bag + 'static> DynShared for PaddedShared<B> {
    fn bound(&self) -> Option<&dyn AnyBound> {
        B::bound(&self.0)
    }
}

const ONE_APPLICATION: &str = "bags, shared state and output belong to one application";

fn typed<T: 'static>(any: &dyn Any) -> &T {
    any.downcast_ref().expect(ONE_APPLICATION)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use tautline::balance::{Bound, Key};

    /// A number of tasks whose methods differ from the provided ones of [`Bag`].
    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Odd(usize);

    impl Bag for Odd {
        type Shared = Bound;
        type Output = Vec<usize>;

        fn process(&mut self, n: usize, bound: &Bound) -> usize {
            self.0 -= n;
            bound.improve(n);
            n
        }

        fn split(&mut self, share: Share) -> Option<Self> {
            let taken = share.of(self.0);
            self.0 -= taken;
            (taken > 0).then_some(Self(taken))
        }

        fn merge(&mut self, other: Self) {
            self.0 += other.0;
        }

        fn len(&self) -> usize {
            self.0
        }

        fn is_empty(&self) -> bool {
            self.0 == 1
        }

        fn is_splittable(&self) -> bool {
            self.0 >= 10
        }

        fn bound(shared: &Bound) -> Option<&dyn AnyBound> {
            Some(shared)
        }

        fn verdict(&self) -> Option<Reason> {
            (self.0 == 7).then_some(Reason::Found)
        }

        fn drop_tasks(&mut self) {
            self.0 = 0;
        }

        fn submit(self, output: &mut Vec<usize>) {
            output.push(self.0);
        }
    }

    /// Another application's bag.
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Other;

    impl Bag for Other {
        type Shared = ();
        type Output = ();

        fn process(&mut self, _: usize, (): &()) -> usize {
            0
        }

        fn split(&mut self, _: Share) -> Option<Self> {
            None
        }

        fn merge(&mut self, _: Self) {}

        fn len(&self) -> usize {
            0
        }

        fn submit(self, (): &mut ()) {}
    }

    #[test]
    fn every_method_is_that_of_the_bag() {
        let shared = AnyShared::of::<Odd>(Bound::default());
        let mut bag = AnyBag::new(Odd(12));
        assert_eq!(bag.process(2, &shared), 2);
        assert_eq!(
            AnyBag::bound(&shared).map(AnyBound::key),
            Some(Key::Word(2))
        );
        assert!(AnyBag::bound(&AnyShared::of::<Other>(())).is_none());
        assert_eq!((bag.len(), bag.is_splittable()), (10, true));
        let mut loot = bag.split(Share::Count(3)).expect("it is splittable");
        assert_eq!((bag.len(), bag.is_splittable()), (7, false));
        assert_eq!((bag.verdict(), loot.verdict()), (Some(Reason::Found), None));
        loot.process(2, &shared);
        assert_eq!((bag.is_empty(), loot.is_empty()), (false, true));
        assert!(loot.split(Share::Half).is_none());
        bag.merge(loot);
        let bytes = bag.pack().expect("it can be encoded");
        let mut copy = AnyBag::unpack::<Odd>(&bytes).expect("it was encoded");
        assert_eq!((copy.kind(), copy.len()), (TypeId::of::<Odd>(), bag.len()));
        copy.drop_tasks();
        assert_eq!(copy.len(), 0);
        let mut output: AnyOutput = Box::new(vec![1_usize]);
        bag.submit(&mut output);
        assert_eq!(output.downcast_ref(), Some(&vec![1_usize, 8]));
    }

    #[test]
    fn applications_are_not_mixed() {
        let mut bag = AnyBag::new(Odd(12));
        let mixed: [&mut dyn FnMut(); 3] = [
            &mut || _ = AnyBag::new(Other).process(1, &AnyShared::of::<Odd>(Bound::default())),
            &mut || bag.merge(AnyBag::new(Other)),
            &mut || AnyBag::new(Other).submit(&mut (Box::new(Vec::<usize>::new()) as AnyOutput)),
        ];
        for call in mixed {
            let panic = catch_unwind(AssertUnwindSafe(call)).expect_err("another application");
            let message = panic.downcast_ref::<String>().map(String::as_str);
            let message = message.or(panic.downcast_ref::<&str>().copied());
            assert!(message.is_some_and(|line| line.starts_with(ONE_APPLICATION)));
        }
    }
}
