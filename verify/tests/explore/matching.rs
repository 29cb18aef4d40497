//! Programs that send, receive, probe and withdraw, in every order of deliveries: each operation
//! ends as MPI's rule requires.

#[path = "matching/link.rs"]
mod link;
#[path = "matching/ranks.rs"]
mod ranks;
#[path = "matching/rule.rs"]
mod rule;

use super::{LIMIT, flawless, report};
use ranks::Op::{
    Await, Cancel, Free, Probe, Receive, ReceiveAtOnce, ReceiveProbed, Send, SendAtOnce,
};
use ranks::{Exchange, Fault, Op, Outgoing, Wanted};
use std::path::Path;
use std::time::Instant;
use tautline_verify::explore::{
    Delivery::Channels, Flaw, Network, NetworkFaults, check as play_file, explore,
};

/// Room for all messages, and for one.
const ROOMS: [usize; 2] = [1000, 68];

const LOSS: NetworkFaults = NetworkFaults {
    lose: 0,
    double: 0,
    overtake: 0,
    crash: 1,
    spared: 0,
};

const fn to(to: u32, tag: u32) -> Outgoing {
    Outgoing {
        to,
        comm: 0,
        tag,
        bytes: 4,
        is_vector: false,
    }
}

const ANY: Wanted = Wanted {
    comm: 0,
    from: None,
    tag: None,
    limit: 4,
    is_vector: false,
};

const fn tag(tag: u32) -> Wanted {
    Wanted {
        tag: Some(tag),
        ..ANY
    }
}

const fn from(from: u32) -> Wanted {
    Wanted {
        from: Some(from),
        ..ANY
    }
}

/// Of the communicator that is freed.
const OTHER: Wanted = Wanted { comm: 1, ..ANY };
const SHORT: Wanted = Wanted { limit: 3, ..ANY };
const VECTOR: Wanted = Wanted {
    limit: 6,
    is_vector: true,
    ..ANY
};
const LARGE: Wanted = Wanted {
    limit: 4100,
    is_vector: true,
    ..ANY
};

const fn other(to: u32, tag: u32) -> Outgoing {
    Outgoing {
        comm: 1,
        ..self::to(to, tag)
    }
}

const fn vector(to: u32, bytes: usize) -> Outgoing {
    Outgoing {
        bytes,
        is_vector: true,
        ..self::to(to, 0)
    }
}

fn network(
    exchange: Exchange,
    faults: NetworkFaults,
) -> Network<tautline_verify::explore::Parts<Exchange>> {
    Network::of(exchange, Channels).with_faults(faults)
}

fn states(
    name: &str,
    programs: &'static [&'static [Op]],
    rooms: &[usize],
    links: &[bool],
    faults: NetworkFaults,
    floor: usize,
) {
    let began = Instant::now();
    let mut states = 0;
    for &room in rooms {
        for &is_direct in links {
            let exchange = Exchange {
                programs,
                room,
                is_direct,
                fault: None,
            };
            let name = format!("{name} room={room} direct={is_direct}");
            states += flawless(&name, &mut network(exchange, faults));
        }
    }
    report(name, states, floor, began);
}

fn check(name: &str, programs: &'static [&'static [Op]], floor: usize) {
    states(
        name,
        programs,
        &ROOMS,
        &[false],
        NetworkFaults::default(),
        floor,
    );
}

const ONE: &[Op] = &[Send(to(0, 0))];
const TWO: &[Op] = &[Send(to(0, 0)), Send(to(0, 1))];
const THREE: &[Op] = &[Send(to(0, 0)), Send(to(0, 1)), Send(to(0, 0))];

