//! The processors of ranks that a launcher has started without dividing them.
#![forbid(unsafe_code)]

use super::super::World;
use crate::host::pinning::{divided, in_order};
use crate::{Machine, Result};
use serde::{Deserialize, Serialize};
use std::fs;

/// The common properties of ranks of one machine without dedicated processors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Site {
    /// The running system, which has another number after each start.
    system: String,
    /// The processors that the rank may use.
    cpus: Vec<usize>,
}

impl Site {
    fn own() -> Self {
        let system = fs::read_to_string("/proc/sys/kernel/random/boot_id");
        Self {
            system: system.unwrap_or_default(),
            cpus: in_order(&Machine::discover()),
        }
    }
}

impl World {
    /// Restricts the calling thread, and those that it starts from now on, to this rank's part of
    /// the processors that several ranks may use alike. Ranks to which their launcher has given
    /// processors of their own keep them.
    pub(in crate::ranks::world) fn share(&self) -> Result<()> {
        let sites = self.all_gather(Site::own())?;
        if let Some(cpus) = part(&sites, self.rank().index()) {
            // A refusal is not an error: the rank then uses any allowed processor.
            tautline_node::machine::confine(&cpus);
        }
        Ok(())
    }
}

/// Returns the part of `rank` of the processors that it has in common with others; `None` if there
/// is no other.
fn part(sites: &[Site], rank: usize) -> Option<Vec<usize>> {
    let own = &sites[rank];
    let alike = sites.iter().filter(|site| *site == own).count();
    let before = sites[..rank].iter().filter(|site| *site == own).count();
    (alike > 1 && !own.cpus.is_empty()).then(|| divided(&own.cpus, alike).swap_remove(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_processors_in_common_are_divided() {
        let site = |system: &str, cpus: &[usize]| Site {
            system: system.into(),
            cpus: cpus.into(),
        };
        let sites = [
            site("a", &[0, 1, 2, 3]),
            site("b", &[0, 1]),
            site("a", &[0, 1, 2, 3]),
            site("b", &[2, 3]),
        ];
        let parts: Vec<_> = (0..4).map(|rank| part(&sites, rank)).collect();
        assert_eq!(parts, [Some(vec![0, 1]), None, Some(vec![2, 3]), None]);
    }
}
