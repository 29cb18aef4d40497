//! Views of boxed copies, and the reclamation of what they protect.

use super::{RELAX, worker};
use loom::sync::atomic::{
    AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};
use loom::thread::{self, JoinHandle};
use std::ptr;
use std::sync::Arc;
use tautline_core::directory::{BoxedCopy, COUNTED, Counted, Guards, Seat, State};
use tautline_core::port::Fence;
use tautline_core::sync::FreedPtr;
use tautline_verify::model::Model;

/// Both halves of the fence are full ones.
struct Port;

// SAFETY: the provided methods are a pair of full fences.
unsafe impl Fence for Port {}

/// No fence at all, so that nothing is reclaimed: what is visible is so by the words.
struct Unfenced;

// SAFETY: the heavy fence always refuses.
unsafe impl Fence for Unfenced {
    fn light_fence(&self) {}

    fn heavy_fence(&self) -> bool {
        false
    }
}

/// A number of which loom checks that it is not freed before its last read.
struct Freed(FreedPtr<()>);

impl Freed {
    fn new(value: usize) -> Self {
        let freed = Self(FreedPtr::new(ptr::null_mut()));
        // A read that does not observe the node finds 0.
        freed.0.store(ptr::without_provenance_mut(value), Relaxed);
        freed
    }

    fn get(&self) -> usize {
        self.0.load(Relaxed).addr()
    }
}

impl Clone for Freed {
    fn clone(&self) -> Self {
        Self::new(self.get())
    }
}

type Copy<P> = BoxedCopy<Freed, P>;

/// Copies with values 1, 10, …, whose tenures have all their counted accesses.
struct Scene<const N: usize, P: Fence = Port> {
    copies: [Copy<P>; N],
    guards: Arc<Guards<P>>,
    acked: AtomicUsize,
}

impl<const N: usize> Scene<N> {
    fn new(state: State) -> Arc<Self> {
        Self::on(Port, state)
    }
}

impl<const N: usize, P: Fence + Send + Sync + 'static> Scene<N, P> {
    fn on(port: P, state: State) -> Arc<Self> {
        let guards = Arc::new(Guards::new(port, 1));
        let copy = |at| {
            let value = Freed::new(10_usize.pow(at as u32));
            BoxedCopy::with_value(value, state, &guards)
        };
        let copies: [Copy<P>; N] = std::array::from_fn(copy);
        let seat = guards.seat(0).unwrap();
        for copy in &copies {
            (0..COUNTED).for_each(|_| _ = read(copy, &seat));
        }
        drop(seat);
        Arc::new(Self {
            copies,
            guards,
            acked: AtomicUsize::new(0),
        })
    }

    /// A thread that reads with seat 0.
    fn reader(
        self: &Arc<Self>,
        read: impl FnOnce(&Self, &Seat<'_, P>) -> usize + 'static,
    ) -> JoinHandle<usize> {
        let scene = Arc::clone(self);
        thread::spawn(move || read(&scene, &scene.guards.seat(0).unwrap()))
    }
}

/// Drops the nodes that no view has; returns the number of those that are kept.
fn reclaim(guards: &Guards<Port>) -> usize {
    guards.reclaim().left
}

/// Returns the value, 0 for a miss.
fn read<P: Fence>(copy: &Copy<P>, seat: &Seat<'_, P>) -> usize {
    copy.read(seat).map_or(0, |view| {
        let value = view.get();
        assert_ne!(value, 0, "a node that is not visible");
        value
    })
}

/// Adds `by`, and returns the value before; 0 for a miss.
fn add<P: Fence>(copy: &Copy<P>, by: usize) -> usize {
    let add = |value: &mut Freed| {
        let was = value.get();
        *value = Freed::new(was + by);
        was
    };
    copy.write(&RELAX, add).unwrap_or(0)
}

/// R27: a node is reclaimed after the last read of its view, and a view has the value that was
/// current when it was taken.
#[test]
fn directory_view_retired() {
    Model::new("directory_view_retired")
        .bound(4)
        .floor(1_100)
        .check(|| {
            let scene = Scene::<1>::new(State::Modified);
            let reader = scene.reader(|scene, seat| {
                let view = scene.copies[0].read(seat).unwrap();
                view.get()
            });
            assert_eq!(add(&scene.copies[0], 1), 1);
            let left = reclaim(&scene.guards);
            let value = reader.join().unwrap();
            assert!(value == 1 || value == 2, "{value}");
            assert!(left <= 1 && reclaim(&scene.guards) == 0, "not reclaimed");
        });
}

/// A seat's slot that is used again: what it protected before is reclaimed after its last read,
/// though the slot may never appear to be empty.
#[test]
fn directory_view_slot_reused() {
    Model::new("directory_view_slot_reused")
        .bound(3)
        .floor(210)
        .check(|| {
            let scene = Scene::<2>::new(State::Shared);
            let reclaimer = worker(&scene, |scene| {
                assert!(scene.copies[0].invalidate(&RELAX).is_some());
                reclaim(&scene.guards)
            });
            let seat = scene.guards.seat(0).unwrap();
            let value = read(&scene.copies[0], &seat) + read(&scene.copies[1], &seat);
            assert!(value == 10 || value == 11, "{value}");
            assert!(reclaimer.join().unwrap() <= 1);
        });
}

/// R25 for views: no view begins after the acknowledgement of an invalidation; an earlier one keeps
/// its node.
#[test]
fn directory_view_invalidated() {
    Model::new("directory_view_invalidated")
        .bound(4)
        .floor(790)
        .check(|| {
            let scene = Scene::<1>::new(State::Modified);
            let reader = scene.reader(|scene, seat| {
                let acked = scene.acked.load(Acquire);
                let value = read(&scene.copies[0], seat);
                assert!(value <= 1 - acked, "{value} after {acked}");
                value
            });
            assert!(scene.copies[0].invalidate(&RELAX).is_some());
            scene.acked.store(1, Release);
            reclaim(&scene.guards);
            reader.join().unwrap();
            assert_eq!(reclaim(&scene.guards), 0);
        });
}

