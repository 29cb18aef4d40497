//! The shared memory of a launch: the state of each rank, bells, and rings.
//!
//! The memory has no name (`memfd_create`): processes inherit its file descriptor. It is sealed, so
//! none of them can cut it off under the others. All words are atomics, and what they contain is
//! checked where it is used.
//!
//! # Words
//! The head is written before the first rank starts. `state` of a rank: [`ABSENT`], then [`JOINED`]
//! and [`LEFT`], written by that rank, then [`ENDED`], written by the launcher once the process has
//! ended. Any other value counts as the end. The bells are [`Signal`]s, the rings have their own
//! words.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | SG1 | `leave` and `end` set `state` | `is_gone` loads it | the last records of the rank | the rings: `verify/tests/channel.rs`; `verify/litmus/segment.toml` |

mod bell;
mod launcher;
mod layout;

pub(crate) use layout::Layout;

use crate::Error;
use crate::descent::{self, Part, set_joined};
use crate::variables::{RANK_VARIABLE, RANKS_VARIABLE, SEGMENT_VARIABLE, Seat, refuse};
use bell::Shared;
use layout::{Head, WORD};
use memmap2::{Advice, MmapOptions, MmapRaw};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tautline_core::Rank;
use tautline_core::channel::{Memory, Mesh, Roster, Signal};
use tautline_core::port::{Bell, Fence, Link, Lost};

const ABSENT: usize = 0;
const JOINED: usize = 1;
const LEFT: usize = 2;
const ENDED: usize = 3;

/// The changes against which every segment is sealed.
const SEALS: libc::c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;

/// Bytes from which on a segment has huge pages if it may: that of one on most machines, so that
/// small segments stay small.
const HUGE: usize = 2 << 20;

/// The memory that all ranks of a launch share.
#[derive(Debug)]
pub(crate) struct Segment {
    map: MmapRaw,
    layout: Layout,
    file: File,
}

impl Segment {
    /// Creates an empty segment.
    pub(crate) fn new(layout: Layout) -> Result<Arc<Self>, Error> {
        let bytes = layout.bytes() as u64;
        let fail = |source: io::Error| Error::System {
            doing: "create the shared segment",
            source: io::Error::new(source.kind(), format!("{bytes} bytes: {source}")),
        };
        let file = memory_file().map_err(fail)?;
        check_length(bytes).map_err(fail)?;
        file.set_len(bytes).map_err(fail)?;
        // SAFETY: the call takes numbers alone.
        if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, SEALS) } != 0 {
            return Err(fail(io::Error::last_os_error()));
        }
        let head = Head {
            layout,
            launcher: std::process::id() as usize,
        };
        file.write_all_at(&head.bytes(), 0).map_err(fail)?;
        Ok(Arc::new(Self::map(file, layout).map_err(fail)?))
    }

    fn map(file: File, layout: Layout) -> io::Result<Self> {
        let map = MmapOptions::new().len(layout.bytes()).map_raw(&file)?;
        if layout.bytes() >= HUGE {
            // A wish, which /sys/kernel/mm/transparent_hugepage/shmem_enabled may refuse.
            let _ = map.advise(Advice::HugePage);
        }
        Ok(Self { map, layout, file })
    }

    /// Maps the segment of the inherited file `descriptor`, and returns its launcher too; `None` if
    /// that is not one.
    fn inherited(descriptor: RawFd) -> io::Result<Option<(Self, usize)>> {
        // SAFETY: the call takes numbers alone.
        let seals = unsafe { libc::fcntl(descriptor, libc::F_GET_SEALS) };
        if seals < 0 || seals & SEALS != SEALS {
            return Ok(None);
        }
        // SAFETY: it is open, as the call above has succeeded, and this thread closes none.
        let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
        let file = File::from(borrowed.try_clone_to_owned()?);
        let bytes = file.metadata()?.len();
        let mut head = [0; Head::BYTES];
        if bytes < head.len() as u64 {
            return Ok(None);
        }
        file.read_exact_at(&mut head, 0)?;
        let head = Head::of(&head).filter(|head| head.layout.bytes() as u64 == bytes);
        let Some(Head { layout, launcher }) = head else {
            return Ok(None);
        };
        // Programs that this process starts are not ranks. The descriptor is that of the launcher,
        // as its content shows. SAFETY: the call takes numbers alone.
        unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
        Ok(Some((Self::map(file, layout)?, launcher)))
    }

    /// Returns the descriptor that the ranks inherit.
    pub(crate) fn descriptor(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    fn words(&self, at: usize, count: usize) -> &[AtomicUsize] {
        assert!(at % WORD == 0 && at + count * WORD <= self.map.len());
        // SAFETY: the bytes are within the mapping, which exists as long as `self` and cannot
        // shrink, and aligned; all accesses to them, in any process, are atomic.
        unsafe { std::slice::from_raw_parts(self.map.as_ptr().add(at).cast(), count) }
    }

    fn state(&self, rank: Rank) -> &AtomicUsize {
        &self.words(self.layout.state(rank), 1)[0]
    }

    fn bell(&self, rank: Rank) -> Signal<Shared<'_>> {
        let word: *const AtomicUsize = &self.words(self.layout.bell(rank), 1)[0];
        // SAFETY: the first half of a word that `words` has checked, and that is accessed as this
        // half alone.
        let word = unsafe { &*word.cast() };
        Signal(Shared(word))
    }

    /// States that `process` is `rank`.
    fn enter(&self, rank: Rank, process: u32) -> Result<(), Error> {
        let words = self.words(self.layout.state(rank), 2);
        // ORDERING: Relaxed on both: what is published are the records, later.
        let relaxed = Ordering::Relaxed;
        if words[0]
            .compare_exchange(ABSENT, JOINED, relaxed, relaxed)
            .is_err()
        {
            // ORDERING: Relaxed: for a message.
            let other = words[1].load(Ordering::Relaxed);
            let reason = match other as u32 {
                0 => "its process has ended".to_owned(),
                other if other == process => {
                    "this process has joined as this rank before".to_owned()
                }
                other => format!("process {other} has joined as this rank"),
            };
            return Err(refuse(RANK_VARIABLE, &rank.0.to_string(), reason));
        }
        // ORDERING: Relaxed: for a message.
        words[1].store(process as usize, Ordering::Relaxed);
        Ok(())
    }

    /// States that the process of `rank` has ended, and wakes all ranks. Returns whether it had
    /// left before.
    pub(crate) fn end(&self, rank: Rank) -> bool {
        // ORDERING: Release, pairs with Acquire in is_gone (SG1): the process has ended, so all its
        // records are in memory.
        let state = self.state(rank).swap(ENDED, Ordering::Release);
        for rank in (0..self.layout.ranks).map(Rank) {
            self.bell(rank).give_again();
        }
        state == LEFT
    }

    fn link(self: &Arc<Self>, here: Rank) -> SegmentLink {
        let memory = |sender, receiver| Ring::new(self, sender, receiver);
        SegmentLink(Mesh::new(here, self.layout.ranks, self.clone(), memory))
    }
}

