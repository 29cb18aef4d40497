//! Messages that no rank of this library sends.

use super::*;
use crate::Session;

/// A link whose only peer is this rank itself, which sends it messages as no link does.
#[test]
fn faulty_messages_lose_their_sender() {
    let _session = Session::start().expect("MPI starts");
    let announced = |length: u64| {
        let mut bytes = length.to_le_bytes().to_vec();
        bytes.push(ANNOUNCED);
        bytes
    };
    let impossible = "receiving an impossible length";
    for (messages, doing) in [
        (vec![(SHORT_TAG, vec![])], "receiving an unknown message"),
        (
            vec![(SHORT_TAG, vec![1, 2, 3])],
            "receiving an unknown message",
        ),
        (vec![(SHORT_TAG, vec![7, ANNOUNCED])], impossible),
        (vec![(SHORT_TAG, announced(4095))], impossible),
        (vec![(SHORT_TAG, announced(u64::MAX))], impossible),
        (
            vec![(SHORT_TAG, announced(5000)), (LONG_TAG, vec![0; 4999])],
            "receiving another length than announced",
        ),
    ] {
        let mut wire = Wire::new(Comm::of_first(1).expect("this rank")).expect("MPI runs");
        let comm = wire.comm.as_ref().expect("it lives");
        let sent = messages
            .into_iter()
            .map(|(tag, bytes)| comm.send(0, tag, bytes.into(), false));
        let _sent: Vec<_> = sent.collect::<Result<_, _>>().expect("MPI runs");
        let lost = loop {
            if let Err(lost) = wire.poll(&mut |_, _| panic!("no parcel")) {
                break lost;
            }
        };
        let expected = Lost {
            rank: Rank(0),
            doing,
            is_gone: false,
        };
        assert_eq!(lost, expected);
        assert!(wire.is_broken());
    }
}
