//! Matching of receives and messages: every interleaving of small programs, against a rule that
//! knows no time.

use tautline_core::Rank;
use tautline_core::comm::{CommId, End, Envelope, Incoming, Matching, Pattern, Tag};

const COMM: CommId = CommId(3);

fn message(source: u32, tag: u32, body: usize) -> Incoming<usize> {
    let envelope = Envelope {
        comm: COMM,
        source: Rank(source),
        tag: Tag(tag),
        bytes: body,
    };
    Incoming { envelope, body }
}

/// A receive, or a probe, of a small program.
#[derive(Clone, Copy, Debug)]
struct Post {
    pattern: Pattern,
    is_probe: bool,
}

impl Post {
    fn of(source: Option<u32>, tag: Option<u32>, is_probe: bool) -> Self {
        let pattern = Pattern {
            comm: COMM,
            source: source.map(Rank),
            tag: tag.map(Tag),
        };
        Self { pattern, is_probe }
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// The message with this number arrives.
    Arrive(usize),
    Post(usize),
    Cancel(usize),
}

/// The result of a receive or a probe: the number of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Waits,
    Took(usize),
    Saw(usize),
    Cancelled,
}

/// Messages 0 and 1 are of rank 0, messages 2 and 3 of rank 1.
struct Program<'a> {
    tags: [u32; 4],
    posts: &'a [Post],
}

impl Program<'_> {
    fn message(&self, number: usize) -> Incoming<usize> {
        message(number as u32 / 2, self.tags[number], number)
    }

    /// The rule, which knows no time but that of arrivals and cancels: in the order of posting,
    /// each receive takes the first message to arrive that it accepts, that no earlier receive
    /// takes, and that arrives before the receive is cancelled. A probe does the same, and leaves
    /// the message.
    fn rule(&self, log: &[Event]) -> (Vec<Fate>, Vec<usize>) {
        let time = |wanted: &dyn Fn(Event) -> bool| log.iter().position(|e| wanted(*e));
        let mut left: Vec<usize> = log
            .iter()
            .filter_map(|e| match e {
                Event::Arrive(number) => Some(*number),
                _ => None,
            })
            .collect();
        let mut fates = Vec::new();
        for (number, post) in self.posts.iter().enumerate() {
            let cancel = time(&|e| matches!(e, Event::Cancel(n) if n == number));
            let at = left.iter().position(|m| {
                let arrival = time(&|e| matches!(e, Event::Arrive(n) if n == *m));
                let in_time = cancel.is_none_or(|cancel| arrival.is_some_and(|a| a < cancel));
                in_time && post.pattern.accepts(&self.message(*m).envelope)
            });
            fates.push(match at {
                Some(at) if post.is_probe => Fate::Saw(left[at]),
                Some(at) => Fate::Took(left.remove(at)),
                None if cancel.is_some() => Fate::Cancelled,
                None => Fate::Waits,
            });
        }
        (fates, left)
    }

    fn run(&self, log: &[Event]) -> (Vec<Fate>, Vec<usize>) {
        let mut fates = vec![Fate::Waits; self.posts.len()];
        let mut matching = Matching::new();
        let mut ended = |key: usize, end: End<usize>| {
            assert_eq!(fates[key], Fate::Waits, "it ends once");
            fates[key] = match end {
                End::Received(message) => Fate::Took(message.body),
                End::Probed(envelope) => Fate::Saw(envelope.bytes),
                End::Cancelled => Fate::Cancelled,
                other => panic!("{other:?}"),
            };
        };
        for event in log {
            match *event {
                Event::Arrive(number) => {
                    let refused = matching.arrive(self.message(number), &mut ended);
                    assert_eq!(refused, None);
                }
                Event::Post(number) => {
                    let Post { pattern, is_probe } = self.posts[number];
                    if is_probe {
                        matching.probe(number, pattern, &mut ended);
                    } else {
                        matching.receive(number, pattern, 100, &mut ended);
                    }
                }
                Event::Cancel(number) => _ = matching.cancel(number, &mut ended),
            }
        }
        // What is left is received in the order of arrival.
        let mut left = Vec::new();
        for key in 0..4 {
            matching.receive(key, Pattern::any(COMM), 100, &mut |_, end| match end {
                End::Received(message) => left.push(message.body),
                other => panic!("{other:?}"),
            });
        }
        (fates, left)
    }
}

