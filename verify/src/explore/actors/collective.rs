//! Collective operations: any rank may begin at any time.

use crate::explore::{Actors, Flaw, Out, View};
use tautline_core::collective::{
    AllReduce, AllToAll, Barrier, Branch, CombineBefore, CombineForAll, Deal, Meet, Message, Scan,
    Scatter, Stray,
};
use tautline_core::{PlaceId, Rank};

/// The operation explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A barrier.
    Barrier,
    /// A reduction whose result all ranks get; the operator is not commutative.
    AllReduce,
    /// A reduction of the ranks before.
    Scan,
    /// Values of rank 0, one for each.
    Scatter,
    /// Values of each, one for each.
    AllToAll,
}

/// A deliberate error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// A rank ends when it has sent its value.
    EndWhenSent,
    /// Values are combined in the order of their arrival.
    OrderOfArrival,
    /// Values for a subtree are sent in reverse.
    DealInReverse,
    /// A rank takes its own value for those that are missing when the first arrives.
    EndWithFirst,
}

/// The ranks of one operation.
#[derive(Clone, Copy, Debug)]
pub struct Collective {
    /// The operation.
    pub kind: Kind,
    /// The number of ranks.
    pub ranks: u32,
    /// Children of a rank, at most.
    pub radix: u32,
    /// What is wrong.
    pub mistake: Option<Mistake>,
}

type Concat = fn(Text, Text) -> Text;
/// The ranks whose values are combined, in order.
type Text = Vec<u8>;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Machine {
    Barrier(Barrier),
    AllReduce(AllReduce<Text, Concat>),
    Scan(Scan<Text, Concat>),
    Scatter(Scatter<u8>),
    AllToAll(AllToAll<Text>),
}

/// What ranks send each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Sent {
    /// Of a barrier.
    Barrier(Message<(), ()>),
    /// Of a reduction, or values dealt.
    Text(Message<Text, Text>),
    /// Of a scan.
    Scan(Message<Text, Option<Text>>),
    /// A value.
    Value(Text),
}

/// One rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    machine: Machine,
    has_begun: bool,
    output: Option<Text>,
    /// The children whose values have arrived.
    arrived: Vec<Rank>,
}

/// What the checks remember.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ghost {
    begun: u32,
    flaw: Option<Flaw>,
}

fn concat(mut a: Text, b: Text) -> Text {
    a.extend(b);
    a
}

fn rank(place: PlaceId) -> Rank {
    Rank(place.0)
}

impl Collective {
    fn branch(&self, here: PlaceId) -> Branch {
        Branch::new(rank(here), self.ranks, self.radix)
    }

    /// Returns what a rank must end with.
    fn expected(&self, here: u8) -> Text {
        let all = 0..self.ranks as u8;
        match self.kind {
            Kind::Barrier => Text::new(),
            Kind::AllReduce => all.collect(),
            Kind::Scan => (0..here).collect(),
            Kind::Scatter => vec![here],
            Kind::AllToAll => all.flat_map(|from| [from, here]).collect(),
        }
    }

    /// Whether a rank that has ended implies that all have begun.
    fn joins(&self) -> bool {
        matches!(self.kind, Kind::Barrier | Kind::AllReduce | Kind::AllToAll)
    }

    fn begin(
        &self,
        here: PlaceId,
        machine: &mut Machine,
        sent: &mut Vec<(Rank, Sent)>,
    ) -> Option<Text> {
        let own = here.0 as u8;
        match machine {
            Machine::Barrier(wave) => wave
                .begin((), &mut |to, m| sent.push((to, Sent::Barrier(m))))
                .map(|()| Text::new()),
            Machine::AllReduce(wave) => {
                wave.begin(vec![own], &mut |to, m| sent.push((to, Sent::Text(m))))
            }
            Machine::Scan(wave) => wave
                .begin(vec![own], &mut |to, m| sent.push((to, Sent::Scan(m))))
                .map(Option::unwrap_or_default),
            Machine::Scatter(wave) => wave
                .begin(self.values(), &mut |to, m| sent.push((to, Sent::Text(m))))
                .map(|value| vec![value]),
            Machine::AllToAll(machine) => {
                let values = self.values().into_iter().map(|to| vec![own, to]).collect();
                let all = machine.begin(values, &mut |to, m| sent.push((to, Sent::Value(m))));
                all.map(|all| all.concat())
            }
        }
    }

    fn values(&self) -> Text {
        (0..self.ranks as u8).collect()
    }

