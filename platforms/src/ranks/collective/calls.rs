//! Collective calls: of each its kind, its machine, and with what the machine begins.

use super::rooted::{AtRoot, FromRoot, FromRootToAll};
use super::slice::Elements;
use tautline_core::Rank;
use tautline_core::collective::{
    AllToAll, Branch, Collect, CollectForAll, Combine, CombineBefore, ForAll, Operation, Wave,
};
use tautline_core::comm::Number;
use tautline_core::group::Group;
use tautline_core::machine::Machine;
use tautline_core::service::Kind;

/// A call of one rank, which has not begun.
pub(crate) struct Call<M: Machine> {
    pub(crate) kind: Kind,
    pub(crate) machine: M,
    /// With what the machine begins.
    pub(crate) own: M::Event,
}

type Barrier = ForAll<(), fn((), ())>;
/// A call along the tree of ranks.
type Along<O> = Call<Wave<O>>;

fn along<O: Operation>(
    group: &Group,
    kind: impl Into<Kind>,
    operation: O,
    own: O::Own,
) -> Along<O> {
    let branch = Branch::of(group.here(), group.ranks());
    Call {
        kind: kind.into(),
        machine: Wave::new(branch, operation),
        own,
    }
}

/// Returns the kind of a call with a root.
///
/// # Panics
/// If the group has no such rank.
fn rooted(group: &Group, name: &'static str, root: Rank) -> Kind {
    assert_rank(group, root);
    Kind::rooted(name, root)
}

/// # Panics
/// If the group has no such rank.
pub(crate) fn assert_rank(group: &Group, rank: Rank) {
    let ranks = group.ranks();
    assert!(rank.0 < ranks, "{rank} of a group of {ranks} ranks");
}

/// # Panics
/// If there is not one value for each rank.
fn assert_for_each<T>(group: &Group, values: &[T]) {
    let (given, ranks) = (values.len(), group.ranks());
    assert_eq!(given, ranks as usize, "{given} values for {ranks} ranks");
}

/// Returns a call that ends when all ranks have made it.
pub(crate) fn barrier(group: &Group) -> Call<Barrier> {
    Call {
        kind: "barrier".into(),
        machine: ForAll::barrier(group.here(), group.ranks()),
        own: (),
    }
}

/// Returns a call that brings the root's `value` to all ranks.
pub(crate) fn broadcast<T: Clone>(group: &Group, root: Rank, value: T) -> Along<FromRootToAll<T>> {
    let kind = rooted(group, "broadcast", root);
    let own = (group.here() == root).then_some(value);
    along(group, kind, FromRootToAll::default(), own)
}

/// Returns a call that brings to each rank the value that the root has for it.
///
/// # Panics
/// At the root, if there is not one value for each rank.
pub(crate) fn scatter<T>(group: &Group, root: Rank, values: Vec<T>) -> Along<FromRoot<T>> {
    let kind = rooted(group, "scatter", root);
    let own = (group.here() == root).then_some(values);
    own.iter().for_each(|values| assert_for_each(group, values));
    along(group, kind, FromRoot::default(), own)
}

/// Returns a call that combines the values of all ranks at the root.
pub(crate) fn reduce<T, F: FnMut(T, T) -> T>(
    group: &Group,
    root: Rank,
    value: T,
    operator: F,
) -> Along<AtRoot<Combine<T, F>>> {
    let kind = rooted(group, "reduce", root);
    let operation = AtRoot::new(group.here(), root, Combine::by(operator));
    along(group, kind, operation, value)
}

/// Returns a call that brings the values of all ranks to the root.
pub(crate) fn gather<T>(group: &Group, root: Rank, value: T) -> Along<AtRoot<Collect<T>>> {
    let kind = rooted(group, "gather", root);
    let operation = AtRoot::new(group.here(), root, Collect::default());
    along(group, kind, operation, value)
}

/// Returns a call that combines the values of all ranks for all.
pub(crate) fn all_reduce<T: Clone, F: FnMut(T, T) -> T>(
    group: &Group,
    value: T,
    operator: F,
) -> Call<ForAll<T, F>> {
    Call {
        kind: "all-reduce".into(),
        machine: ForAll::new(group.here(), group.ranks(), operator),
        own: value,
    }
}

/// Returns a call that combines vectors of equal length for all ranks, by
/// [`elementwise`](super::slice::elementwise).
pub(crate) fn all_reduce_slice<T, F>(
    group: &Group,
    elements: &[T],
    combine: F,
) -> Call<ForAll<Elements<T>, F>>
where
    T: Number,
    F: FnMut(Elements<T>, Elements<T>) -> Elements<T>,
{
    let kind = Kind::sized("all-reduce", elements.len() as u64);
    let machine = ForAll::new(group.here(), group.ranks(), combine);
    let own = Elements::of(elements);
    Call { kind, machine, own }
}

/// Returns a call that brings the values of all ranks to all.
pub(crate) fn all_gather<T: Clone>(group: &Group, value: T) -> Along<CollectForAll<T>> {
    along(group, "all-gather", CollectForAll::default(), value)
}

/// Returns a call that combines, for each rank, the values of the ranks before it.
pub(crate) fn scan<T: Clone, F: FnMut(T, T) -> T>(
    group: &Group,
    value: T,
    operator: F,
) -> Along<CombineBefore<T, F>> {
    along(group, "scan", CombineBefore::by(operator), value)
}

/// Returns a call that sends one of `values` to each rank.
///
/// # Panics
/// If there is not one value for each rank.
pub(crate) fn all_to_all<T>(group: &Group, values: Vec<T>) -> Call<AllToAll<T>> {
    assert_for_each(group, &values);
    Call {
        kind: "all-to-all".into(),
        machine: AllToAll::new(group.here(), group.ranks()),
        own: values,
    }
}
