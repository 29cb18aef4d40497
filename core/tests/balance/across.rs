//! Balanced computations over ranks whose clocks differ.

use super::crew::{Crew, run_on};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::panic::Location;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use tautline_core::Rank;
use tautline_core::balance::Across;
use tautline_core::glb::{Bag, Config, Run, Share};
use tautline_core::port::{Bell, Link, Lost, Spin};
use tautline_core::task::Pool;
use tautline_core::wire::Exchange;

/// The duration of each task.
const TASK: Duration = Duration::from_millis(1);
const TASKS: usize = 20;

/// Tasks that take time.
#[derive(Serialize, Deserialize)]
struct Slow(usize);

impl Bag for Slow {
    type Shared = ();
    type Output = ();

    fn process(&mut self, n: usize, (): &()) -> usize {
        let done = n.min(self.0);
        for _ in 0..done {
            let began = Instant::now();
            while began.elapsed() < TASK {
                thread::yield_now();
            }
        }
        self.0 -= done;
        done
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

    fn submit(self, (): &mut ()) {}
}

/// The parcels for each of two ranks.
pub(crate) type Mail = Arc<[Mutex<VecDeque<Vec<u8>>>; 2]>;

/// One of two ranks.
pub(crate) struct Wire(pub usize, pub Mail);

impl Link for Wire {
    fn here(&self) -> Rank {
        Rank(self.0 as u32)
    }

    fn ranks(&self) -> u32 {
        2
    }

    fn bell(&self) -> Arc<dyn Bell> {
        Arc::new(|| ())
    }

    fn send(&mut self, to: Rank, parcel: &[u8]) {
        self.1[to.index()]
            .lock()
            .unwrap()
            .push_back(parcel.to_vec());
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        let arrived = std::mem::take(&mut *self.1[self.0].lock().unwrap());
        let from = Rank(1 - self.0 as u32);
        arrived.iter().for_each(|parcel| take(from, parcel));
        Ok(!arrived.is_empty())
    }

    fn unsent(&self, _: Rank) -> usize {
        0
    }
}

/// Runs one rank, whose clock ticks every `tick` nanoseconds; both ranks run until `ended` is 2.
fn rank(link: Wire, tick: u32, ended: &AtomicUsize) -> Run<()> {
    let exchange = &Exchange::new(link, Spin);
    thread::scope(|threads| {
        threads.spawn(|| {
            while ended.load(SeqCst) < 2 {
                exchange.turn().unwrap();
                thread::yield_now();
            }
        });
        let pool = &Pool::new(Crew::ticking(1, tick), 1);
        let site = Location::caller();
        let across = Across { exchange, site };
        let run = run_on(pool, |cx| {
            let balancer = cx.balancer().config(Config::default());
            balancer.across(&across, Slow(TASKS), |_| (), ())
        });
        ended.fetch_add(1, SeqCst);
        run.unwrap()
    })
}

/// All ranks agree on what each of them spent, in seconds.
#[test]
fn times_of_ranks_whose_clocks_differ() {
    const TICKS: [u32; 2] = [1, 1000];
    let (mail, ended) = (Mail::default(), AtomicUsize::new(0));
    let runs = thread::scope(|threads| {
        let start = |here| {
            let (link, ended) = (Wire(here, mail.clone()), &ended);
            threads.spawn(move || rank(link, TICKS[here], ended))
        };
        [0, 1].map(start).map(|rank| rank.join().unwrap())
    });
    let seconds = |rank: usize, place: usize| {
        let Run {
            places,
            ticks_per_second,
            ..
        } = &runs[rank];
        places[place].times.total() as f64 / ticks_per_second
    };
    for place in 0..2 {
        let (zero, one) = (seconds(0, place), seconds(1, place));
        // Each state is rounded to a tick.
        assert!((zero - one).abs() < 1e-5, "{zero} and {one} seconds");
    }
    let all = seconds(0, 0) + seconds(0, 1);
    let least = TASK.as_secs_f64() * TASKS as f64;
    assert!(all >= least, "{all} seconds of {least}");
    let most = runs[0].elapsed + runs[1].elapsed;
    assert!(
        all <= most.as_secs_f64() + 1e-3,
        "{all} seconds of {most:?}"
    );
}
