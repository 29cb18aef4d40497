//! Chunk policies, their estimates, and the claim word on one thread.
//!
//! | fact | test |
//! |---|---|
//! | Lucco, acceptance fact 1: the published chunks of the baselines | `guided_takes_the_published_chunks`, `factoring_takes_the_published_chunks` |
//! | Lucco, acceptance fact 2: chunks of epochs | `epochs_shrink_as_published` |
//! | Lucco, acceptance fact 3: all iterations, once | `every_policy_covers_the_loop` |
//! | Lucco, acceptance fact 4: GSS is a special case | `taper_without_variation_is_guided` |
//! | Lucco, acceptance fact 5: the table of chunks | `taper_takes_the_chunks_of_the_table` |
//! | Lucco, acceptance fact 6: monotony | `taper_shrinks_with_variation_and_with_what_is_left` |
//! | Lucco, acceptance facts 7 and 8: overhead | `the_minimum_chunk_shifts_the_target`, `the_minimum_chunk_outweighs_the_overhead` |
//! | Lucco, acceptance fact 9: the fixed point | `fixed_point_agrees_with_floating_point` |
//! | Lucco, acceptance fact 10: the constants | `defaults_are_the_published_constants` |
//! | Lucco, acceptance fact 11: the exact form | `the_exact_form_solves_its_equation` |
//! | Lucco, acceptance fact 12: known times of starts | `distance_begins_at_a_share`, `an_even_start_takes_distance_first` |
//! | Lucco, acceptance fact 13: the Fill Lemma | `the_fill_lemma_holds` |
//! | Lucco, acceptance fact 14: simulated efficiencies | `simulated_taper_keeps_up_with_guided_and_static`, `simulated_taper_is_robust` |
//! | Lucco, acceptance fact 15: simulated choice of α | `simulated_alpha_is_near_the_best` |
//! | Lucco, acceptance fact 20: coherence | `coherence_is_the_mean_of_the_smaller_over_the_larger` |
//! | Lucco, acceptance fact 22: sections | `only_heavy_or_varying_sections_are_refined`, `a_section_is_refined_above_the_limit_only` |
//! | Lucco, acceptance fact 23: predictions | `a_coherent_loop_is_predicted`; their memory: `core/tests/task_memory.rs` |
//! | Lucco, acceptance fact 26: scaled takes | `a_scaled_take_has_the_work_of_that_many_tasks` |
//! | Lucco, acceptance fact 27: admission | `small_transfers_are_refused` |
//! | Lucco, acceptance fact 40: processors for two loops | `two_loops_end_together` |
//! | Lucco, acceptance fact 41: the estimate of the end | `a_regular_loop_ends_after_its_work_and_half_a_chunk` |

#[path = "taper/cost.rs"]
mod cost;
#[path = "taper/division.rs"]
mod division;
#[path = "taper/estimates.rs"]
mod estimates;
#[path = "taper/lag.rs"]
mod lag;
#[path = "taper/policies.rs"]
mod policies;
#[path = "taper/reference.rs"]
mod reference;
#[path = "taper/share.rs"]
mod share;
#[path = "taper/shared_queue.rs"]
mod shared_queue;
#[path = "taper/tapering.rs"]
mod tapering;

use tautline_core::taper::{Claim, Estimate, Instance, Policy};

#[test]
fn a_claim_hands_out_the_dry_run() {
    for policy in policies::ALL {
        let cx = Instance::new(1000, 4).with_min_chunk(3);
        let claim = Claim::new(50..1050);
        let mut next = 50;
        for chunk in policy.dry_run(Estimate::START, &cx) {
            let taken = claim.take(&policy, Estimate::START, &cx).unwrap();
            assert_eq!(taken, next..next + chunk as usize, "{policy:?}");
            next = taken.end;
            assert_eq!(claim.left(), 1050 - next);
        }
        assert_eq!(next, 1050);
        assert_eq!(claim.take(&policy, Estimate::START, &cx), None);
    }
}

#[test]
fn a_claim_clips_any_size() {
    let claim = Claim::new(0..10);
    assert_eq!(claim.take_with(|_| 0), Some(0..1));
    assert_eq!(claim.take_with(|left| left + 1), Some(1..10));
    assert_eq!(claim.take_with(|_| 1), None);
    assert_eq!(Claim::new(7..7).take_with(|_| 1), None);
    #[expect(clippy::reversed_empty_ranges, reason = "such a range is empty")]
    let reversed = Claim::new(7..3);
    assert_eq!((reversed.left(), reversed.take_with(|_| 1)), (0, None));
}

/// The position stays exact where the range ends at the largest index.
#[test]
fn a_claim_reaches_the_largest_index() {
    let (n, end) = (1usize << (usize::BITS - 1), usize::MAX);
    let claim = Claim::new(end - n..end);
    let cx = Instance::new(n as u64, 64);
    let mut next = end - n;
    while let Some(taken) = claim.take(&Policy::Guided, Estimate::START, &cx) {
        assert_eq!(taken.start, next);
        next = taken.end;
    }
    assert_eq!(next, end);
}
