//! Arrays of all ranks: their elements are those of one array, whatever the blocks.

mod ranks;

use ranks::{in_time, mixed, runtime};
use std::collections::BTreeSet;
use std::ops::{Deref, Range};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use tautline::globals::{ArrayView, Block, GlobalArray, Globals, Operation, Operator, Protocol};
use tautline::prelude::*;
use tautline::world::{self, Rank, World};
use tautline_core::port::{Bell, Link, Lost};
use tautline_node::Loopback;

const PROTOCOLS: [Protocol; 3] = [Protocol::Home, Protocol::Directory, Protocol::Migratory];

/// Calls `program` at some ranks with each protocol and some lengths of blocks.
fn everywhere(program: impl Fn(&World, Protocol, usize) + Sync) {
    for ranks in [1, 2, 3] {
        for protocol in PROTOCOLS {
            for block_length in [1, 4, 9] {
                world::loopback(ranks, |world| program(world, protocol, block_length));
            }
        }
    }
}

/// Waits until all ranks make this call.
fn all(world: &World, cx: &mut Cx<'_, '_>) {
    world.team().barrier().wait(cx).expect("no rank is lost");
}

/// Returns an array of all indices, whose blocks have their homes in turn.
fn indices(
    world: &World,
    globals: &mut Globals,
    protocol: Protocol,
    length: usize,
    block_length: usize,
) -> GlobalArray<u64> {
    let ranks = world.ranks() as usize;
    let home = |block| Rank((block % ranks) as u32);
    globals.array_as(protocol, length, block_length, home, |index| index as u64)
}

/// A change of an array.
#[derive(Clone, Copy, Debug)]
struct Change {
    kind: u64,
    index: usize,
    by: u64,
}

impl Change {
    fn random(seed: u64, step: u64, length: usize) -> Self {
        let random = mixed(seed, step);
        Self {
            kind: random % 4,
            index: (random >> 8) as usize % length,
            by: random >> 40,
        }
    }

    /// Makes the change of an array, and returns what that returns.
    fn make(
        self,
        cx: &mut Cx<'_, '_>,
        array: &GlobalArray<u64>,
        block_length: usize,
        reverse: &Operation<Block<u64>, (), u64>,
    ) -> u64 {
        let Self { kind, index, by } = self;
        let block = index / block_length;
        let result = match kind {
            0 => array.set(cx, index, by).map(|()| 0),
            1 => array.apply(cx, Operator::Sum, index, by),
            2 => array.block(block).update(cx, reverse, ()),
            _ => array.edit(cx, block, |elements| {
                elements.iter_mut().for_each(|element| *element ^= by);
                elements[index % block_length]
            }),
        };
        result.expect("no rank is lost")
    }

    /// As [`make`](Self::make), of the elements of a sequential program.
    fn make_alone(self, elements: &mut [u64], block_length: usize) -> u64 {
        let Self { kind, index, by } = self;
        let first = index - index % block_length;
        let end = elements.len().min(first + block_length);
        let block = &mut elements[first..end];
        let element = &mut block[index % block_length];
        match kind {
            0 => {
                *element = by;
                0
            }
            1 => {
                *element += by;
                *element - by
            }
            2 => {
                block.reverse();
                block[0]
            }
            _ => {
                block.iter_mut().for_each(|element| *element ^= by);
                elements[index]
            }
        }
    }
}

/// Declares the operation that reverses a block, and returns its first element then.
fn reverse(globals: &mut Globals) -> Operation<Block<u64>, (), u64> {
    globals.operation(|block: &mut Block<u64>, (): ()| {
        block.reverse();
        block[0]
    })
}

