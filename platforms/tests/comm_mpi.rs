//! Messages as tasks between ranks of MPI, whose packets have a way besides the parcels: the same
//! scenes at 2 ranks, and at as many as the launcher permits.
//!
//! Started by hand, this program starts itself by `$TAUTLINE_MPIRUN`, or else
//! `mpirun --oversubscribe`.

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::process::{Command, ExitStatus, exit};
use std::time::Duration;
use std::{env, thread};
use tautline::comm::{
    Comm, Error, Matched, Native, Number, Operator, Request, Tag, wait_all_blocking,
    wait_any_blocking,
};
use tautline::prelude::*;
use tautline::world::{Bulk, Rank, World};

/// Set in the processes that the launcher starts.
const STARTED: &str = "COMM_MPI_STARTED";
const TAG: Tag = Tag(7);

/// Around the bounds: of an inline packet, of what is copied, of a rank's room for messages that no
/// receive has taken.
const LENGTHS: [usize; 12] = [
    0, 1, 4000, 4062, 4063, 4064, 4065, 4096, 4097, 70_000, 262_145, 3_000_001,
];

type Scene = fn(&World, &Comm);

const SCENES: [(&str, Scene); 12] = [
    ("vectors of all lengths", vectors),
    ("values of all lengths", values),
    ("order between short and long messages", order),
    ("receives from any rank", from_any),
    ("communicators do not mix", apart),
    ("threads that send at the same time", threads),
    ("misuse is refused", misuse),
    ("a scope waits for vectors", in_a_scope),
    ("collective operations", |_, comm| operations(comm)),
    ("operations of the library", natives),
    ("a program that a rank starts", |_, _| starts()),
    ("a child that a rank forks", |_, _| forks()),
];

fn main() {
    if env::args().any(|argument| argument == "--list") {
        return;
    }
    match env::var(STARTED).as_deref() {
        Ok("leaving") => return leaving(),
        Ok("exiting") => exiting(),
        Ok("child") => return child(),
        Ok(_) => {}
        Err(_) => {
            launch(2, "scenes");
            launch(4, "scenes");
            launch(3, "leaving");
            // Elsewhere, that is left to the launcher.
            if cfg!(all(target_os = "linux", target_env = "gnu")) {
                assert!(!ended(2, "exiting").success());
            }
            return;
        }
    }
    let world = World::join().expect("all ranks join");
    for (name, scene) in SCENES {
        let comm = world.comm();
        scene(&world, &comm);
        world.barrier().expect(name);
        if world.is_home() {
            println!("{name}, {} ranks: ok", world.ranks());
        }
    }
}

/// Starts this program as ranks that do this, and exits with their status if they fail.
fn launch(ranks: u32, what: &str) {
    let ended = ended(ranks, what);
    if !ended.success() {
        exit(ended.code().unwrap_or(1));
    }
}

/// Starts this program as ranks that do this, until they have ended.
fn ended(ranks: u32, what: &str) -> ExitStatus {
    let launcher = env::var("TAUTLINE_MPIRUN");
    let launcher = launcher.unwrap_or_else(|_| "mpirun --oversubscribe".to_owned());
    let mut words = launcher.split_whitespace();
    Command::new(words.next().expect("a program"))
        .args(words)
        .args(["-n", &ranks.to_string()])
        .arg(env::current_exe().expect("it runs"))
        .env(STARTED, what)
        .status()
        .expect("the launcher starts")
}

/// Processes that a rank starts, directly or through a shell, inherit its variables.
fn starts() {
    for words in [r#"exec "$0""#, r#""$0"; exit $?"#] {
        let mut command = Command::new("sh");
        command
            .args(["-c", words])
            .arg(env::current_exe().expect("it runs"));
        let status = command.env(STARTED, "child").status();
        assert!(status.expect("it starts").success(), "{words}");
    }
}

