//! Steps of machines: answers to effects, and machines inside machines.

use tautline_core::PlaceId;
use tautline_core::machine::{Action, Machine, Pick, Step, drive};

/// Divides a pile among the places that request a part, each time by a number that is drawn.
struct Pile;

#[derive(Debug, PartialEq)]
enum Effect {
    /// Cut this number off.
    Cut(PlaceId, u32),
    /// Nothing is left.
    Empty,
}

impl Machine for Pile {
    type Peer = PlaceId;
    type Message = u32;
    /// A place, and the part that was cut off for it.
    type Event = (PlaceId, u32);
    type Effect = Effect;
    type Calls = dyn Pick;
    type Refusal = &'static str;

    fn event(&mut self, (to, part): (PlaceId, u32), step: &mut Step<'_, Self>) {
        step.send(to, part);
        if part == 0 {
            step.effect(Effect::Empty);
        } else if part > 1 {
            step.effect(Effect::Cut(to, part / 2));
        }
    }

    fn receive(
        &mut self,
        from: PlaceId,
        times: u32,
        step: &mut Step<'_, Self>,
    ) -> Result<(), &'static str> {
        for _ in 0..times {
            let part = step.calls().pick(10);
            step.effect(Effect::Cut(from, part));
        }
        (times > 0).then_some(()).ok_or("a request for nothing")
    }
}

/// A pile that counts the messages that it sends.
struct Counted {
    pile: Pile,
    sent: u32,
}

impl Machine for Counted {
    type Peer = PlaceId;
    type Message = u32;
    type Event = (PlaceId, u32);
    type Effect = Effect;
    type Calls = dyn Pick;
    type Refusal = &'static str;

    fn event(&mut self, event: (PlaceId, u32), step: &mut Step<'_, Self>) {
        let Self { pile, sent } = self;
        let act = |action, act: &mut dyn FnMut(Action<Self>)| match action {
            Action::Send(to, part) => {
                *sent += 1;
                act(Action::Send(to, part));
            }
            Action::Effect(effect) => act(Action::Effect(effect)),
        };
        step.within(act, |step| pile.event(event, step));
    }

    fn receive(&mut self, _: PlaceId, _: u32, _: &mut Step<'_, Self>) -> Result<(), &'static str> {
        Err("no message is expected")
    }
}

struct Eight;

impl Pick for Eight {
    fn pick(&mut self, n: u32) -> u32 {
        assert_eq!(n, 10);
        8
    }
}

/// Cuts off what is wanted from a pile of `left`, and records the rest.
fn cut<M: Machine<Peer = PlaceId, Message = u32, Event = (PlaceId, u32), Effect = Effect>>(
    left: &mut u32,
    log: &mut Vec<String>,
) -> impl FnMut(Action<M>) -> Option<(PlaceId, u32)> {
    |action| match action {
        Action::Send(to, part) => {
            log.push(format!("{part} to {to}"));
            None
        }
        Action::Effect(Effect::Cut(to, wanted)) => {
            let part = wanted.min(*left);
            *left -= part;
            Some((to, part))
        }
        Action::Effect(Effect::Empty) => {
            log.push("empty".into());
            None
        }
    }
}

#[test]
fn effects_are_answered_before_the_step_returns() {
    let (mut left, mut log) = (13, Vec::new());
    let received = drive(
        &mut Pile,
        &mut Eight,
        cut(&mut left, &mut log),
        |pile, step| pile.receive(PlaceId(3), 1, step),
    );
    assert_eq!(received, Ok(()));
    let expected = ["8 to place 3", "4 to place 3", "1 to place 3"];
    assert_eq!((left, &log[..]), (0, &expected.map(String::from)[..]));
}

#[test]
fn a_refusal_is_returned() {
    let (mut left, mut log) = (13, Vec::new());
    let received = drive(
        &mut Pile,
        &mut Eight,
        cut(&mut left, &mut log),
        |pile, step| pile.receive(PlaceId(3), 0, step),
    );
    assert_eq!(received, Err("a request for nothing"));
    assert_eq!((left, log.len()), (13, 0));
}

#[test]
#[should_panic(expected = "two answers in a step")]
fn a_step_has_one_answer() {
    let (mut left, mut log) = (13, Vec::new());
    let act = cut(&mut left, &mut log);
    let _ = drive(&mut Pile, &mut Eight, act, |pile, step| {
        pile.receive(PlaceId(3), 2, step)
    });
}

#[test]
fn a_machine_has_machines_inside() {
    let (mut left, mut log) = (5, Vec::new());
    let mut counted = Counted {
        pile: Pile,
        sent: 0,
    };
    drive(
        &mut counted,
        &mut Eight,
        cut(&mut left, &mut log),
        |counted, step| {
            counted.event((PlaceId(1), 6), step);
        },
    );
    let expected = ["6 to place 1", "3 to place 1", "1 to place 1"];
    assert_eq!(log, expected.map(String::from));
    assert_eq!((counted.sent, left), (3, 1));
}
