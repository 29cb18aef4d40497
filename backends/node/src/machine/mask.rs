//! The processors that this thread may use.
//!
//! Linux passes the mask of a thread on to the threads and processes that it starts. What a task
//! starts would be confined to the processor of its worker, so the mask that a worker had before it
//! was pinned is kept here. A mask of one processor, to which a worker was pinned, counts as
//! inherited from that worker.

use crate::process::{ForChild, do_for_children, without_forks};
use std::sync::{Mutex, PoisonError};

/// A processor to which a worker was pinned, and those that its thread was allowed before.
type Pinned = (usize, Vec<usize>);

/// By processor once. Locked where no fork can happen, so that a child finds it unlocked.
static PINNED: Mutex<Vec<Pinned>> = Mutex::new(Vec::new());

/// Pins the calling thread, which works for the rest of its life, to processor `cpu`. Returns false
/// if the system refuses.
pub(crate) fn pin_worker(cpu: usize) -> bool {
    let before = system();
    let is_pinned = pin(cpu);
    if is_pinned && before != [cpu] {
        without_forks(|| {
            remember(cpu, before);
            do_for_children(UNPIN);
        });
    }
    is_pinned
}

/// Of two threads with different masks, the wider one counts.
fn remember(cpu: usize, before: Vec<usize>) {
    let mut pinned = PINNED.lock().unwrap_or_else(PoisonError::into_inner);
    match pinned.iter_mut().find(|(known, _)| *known == cpu) {
        Some((_, known)) if known.len() >= before.len() => {}
        Some((_, known)) => *known = before,
        None => pinned.push((cpu, before)),
    }
}

/// Returns the entry of the worker from which the calling thread has its mask, if it does. Called
/// without forks.
fn inherited() -> Option<Pinned> {
    let here = system();
    let pinned = PINNED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut pinned = pinned.iter();
    pinned.find(|(cpu, _)| here == [*cpu]).cloned()
}

/// The child of a pinned worker has the mask from before: the worker itself stays with the parent.
#[cfg(target_os = "linux")]
const UNPIN: ForChild = ForChild {
    prepare: || inherited().map_or_else(Vec::new, |(_, before)| words(&before)),
    act: |mask| _ = confine_to(mask),
};

/// Other systems pass no masks on.
#[cfg(not(target_os = "linux"))]
const UNPIN: ForChild = ForChild {
    prepare: Vec::new,
    act: |_| (),
};

/// Calls `act` while the calling thread may use all processors that its process may use. Elsewhere
/// than on a pinned worker, or a thread that was started by a task there, it only calls `act`.
/// Programs that use `tautline` call it as `tautline::pinning::unpinned`.
pub fn unpinned<R>(act: impl FnOnce() -> R) -> R {
    let _pinned = without_forks(inherited).map(|(cpu, before)| {
        confine(&before);
        Repin(cpu)
    });
    act()
}

/// Pins the calling thread again when it is dropped.
struct Repin(usize);

impl Drop for Repin {
    fn drop(&mut self) {
        pin(self.0);
    }
}

/// Returns the numbers of the allowed processors, at least one.
pub(super) fn allowed() -> Vec<usize> {
    let mut cpus = unpinned(system);
    if cpus.is_empty() {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        cpus.extend(0..count);
    }
    cpus
}

#[cfg(target_os = "linux")]
fn system() -> Vec<usize> {
    // The kernel refuses a mask smaller than its own, whose size it does not report.
    (0..8)
        .find_map(|doubled| read_mask(vec![0; 16 << doubled]))
        .unwrap_or_default()
}

#[cfg(target_os = "linux")]
fn read_mask(mut mask: Vec<usize>) -> Option<Vec<usize>> {
    let bytes = size_of_val(mask.as_slice());
    // SAFETY: the kernel writes at most `bytes` bytes to the buffer, which is that large and
    // aligned to the words that a mask is made of; 0 is the calling thread.
    let status = unsafe { libc::sched_getaffinity(0, bytes, mask.as_mut_ptr().cast()) };
    let width = usize::BITS as usize;
    let allowed = |cpu: &usize| mask[cpu / width] >> (cpu % width) & 1 == 1;
    (status == 0).then(|| (0..mask.len() * width).filter(allowed).collect())
}

#[cfg(not(target_os = "linux"))]
fn system() -> Vec<usize> {
    core_affinity::get_core_ids()
        .map(|cores| cores.iter().map(|core| core.id).collect())
        .unwrap_or_default()
}

/// Restricts the calling thread, and those that it starts from now on, to the processors `cpus`.
/// Returns false if the system refuses: the thread then runs on any allowed processor.
#[cfg(target_os = "linux")]
pub fn confine(cpus: &[usize]) -> bool {
    confine_to(&words(cpus))
}

/// Returns the mask of these processors, as the system takes it.
#[cfg(target_os = "linux")]
fn words(cpus: &[usize]) -> Vec<usize> {
    let width = usize::BITS as usize;
    let words = cpus.iter().max().map_or(1, |last| last / width + 1);
    let mut mask = vec![0usize; words];
    for cpu in cpus {
        mask[cpu / width] |= 1 << (cpu % width);
    }
    mask
}

/// Restricts the calling thread to the processors of a mask. Only calls the system, so a handler
/// may call it.
#[cfg(target_os = "linux")]
fn confine_to(mask: &[usize]) -> bool {
    // SAFETY: the kernel only reads the bytes of the mask; 0 is the calling thread.
    let status = unsafe { libc::sched_setaffinity(0, size_of_val(mask), mask.as_ptr().cast()) };
    status == 0
}

/// Restricts the calling thread to the processors `cpus`: not there, so it returns false.
#[cfg(not(target_os = "linux"))]
pub fn confine(_: &[usize]) -> bool {
    false
}

/// Pins the calling thread to processor `cpu`. Returns false if the system refuses: the thread then
/// runs on any allowed processor.
#[cfg(target_os = "linux")]
pub fn pin(cpu: usize) -> bool {
    confine(&[cpu])
}

/// Pins the calling thread to processor `cpu`. Returns false if the system refuses.
#[cfg(not(target_os = "linux"))]
pub fn pin(cpu: usize) -> bool {
    core_affinity::set_for_current(core_affinity::CoreId { id: cpu })
}
