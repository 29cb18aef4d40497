//! The division of a machine's processors among processes.
#![forbid(unsafe_code)]

use tautline_node::Machine;

/// Returns the processors that workers of `machine` are pinned to by default, neighbours one after
/// the other.
///
/// ```
/// use tautline::{Machine, pinning};
///
/// let machine = Machine::read("/nowhere".as_ref(), &[0, 1, 2, 3]);
/// assert_eq!(pinning::in_order(&machine), [0, 1, 2, 3]);
/// ```
pub fn in_order(machine: &Machine) -> Vec<usize> {
    let used = machine.cpus();
    let allowed = machine.allowed().iter();
    let mut cpus: Vec<_> = allowed.filter(|cpu| used.contains(&cpu.id)).collect();
    cpus.sort_by_key(|cpu| (cpu.node, cpu.core, cpu.id));
    cpus.iter().map(|cpu| cpu.id).collect()
}

/// Divides `all` into `parts` parts of neighbours. More parts than there are elements share them.
///
/// ```
/// use tautline::pinning::divided;
///
/// assert_eq!(divided(&[0, 1, 2, 3, 4], 2), [vec![0, 1], vec![2, 3, 4]]);
/// assert_eq!(divided(&['a', 'b'], 4), [['a'], ['a'], ['b'], ['b']]);
/// ```
///
/// # Panics
/// If `all` is empty and `parts` is not 0.
pub fn divided<T: Clone>(all: &[T], parts: usize) -> Vec<Vec<T>> {
    let part = |part: usize| {
        let from = part * all.len() / parts;
        let to = ((part + 1) * all.len() / parts).max(from + 1);
        all[from..to].to_vec()
    };
    (0..parts).map(part).collect()
}