/// Returns all interleavings of two messages of each of two ranks, of `posts` receives in order,
/// and of a cancel of one of them after it is posted.
fn interleavings(posts: usize, cancel: Option<usize>) -> Vec<Vec<Event>> {
    fn extend(
        log: &mut Vec<Event>,
        done: [usize; 4],
        last: [usize; 4],
        cancel: Option<usize>,
        out: &mut Vec<Vec<Event>>,
    ) {
        if done == last {
            out.push(log.clone());
        }
        for stream in 0..4 {
            if done[stream] == last[stream] {
                continue;
            }
            let event = match stream {
                0 => Event::Arrive(done[0]),
                1 => Event::Arrive(2 + done[1]),
                2 => Event::Post(done[2]),
                _ => Event::Cancel(cancel.expect("there is one")),
            };
            if matches!(event, Event::Cancel(number) if number >= done[2]) {
                continue;
            }
            let mut next = done;
            next[stream] += 1;
            log.push(event);
            extend(log, next, last, cancel, out);
            log.pop();
        }
    }
    let mut out = Vec::new();
    let last = [2, 2, posts, usize::from(cancel.is_some())];
    extend(&mut Vec::new(), [0; 4], last, cancel, &mut out);
    out
}

/// Tags of the four messages: the tag distinguishes messages of a rank, or the ranks, or both, or
/// nothing.
const TAGS: [[u32; 4]; 4] = [[0, 1, 0, 1], [0, 0, 1, 1], [0, 1, 1, 0], [0, 0, 0, 0]];

/// Runs all programs of `posts` receives out of `kinds`, in all interleavings; returns how many
/// runs that was.
fn explore(posts: usize, cancel: Option<usize>, kinds: &[Post]) -> usize {
    let logs = interleavings(posts, cancel);
    let mut runs = 0;
    for code in 0..kinds.len().pow(posts as u32) {
        let kind = |at: usize| kinds[code / kinds.len().pow(at as u32) % kinds.len()];
        let chosen: Vec<Post> = (0..posts).map(kind).collect();
        for tags in TAGS {
            let program = Program {
                tags,
                posts: &chosen,
            };
            for log in &logs {
                let (run, rule) = (program.run(log), program.rule(log));
                assert_eq!(run, rule, "{log:?} of {chosen:?}, tags {tags:?}");
                runs += 1;
            }
        }
    }
    runs
}

fn kinds(is_probe: &[bool]) -> Vec<Post> {
    let any = [None, Some(0), Some(1)];
    let of = |is_probe: &bool| {
        let is_probe = *is_probe;
        any.into_iter()
            .flat_map(move |source| any.map(|tag| Post::of(source, tag, is_probe)))
    };
    is_probe.iter().flat_map(of).collect()
}

/// Fact 21, and MPI's rules: no message overtakes another of its rank that the same receives
/// accept, and each is received once.
#[test]
fn every_interleaving_of_three_receives() {
    assert_eq!(explore(3, None, &kinds(&[false])), 612_360);
}

#[test]
fn every_interleaving_of_two_receives_or_probes_and_a_cancel() {
    for (cancel, runs) in [(0, 544_320), (1, 272_160)] {
        assert_eq!(explore(2, Some(cancel), &kinds(&[false, true])), runs);
    }
}

#[test]
fn every_interleaving_of_three_receives_and_a_cancel() {
    let some = [
        Post::of(None, None, false),
        Post::of(Some(0), None, false),
        Post::of(None, Some(1), true),
        Post::of(Some(1), Some(0), false),
    ];
    for (cancel, runs) in [(0, 322_560), (1, 215_040), (2, 107_520)] {
        assert_eq!(explore(3, Some(cancel), &some), runs);
    }
}