    fn on(
        machine: &mut Machine,
        from: Rank,
        message: Sent,
        sent: &mut Vec<(Rank, Sent)>,
    ) -> Result<Option<Text>, Stray> {
        match (machine, message) {
            (Machine::Barrier(wave), Sent::Barrier(message)) => {
                let ended = wave.on(from, message, &mut |to, m| {
                    sent.push((to, Sent::Barrier(m)))
                })?;
                Ok(ended.map(|()| Text::new()))
            }
            (Machine::AllReduce(wave), Sent::Text(message)) => {
                wave.on(from, message, &mut |to, m| sent.push((to, Sent::Text(m))))
            }
            (Machine::Scan(wave), Sent::Scan(message)) => {
                let ended = wave.on(from, message, &mut |to, m| sent.push((to, Sent::Scan(m))))?;
                Ok(ended.map(Option::unwrap_or_default))
            }
            (Machine::Scatter(wave), Sent::Text(message)) => {
                let ended = wave.on(from, message, &mut |to, m| sent.push((to, Sent::Text(m))))?;
                Ok(ended.map(|value| vec![value]))
            }
            (Machine::AllToAll(machine), Sent::Value(value)) => {
                Ok(machine.on(from, value)?.map(|all| all.concat()))
            }
            _ => Err(Stray { from }),
        }
    }

    /// Applies what the machine at `here` did.
    fn apply(
        &self,
        site: &mut Site,
        sent: Vec<(Rank, Sent)>,
        output: Option<Text>,
        out: &mut Out<Self>,
    ) {
        for (to, mut message) in sent {
            if let (Some(Mistake::DealInReverse), Sent::Text(Message::Down(values))) =
                (self.mistake, &mut message)
            {
                values.reverse();
            }
            out.sent.push((PlaceId(to.0), message));
        }
        if let Some(output) = output {
            let ends_again = site.output.is_some() && self.mistake.is_none();
            if ends_again {
                out.ghost.flaw = Some(Flaw::Repeated);
            }
            site.output = Some(output);
        }
    }
}

impl Actors for Collective {
    type Site = Site;
    type Message = Sent;
    type Act = ();
    type Ghost = Ghost;

    fn places(&self) -> u32 {
        self.ranks
    }

    fn start(&self, here: PlaceId, _: &mut Out<Self>) -> Site {
        let branch = self.branch(here);
        let machine = match self.kind {
            Kind::Barrier => Machine::Barrier(Barrier::new(branch, Meet)),
            Kind::AllReduce => {
                Machine::AllReduce(AllReduce::new(branch, CombineForAll::by(concat as Concat)))
            }
            Kind::Scan => Machine::Scan(Scan::new(branch, CombineBefore::by(concat as Concat))),
            Kind::Scatter => Machine::Scatter(Scatter::new(branch, Deal::default())),
            Kind::AllToAll => Machine::AllToAll(AllToAll::new(rank(here), self.ranks)),
        };
        Site {
            machine,
            // The others receive without beginning.
            has_begun: self.kind == Kind::Scatter && here != PlaceId::HOME,
            output: None,
            arrived: Vec::new(),
        }
    }

    fn acts(&self, _: PlaceId, site: &Site, _: &Ghost) -> Vec<()> {
        vec![(); usize::from(!site.has_begun)]
    }

    fn act(&self, here: PlaceId, site: &mut Site, (): (), out: &mut Out<Self>) {
        site.has_begun = true;
        out.ghost.begun += 1;
        let mut sent = Vec::new();
        let mut output = self.begin(here, &mut site.machine, &mut sent);
        if self.mistake == Some(Mistake::EndWhenSent) {
            output = output.or(Some(self.expected(here.0 as u8)));
        }
        self.apply(site, sent, output, out);
    }

    fn deliver(
        &self,
        here: PlaceId,
        site: &mut Site,
        from: PlaceId,
        message: Sent,
        out: &mut Out<Self>,
    ) {
        let mut from = rank(from);
        let is_up = matches!(
            message,
            Sent::Text(Message::Up(_)) | Sent::Scan(Message::Up(_))
        );
        if self.mistake == Some(Mistake::OrderOfArrival) && is_up {
            // The first to arrive is taken for the first child, and so on.
            site.arrived.push(from);
            let child = self.branch(here).children().nth(site.arrived.len() - 1);
            from = child.expect("as many values as children");
        }
        let mut sent = Vec::new();
        match Self::on(&mut site.machine, from, message, &mut sent) {
            Ok(mut output) => {
                if self.mistake == Some(Mistake::EndWithFirst) {
                    output = output.or(Some(self.expected(here.0 as u8)));
                }
                self.apply(site, sent, output, out);
            }
            Err(_) => out.ghost.flaw = Some(Flaw::Refused),
        }
    }

    fn judge(&self, view: &View<Self>) -> Option<Flaw> {
        if view.ghost.flaw.is_some() {
            return view.ghost.flaw;
        }
        let mut ended = (0..)
            .zip(&view.sites)
            .filter_map(|(here, site)| Some((here, site.output.as_ref()?)));
        ended.find_map(|(here, output)| {
            if self.joins() && view.ghost.begun < self.ranks {
                return Some(Flaw::Early);
            }
            (*output != self.expected(here)).then_some(Flaw::Count)
        })
    }

    fn is_final(&self, view: &View<Self>) -> bool {
        view.sites.iter().all(|site| site.output.is_some())
    }
}