/// A receive or a probe that is withdrawn ends once; its message goes to the next receive, and none
/// is lost.
#[test]
fn withdrawn() {
    const FIRST: &[Op] = &[Receive(ANY), Receive(tag(1)), Cancel(0), Receive(ANY)];
    const LAST: &[Op] = &[
        Receive(ANY),
        Receive(ANY),
        Cancel(1),
        Cancel(0),
        Receive(tag(0)),
    ];
    const ENDED: &[Op] = &[
        Receive(ANY),
        Probe(tag(0)),
        Await(0),
        Cancel(0),
        Cancel(1),
        Receive(ANY),
    ];
    check("matching-cancel-first", &[FIRST, THREE], 1_665);
    check("matching-cancel-last", &[LAST, THREE], 2_296);
    check("matching-cancel-ended", &[ENDED, THREE], 1_626);
    const VECTORS: &[Op] = &[
        Receive(VECTOR),
        Receive(VECTOR),
        Cancel(0),
        Cancel(1),
        Receive(ANY),
    ];
    check("matching-cancel-vectors", &[VECTORS, TWO], 513);
}

/// A probe finds a message that is there, and takes none.
#[test]
fn probed() {
    const NEXT: &[Op] = &[Probe(ANY), ReceiveProbed(0), Probe(ANY), ReceiveProbed(2)];
    const AMONG: &[Op] = &[
        Receive(tag(1)),
        Probe(ANY),
        Probe(tag(1)),
        Receive(ANY),
        Receive(SHORT),
    ];
    check("matching-probe-next", &[NEXT, THREE], 611);
    check("matching-probe-among", &[AMONG, THREE], 2_038);
    check("matching-probe-p3", &[NEXT, ONE, TWO], 1_397);
}

/// Messages of a communicator that is freed are dropped; those of others are not.
#[test]
fn freed() {
    const FREE: &[Op] = &[
        Receive(OTHER),
        Probe(OTHER),
        Receive(ANY),
        Free(1),
        Receive(OTHER),
        Receive(ANY),
    ];
    const SENDS: &[Op] = &[
        Send(other(0, 0)),
        Send(to(0, 0)),
        Send(other(0, 1)),
        Send(to(0, 1)),
    ];
    const FREED: &[Op] = &[
        Send(other(0, 0)),
        Free(1),
        Send(other(0, 1)),
        SendAtOnce(other(0, 1)),
        Send(to(0, 0)),
    ];
    check("matching-free", &[FREE, SENDS], 24_303);
    check("matching-free-sender", &[FREE, FREED], 1_072);
}

/// Messages that are sent or received at once are matched as all others.
#[test]
fn at_once() {
    const SENDS: &[Op] = &[SendAtOnce(to(0, 0)), Send(to(0, 1)), SendAtOnce(to(0, 0))];
    const TAKES: &[Op] = &[
        ReceiveAtOnce(ANY),
        Receive(tag(0)),
        ReceiveAtOnce(tag(1)),
        Receive(ANY),
    ];
    const PICKS: &[Op] = &[
        Receive(tag(1)),
        ReceiveAtOnce(SHORT),
        ReceiveAtOnce(ANY),
        ReceiveAtOnce(ANY),
    ];
    check("matching-at-once", &[TAKES, SENDS], 1_325);
    check("matching-at-once-posted", &[PICKS, SENDS], 1_146);
    const FIRST: &[Op] = &[SendAtOnce(to(0, 0))];
    const OTHER: &[Op] = &[SendAtOnce(to(0, 1))];
    check("matching-at-once-p3", &[TAKES, FIRST, OTHER], 508);
}

/// Vectors are back at their sender, and fill the memory of their receiver.
#[test]
fn vectors() {
    const SENDS: &[Op] = &[
        Send(vector(0, 4100)),
        SendAtOnce(vector(0, 5)),
        Send(vector(0, 4)),
    ];
    const TAKES: &[Op] = &[Receive(LARGE), Receive(VECTOR), Receive(ANY)];
    const SHORTER: &[Op] = &[
        Receive(VECTOR),
        ReceiveAtOnce(SHORT),
        Receive(LARGE),
        Probe(ANY),
    ];
    let links = [false, true];
    let check = |name: &str, programs, faults, floor| {
        states(name, programs, &[10_000, 70], &links, faults, floor);
    };
    check(
        "matching-vectors",
        &[TAKES, SENDS],
        NetworkFaults::default(),
        2_428,
    );
    check(
        "matching-vectors-short",
        &[SHORTER, SENDS],
        NetworkFaults::default(),
        1_866,
    );
    check("matching-vectors-lost", &[TAKES, SENDS], LOSS, 16_192);
}

