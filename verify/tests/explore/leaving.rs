//! Ranks whose programs end while messages between them are on their way.

use super::{LIMIT, flawless, report};
use std::path::Path;
use std::time::Instant;
use tautline_verify::explore::{
    Delivery::Channels, Flaw, Leaving, LeavingFault, Network, NetworkFaults, Parts, Program,
    check as play_file, explore,
};

const LOSS: NetworkFaults = NetworkFaults {
    lose: 0,
    double: 0,
    overtake: 0,
    crash: 1,
    spared: 0,
};

/// Room for all messages, and for one.
const ROOMS: [usize; 2] = [1000, 68];

const fn program(sends: u32, receives: u32) -> Program {
    Program {
        sends,
        receives,
        is_last: false,
    }
}

const IDLE: Program = program(0, 0);
const RECEIVE: Program = program(0, 1);
const SEND: Program = program(1, 0);
const SEND_TWO: Program = program(2, 0);
const SEND_THREE: Program = program(3, 1);
const BOTH: Program = program(1, 1);
const BOTH_TWO: Program = program(2, 2);

/// It ends after the others have left, whose sends may wait for its receives.
const LAST: Program = Program {
    is_last: true,
    ..program(0, 2)
};

fn network(
    programs: &'static [Program],
    room: usize,
    faults: NetworkFaults,
    fault: Option<LeavingFault>,
) -> Network<Parts<Leaving>> {
    let leaving = Leaving {
        programs,
        room,
        fault,
    };
    Network::of(leaving, Channels).with_faults(faults)
}

fn check(name: &str, programs: &'static [Program], faults: NetworkFaults, floor: usize) {
    let began = Instant::now();
    let mut states = 0;
    for room in ROOMS {
        states += flawless(name, &mut network(programs, room, faults, None));
    }
    report(name, states, floor, began);
}

// States, no longer histories, of which there were up to 27 times as many: a messenger can be
// copied and compared.
/// All ranks leave, and each message that its sender takes for sent was received or is counted at
/// one of the two ranks. What two ranks account for depends on no third.
#[test]
fn what_is_sent_is_received_or_counted() {
    let whole = NetworkFaults::default();
    check("leave-p1", &[SEND_THREE], whole, 600);
    check("leave-p2-last", &[SEND_TWO, LAST], whole, 1_500);
    check("leave-p2-n2", &[SEND_TWO, RECEIVE], whole, 18_000);
    check("leave-p2-both", &[BOTH, SEND], whole, 21_000);
    check("leave-p2-many", &[SEND_TWO, BOTH_TWO], whole, 230_000);
    check("leave-p2-lost", &[SEND, RECEIVE], LOSS, 19_000);
    check("leave-p2-both-lost", &[BOTH, SEND], LOSS, 67_000);
    check("leave-p2-last-lost", &[SEND_TWO, LAST], LOSS, 8_600);
}

/// An offer, its claim, and the end of two ranks.
#[test]
fn scenario() {
    const PAIR: &[Program] = &[SEND_TWO, program(0, 2)];
    let leaving = Leaving {
        programs: PAIR,
        room: ROOMS[1],
        fault: None,
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explore/scenarios");
    if let Err(why) = play_file(leaving, &folder.join("leaving.txt")) {
        panic!("{why}");
    }
}

#[test]
fn a_fault_in_leaving_is_detected() {
    const PAIR: &[Program] = &[SEND_TWO, IDLE];
    const LATE: &[Program] = &[SEND_TWO, LAST];
    for (fault, programs, flaw) in [
        (LeavingFault::Hurry, PAIR, Flaw::Count),
        (LeavingFault::Silent, LATE, Flaw::Stuck),
        (LeavingFault::Deny, PAIR, Flaw::Count),
        (LeavingFault::Forget, PAIR, Flaw::Count),
    ] {
        let mut network = network(programs, 1000, NetworkFaults::default(), Some(fault));
        let explored = explore(&mut network, LIMIT);
        let (found, story) = explored.found.expect("the fault must show");
        println!("{fault:?}: {found:?}\n{story}");
        assert_eq!(found, flaw, "{fault:?}");
    }
}