/// A thread other than the one that has written reclaims: it also frees the node that was read for
/// the clone.
#[test]
fn directory_view_replaced() {
    Model::new("directory_view_replaced")
        .bound(3)
        .floor(38)
        .check(|| {
            let scene = Scene::<1>::new(State::Modified);
            let writer = worker(&scene, |scene| add(&scene.copies[0], 1));
            let counted = scene.copies[0].invalidate(&RELAX).is_some();
            reclaim(&scene.guards);
            assert!(counted && writer.join().unwrap() <= 1);
            assert_eq!(reclaim(&scene.guards), 0);
        });
}

/// A recall has the write that preceded it.
#[test]
fn directory_view_writers() {
    Model::new("directory_view_writers")
        .bound(3)
        .floor(520)
        .check(|| {
            let scene = Scene::<1>::new(State::Modified);
            let other = worker(&scene, |scene| add(&scene.copies[0], 10));
            let ours = add(&scene.copies[0], 1);
            let recalled = scene.copies[0].recall(&RELAX, State::Shared).unwrap();
            let value = recalled.value.get();
            match other.join().unwrap() {
                0 => assert_eq!((ours, value), (1, 2)),
                1 => assert_eq!((ours, value), (11, 12)),
                other => assert_eq!((ours, other, value), (1, 2, 12)),
            }
        });
}

/// A reader observes the node that another thread has installed.
#[test]
fn directory_view_published() {
    Model::new("directory_view_published").floor(45).check(|| {
        let scene = Scene::<1, _>::on(Unfenced, State::Shared);
        let reader = scene.reader(|scene, seat| read(&scene.copies[0], seat));
        scene.copies[0].install(&RELAX, Counted::new(Freed::new(2)), State::Shared);
        let value = reader.join().unwrap();
        assert!(value == 1 || value == 2, "{value}");
    });
}

/// Each of two threads changes one object, then reads the other one: at least one of them observes
/// the other's change. Each object has its own guards, whose lock would order the two.
fn store_buffering(change: fn(&Copy<Unfenced>) -> usize) {
    let one = Scene::<1, _>::on(Unfenced, State::Modified);
    let other = Scene::<1, _>::on(Unfenced, State::Modified);
    let theirs = Arc::clone(&other);
    let reader = one.reader(move |one, seat| {
        assert_eq!(change(&theirs.copies[0]), 1);
        read(&one.copies[0], seat)
    });
    assert_eq!(add(&one.copies[0], 1), 1);
    let value = read(&other.copies[0], &other.guards.seat(0).unwrap());
    let seen = (value, reader.join().unwrap());
    assert_ne!(seen, (1, 1), "neither observes the other");
}

#[test]
fn directory_view_store_buffering() {
    Model::new("directory_view_store_buffering")
        .bound(3)
        .floor(160)
        .check(|| store_buffering(|copy| add(copy, 1)));
}

#[test]
fn directory_view_store_buffering_installed() {
    let install = |copy: &Copy<Unfenced>| {
        copy.install(&RELAX, Counted::new(Freed::new(2)), State::Modified);
        1
    };
    Model::new("directory_view_store_buffering_installed")
        .bound(3)
        .floor(160)
        .check(move || store_buffering(install));
}

/// Two threads that have a seat one after the other: what the first one has read is not reclaimed
/// before that, though the second one's node is in the slot.
#[test]
fn directory_seats() {
    Model::new("directory_seats")
        .bound(4)
        .floor(8_000)
        .check(|| {
            let scene = Scene::<2>::new(State::Shared);
            let next = worker(&scene, |scene| {
                let seat = scene.guards.seat(0);
                seat.map_or(0, |seat| read(&scene.copies[1], &seat))
            });
            let reclaimer = worker(&scene, |scene| {
                assert!(scene.copies[0].invalidate(&RELAX).is_some());
                reclaim(&scene.guards)
            });
            let ours = scene
                .guards
                .seat(0)
                .map_or(0, |seat| read(&scene.copies[0], &seat));
            let theirs = next.join().unwrap();
            assert!(
                ours <= 1 && (theirs == 10 || theirs == 0),
                "{ours} {theirs}"
            );
            assert!(reclaimer.join().unwrap() <= 1);
            assert!(scene.guards.seat(0).is_some());
        });
}

/// A view that outlives its seat: no other thread has the seat before, and the node is reclaimed
/// after the view.
#[test]
fn directory_view_outlives_its_seat() {
    Model::new("directory_view_outlives_its_seat")
        .bound(3)
        .floor(1_800)
        .check(|| {
            let scene = Scene::<2>::new(State::Shared);
            let next = worker(&scene, |scene| {
                let seat = scene.guards.seat(0);
                seat.map_or(0, |seat| read(&scene.copies[1], &seat))
            });
            let reclaimer = worker(&scene, |scene| {
                assert!(scene.copies[0].invalidate(&RELAX).is_some());
                reclaim(&scene.guards)
            });
            let view = {
                let seat = scene.guards.seat(0);
                seat.and_then(|seat| scene.copies[0].read(&seat))
            };
            let ours = view.as_ref().map_or(1, |view| view.get());
            drop(view);
            let theirs = next.join().unwrap();
            assert!(
                ours == 1 && (theirs == 10 || theirs == 0),
                "{ours} {theirs}"
            );
            assert!(reclaimer.join().unwrap() <= 1);
            assert!(scene.guards.seat(0).is_some());
        });
}
