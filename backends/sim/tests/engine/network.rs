//! The time that messages take.

use super::relay::{FREE, Relay, deliver, run};
use tautline_sim::{Cluster, Ranks, Shape};

#[test]
fn bytes_take_time_and_occupy_both_adapters() {
    let cluster = Cluster {
        far_ns: 1_000,
        gap_ns: 10,
        mb_per_s: 500,
        ..FREE
    };
    // 2 ns a byte. The second message leaves after the first, the third comes from elsewhere and
    // waits at the destination.
    let received = deliver(cluster, 3, &[(0, 2, 100), (0, 2, 50), (1, 2, 100)]);
    assert_eq!(received[2], [(0, 1_200), (2, 1_410), (1, 1_620)]);
}

#[test]
fn bytes_within_a_node_are_not_transmitted() {
    let cluster = Cluster {
        node_places: 2,
        near_ns: 30,
        mb_per_s: 1,
        ..FREE
    };
    assert_eq!(deliver(cluster, 2, &[(0, 1, 1_000)])[1], [(0, 30)]);
}

/// Many messages of one pair on a network that delays some far more than others, over busy
/// adapters.
#[test]
fn ordered_messages_do_not_overtake() {
    let letters: Vec<_> = (0..200)
        .map(|i| (i % 2, 2, u64::from(i % 7) * 100))
        .collect();
    let from = |sender: u32, order: &[(u64, u64)]| -> Vec<u64> {
        let numbers = order.iter().map(|&(number, _)| number);
        numbers
            .filter(|number| number % 2 == u64::from(sender))
            .collect()
    };
    for gap_ns in [0, 50] {
        for mb_per_s in [0, 1_000] {
            let cluster = |ordered| Cluster {
                far_ns: 1_000,
                gap_ns,
                mb_per_s,
                jitter_percent: 1_000,
                ordered,
                ..FREE
            };
            let order = |ordered| deliver(cluster(ordered), 3, &letters)[2].clone();
            for sender in [0, 1] {
                assert!(
                    from(sender, &order(true)).is_sorted(),
                    "{gap_ns} {mb_per_s}"
                );
                assert!(
                    !from(sender, &order(false)).is_sorted(),
                    "{gap_ns} {mb_per_s}"
                );
            }
        }
    }
}

/// Place 0 sends to the others of a node with two ranks, each with a communication worker or
/// without one.
fn from_one_to_all(worker: bool) -> Vec<Relay> {
    let cluster = Cluster {
        near_ns: 100,
        node_places: 4,
        ranks: Ranks {
            places: 2,
            message_ns: 10,
            encode_mb_per_s: 1_000,
            decode_mb_per_s: 500,
            worker,
        },
        ..FREE
    };
    run(cluster, 4, &[(0, 1, 50), (0, 2, 50), (0, 3, 50)])
}

#[test]
fn a_message_to_another_rank_is_encoded_and_decoded() {
    let relays = from_one_to_all(false);
    let of = |place: usize| (relays[place].received[0].1, relays[place].steps[0]);
    // Within the rank a value; then 60 ns to encode each, and 110 to decode.
    assert_eq!(of(1), (100, (100, 100)));
    assert_eq!(of(2), (160, (160, 270)));
    assert_eq!(of(3), (220, (220, 330)));
}

/// As above, but the sender continues at once, and each side serves one message after the other.
#[test]
fn a_communication_worker_encodes_and_decodes() {
    let relays = from_one_to_all(true);
    let of = |place: usize| (relays[place].received[0].1, relays[place].steps[0]);
    assert_eq!(of(1), (100, (100, 100)));
    // Encoded at 60 and 120, there at 160 and 220, decoded for 110 each.
    assert_eq!(of(2), (270, (270, 270)));
    assert_eq!(of(3), (380, (380, 380)));
}

/// Nodes 0 and 1 send to different nodes; on a ring they share a link, on other shapes only where
/// these have few links.
#[test]
fn messages_wait_for_links() {
    let on = |shape| Cluster {
        shape,
        far_ns: 1_000,
        hop_ns: 100,
        link_mb_per_s: 1_000,
        ..FREE
    };
    let tree = |up| {
        on(Shape::FatTree {
            nodes: 2,
            leaves: 8,
            up,
        })
    };
    let arrival = |cluster, [a, b]: [u32; 2]| {
        let received = deliver(cluster, 8, &[(0, a, 500), (1, b, 500)]);
        [received[a as usize][0].1, received[b as usize][0].1]
    };
    // 0 to 2 over nodes 1 and 2; 1 to 3 over node 2: the link from node 1 to 2 is free when the
    // head of the first comes.
    let ring = on(Shape::Torus([8, 1, 1]));
    assert_eq!(arrival(ring, [2, 3]), [1_500, 1_100]);
    assert_eq!(arrival(ring, [7, 3]), [1_000, 1_100]);
    // One link up from the switch of both, or one for each.
    assert_eq!(arrival(tree([1, 1]), [2, 5]), [1_200, 1_700]);
    assert_eq!(arrival(tree([2, 1]), [2, 5]), [1_200, 1_200]);
    let fly = on(Shape::Dragonfly {
        nodes: 2,
        routers: 1,
        globals: 3,
    });
    assert_eq!(arrival(fly, [2, 3]), [1_100, 1_600]);
    assert_eq!(arrival(fly, [2, 4]), [1_100, 1_100]);
}

/// Without contention, simulated links change nothing.
#[test]
fn a_lone_message_takes_its_latency() {
    let shapes = [
        Shape::Flat,
        Shape::Torus([4, 4, 4]),
        Shape::FatTree {
            nodes: 4,
            leaves: 4,
            up: [4, 4],
        },
        Shape::Dragonfly {
            nodes: 2,
            routers: 4,
            globals: 2,
        },
    ];
    for shape in shapes {
        for to in 1..64 {
            let cluster = |link_mb_per_s| Cluster {
                shape,
                far_ns: 1_000,
                hop_ns: 70,
                mb_per_s: 100,
                link_mb_per_s,
                ..FREE
            };
            let received = |mb| deliver(cluster(mb), 64, &[(0, to, 40)]);
            assert_eq!(received(0), received(50), "{shape:?} to {to}");
        }
    }
}
