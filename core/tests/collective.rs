//! Collective operations: every rank ends with the right value, whichever message comes first.

use std::collections::BTreeSet;
use tautline_core::Rank;
use tautline_core::collective::*;
use tautline_core::machine::{Action, Machine, Step};

/// Pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % n
    }
}

/// Messages in flight: from, to, message.
type Mail<M> = Vec<(Rank, Rank, M)>;

/// Lets the machine of `here` take a step. Returns its answer, and its output if it has ended; its
/// messages go to `mail`.
fn step<M: Machine<Peer = Rank, Calls = ()>, T>(
    here: Rank,
    machine: &mut M,
    mail: &mut Mail<M::Message>,
    take: impl FnOnce(&mut M, &mut Step<'_, M>) -> T,
) -> (T, Option<M::Effect>) {
    let mut output = None;
    let mut act = |action: Action<M>| match action {
        Action::Send(to, message) => mail.push((here, to, message)),
        Action::Effect(effect) => {
            let ended = output.replace(effect);
            assert!(ended.is_none(), "{here} ended twice in a step");
        }
    };
    let answer = take(machine, &mut Step::new(&mut (), &mut act));
    (answer, output)
}

/// Begins with `own`. Returns the output if it ends by that.
fn begin<M: Machine<Peer = Rank, Calls = ()>>(
    here: Rank,
    machine: &mut M,
    own: M::Event,
    mail: &mut Mail<M::Message>,
) -> Option<M::Effect> {
    step(here, machine, mail, |machine, step| {
        machine.event(own, step)
    })
    .1
}

/// Processes a message that is expected. Returns the output if it ends by that.
fn receive<M: Machine<Peer = Rank, Calls = ()>>(
    here: Rank,
    machine: &mut M,
    (from, message): (Rank, M::Message),
    mail: &mut Mail<M::Message>,
) -> Option<M::Effect> {
    let take = |machine: &mut M, step: &mut Step<'_, M>| machine.receive(from, message, step);
    let (received, output) = step(here, machine, mail, take);
    received.expect("it is expected");
    output
}

/// Numbers of ranks, and of children.
fn shapes() -> impl Iterator<Item = (u32, u32)> {
    (1..=17)
        .chain([64, 100])
        .flat_map(|ranks| [1, 2, 3, 8].map(|radix| (ranks, radix)))
}

/// Runs an operation whose messages are delivered in an order given by `seed`. `own` returns the
/// value that a rank begins with, if it begins.
fn run<O: Operation>(
    (ranks, radix): (u32, u32),
    seed: u64,
    operation: impl Fn() -> O,
    own: impl Fn(u32) -> Option<O::Own>,
) -> Vec<O::Output> {
    let all = (0..ranks).map(Rank);
    let machine = |rank| Wave::new(Branch::new(rank, ranks, radix), operation());
    let mut waves: Vec<_> = all.clone().map(machine).collect();
    let mut outputs: Vec<Option<O::Output>> = all.clone().map(|_| None).collect();
    let mut mail: Mail<Message<O::Up, O::Down>> = Vec::new();
    let mut to_begin: Vec<Rank> = all.filter(|rank| own(rank.0).is_some()).collect();
    let mut random = Random(seed);
    while !to_begin.is_empty() || !mail.is_empty() {
        let at = random.below(to_begin.len() + mail.len());
        let (here, output) = if at < to_begin.len() {
            let here = to_begin.swap_remove(at);
            let value = own(here.0).expect("it begins");
            (
                here,
                begin(here, &mut waves[here.index()], value, &mut mail),
            )
        } else {
            let (from, here, message) = mail.swap_remove(at - to_begin.len());
            let wave = &mut waves[here.index()];
            (here, receive(here, wave, (from, message), &mut mail))
        };
        if output.is_some() {
            assert!(outputs[here.index()].is_none(), "{here} ended twice");
            outputs[here.index()] = output;
        }
    }
    assert!(waves.iter().all(Wave::has_ended));
    outputs
        .into_iter()
        .map(|output| output.expect("each rank ends"))
        .collect()
}

#[test]
fn subtrees_are_ranges_and_their_sizes_add_up() {
    for (ranks, radix) in shapes() {
        let branch = |rank| Branch::new(Rank(rank), ranks, radix);
        let mut reached = BTreeSet::from([Rank(0)]);
        assert_eq!(branch(0).parent(), None);
        for rank in 0..ranks {
            let here = branch(rank);
            assert!(here.children().len() <= radix as usize);
            let mut next = rank + 1;
            for (child, size) in here.children().zip(here.sizes()) {
                assert_eq!(child, Rank(next));
                assert_eq!(branch(child.0).parent(), Some(Rank(rank)));
                assert!(reached.insert(child));
                next += size as u32;
            }
        }
        assert_eq!(reached.len(), ranks as usize);
        assert_eq!(branch(0).sizes().sum::<usize>() + 1, ranks as usize);
    }
}

/// Text, whose concatenation is not commutative.
fn name(rank: u32) -> String {
    format!("{rank} ")
}

fn names(ranks: u32) -> String {
    (0..ranks).map(name).collect()
}

fn concat(a: String, b: String) -> String {
    a + &b
}

#[test]
fn values_are_combined_in_the_order_of_ranks() {
    for (shape, seed) in shapes().zip(1..) {
        let all = names(shape.0);
        let found = run(shape, seed, || Combine::by(concat), |rank| Some(name(rank)));
        assert_eq!(found[0].as_ref(), Some(&all));
        assert!(found[1..].iter().all(Option::is_none));

        let found = run(
            shape,
            seed,
            || CombineForAll::by(concat),
            |rank| Some(name(rank)),
        );
        assert!(found.iter().all(|one| *one == all), "{found:?}");

        let found = run(
            shape,
            seed,
            || CombineBefore::by(concat),
            |rank| Some(name(rank)),
        );
        for (rank, before) in (0..).zip(found) {
            assert_eq!(before, (rank > 0).then(|| names(rank)));
        }
    }
}

/// Sums of floats are the same in every order of messages, to the last bit.
#[test]
fn sums_of_floats_are_the_same_in_every_run() {
    let own = |rank: u32| 0.1 + 1.0 / f64::from(rank + 1);
    for radix in 1..9 {
        let sum = |seed| {
            run(
                (50, radix),
                seed,
                || CombineForAll::by(|a: f64, b| a + b),
                |rank| Some(own(rank)),
            )
        };
        let first = sum(0)[0].to_bits();
        for seed in 1..50 {
            assert!(sum(seed).iter().all(|one| one.to_bits() == first));
        }
    }
}

#[test]
fn values_are_gathered_and_dealt_by_rank() {
    for (shape, seed) in shapes().zip(1..) {
        let all: Vec<u32> = (0..shape.0).collect();
        let found = run(shape, seed, Collect::default, Some);
        assert_eq!(found[0].as_ref(), Some(&all));
        assert!(found[1..].iter().all(Option::is_none));

        let found = run(shape, seed, CollectForAll::default, Some);
        assert!(found.iter().all(|one| *one == all));

        let found = run(shape, seed, Copies::default, |rank| {
            (rank == 0).then_some("all")
        });
        assert!(found.iter().all(|one| *one == "all"));

        let found = run(shape, seed, Deal::default, |rank| {
            (rank == 0).then(|| all.clone())
        });
        assert_eq!(found, all);
    }
}

/// No rank leaves a barrier before the last has reached it.
#[test]
fn a_barrier_waits_for_all() {
    for (ranks, radix) in shapes() {
        let machine = |rank| Barrier::new(Branch::new(Rank(rank), ranks, radix), Meet);
        let mut waves: Vec<_> = (0..ranks).map(machine).collect();
        let mut mail: Mail<Message<(), ()>> = Vec::new();
        let late = ranks / 2;
        for begun in (0..ranks).filter(|rank| *rank != late).chain([late]) {
            let here = Rank(begun);
            let ended = begin(here, &mut waves[begun as usize], (), &mut mail);
            assert!(ended.is_none() || begun == late);
            while let Some((from, to, message)) = mail.pop() {
                let ended = receive(to, &mut waves[to.index()], (from, message), &mut mail);
                assert!(ended.is_none() || begun == late, "{to} left early");
            }
        }
        assert!(waves.iter().all(Wave::has_ended));
    }
}

/// Few ranks exchange values in pairs, more along the tree, and combine them in the same order, by
/// as many messages as that takes.
#[test]
fn all_ranks_get_the_reduction_of_all() {
    for (ranks, seed) in (1..20).chain([32, 33, 100]).zip(1..) {
        let machine = |rank| ForAll::new(Rank(rank), ranks, concat);
        let mut machines: Vec<_> = (0..ranks).map(machine).collect();
        let is_few = ranks <= 16;
        assert_eq!(matches!(machines[0], ForAll::Pairs(_)), is_few);
        let mut mail: Mail<InForAll<String>> = Vec::new();
        let mut to_begin: Vec<u32> = (0..ranks).collect();
        let mut random = Random(seed);
        let (mut ended, mut sent) = (0, vec![0; ranks as usize]);
        while !to_begin.is_empty() || !mail.is_empty() {
            let at = random.below(to_begin.len() + mail.len());
            let output = if at < to_begin.len() {
                let here = to_begin.swap_remove(at);
                let machine = &mut machines[here as usize];
                begin(Rank(here), machine, name(here), &mut mail)
            } else {
                let (from, here, message) = mail.swap_remove(at - to_begin.len());
                sent[from.index()] += 1;
                receive(
                    here,
                    &mut machines[here.index()],
                    (from, message),
                    &mut mail,
                )
            };
            if let Some(all) = output {
                assert_eq!(all, names(ranks));
                ended += 1;
            }
        }
        assert_eq!(ended, ranks);
        assert!(machines.iter().all(ForAll::has_ended));
        assert_messages(ranks, is_few, &sent);
    }
}

/// Checks the messages that each rank has sent.
fn assert_messages(ranks: u32, in_pairs: bool, sent: &[u32]) {
    let all: u32 = sent.iter().sum();
    let paired = 1 << ranks.ilog2();
    let expected = match in_pairs {
        true => paired * ranks.ilog2() + 2 * (ranks - paired),
        false => 2 * (ranks - 1),
    };
    assert_eq!(all, expected, "{ranks} ranks");
    if in_pairs {
        assert!(all <= ranks * ranks.next_power_of_two().ilog2());
    } else {
        for (rank, sent) in (0..).map(Rank).zip(sent) {
            let branch = Branch::of(rank, ranks);
            let neighbours = branch.children().len() + usize::from(branch.parent().is_some());
            assert_eq!(*sent as usize, neighbours, "{rank} of {ranks}");
            // The latency of a message is ten times the interval between two.
            let most = radix(ranks, 10, 1) as usize + 1;
            assert!(neighbours <= most, "{rank} has {neighbours} neighbours");
        }
    }
}

#[test]
#[should_panic = "17 ranks, at most 16"]
fn more_ranks_than_pairs_are_for() {
    _ = Pairs::new(Rank(0), 17, |a: u32, b| a + b);
}

#[test]
fn each_rank_gets_one_value_of_each() {
    for ranks in 1..12 {
        let mut machines: Vec<_> = (0..ranks)
            .map(|rank| AllToAll::new(Rank(rank), ranks))
            .collect();
        let mut mail: Mail<Vec<u32>> = Vec::new();
        let mut found = vec![None; ranks as usize];
        let mut random = Random(ranks.into());
        let values = |from: u32| (0..ranks).map(|to| vec![from; to as usize]).collect();
        for (rank, machine) in (0..).map(Rank).zip(&mut machines) {
            found[rank.index()] = begin(rank, machine, values(rank.0), &mut mail);
        }
        while !mail.is_empty() {
            let (from, to, value) = mail.swap_remove(random.below(mail.len()));
            let output = receive(to, &mut machines[to.index()], (from, value), &mut mail);
            found[to.index()] = found[to.index()].take().or(output);
        }
        for (rank, found) in found.into_iter().enumerate() {
            let expected: Vec<_> = (0..ranks).map(|from| vec![from; rank]).collect();
            assert_eq!(found, Some(expected));
        }
    }
}

/// Messages that an operation does not expect are refused.
#[test]
fn stray_messages_are_refused() {
    fn on<M: Machine<Peer = Rank, Calls = ()>>(
        machine: &mut M,
        from: u32,
        message: M::Message,
    ) -> Result<Option<M::Effect>, M::Refusal> {
        let take =
            |machine: &mut M, step: &mut Step<'_, M>| machine.receive(Rank(from), message, step);
        let (received, output) = step(Rank(1), machine, &mut Vec::new(), take);
        received.map(|()| output)
    }

    // Rank 1 of 7 has the parent 0 and the children 2 and 3.
    let mut wave = AllReduce::new(
        Branch::new(Rank(1), 7, 2),
        CombineForAll::by(|a: u32, b| a + b),
    );
    let stray = Err(Stray);
    assert_eq!(
        on(&mut wave, 0, Message::Down(1)),
        stray,
        "it has not begun"
    );
    assert_eq!(on(&mut wave, 4, Message::Up(1)), stray, "no child");
    assert_eq!(on(&mut wave, 2, Message::Up(1)), Ok(None));
    assert_eq!(on(&mut wave, 2, Message::Up(1)), stray, "twice");
    assert_eq!(on(&mut wave, 3, Message::Up(1)), Ok(None));
    assert_eq!(begin(Rank(1), &mut wave, 1, &mut Vec::new()), None);
    assert_eq!(on(&mut wave, 2, Message::Down(1)), stray, "not the parent");
    assert_eq!(on(&mut wave, 3, Message::Up(1)), stray, "too late");
    assert_eq!(on(&mut wave, 0, Message::Down(7)), Ok(Some(7)));
    assert_eq!(on(&mut wave, 0, Message::Down(7)), stray, "twice");

    // A message of the other algorithm.
    for (ranks, message) in [
        (17, InForAll::Pairs(Paired::Round(0, ()))),
        (16, InForAll::Tree(Message::Up(()))),
    ] {
        let mut barrier = ForAll::barrier(Rank(1), ranks);
        assert_eq!(on(&mut barrier, 0, message), Err(Stray));
    }

    for wrong in [0, 2, 4] {
        let mut wave = Scatter::new(Branch::new(Rank(1), 7, 2), Deal::default());
        let found = on(&mut wave, 0, Message::Down(vec![0; wrong]));
        assert_eq!(found, Err(Stray), "{wrong} values for three ranks");
    }

    let mut machine = AllToAll::new(Rank(1), 3);
    begin(Rank(1), &mut machine, vec![(); 3], &mut Vec::new());
    for from in [1, 3, 9] {
        assert_eq!(on(&mut machine, from, ()), Err(Stray));
    }
}

/// Ranks pass tokens on to each other, each a few times; the machines report quiescence when
/// nothing is in flight, and only then.
#[test]
fn quiescence_is_found_once_no_token_is_under_way() {
    for (shape, seed) in shapes().zip(1..) {
        let (ranks, radix) = shape;
        let mut random = Random(seed);
        let machine = |rank| Quiesce::new(Branch::new(Rank(rank), ranks, radix));
        let mut machines: Vec<_> = (0..ranks).map(machine).collect();
        let mut counts = vec![Counts::default(); ranks as usize];
        // How often a token is still passed on.
        let mut tokens: Vec<(Rank, u32)> = Vec::new();
        for count in &mut counts {
            tokens.push((Rank(random.below(ranks as usize) as u32), 5));
            count.sent += 1;
        }
        let mut mail: Mail<InRound> = Vec::new();
        let mut to_begin: Vec<Rank> = (0..ranks).map(Rank).collect();
        let mut quiet = 0;
        while quiet < ranks {
            let all = tokens.len() + to_begin.len() + mail.len();
            assert!(all > 0, "nothing will ever happen");
            let at = random.below(all);
            if at < tokens.len() {
                let (here, left) = tokens.swap_remove(at);
                counts[here.index()].processed += 1;
                if left > 0 {
                    counts[here.index()].sent += 1;
                    tokens.push((Rank(random.below(ranks as usize) as u32), left - 1));
                }
                continue;
            }
            let at = at - tokens.len();
            let (here, verdict) = if at < to_begin.len() {
                let here = to_begin.swap_remove(at);
                let count = counts[here.index()];
                let machine = &mut machines[here.index()];
                (here, begin(here, machine, count, &mut mail))
            } else {
                let (from, here, message) = mail.swap_remove(at - to_begin.len());
                let machine = &mut machines[here.index()];
                (here, receive(here, machine, (from, message), &mut mail))
            };
            match verdict {
                None => {}
                Some(Verdict::Busy) => to_begin.push(here),
                Some(Verdict::Quiet) => {
                    assert!(
                        tokens.is_empty(),
                        "{here} of {shape:?}: {tokens:?} are under way"
                    );
                    quiet += 1;
                }
            }
        }
    }
}