/// The child has the links of the rank in its memory, but is no rank: it may report success.
fn forks() {
    // SAFETY: the child calls nothing but `exit`, which may run in the child of a process with
    // threads.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "it starts");
    if pid == 0 {
        exit(0);
    }
    let mut status = 0;
    // SAFETY: a child of this process, and a local.
    let ended = unsafe { libc::waitpid(pid, &raw mut status, 0) };
    assert_eq!((ended, status), (pid, 0));
}

fn child() {
    let world = World::join().expect("started by a rank");
    assert_eq!((world.rank(), world.ranks()), (Rank(0), 1));
}

/// Reports success, though it is a rank.
fn exiting() -> ! {
    let _world = World::join().expect("all ranks join");
    exit(0)
}

/// The last rank ends while others wait for it: their operations end with its loss, and those
/// between the others continue.
fn leaving() {
    let world = World::join().expect("all ranks join");
    let comm = world.comm();
    // SAFETY: all ranks start one barrier; further ones are started by ranks that wait for a rank
    // which has left.
    let matched = unsafe { Matched::promise() };
    let native = comm.native(matched).expect("over MPI");
    native.barrier().wait_blocking().expect("all ranks live");
    let last = Rank(comm.ranks() - 1);
    let others = || (0..last.0).map(Rank);
    if comm.rank() == last {
        for to in others() {
            comm.send(&42u8, to, Tag(1)).expect("it lives");
            comm.send(&Bulk(vec![7u8; 20_000]), to, Tag(2))
                .expect("it lives");
        }
        return;
    }
    // Both have come by then, in one poll, and the news that the rank has left.
    thread::sleep(Duration::from_millis(50));
    let other = Rank(1 - comm.rank().0);
    assert_eq!(
        comm.recv::<u8>(last, Tag(1)).expect("sent before").value,
        42
    );
    let bulk = comm.recv::<Bulk<u8>>(last, Tag(2)).expect("sent before");
    assert_eq!(bulk.value.0, vec![7; 20_000]);
    let of_last = comm.irecv::<u8>(last, TAG);
    let into_vector = comm.irecv_vec(vec![0u8; 1_000_000], last, TAG);
    let barrier = native.barrier();
    let later = |error: Error| {
        let text = error.to_string();
        assert!(text.starts_with(&format!("{last} was lost")), "{text}");
    };
    later(of_last.wait_blocking().expect_err("nothing was sent"));
    later(into_vector.wait_blocking().expect_err("nothing was sent"));
    later(barrier.wait_blocking().expect_err("it has left"));
    later(native.barrier().wait_blocking().expect_err("it has left"));
    let received = comm.irecv_vec(vec![0u8; 1_000_000], other, TAG);
    let sent = comm.isend_vec(vec![5u8; 1_000_000], other, TAG);
    assert_eq!(
        received.wait_blocking().expect("it lives").value,
        vec![5; 1_000_000]
    );
    sent.wait_blocking().expect("received");
    if world.is_home() {
        println!("a rank that leaves: ok");
    }
    // Operations that wait for other ranks end with the world.
    let is_over = |error: &Error| matches!(error, Error::Closed | Error::Rank(_));
    let pending = (comm.irecv::<u8>(other, Tag(3)), native.clone());
    thread::scope(|scope| {
        let waiting = scope.spawn(|| pending.0.wait_blocking().expect_err("nothing was sent"));
        drop(world);
        // The other rank may have left before.
        let ended = waiting.join().expect("no panic");
        assert!(is_over(&ended), "{ended}");
    });
    let ended = pending
        .1
        .barrier()
        .wait_blocking()
        .expect_err("it has ended");
    assert!(is_over(&ended), "{ended}");
}

/// The ranks before and after this one, in a ring.
fn ring(comm: &Comm) -> (Rank, Rank) {
    let (here, ranks) = (comm.rank().0, comm.ranks());
    (Rank((here + ranks - 1) % ranks), Rank((here + 1) % ranks))
}

