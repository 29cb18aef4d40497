//! Links over one segment, inside this process: the conformance suites.
#![cfg(target_os = "linux")]

use tautline_conform::{carries, loses, waits};
use tautline_process::{SegmentLink, links};

fn all(ranks: u32) -> Vec<SegmentLink> {
    links(ranks, None).expect("a segment")
}

#[test]
fn segment_links_conform() {
    carries(all);
    loses(all);
    waits(all);
}

/// Rings of 64 bytes: each parcel is sent in many pieces, and the rings are always full.
#[test]
fn segment_links_of_short_rings_conform() {
    let short = |ranks| links(ranks, Some(64)).expect("a segment");
    carries(short);
    loses(short);
    waits(short);
}

#[test]
fn sizes_out_of_bounds_are_refused() {
    let line = |ranks, ring_bytes| {
        links(ranks, ring_bytes)
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    for ranks in [0, 257] {
        assert_eq!(line(ranks, None), format!("ranks {ranks}: from 1 to 256"));
    }
    let word = size_of::<usize>();
    let least = 8 * word;
    for bytes in [least / 2, 96, 1 << 27] {
        let expected = format!("ring_bytes {bytes}: a power of two from {least} to 67108864");
        assert_eq!(line(2, Some(bytes)), expected);
    }
}
