//! Barriers written by hand: what the shipped ones are compared with, each over the words of the
//! core.

use tautline_core::port::{Barrier, Line, Relax};
use tautline_core::sync::{AtomicUsize, CacheLine, CachePadded, Ordering};
use tautline_verify::virtual_time::Port;

/// A way for `threads` threads to wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// All count in one word, and poll another one until the last has come.
    Central,
    /// The first polls one word of each; the others poll one that it writes.
    Flat,
    /// As flat, a tree with this number of children per node.
    Tree(usize),
    /// As the tree, but the others sleep until the first calls them one after the other.
    Awake(usize),
    /// A line of the hardware.
    Hardware,
    /// Each polls a word of each other thread; this number of words share the first cache line, the
    /// others have one each.
    Watch(usize),
}

/// State shared by the threads.
#[derive(Debug)]
pub(crate) struct Place {
    threads: usize,
    count: CachePadded<AtomicUsize>,
    phase: CachePadded<AtomicUsize>,
    come: Vec<CachePadded<AtomicUsize>>,
    lines: Vec<CacheLine<[AtomicUsize; 8]>>,
}

impl Place {
    /// No task has arrived.
    pub(crate) fn new(threads: usize) -> Self {
        let word = || CachePadded::new(AtomicUsize::new(0));
        Self {
            threads,
            count: word(),
            phase: word(),
            come: (0..threads).map(|_| word()).collect(),
            lines: (0..threads).map(|_| CacheLine::default()).collect(),
        }
    }

    /// Goes through `episodes` barriers; all threads do.
    pub(crate) fn pass(&self, way: Way, episodes: usize, port: &Port) {
        // All claims are the same line: this is the only program on the machine.
        let line = Line(0);
        if way == Way::Hardware {
            if port.thread() == 0 {
                assert_eq!(port.claim(), Some(line));
                self.phase.store(1, Ordering::Release);
            }
            look(port, || self.phase.load(Ordering::Acquire) == 1);
            port.include(line);
            self.central(1, port);
        }
        for episode in 1..=episodes {
            match way {
                Way::Central => self.central(episode, port),
                Way::Flat => self.tree(self.threads, episode, port),
                Way::Watch(words) => self.watch(words, episode, port),
                Way::Tree(degree) => self.tree(degree, episode, port),
                Way::Awake(degree) => {
                    self.gather(degree, episode, port);
                    if port.thread() > 0 {
                        port.suspend();
                    } else {
                        (1..self.threads).for_each(|other| port.awake(other));
                    }
                }
                Way::Hardware => {
                    port.arrive(line);
                    look(port, || port.is_done(line));
                }
            }
        }
    }

    fn central(&self, episode: usize, port: &Port) {
        if self.count.fetch_add(1, Ordering::AcqRel) + 1 == episode * self.threads {
            self.phase.store(episode, Ordering::Release);
        } else {
            look(port, || self.phase.load(Ordering::Acquire) >= episode);
        }
    }

    fn watch(&self, words: usize, episode: usize, port: &Port) {
        let word = |thread: usize| match thread < words {
            true => &self.lines[0].0[thread],
            false => &self.lines[thread].0[0],
        };
        word(port.thread()).store(episode, Ordering::Release);
        // The last one that was behind is polled first.
        for thread in (0..self.threads).filter(|thread| *thread != port.thread()) {
            look(port, || word(thread).load(Ordering::Acquire) >= episode);
        }
    }

    fn gather(&self, degree: usize, episode: usize, port: &Port) {
        let me = port.thread();
        for child in (me * degree + 1..=me * degree + degree).take_while(|c| *c < self.threads) {
            look(port, || self.come[child].load(Ordering::Acquire) >= episode);
        }
        if me > 0 {
            self.come[me].store(episode, Ordering::Release);
        }
    }

    fn tree(&self, degree: usize, episode: usize, port: &Port) {
        self.gather(degree, episode, port);
        if port.thread() > 0 {
            look(port, || self.phase.load(Ordering::Acquire) >= episode);
        } else {
            self.phase.store(episode, Ordering::Release);
        }
    }
}

fn look(port: &Port, mut done: impl FnMut() -> bool) {
    let mut turn = 0;
    while !done() {
        port.relax(turn);
        turn += 1;
    }
}
