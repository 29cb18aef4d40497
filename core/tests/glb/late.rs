//! The end of a computation whose messages are late: an adversary holds them back until nothing
//! else can happen.

use crate::driver::{Scene, World};
use crate::world::wait_until;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use tautline_core::deque::Local;
use tautline_core::glb::{Config, Message, Steal, Task, Tasks};
use tautline_core::lifeline::Graph;
use tautline_core::{PlaceId, WorkerId};

const PLACES: u32 = 4;
const HEIGHT: u32 = 9;

/// The root of a binary tree of this height.
struct Node(u32);

impl Task for Node {
    type Shared = Arc<AtomicUsize>;
    type Sum = ();

    fn run(self, todo: &mut Local<Self>, (): &mut (), done: &Self::Shared) {
        done.fetch_add(1, SeqCst);
        if let Some(height) = self.0.checked_sub(1) {
            todo.extend([Node(height), Node(height)]);
        }
    }

    fn add((): &mut (), (): ()) {}
}

/// The messages that are held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// Those with work.
    Work,
    /// Those of which the home counts activities.
    Reports,
    Everything,
}

/// A message, its sender and its receiver.
type Late = (PlaceId, PlaceId, Message<Tasks<Node>>);

struct Adversary {
    held: Held,
    /// The messages that are held back, with their senders and receivers.
    late: Mutex<Vec<Late>>,
    /// By place: whether its worker parks, and how often one has begun to, or was woken.
    parks: [AtomicBool; PLACES as usize],
    events: AtomicUsize,
}

impl Scene for Adversary {
    type Bag = Tasks<Node>;

    fn carry(world: &World<Self>, from: PlaceId, to: PlaceId, message: Message<Self::Bag>) {
        let has_work = matches!(message, Message::Answer(Some(_)) | Message::Loot(_));
        let is_held = match world.scene.held {
            Held::Work => has_work,
            Held::Reports => matches!(message, Message::Report(_)),
            Held::Everything => true,
        };
        match is_held {
            true => world.scene.late.lock().unwrap().push((from, to, message)),
            false => world.hand(from, to, message),
        }
    }

    fn parks(world: &World<Self>, place: PlaceId, _: WorkerId) {
        world.scene.note(place, true);
    }

    fn wakes(world: &World<Self>, place: PlaceId, _: WorkerId) {
        world.scene.note(place, false);
    }
}

impl Adversary {
    fn note(&self, place: PlaceId, parks: bool) {
        self.parks[place.index()].store(parks, SeqCst);
        self.events.fetch_add(1, SeqCst);
    }

    /// Whether nothing happens unless a message arrives.
    fn is_at_rest(world: &World<Self>) -> bool {
        let Self { parks, events, .. } = &world.scene;
        let before = events.load(SeqCst);
        let stands = |(parks, permits): (&AtomicBool, &Vec<_>)| {
            let permit: &crate::driver::Permit = &permits[0];
            parks.load(SeqCst) && !*permit.given.lock().unwrap()
        };
        parks.iter().zip(&world.permits).all(stands) && events.load(SeqCst) == before
    }

    /// Delivers the late messages, one whenever nothing else can happen, until the end. Returns how
    /// many were late.
    fn act(world: &World<Self>, done: &AtomicUsize, mut random: u64) -> Result<usize, String> {
        for delivered in 0.. {
            let has_ended = || world.closes.load(SeqCst) > 0;
            wait_until("rest, or the end", || {
                has_ended() || Self::is_at_rest(world)
            });
            let mut late = world.scene.late.lock().unwrap();
            if has_ended() {
                let (done, left) = (done.load(SeqCst), late.len());
                let is_early = left > 0 || done < (2 << HEIGHT) - 1;
                return match is_early {
                    true => Err(format!("{done} tasks at the end, {left} messages late")),
                    false => Ok(delivered),
                };
            }
            if late.is_empty() {
                return Err(format!("no end after {} tasks", done.load(SeqCst)));
            }
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let next = (random >> 32) as usize % late.len();
            let (from, to, message) = late.swap_remove(next);
            drop(late);
            world.hand(from, to, message);
        }
        unreachable!("the loop has no end")
    }
}

/// Runs a tree while an adversary holds messages back; returns how many were late.
fn held(held: Held, config: &Config, seed: u64) -> Result<usize, String> {
    let done = Arc::new(AtomicUsize::new(0));
    let adversary = Adversary {
        held,
        late: Mutex::default(),
        parks: Default::default(),
        events: AtomicUsize::new(0),
    };
    let world = World::of(adversary, config, PLACES, || Arc::clone(&done));
    thread::scope(|scope| {
        let (world, done) = (&world, &done);
        scope.spawn(|| world.work(Tasks::from_iter([Node(HEIGHT)])));
        let outcome = Adversary::act(world, done, seed);
        if outcome.is_err() {
            world.close();
        }
        outcome
    })
}

/// Chatterjee, acceptance fact 28: the end is not found while work, reports or any messages are in
/// flight, even if all else has come to rest; and it is found once they have arrived, in whichever
/// order.
#[test]
fn the_end_waits_for_late_messages() {
    for held_back in [Held::Work, Held::Reports, Held::Everything] {
        let mut late = 0;
        for (tries, lifelines) in [
            (0, Graph::Ring),
            (1, Graph::Full),
            (2, Graph::Hypercube { radix: 2 }),
        ] {
            for (seed, steal) in [(1, Steal::Half), (2, Steal::Count(1)), (3, Steal::Half)] {
                let config = Config {
                    places: PLACES,
                    random_steals: tries,
                    lifelines,
                    steal,
                    grain: 4.into(),
                    ..Config::default()
                };
                let outcome = held(held_back, &config, seed);
                let setting = format!("{held_back:?} late, {tries} tries, {lifelines:?}, {seed}");
                late += outcome.unwrap_or_else(|error| panic!("{setting}: {error}"));
            }
        }
        assert!(late > 0, "{held_back:?}: nothing was late");
    }
}