fn numbers(rank: Rank, length: usize) -> Vec<u8> {
    let start = u64::from(rank.0) + length as u64;
    (start..).take(length).map(|n| (n % 251) as u8).collect()
}

/// Vectors come whole, into the memory that the receive has brought, before and after it was
/// posted; their senders have them back.
fn vectors(_: &World, comm: &Comm) {
    let (before, behind) = ring(comm);
    for is_early in [true, false] {
        for length in LENGTHS {
            let mut sent = None;
            if !is_early {
                sent = Some(comm.isend_vec(numbers(comm.rank(), length), behind, TAG));
                comm.barrier().wait_blocking().expect("all ranks live");
            }
            let into = vec![0u8; length + 3];
            let start = into.as_ptr();
            let received = comm.irecv_vec(into, before, TAG);
            if is_early {
                comm.barrier().wait_blocking().expect("all ranks live");
                sent = Some(comm.isend_vec(numbers(comm.rank(), length), behind, TAG));
            }
            let received = received.wait_blocking().expect("it was sent").value;
            assert_eq!(received, numbers(before, length), "{length} bytes");
            assert_eq!(received.as_ptr(), start, "the memory of the receive");
            let sent = sent
                .expect("in one of two ways")
                .wait_blocking()
                .expect("received");
            assert_eq!(sent.value, numbers(comm.rank(), length));
        }
    }
    let doubles = comm.irecv_vec(vec![0.0f64; 10_000], before, TAG);
    let sent = comm.isend_vec(vec![1.5f64; 9_999], behind, TAG);
    assert_eq!(
        doubles.wait_blocking().expect("sent").value,
        vec![1.5; 9_999]
    );
    sent.wait_blocking().expect("received");
}

fn values(_: &World, comm: &Comm) {
    let (before, behind) = ring(comm);
    for length in LENGTHS {
        let received = comm.irecv::<Bulk<u8>>(before, TAG);
        let sent = comm.isend(&Bulk(numbers(comm.rank(), length)), behind, TAG);
        let received = received.wait_blocking().expect("sent");
        assert_eq!(received.value.0, numbers(before, length));
        assert_eq!(received.status.source, Some(before));
        sent.wait_blocking().expect("received");
    }
}

fn order(_: &World, comm: &Comm) {
    const COUNT: usize = 200;
    let (before, behind) = ring(comm);
    let length = |number: usize| LENGTHS[number % 10];
    let sent: Vec<Request<()>> = (0..COUNT)
        .map(|number| {
            let mut body = numbers(comm.rank(), length(number));
            body.extend_from_slice(&(number as u32).to_le_bytes());
            comm.isend(&Bulk(body), behind, TAG)
        })
        .collect();
    for number in 0..COUNT {
        let received = comm.recv::<Bulk<u8>>(before, TAG).expect("sent").value.0;
        let (body, end) = received.split_last_chunk().expect("its number");
        assert_eq!(u32::from_le_bytes(*end) as usize, number);
        assert_eq!(body, numbers(before, length(number)));
    }
    wait_all_blocking(sent).expect("received");
}

fn from_any(_: &World, comm: &Comm) {
    let others = || (0..comm.ranks()).map(Rank).filter(|r| *r != comm.rank());
    for length in [8, 100_000] {
        let sent: Vec<_> = others()
            .map(|to| comm.isend_vec(vec![comm.rank().0 as u8; length], to, TAG))
            .collect();
        let mut pending: Vec<_> = others()
            .map(|_| comm.irecv_vec(vec![0u8; length], None, None))
            .collect();
        let mut seen = Vec::new();
        while !pending.is_empty() {
            let received = wait_any_blocking(&mut pending).1.expect("sent");
            let source = received.status.source.expect("a message");
            assert_eq!(received.value, vec![source.0 as u8; length]);
            seen.push(source);
        }
        seen.sort();
        assert!(seen.into_iter().eq(others()), "one of each rank");
        wait_all_blocking(sent).expect("received");
        comm.barrier().wait_blocking().expect("all ranks live");
    }
}