/// Ranks make random changes in turn: results and views are those of a sequential program.
#[test]
fn changes_in_turn_are_those_of_a_sequential_program() {
    const LENGTH: usize = 26;
    everywhere(|world, protocol, block_length| {
        let mut globals = world.globals();
        let array = indices(world, &mut globals, protocol, LENGTH, block_length);
        let reverse = reverse(&mut globals);
        let mut expected: Vec<u64> = (0..LENGTH as u64).collect();
        runtime(world, 1).run(|cx| {
            for step in 0..60 {
                let change = Change::random(block_length as u64, step, LENGTH);
                let result = change.make_alone(&mut expected, block_length);
                if step % u64::from(world.ranks()) == u64::from(world.rank().0) {
                    let made = change.make(cx, &array, block_length, &reverse);
                    assert_eq!(made, result, "{step}: {change:?}");
                }
                all(world, cx);
                let random = mixed(step, u64::from(world.rank().0));
                let start = random as usize % (LENGTH + 1);
                let end = start + (random >> 32) as usize % (LENGTH + 1 - start);
                let view = array.view(cx, start..end).expect("no rank is lost");
                assert_eq!(*view.contiguous(), expected[start..end], "{step}");
                let element = array.get(cx, change.index).expect("no rank is lost");
                assert_eq!(element, expected[change.index], "{step}");
                all(world, cx);
            }
        });
    });
}

/// Tasks of all ranks change elements at the same time: no change is lost, and none is made twice.
#[test]
fn changes_at_the_same_time_are_made_once() {
    const LENGTH: usize = 10;
    const EACH: u64 = 40;
    everywhere(|world, protocol, block_length| {
        let (here, ranks) = (u64::from(world.rank().0), u64::from(world.ranks()));
        let mut globals = world.globals();
        let array = indices(world, &mut globals, protocol, LENGTH, block_length);
        let (blocks, array) = (array.blocks(), &array);
        let edited = |seed| mixed(seed, 1) as usize % blocks;
        runtime(world, 2).run(|cx| {
            cx.scope(|cx| {
                for task in 0..EACH {
                    let seed = here * EACH + task;
                    cx.spawn(move |cx| {
                        let index = mixed(seed, 0) as usize % LENGTH;
                        let applied = array.apply(cx, Operator::Sum, index, 1000);
                        applied.expect("no rank is lost");
                        let own: Vec<u64> = vec![seed; LENGTH];
                        let edited = array.edit(cx, edited(seed), |elements| {
                            elements.iter_mut().zip(&own).for_each(|(to, by)| *to += by);
                        });
                        edited.expect("no rank is lost");
                    });
                }
            });
            all(world, cx);
            let mut expected: Vec<u64> = (0..LENGTH as u64).collect();
            for seed in 0..ranks * EACH {
                expected[mixed(seed, 0) as usize % LENGTH] += 1000;
                let range = array.block_range(edited(seed));
                expected[range]
                    .iter_mut()
                    .for_each(|element| *element += seed);
            }
            let view = array.view(cx, 0..LENGTH).expect("no rank is lost");
            assert_eq!(*view.contiguous(), expected);
            all(world, cx);
        });
    });
}

/// Views of all ranges, over blocks of all lengths.
#[test]
fn views_have_the_elements_of_their_range() {
    world::loopback(2, |world| {
        let mut globals = world.globals();
        let arrays: Vec<_> = (0..8)
            .flat_map(|length| (1..10).map(move |block_length| (length, block_length)))
            .map(|(length, block_length)| {
                let protocol = Protocol::Directory;
                let array = indices(world, &mut globals, protocol, length, block_length);
                (length, block_length, array)
            })
            .collect();
        runtime(world, 1).run(|cx| {
            for (length, block_length, array) in &arrays {
                let (length, blocks) = (*length, length.div_ceil(*block_length));
                assert_eq!((array.len(), array.blocks()), (length, blocks));
                assert_eq!(array.is_empty(), blocks == 0);
                let ranges = (0..blocks).map(|block| array.block_range(block));
                assert_eq!(
                    ranges.flatten().collect::<Vec<_>>(),
                    Vec::from_iter(0..length)
                );
                for start in 0..=length {
                    for end in start..=length {
                        let view = array.view(cx, start..end).expect("no rank is lost");
                        check_view(&view, start..end, *block_length);
                        let view = cx.block_on(array.view_async(start..end));
                        let view = view.expect("no rank is lost");
                        check_view(&view, start..end, *block_length);
                    }
                }
            }
            all(world, cx);
        });
    });
}

