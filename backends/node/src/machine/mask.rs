//! The processors that this thread may use.

/// Returns the numbers of the allowed processors, at least one.
pub(super) fn allowed() -> Vec<usize> {
    let mut cpus = system();
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
    // SAFETY: the kernel writes at most `bytes` bytes to the buffer, which is that large and aligned
    // to the words that a mask is made of; 0 is the calling thread.
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

/// Restricts the calling thread, and those that it starts from now on, to the processors `cpus`. Returns false if the system refuses:
/// the thread then runs on any allowed processor.
#[cfg(target_os = "linux")]
pub fn confine(cpus: &[usize]) -> bool {
    let width = usize::BITS as usize;
    let words = cpus.iter().max().map_or(1, |last| last / width + 1);
    let mut mask = vec![0usize; words];
    for cpu in cpus {
        mask[cpu / width] |= 1 << (cpu % width);
    }
    // SAFETY: the kernel only reads the bytes of the mask; 0 is the calling thread.
    let status =
        unsafe { libc::sched_setaffinity(0, size_of_val(mask.as_slice()), mask.as_ptr().cast()) };
    status == 0
}

/// Restricts the calling thread to the processors `cpus`: not there, so it returns false.
#[cfg(not(target_os = "linux"))]
pub fn confine(_: &[usize]) -> bool {
    false
}

/// Pins the calling thread to processor `cpu`. Returns false if the system refuses: the thread then runs
/// on any allowed processor.
#[cfg(target_os = "linux")]
pub fn pin(cpu: usize) -> bool {
    confine(&[cpu])
}

/// Pins the calling thread to processor `cpu`. Returns false if the system refuses.
#[cfg(not(target_os = "linux"))]
pub fn pin(cpu: usize) -> bool {
    core_affinity::set_for_current(core_affinity::CoreId { id: cpu })
}