fn apart(_: &World, comm: &Comm) {
    let (before, behind) = ring(comm);
    let other = comm.dup();
    let of_other = other.irecv::<u8>(before, None);
    let of_first = comm.irecv::<u8>(before, None);
    let sent = [
        comm.isend(&1u8, behind, TAG),
        other.isend(&2u8, behind, TAG),
    ];
    assert_eq!(of_first.wait_blocking().expect("sent").value, 1);
    assert_eq!(of_other.wait_blocking().expect("sent").value, 2);
    wait_all_blocking(sent).expect("received");
}

fn threads(_: &World, comm: &Comm) {
    const COUNT: u64 = 500;
    let (before, behind) = ring(comm);
    thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                let tag = Tag(thread);
                let mut memory = vec![0u64; 2000];
                for number in 0..COUNT {
                    comm.send(&number, behind, tag).expect("received");
                    assert_eq!(comm.recv::<u64>(before, tag).expect("sent").value, number);
                    if number % 50 == 0 {
                        let sent = comm.isend_vec(vec![number; 2000], behind, tag);
                        let received = comm.irecv_vec(memory, before, tag);
                        memory = received.wait_blocking().expect("sent").value;
                        assert_eq!(memory, vec![number; 2000]);
                        sent.wait_blocking().expect("received");
                    }
                }
            });
        }
    });
}

fn misuse(_: &World, comm: &Comm) {
    let (before, behind) = ring(comm);
    let ranks = comm.ranks();
    let error = comm.send(&1u8, Rank(ranks), TAG).expect_err("no such rank");
    assert_eq!(
        error.to_string(),
        format!(
            "there is no rank {ranks}: ranks are from 0 to {}",
            ranks - 1
        )
    );
    let error = comm
        .send(&1u8, behind, Tag(1 << 31))
        .expect_err("too great");
    let text = "tag 2147483648 is out of range: tags are from 0 to 2147483647";
    assert_eq!(error.to_string(), text);
    // Too long for the receive, as a packet and as an offer: nothing is written beyond its memory,
    // and later messages come.
    for length in [100, 5000, 500_000] {
        let sent = comm.isend_vec(vec![7u8; length], behind, TAG);
        let received = comm.irecv_vec(vec![0u8; length - 1], before, TAG);
        let error = received.wait_blocking().expect_err("too long");
        assert!(matches!(error, Error::Truncated(_)), "{error}");
        let text = format!(
            "has {length} bytes, the receive permits at most {}",
            length - 1
        );
        assert!(error.to_string().ends_with(&text), "{error}");
        sent.wait_blocking()
            .expect("it has left, or was not wanted");
    }
    let sent = comm.isend_vec(vec![1u8; 7], behind, TAG);
    let received = comm.irecv_vec(vec![0u64; 2], before, TAG);
    let error = received
        .wait_blocking()
        .expect_err("no multiple of 8 bytes");
    assert!(matches!(error, Error::Malformed { .. }), "{error}");
    sent.wait_blocking().expect("received");
    let pending = comm.irecv::<u8>(before, Tag(9));
    pending.cancel();
    assert_eq!(
        pending.wait_blocking().expect_err("cancelled"),
        Error::Cancelled
    );
    // Each rank frees its own end.
    let freed = comm.dup();
    let pending = freed.irecv::<u8>(before, TAG);
    freed.free();
    assert_eq!(pending.wait_blocking().expect_err("freed"), Error::Freed);
    assert_eq!(
        freed.send(&1u8, behind, TAG).expect_err("freed"),
        Error::Freed
    );
    let received = comm.irecv::<u8>(before, TAG);
    comm.send(&5u8, behind, TAG).expect("received");
    assert_eq!(received.wait_blocking().expect("sent").value, 5);
}