fn check_view<V: Deref<Target = Block<u64>>>(
    view: &ArrayView<u64, V>,
    range: Range<usize>,
    block_length: usize,
) {
    let expected: Vec<u64> = range.clone().map(|index| index as u64).collect();
    assert_eq!((view.range(), view.len()), (range.clone(), range.len()));
    assert_eq!(view.is_empty(), range.is_empty());
    assert_eq!(*view.contiguous(), expected);
    assert!(view.iter().eq(&expected));
    assert_eq!(format!("{view:?}"), format!("{expected:?}"));
    for index in 0..range.end + 2 {
        let element = range.contains(&index).then_some(index as u64);
        assert_eq!(view.get(index).copied(), element, "{index} of {range:?}");
        let indexed = catch_unwind(AssertUnwindSafe(|| view[index]));
        assert_eq!(indexed.ok(), element, "{index} of {range:?}");
    }
    // Each slice has the elements of one block.
    let slices: Vec<_> = view.slices().collect();
    let block = |index: &u64| *index as usize / block_length;
    let expected: Vec<_> = expected.chunk_by(|a, b| block(a) == block(b)).collect();
    assert_eq!(slices, expected);
}

/// A link that withholds all messages, once it is closed, until it has sent to some ranks.
struct Gated {
    link: Loopback,
    /// The ranks that it has not sent to since it was closed.
    closed: Arc<Mutex<BTreeSet<Rank>>>,
}

impl Link for Gated {
    fn here(&self) -> Rank {
        self.link.here()
    }

    fn ranks(&self) -> u32 {
        self.link.ranks()
    }

    fn bell(&self) -> Arc<dyn Bell> {
        self.link.bell()
    }

    fn send(&mut self, to: Rank, parcel: &[u8]) {
        self.closed.lock().expect("no panic").remove(&to);
        self.link.send(to, parcel);
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        if self.closed.lock().expect("no panic").is_empty() {
            return self.link.poll(take);
        }
        Ok(false)
    }

    fn arm(&mut self) -> bool {
        self.link.arm()
    }

    fn unsent(&self, to: Rank) -> usize {
        self.link.unsent(to)
    }
}

/// A view has requested all blocks before the first one comes.
fn view_at_once(view: impl Fn(&mut Cx<'_, '_>, &GlobalArray<u64>) -> Vec<u64> + Sync) {
    let gates: Vec<_> = (0..4).map(|_| Arc::default()).collect();
    let links = Loopback::new(4).into_iter().zip(&gates);
    let links = links.map(|(link, closed)| Gated {
        link,
        closed: Arc::clone(closed),
    });
    World::builder().links(links.collect::<Vec<_>>(), |world| {
        let mut globals = world.globals();
        let array = indices(world, &mut globals, Protocol::Directory, 20, 5);
        runtime(world, 1).run(|cx| {
            all(world, cx);
            if world.is_home() {
                let gate: &Mutex<_> = &gates[0];
                *gate.lock().expect("no panic") = (1..4).map(Rank).collect();
                assert_eq!(view(cx, &array), Vec::from_iter(2..20));
            }
            all(world, cx);
        });
    });
}

#[test]
fn a_view_requests_all_blocks_at_once() {
    in_time(|| {
        view_at_once(|cx, array| {
            let view = array.view(cx, 2..20).expect("no rank is lost");
            view.contiguous().into_owned()
        });
        view_at_once(|cx, array| {
            let view = cx.block_on(array.view_async(2..20));
            view.expect("no rank is lost").contiguous().into_owned()
        });
        view_at_once(|cx, array| {
            array.prefetch(2..20);
            let get = |index| array.get(cx, index).expect("no rank is lost");
            (2..20).map(get).collect()
        });
    });
}

