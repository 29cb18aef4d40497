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
    for (ranks, ring_bytes, line) in [
        (0, None, "ranks 0: from 1 to 256"),
        (257, None, "ranks 257: from 1 to 256"),
        (
            2,
            Some(32),
            "ring_bytes 32: a power of two from 64 to 67108864",
        ),
        (
            2,
            Some(96),
            "ring_bytes 96: a power of two from 64 to 67108864",
        ),
        (
            2,
            Some(1 << 27),
            "ring_bytes 134217728: a power of two from 64 to 67108864",
        ),
    ] {
        let error = links(ranks, ring_bytes).map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), line);
    }
}