fn in_a_scope(_: &World, comm: &Comm) {
    let (before, behind) = ring(comm);
    let runtime = Runtime::builder().workers(2).pinned(false).build();
    let mut sum = 0.0;
    runtime.expect("a runtime").run(|cx| {
        let received = comm.irecv_vec(vec![0.0f64; 50_000], before, TAG);
        cx.scope(|cx| {
            comm.isend_vec(vec![0.5f64; 50_000], behind, TAG)
                .hold(cx.hold());
            cx.spawn_when(received.cell(), |received, _| {
                let received = &received.as_ref().expect("sent").value;
                sum = received.iter().sum();
            });
        });
    });
    assert_eq!(sum, 25_000.0);
}

fn operations(comm: &Comm) {
    let (here, ranks) = (comm.rank().0, comm.ranks());
    let pending: Vec<_> = (0..50u32)
        .map(|number| comm.all_reduce(here + number, |a, b| a + b))
        .collect();
    for (number, request) in pending.into_iter().enumerate() {
        let sum = (0..ranks).map(|rank| rank + number as u32).sum();
        assert_eq!(request.wait_blocking().expect("all ranks live").value, sum);
    }
    let gathered = comm.all_gather(vec![here; 3000]).wait_blocking();
    let expected: Vec<_> = (0..ranks).map(|rank| vec![rank; 3000]).collect();
    assert_eq!(gathered.expect("all ranks live").value, expected);
    let seed = comm.broadcast(41 + here).wait_blocking();
    assert_eq!(seed.expect("all ranks live").value, 41);
    let all = (0..ranks).map(|to| 100 * here + to).collect();
    let all = comm
        .all_to_all(all)
        .wait_blocking()
        .expect("all ranks live")
        .value;
    assert!(all.into_iter().eq((0..ranks).map(|from| 100 * from + here)));
}