/// Returns the text of the panic of a closure.
fn panics<R>(run: impl FnOnce() -> R) -> String {
    let payload = catch_unwind(AssertUnwindSafe(run))
        .err()
        .expect("it panics");
    let text = payload.downcast_ref::<String>().cloned();
    text.unwrap_or_else(|| (*payload.downcast_ref::<&str>().expect("a text")).to_owned())
}

/// A panic leaves the block as it was, and reaches the caller.
#[test]
fn a_panic_leaves_the_block() {
    everywhere(|world, protocol, block_length| {
        let mut globals = world.globals();
        let array = indices(world, &mut globals, protocol, 10, block_length);
        runtime(world, 1).run(|cx| {
            let last = array.blocks() - 1;
            let text = panics(|| {
                array.edit(cx, last, |elements| {
                    elements.fill(7);
                    panic!("no more than {}", elements.len())
                })
            });
            let len = array.block_range(last).len();
            assert_eq!(text, format!("no more than {len}"));
            let ended = catch_unwind(AssertUnwindSafe(|| {
                cx.block_on(array.edit_async(last, move |elements| elements[len] = 1))
            }));
            assert!(ended.is_err(), "the block has {len} elements");
            let view = array.view(cx, 0..10).expect("no rank is lost");
            assert_eq!(*view.contiguous(), Vec::from_iter(0..10));
            all(world, cx);
        });
    });
}

#[test]
fn arguments_that_no_array_has_are_panics_that_name_them() {
    let world = World::alone();
    let mut globals = world.globals();
    let text = panics(|| globals.array(5, 0, |_| Rank(0), |_| 0u8));
    assert_eq!(text, "an array of 5 in blocks of 0");
    let text = panics(|| globals.array(5, 2, |block| Rank(block as u32 / 2), |_| 0u8));
    assert_eq!(text, "a home of block 2 at rank 1 of 1 ranks");
    let array = &globals.array(5, 2, |_| Rank(0), |index| index as u64);
    let none = globals.array(0, 2, |_| Rank(9), |_| 0u8);
    assert_eq!((none.len(), none.blocks()), (0, 0));
    assert_eq!(format!("{array:?}"), "an array of length 5 in blocks of 2");
    runtime(&world, 1).run(|cx| {
        let empty = none.view(cx, 0..0).expect("no rank is lost");
        assert!(empty.is_empty() && empty.contiguous().is_empty());
        let reversed = Range { start: 4, end: 2 };
        for (range, line) in [
            (2..6, "range 2..6 of an array of 5"),
            (6..6, "range 6..6 of an array of 5"),
            (reversed, "range 4..2 of an array of 5"),
        ] {
            assert_eq!(panics(|| array.view(cx, range.clone())), line);
            assert_eq!(panics(|| array.view_async(range.clone())), line);
            assert_eq!(panics(|| array.prefetch(range)), line);
        }
        let line = "index 5 of an array of 5";
        assert_eq!(panics(|| array.get(cx, 5)), line);
        assert_eq!(panics(|| array.set(cx, 5, 0)), line);
        assert_eq!(panics(|| array.apply(cx, Operator::Sum, 5, 0)), line);
        let floats = globals.array(1, 1, |_| Rank(0), |_| 0f64);
        let text = panics(|| floats.apply(cx, Operator::And, 0, 1.0));
        assert_eq!(text, "And does not apply to f64");
        let line = "block 3 of an array of 3";
        assert_eq!(panics(|| array.edit(cx, 3, |_| ())), line);
        assert_eq!(panics(|| array.edit_async(3, |_| ())), line);
        assert_eq!(panics(|| array.block_range(3)), line);
        assert_eq!(panics(|| array.home(3)), line);
        let view = array.view(cx, 0..5).expect("no rank is lost");
        assert_eq!(*view.contiguous(), [0, 1, 2, 3, 4]);
    });
}