/// The operations that have ended, in order.
#[derive(Default)]
struct Ended(Vec<(u32, End<usize>)>);

impl Ended {
    fn put(&mut self) -> impl FnMut(u32, End<usize>) {
        |key, end| self.0.push((key, end))
    }

    fn take(&mut self) -> Vec<(u32, End<usize>)> {
        std::mem::take(&mut self.0)
    }
}

/// A message that is too long ends the receive that takes it, and is lost; the next receive takes
/// the next message.
#[test]
fn a_long_message_ends_one_receive() {
    let (mut matching, mut ended) = (Matching::new(), Ended::default());
    matching.receive(1, Pattern::any(COMM), 7, &mut ended.put());
    matching.receive(2, Pattern::any(COMM), 8, &mut ended.put());
    matching.arrive(message(0, 0, 8), &mut ended.put());
    assert_eq!(ended.take(), [(1, End::Truncated(message(0, 0, 8), 7))]);
    matching.arrive(message(0, 0, 8), &mut ended.put());
    assert_eq!(ended.take(), [(2, End::Received(message(0, 0, 8)))]);
}

/// The loss of a rank ends what only its messages could end; those that have arrived are received.
#[test]
fn a_lost_rank_ends_its_receives() {
    let (mut matching, mut ended) = (Matching::new(), Ended::default());
    let of = |source, tag| Post::of(source, Some(tag), false).pattern;
    matching.receive(1, of(Some(1), 0), 9, &mut ended.put());
    matching.probe(2, of(Some(1), 0), &mut ended.put());
    matching.receive(3, of(None, 0), 9, &mut ended.put());
    matching.receive(4, of(Some(0), 0), 9, &mut ended.put());
    matching.arrive(message(1, 7, 1), &mut ended.put());
    matching.arrive(message(1, 8, 2), &mut ended.put());
    // The body of the second message is not here.
    matching.lose(Rank(1), |body| *body == 1, &mut ended.put());
    let lost = || End::Lost(Rank(1));
    assert_eq!(ended.take(), [(1, lost()), (2, lost())]);
    matching.receive(5, of(Some(1), 7), 9, &mut ended.put());
    matching.receive(6, of(Some(1), 8), 9, &mut ended.put());
    matching.probe(7, of(Some(1), 8), &mut ended.put());
    let had_arrived = (5, End::Received(message(1, 7, 1)));
    assert_eq!(ended.take(), [had_arrived, (6, lost()), (7, lost())]);
    matching.arrive(message(0, 0, 3), &mut ended.put());
    matching.arrive(message(0, 0, 4), &mut ended.put());
    let received = |body| End::Received(message(0, 0, body));
    assert_eq!(ended.take(), [(3, received(3)), (4, received(4))]);
}

/// Messages and receives of another communicator are not affected by each other, nor by its end.
#[test]
fn a_communicator_is_freed() {
    let (mut matching, mut ended) = (Matching::new(), Ended::default());
    let other = Pattern::any(CommId(4));
    matching.receive(1, other, 9, &mut ended.put());
    matching.receive(2, Pattern::any(COMM), 0, &mut ended.put());
    matching.arrive(message(0, 0, 1), &mut ended.put());
    assert!(matches!(ended.take()[..], [(2, End::Truncated(..))]));
    matching.arrive(message(0, 0, 2), &mut ended.put());
    matching.receive(
        3,
        Pattern {
            tag: Some(Tag(9)),
            ..Pattern::any(COMM)
        },
        9,
        &mut ended.put(),
    );
    let dropped = matching.free(COMM, &mut ended.put());
    assert_eq!(dropped, [message(0, 0, 2)]);
    let refused = matching.arrive(message(0, 0, 3), &mut ended.put());
    assert_eq!(refused, Some(message(0, 0, 3)));
    matching.receive(4, Pattern::any(COMM), 9, &mut ended.put());
    let freed = || End::Freed(COMM);
    assert_eq!(ended.take(), [(3, freed()), (4, freed())]);
    assert!(matching.cancel(1, &mut ended.put()), "it still waits");
}