/// The library's operations, on all types and with all operators that apply, against those of this
/// library.
fn natives(_: &World, comm: &Comm) {
    // SAFETY: all ranks make the calls below in this order, with vectors of the same lengths.
    let matched = unsafe { Matched::promise() };
    let native = comm.native(matched).expect("over MPI");
    let (here, ranks) = (comm.rank().0, comm.ranks());
    let ended = "all ranks live";
    native.barrier().wait_blocking().expect(ended);
    let value = |rank: u32, length: usize| vec![f64::from(rank) + 0.5; length];
    for length in [0, 1, 1000, 100_000] {
        let all: Vec<f64> = (0..ranks).flat_map(|rank| value(rank, length)).collect();
        let at_root = |vector: &Vec<f64>| match here {
            0 => vector.clone(),
            _ => Vec::new(),
        };
        let got = native.broadcast(value(here, length)).wait_blocking();
        assert_eq!(got.expect(ended).value, value(0, length));
        let got = native.scatter(at_root(&all), length).wait_blocking();
        assert_eq!(got.expect(ended).value, value(here, length));
        let got = native.gather(value(here, length)).wait_blocking();
        assert_eq!(got.expect(ended).value, at_root(&all));
        let got = native.all_gather(value(here, length)).wait_blocking();
        assert_eq!(got.expect(ended).value, all);
        let parts = (0..ranks).flat_map(|to| value(100 * here + to, length));
        let got = native.all_to_all(parts.collect()).wait_blocking();
        let parts = (0..ranks).flat_map(|from| value(100 * from + here, length));
        assert!(got.expect(ended).value.into_iter().eq(parts));
    }
    macro_rules! numbers {
        ($($type:ty: $bits:tt),+) => {$(
            let of = |rank: u32| (0..7).map(|n| ((5 * rank + n) % 4) as $type).collect::<Vec<_>>();
            combined(&native, comm, of, Operator::Max, |a, b| if a > b { a } else { b });
            combined(&native, comm, of, Operator::Min, |a, b| if a < b { a } else { b });
            combined(&native, comm, of, Operator::Sum, |a, b| a + b);
            combined(&native, comm, of, Operator::Product, |a, b| a * b);
            numbers!(@$bits of, native, comm, $type);
        )+};
        (@true $of:ident, $native:ident, $comm:ident, $type:ty) => {
            let truth = |is: bool| <$type>::from(is);
            combined(&$native, $comm, $of, Operator::And, |a, b| truth(a != 0 && b != 0));
            combined(&$native, $comm, $of, Operator::Or, |a, b| truth(a != 0 || b != 0));
            combined(&$native, $comm, $of, Operator::Xor, |a, b| truth((a != 0) != (b != 0)));
            combined(&$native, $comm, $of, Operator::BitAnd, |a, b| a & b);
            combined(&$native, $comm, $of, Operator::BitOr, |a, b| a | b);
            combined(&$native, $comm, $of, Operator::BitXor, |a, b| a ^ b);
        };
        (@false $of:ident, $native:ident, $comm:ident, $type:ty) => {};
    }
    numbers!(
        i8: true, i16: true, i32: true, i64: true, u8: true, u16: true, u32: true, u64: true,
        f32: false, f64: false
    );
    for empty in [
        native.reduce(Vec::<u64>::new(), Operator::Sum),
        native.all_reduce(Vec::<u64>::new(), Operator::Sum),
    ] {
        assert!(empty.wait_blocking().expect(ended).value.is_empty());
    }
    // Another one of the same communicator continues the sequence of the first.
    let again = comm.native(matched).expect("over MPI");
    let sum = again.all_reduce(vec![1u32], Operator::Sum).wait_blocking();
    assert_eq!(sum.expect(ended).value, [ranks]);
    native.barrier().wait_blocking().expect(ended);
    // Several at the same time, with messages.
    let pending: Vec<_> = (0..20u64)
        .map(|n| native.all_reduce(vec![n; 10], Operator::Sum))
        .collect();
    operations(comm);
    for (n, request) in pending.into_iter().enumerate() {
        let sum = n as u64 * u64::from(ranks);
        assert_eq!(request.wait_blocking().expect(ended).value, [sum; 10]);
    }
    // SAFETY: the child makes calls that are refused, and then ends without its parent's
    // destructors.
    let child = unsafe { libc::fork() };
    if child == 0 {
        set_hook(Box::new(|_| ()));
        let refused = || catch_unwind(AssertUnwindSafe(|| native.barrier())).is_err();
        // SAFETY: it only ends the process.
        unsafe { libc::_exit(i32::from(!refused())) }
    }
    let mut status = 0;
    // SAFETY: a child of this process, and a local.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!((waited, status), (child, 0), "a child is no rank");
}

fn combined<T: Number + PartialEq + std::fmt::Debug>(
    native: &Native,
    comm: &Comm,
    of: impl Fn(u32) -> Vec<T>,
    operator: Operator,
    combine: impl Fn(T, T) -> T,
) {
    let ended = "all ranks live";
    let (here, ranks) = (comm.rank().0, comm.ranks());
    let of_first = |count: u32| {
        let mut all = (0..count).map(&of);
        let first = all.next().expect("a rank");
        let combine =
            |a: Vec<T>, b: Vec<T>| a.into_iter().zip(b).map(|(a, b)| combine(a, b)).collect();
        all.fold(first, combine)
    };
    // Logical operators turn numbers into 0 and 1, a single one not.
    let is_logical = matches!(operator, Operator::And | Operator::Or | Operator::Xor);
    let got = native.all_reduce(of(here), operator).wait_blocking();
    assert_eq!(got.expect(ended).value, of_first(ranks), "{operator:?}");
    let got = native
        .reduce(of(here), operator)
        .wait_blocking()
        .expect(ended);
    match here {
        0 => assert_eq!(got.value, of_first(ranks), "{operator:?}"),
        _ => assert!(got.value.is_empty()),
    }
    let got = native
        .scan(of(here), operator)
        .wait_blocking()
        .expect(ended);
    if here > 0 || !is_logical {
        assert_eq!(got.value, of_first(here + 1), "{operator:?}");
    }
}