/// Creates memory without a name, as a file that executed programs do not inherit.
fn memory_file() -> io::Result<File> {
    // SAFETY: the name is a C string.
    let descriptor = unsafe {
        libc::memfd_create(
            c"tautline".as_ptr(),
            libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING,
        )
    };
    match descriptor {
        0.. => Ok({
            // SAFETY: it was opened above, for this owner alone.
            unsafe { File::from_raw_fd(descriptor) }
        }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Refuses a file that is longer than the limit: giving it that length would end this process by a
/// signal.
fn check_length(bytes: u64) -> io::Result<()> {
    let mut limit = libc::rlimit64 {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the call writes to `limit`, while it runs.
    let status = unsafe { libc::getrlimit64(libc::RLIMIT_FSIZE, &raw mut limit) };
    match limit.rlim_cur {
        most if status == 0 && most < bytes => Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("files have at most {most}, see ulimit -f"),
        )),
        _ => Ok(()),
    }
}

/// Full fences on both sides: other processes cannot be fenced from outside without their consent.
#[derive(Debug)]
pub(crate) struct FullFences;

// SAFETY: the provided methods are full fences.
unsafe impl Fence for FullFences {}

impl Roster for Segment {
    type Fence = FullFences;

    fn fence(&self) -> &FullFences {
        &FullFences
    }

    fn is_gone(&self, rank: Rank) -> bool {
        // ORDERING: Acquire, pairs with Release in leave and end (SG1): its last records are in the
        // rings.
        !matches!(self.state(rank).load(Ordering::Acquire), ABSENT | JOINED)
    }

    fn leave(&self, rank: Rank) {
        // ORDERING: Release, pairs with Acquire in is_gone (SG1): the last records of this rank.
        self.state(rank).store(LEFT, Ordering::Release);
    }

    fn ring(&self, rank: Rank) {
        self.bell(rank).give();
    }

    fn wait(&self, rank: Rank, ticks: u64) {
        self.bell(rank).wait(ticks);
    }
}

/// A ring in a segment. Its parts are found once: each message uses all of them.
#[derive(Debug)]
struct Ring {
    marks: NonNull<[AtomicUsize; 2]>,
    taken: NonNull<AtomicUsize>,
    units: NonNull<[AtomicUsize]>,
    /// The owner of the memory to which the pointers lead.
    _segment: Arc<Segment>,
}

impl Ring {
    fn new(segment: &Arc<Segment>, sender: Rank, receiver: Rank) -> Self {
        let [marks, taken, units] = segment.layout.ring(sender, receiver);
        let two = segment.words(marks, 2).first_chunk();
        Self {
            marks: two.expect("two words").into(),
            taken: (&segment.words(taken, 1)[0]).into(),
            units: segment.words(units, segment.layout.units).into(),
            _segment: segment.clone(),
        }
    }
}

// SAFETY: the pointers lead to atomics of the segment, which any thread may access and which lives
// as long as this.
unsafe impl Send for Ring {}
// SAFETY: as above.
unsafe impl Sync for Ring {}

impl Memory for Ring {
    #[inline(always)]
    fn units(&self) -> &[AtomicUsize] {
        // SAFETY: it was a reference to words of the segment, which lives as long as `self`.
        unsafe { self.units.as_ref() }
    }

    #[inline(always)]
    fn taken(&self) -> &AtomicUsize {
        // SAFETY: as in units.
        unsafe { self.taken.as_ref() }
    }

    #[inline(always)]
    fn marks(&self) -> &[AtomicUsize; 2] {
        // SAFETY: as in units.
        unsafe { self.marks.as_ref() }
    }
}

/// The error of a rank that has no segment.
const CLOSED: &str = "closed by the program that has started this rank; the descriptor must be passed on to the rank";

/// One rank's link to the others over a segment. A parcel has at most 1 GiB; sending a longer one
/// panics.
pub struct SegmentLink(Mesh<Ring, Segment>);

impl fmt::Debug for SegmentLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl SegmentLink {
    /// Connects this process, which has these variables; `None` if it has them from a process that
    /// no launch is waiting for.
    pub(crate) fn inherited(seat: Seat) -> Result<Option<Self>, Error> {
        let Seat {
            rank,
            ranks,
            descriptor,
        } = seat;
        let refuse = |reason| Err(refuse(SEGMENT_VARIABLE, &descriptor.to_string(), reason));
        let segment = Segment::inherited(descriptor).map_err(|source| Error::System {
            doing: "map the shared segment",
            source,
        })?;
        let Some((segment, launcher)) = segment else {
            return match descent::nearest(RANK_VARIABLE, &[]) {
                Some(Part::Launcher) => refuse(CLOSED.to_owned()),
                _ => Ok(None),
            };
        };
        if segment.layout.ranks != ranks {
            let others = segment.layout.ranks;
            return refuse(format!(
                "the segment of {others} ranks, but {RANKS_VARIABLE} is {ranks}; pass both on as the launcher set them"
            ));
        }
        let segment = Arc::new(segment);
        segment.enter(Rank(rank), std::process::id())?;
        launcher::end_with(launcher).map_err(|source| Error::System {
            doing: "watch the launcher",
            source,
        })?;
        set_joined(RANK_VARIABLE);
        Ok(Some(segment.link(Rank(rank))))
    }
}

/// Connects ranks inside this process over a segment, with rings of the default size or of
/// `ring_bytes`: for tests.
///
/// ```
/// use tautline_core::Rank;
/// use tautline_core::port::Link;
///
/// let [mut zero, mut one] = <[_; 2]>::try_from(tautline_process::links(2, None)?).unwrap();
/// zero.send(Rank(1), b"hello");
/// zero.poll(&mut |_, _| ()).expect("rank 1 lives");
/// let mut got = Vec::new();
/// one.poll(&mut |from, parcel| got.push((from, parcel.to_vec()))).expect("rank 0 lives");
/// assert_eq!(got, [(Rank(0), b"hello".to_vec())]);
/// # Ok::<(), tautline_process::Error>(())
/// ```
///
/// # Errors
/// A size out of bounds, or memory that the system refuses.
pub fn links(ranks: u32, ring_bytes: Option<usize>) -> Result<Vec<SegmentLink>, Error> {
    let layout = Layout::new(ranks, ring_bytes)?;
    let segment = Segment::new(layout)?;
    let ranks = (0..ranks).map(Rank);
    for rank in ranks.clone() {
        segment.enter(rank, std::process::id())?;
    }
    Ok(ranks.map(|rank| segment.link(rank)).collect())
}

impl Link for SegmentLink {
    fn here(&self) -> Rank {
        self.0.here()
    }

    fn ranks(&self) -> u32 {
        self.0.ranks()
    }

    fn bell(&self) -> Arc<dyn Bell> {
        self.0.bell()
    }

    fn send(&mut self, to: Rank, parcel: &[u8]) {
        self.0.send(to, parcel);
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        self.0.poll(take)
    }

    fn arm(&mut self) -> bool {
        self.0.arm()
    }

    fn unsent(&self, to: Rank) -> usize {
        self.0.unsent(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tautline_conform::{Threads, attends, exchanges};

    /// Returns the segment as several ranks map it, each by itself.
    fn mapped(ranks: u32) -> Vec<Arc<Segment>> {
        let segment = Segment::new(Layout::new(ranks, Some(256)).unwrap()).unwrap();
        let map = |_| Segment::inherited(segment.descriptor()).unwrap().unwrap();
        (0..ranks)
            .map(map)
            .map(|(view, _)| Arc::new(view))
            .collect()
    }

    #[test]
    fn rings_conform_through_two_mappings() {
        let ring = |segment| Ring::new(&segment, Rank(0), Rank(1));
        exchanges(
            &Threads,
            || <[_; 2]>::try_from(mapped(2)).unwrap().map(ring),
            FullFences,
        );
    }

    #[test]
    fn the_states_and_bells_of_ranks_conform() {
        attends(mapped);
    }

    /// Whatever a faulty peer writes to the state of a rank, it is present or lost once.
    #[test]
    fn a_corrupt_state_is_the_end_of_its_rank() {
        for state in [LEFT, ENDED, 4, 77, usize::MAX] {
            let layout = Layout::new(2, None).unwrap();
            let segment = Segment::new(layout).unwrap();
            let mut zero = segment.link(Rank(0));
            assert!(zero.arm(), "nothing to do");
            segment.state(Rank(1)).store(state, Ordering::Relaxed);
            assert!(!zero.arm(), "there is a loss to report");
            let lost = zero.poll(&mut |_, _| ()).unwrap_err();
            assert_eq!(lost.rank, Rank(1));
            assert_eq!(zero.poll(&mut |_, _| ()), Ok(false));
        }
    }

    #[test]
    fn a_rank_is_taken_once() {
        let segment = Segment::new(Layout::new(2, None).unwrap()).unwrap();
        segment.enter(Rank(1), 17).unwrap();
        let error = segment.enter(Rank(1), 18).unwrap_err().to_string();
        assert_eq!(error, "TAUTLINE_RANK 1: process 17 has joined as this rank");
        let segment = Segment::new(Layout::new(2, None).unwrap()).unwrap();
        assert!(!segment.end(Rank(1)));
        let error = segment.enter(Rank(1), 18).unwrap_err().to_string();
        assert_eq!(error, "TAUTLINE_RANK 1: its process has ended");
    }

    /// Another file, or a segment of other numbers than it has.
    #[test]
    fn only_segments_are_mapped() {
        let other = File::open("/proc/self/exe").unwrap();
        assert!(Segment::inherited(other.as_raw_fd()).unwrap().is_none());
        assert!(Segment::inherited(-1).unwrap().is_none());
        assert!(Segment::inherited(RawFd::MAX).unwrap().is_none());
        let segment = Segment::new(Layout::new(3, None).unwrap()).unwrap();
        let (found, launcher) = Segment::inherited(segment.descriptor()).unwrap().unwrap();
        let own = std::process::id() as usize;
        assert_eq!((found.layout, launcher), (segment.layout, own));
        segment
            .file
            .write_all_at(&4_usize.to_ne_bytes(), WORD as u64)
            .unwrap();
        assert!(Segment::inherited(segment.descriptor()).unwrap().is_none());
    }

    /// Variables of two launches.
    #[test]
    fn a_segment_of_other_ranks_is_refused() {
        let segment = Segment::new(Layout::new(3, None).unwrap()).unwrap();
        let descriptor = segment.descriptor();
        let seat = Seat {
            rank: 1,
            ranks: 2,
            descriptor,
        };
        let error = SegmentLink::inherited(seat).unwrap_err().to_string();
        let expected = format!(
            "TAUTLINE_SEGMENT {descriptor}: the segment of 3 ranks, but TAUTLINE_RANKS is 2; pass both on as the launcher set them"
        );
        assert_eq!(error, expected);
    }

    /// A rank cannot take the memory away from the others.
    #[test]
    fn a_segment_cannot_be_cut_off() {
        let segment = Segment::new(Layout::new(2, None).unwrap()).unwrap();
        assert!(segment.file.set_len(0).is_err());
        assert!(segment.file.set_len(1 << 30).is_err());
    }
}
