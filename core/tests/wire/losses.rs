//! Operations of groups that have lost a rank.

use crate::net::{errors, settle};
use crate::operations::{Log, TIGHT, groups, ranks, wait};
use std::panic::Location;
use tautline_core::Rank;
use tautline_core::wire::{Cause, Exchange};

/// An operation decides whether it tolerates the loss of a rank, also one that begins after the
/// loss.
#[test]
fn losses_are_those_of_the_operations() {
    for (tolerates, later) in [(true, true), (true, false), (false, true)] {
        let (net, all, operations) = ranks(3, TIGHT);
        let groups = groups(&operations);
        all[..2].iter().for_each(Exchange::tolerate_losses);
        let site = Location::caller();
        let _first = groups[0].begin::<u32>(site, "first", Log::of(tolerates));
        settle(&all).unwrap();
        // Without a goodbye.
        drop(net.link(2));
        let all = &all[..2];
        _ = settle(all);
        assert_eq!(errors(all)[0].is_none(), tolerates);
        let second = groups[0].begin::<u32>(site, "second", Log::of(later));
        wait(all);
        assert_eq!(errors(all)[0].is_none(), tolerates && later);
        // More than may be kept there: the lost rank holds nothing back.
        (0..100).for_each(|number| second.send(Rank(2), &number));
        assert!(operations[0].is_sent());
    }
}

/// A rank that leaves because of a loss has reported it: an operation that it does not make ends by
/// the loss, also one that begins later, and not by the goodbye.
#[test]
fn a_loss_is_known_before_a_goodbye() {
    let (net, mut all, operations) = ranks(3, TIGHT);
    let groups = groups(&operations);
    all[..2].iter().for_each(Exchange::tolerate_losses);
    let site = Location::caller();
    let (first, second) = (Log::of(true), Log::of(true));
    let _first = groups[1].begin::<u32>(site, "first", first.clone());
    settle(&all).unwrap();
    // Without a goodbye.
    drop(net.link(2));
    all[0].turn().unwrap();
    operations[0].leave();
    drop(all.remove(0));
    let left = &all[..1];
    assert_eq!(errors(left), [None]);
    let _second = groups[1].begin::<u32>(site, "second", second.clone());
    assert_eq!(errors(left), [None]);
    for log in [first, second] {
        let failed = log.failed.lock().unwrap().take();
        let failed = failed.expect("the rank that has left makes neither");
        assert_eq!(failed.peer, Rank(2));
        assert!(matches!(failed.cause, Cause::Lost { .. }));
    }
}

/// A loss that one rank has observed after a goodbye is one for those that got the goodbye, too;
/// and after it ranks may make different calls, as only some know that the one before has ended.
#[test]
fn a_goodbye_to_some_ranks_is_a_loss() {
    let (net, mut all, operations) = ranks(3, TIGHT);
    let groups = groups(&operations);
    all[..2].iter().for_each(Exchange::tolerate_losses);
    let site = Location::caller();
    let log = Log::of(true);
    let first = groups[1].begin::<u32>(site, "first", log.clone());
    settle(&all).unwrap();
    drop(all.pop());
    net.with(2, 1, |mail| mail.pop_back());
    // In this order: rank 0 gets the goodbye before rank 1 reports.
    all[0].turn().unwrap();
    assert_eq!(errors(&all), [None, None]);
    drop(first);
    assert!(groups[0].is_broken() && groups[1].is_broken());
    let others = [Log::of(true), Log::of(true)];
    let one = groups[0].begin::<u32>(site, "first", others[0].clone());
    let _other = groups[1].begin::<u32>(site, "second", others[1].clone());
    one.send(Rank(1), &7);
    wait(&all);
    assert_eq!(errors(&all), [None, None]);
    assert!(others[1].got().is_empty());
}