/// Messages of several ranks, and of the rank itself.
#[test]
fn senders() {
    const TAKES: &[Op] = &[
        Receive(from(2)),
        Receive(ANY),
        Receive(from(1)),
        Receive(ANY),
    ];
    const OWN: &[Op] = &[
        SendAtOnce(to(0, 0)),
        Receive(tag(1)),
        Send(to(0, 1)),
        Probe(ANY),
        ReceiveAtOnce(ANY),
        Receive(SHORT),
    ];
    const CANCELS: &[Op] = &[
        Receive(from(1)),
        Probe(from(1)),
        Receive(ANY),
        Cancel(0),
        ReceiveAtOnce(ANY),
    ];
    check("matching-p3", &[TAKES, TWO, TWO], 32_774);
    check("matching-p1", &[OWN], 212);
    states(
        "matching-lost",
        &[CANCELS, THREE],
        &ROOMS,
        &[false],
        LOSS,
        17_312,
    );
}

/// All operations, between ranks that send both ways.
#[test]
fn mixed() {
    const LEFT: &[Op] = &[
        Receive(tag(1)),
        SendAtOnce(to(1, 0)),
        Probe(ANY),
        Cancel(0),
        Send(to(1, 1)),
        ReceiveAtOnce(ANY),
        ReceiveProbed(2),
    ];
    const RIGHT: &[Op] = &[
        Send(to(0, 0)),
        Probe(tag(1)),
        Receive(ANY),
        SendAtOnce(to(0, 1)),
        Cancel(1),
        ReceiveAtOnce(tag(1)),
        Receive(SHORT),
    ];
    const THREE: &[Op] = &[
        Receive(tag(1)),
        Probe(ANY),
        Cancel(0),
        ReceiveAtOnce(ANY),
        ReceiveProbed(1),
    ];
    const OTHER: &[Op] = &[SendAtOnce(to(0, 0)), Send(to(2, 1)), Receive(ANY)];
    const THIRD: &[Op] = &[
        Send(to(0, 1)),
        Probe(ANY),
        SendAtOnce(to(1, 0)),
        ReceiveAtOnce(ANY),
    ];
    check("matching-mixed", &[LEFT, RIGHT], 28_514);
    check("matching-mixed-p3", &[THREE, OTHER, THIRD], 32_108);
}

/// A probe, a receive that is withdrawn, and an offer.
#[test]
fn scenario() {
    const ENDS: &[Op] = &[
        Receive(tag(1)),
        Probe(ANY),
        Cancel(0),
        ReceiveProbed(1),
        ReceiveAtOnce(ANY),
        Receive(ANY),
    ];
    let exchange = Exchange {
        programs: &[ENDS, TWO],
        room: ROOMS[1],
        is_direct: false,
        fault: None,
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explore/scenarios");
    play_file(exchange, &folder.join("matching.txt")).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn faults_are_found() {
    const TAKES: &[Op] = &[Receive(tag(0)), Receive(tag(1)), Cancel(0)];
    for (fault, room, flaw) in [
        (Fault::Lose, 1000, Flaw::Count),
        (Fault::Keep, 68, Flaw::Requests),
        (Fault::Confuse, 1000, Flaw::Outcome),
        (Fault::Insist, 1000, Flaw::Outcome),
    ] {
        let exchange = Exchange {
            programs: &[TAKES, TWO],
            room,
            is_direct: false,
            fault: Some(fault),
        };
        let explored = explore(&mut network(exchange, NetworkFaults::default()), LIMIT);
        let (found, story) = explored.found.expect("the fault must show");
        println!("{fault:?}: {found:?}\n{story}");
        assert_eq!(found, flaw, "{fault:?}");
    }
}
