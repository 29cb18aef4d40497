//! Default settings of the balancer, and their reasons.
//!
//! The rules are derived from simulations, which `platforms/tables/defaults.md` shows with the commands that
//! repeat them. A machine enters by its places and workers: the latency of its network, from a torus of
//! microseconds to the 35 of Ethernet, changes the best settings less than the seed does.
#![forbid(unsafe_code)]

use tautline_core::glb::{Config, Grain, Steal};
use tautline_core::grain::Rule;
use tautline_core::lifeline::Graph;

/// Up to this many places the binary hypercube is the best graph.
const BINARY_PLACES: u32 = 8192;

/// Returns the number of random steals: one for each doubling of the places. With fewer, many places become quiet after a
/// bad guess and wait; additional ones find little and are served by places that have work.
pub fn random_steals(places: u32) -> usize {
    places.max(2).next_power_of_two().trailing_zeros() as usize
}

/// Returns the lifeline graph: the binary hypercube; for very many places one with fewer dimensions, as every quiet place
/// has sent requests along all of them.
pub fn lifelines(places: u32) -> Graph {
    let radix = if places <= BINARY_PLACES { 2 } else { 8 };
    Graph::Hypercube { radix }
}

/// The share of a thief: half, the only amount that performs acceptably on every tree.
pub const STEAL: Steal = Steal::Half;

/// A setting, and why it is what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The setting.
    pub setting: &'static str,
    /// Chosen here, or as requested.
    pub chosen: bool,
    /// The reason for the default.
    pub why: String,
}

/// Explains the settings of `config` that have defaults here.
///
/// ```
/// use tautline::choice::explain;
/// use tautline::glb::Glb;
///
/// for choice in explain(&Glb::new().places(64).workers(1).config()?) {
///     println!("{}: {}", choice.setting, choice.why);
/// }
/// # Ok::<(), tautline::Error>(())
/// ```
pub fn explain(config: &Config) -> Vec<Choice> {
    let places = config.places;
    let choice = |setting, chosen, why| Choice {
        setting,
        chosen,
        why,
    };
    let Graph::Hypercube { radix } = lifelines(places) else {
        unreachable!("a hypercube is chosen, above");
    };
    let measured = matches!(config.grain, Grain::Tuned(tuning) if tuning.rule == Rule::Direct && !tuning.frozen);
    vec![
        choice(
            "random steals",
            config.random_steals == random_steals(places),
            format!(
                "{}, one for each doubling of the places ({places}): with 1, simulated trees on 1024 places lose up \
                 to a tenth; with more than 16 nothing is gained",
                random_steals(places)
            ),
        ),
        choice(
            "lifelines",
            config.lifelines == lifelines(places),
            format!(
                "hypercube:{radix}: 2 has the highest efficiency on 1024 places; 8 above {BINARY_PLACES} places \
                 saves messages"
            ),
        ),
        choice(
            "steal",
            config.steal == STEAL,
            "half: on 1024 places 7 tasks are better by 4 points of efficiency where the work is near the \
             root, and worse by 14 where it is not"
                .to_owned(),
        ),
        choice(
            "grain",
            measured,
            "measured at each place: an empty look outside takes one part in 64 of the time at most, more \
             only where workers wait for work"
                .to_owned(),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_random_steal_for_each_doubling() {
        let all = [1, 2, 3, 4, 5, 1024, 1025, 131_072].map(random_steals);
        assert_eq!(all, [1, 1, 2, 2, 3, 10, 11, 17]);
    }

    #[test]
    fn a_place_never_has_many_lifelines() {
        for places in [2, 1024, 8192, 8193, 131_072] {
            let graph = lifelines(places);
            let out = graph.outgoing(crate::glb::PlaceId(0), places).count();
            assert!(out <= 13, "{places}: {out}");
        }
    }

    #[test]
    fn what_was_asked_for_is_told_from_what_was_chosen() {
        let config = Config {
            places: 64,
            random_steals: 6,
            grain: 511.into(),
            ..Config::default()
        };
        let chosen: Vec<_> = explain(&config).iter().map(|it| it.chosen).collect();
        assert_eq!(chosen, [true, true, true, false]);
    }
}
