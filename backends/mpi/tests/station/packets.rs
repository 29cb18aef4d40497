//! Packets of other processes.

use super::collectives::{Ended, Operations, code};
use super::{Call, NONE, Station, get, get_bytes, put, put_bytes};
use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use tautline_core::Rank;
use tautline_core::comm::{
    Body, Collective, Complete, Matched, News, Packet, PacketLink, Recipient,
};
use tautline_core::wire::{pack, unpack};

/// Arrivals at a process, kept until rank 0 polls its link.
#[derive(Default)]
struct Kept(Mutex<Vec<(u32, News)>>);

/// The recipient of one number.
struct Of(u32, Arc<Kept>);

impl Recipient for Of {
    fn take(&self, news: News) {
        self.1.0.lock().unwrap().push((self.0, news));
    }
}

/// The packets of a link of this process, which rank 0 uses.
pub(super) struct Packets {
    link: Arc<dyn PacketLink>,
    kept: Arc<Kept>,
    ended: Ended,
}

impl Packets {
    pub(super) fn new(link: Arc<dyn PacketLink>) -> Self {
        Self {
            link,
            kept: Arc::default(),
            ended: Ended::default(),
        }
    }

    /// Answers a call.
    pub(super) fn serve(&self, call: u64, socket: &mut UnixStream) {
        let number = get(socket) as u32;
        let mut is_returned = false;
        if call == Call::Open as u64 {
            let kept = Arc::clone(&self.kept);
            self.link.open(number, Arc::new(Of(number, kept)));
        } else if call == Call::Close as u64 {
            self.link.close(number);
        } else if call == Call::SendPacket as u64 {
            let to = Rank(get(socket) as u32);
            let packet: Packet = unpack(&get_bytes(socket)).expect("a packet");
            self.link.send(number, to, packet);
        } else if call == Call::SendBody as u64 {
            let (to, offer) = (Rank(get(socket) as u32), get(socket));
            let returned = self
                .link
                .send_body(number, to, offer, get_bytes(socket).into());
            is_returned = returned.is_some();
        } else if call == Call::Provide as u64 {
            let (from, offer) = (Rank(get(socket) as u32), get(socket));
            let [length, bytes] = [(); 2].map(|()| get(socket) as usize);
            let memory = vec![0; length].into();
            let returned = self.link.provide(number, (from, offer), memory, bytes);
            is_returned = returned.is_some();
        } else if call == Call::OpenCollectives as u64 {
            self.link.open_collectives(number);
        } else if call == Call::Collective as u64 {
            self.ended.serve(&*self.link, number, socket);
        }
        put(socket, &[u64::from(is_returned)]);
    }

    /// Sends what has arrived.
    pub(super) fn put_news(&self, socket: &mut UnixStream) {
        let all = std::mem::take(&mut *self.kept.0.lock().unwrap());
        put(socket, &[all.len() as u64]);
        for (number, news) in all {
            let (rank, offer, bytes) = match news {
                News::Packet(from, packet) => {
                    let mut bytes = Vec::new();
                    pack(&packet, &mut bytes).expect("a packet can be encoded");
                    (from, NONE, bytes)
                }
                News::Sent { to, offer, body } => (to, offer, body.into_bytes()),
                News::Lost(rank, _) => panic!("the loss of {rank} is no packet"),
            };
            put(socket, &[u64::from(number), u64::from(rank.0), offer]);
            put_bytes(socket, &bytes);
        }
        self.ended.put_ends(socket);
    }
}

/// Receives what has arrived at another process.
pub(super) fn get_news(socket: &mut UnixStream) -> Vec<(u32, News)> {
    let count = get(socket);
    let news = |_| {
        let [number, rank, offer] = [(); 3].map(|()| get(socket));
        let (rank, bytes) = (Rank(rank as u32), get_bytes(socket));
        let news = match offer {
            NONE => News::Packet(rank, unpack(&bytes).expect("a packet")),
            offer => News::Sent {
                to: rank,
                offer,
                body: bytes.into(),
            },
        };
        (number as u32, news)
    };
    (0..count).map(news).collect()
}

/// The recipients in this process of what arrives at another one, by number, and of what ends
/// there.
#[derive(Clone, Default)]
pub(super) struct Arrived {
    recipients: Arc<Mutex<BTreeMap<u32, Arc<dyn Recipient>>>>,
    operations: Operations,
}

impl Arrived {
    pub(super) fn pass_on(&self, all: Vec<(u32, News)>) {
        let recipients = self.recipients.lock().unwrap();
        for (number, news) in all {
            recipients[&number].take(news);
        }
    }

    pub(super) fn operations(&self) -> &Operations {
        &self.operations
    }
}

/// The packets of a link of another process.
pub(super) struct There {
    link: u64,
    socket: Arc<Mutex<UnixStream>>,
    arrived: Arrived,
}

impl There {
    pub(super) fn of(station: &Station) -> Self {
        Self {
            link: station.link,
            socket: Arc::clone(&station.socket),
            arrived: station.arrived.clone(),
        }
    }

    /// Calls with numbers, and with bytes where the call has some; returns whether memory is
    /// returned.
    fn call(&self, call: Call, numbers: &[u64], bytes: Option<&[u8]>) -> bool {
        let mut socket = self.socket.lock().unwrap();
        put(&mut socket, &[call as u64, self.link]);
        put(&mut socket, numbers);
        if let Some(bytes) = bytes {
            put_bytes(&mut socket, bytes);
        }
        get(&mut socket) == 1
    }
}

impl PacketLink for There {
    fn open(&self, number: u32, recipient: Arc<dyn Recipient>) {
        self.arrived
            .recipients
            .lock()
            .unwrap()
            .insert(number, recipient);
        self.call(Call::Open, &[u64::from(number)], None);
    }

    fn close(&self, number: u32) {
        self.call(Call::Close, &[u64::from(number)], None);
    }

    fn send(&self, number: u32, to: Rank, packet: Packet) {
        let mut bytes = Vec::new();
        pack(&packet, &mut bytes).expect("a packet can be encoded");
        let numbers = [u64::from(number), u64::from(to.0)];
        self.call(Call::SendPacket, &numbers, Some(&bytes));
    }

    fn send_body(&self, number: u32, to: Rank, offer: u64, body: Body) -> Option<Body> {
        let numbers = [u64::from(number), u64::from(to.0), offer];
        self.call(Call::SendBody, &numbers, Some(&body))
            .then_some(body)
    }

    fn provide(
        &self,
        number: u32,
        (from, offer): (Rank, u64),
        memory: Body,
        bytes: usize,
    ) -> Option<Body> {
        let lengths = [memory.len() as u64, bytes as u64];
        let numbers = [u64::from(number), u64::from(from.0), offer];
        let numbers = [&numbers[..], &lengths].concat();
        self.call(Call::Provide, &numbers, None).then_some(memory)
    }

    fn open_collectives(&self, number: u32) {
        self.call(Call::OpenCollectives, &[u64::from(number)], None);
    }

    fn collective(
        &self,
        _: Matched,
        number: u32,
        collective: Collective,
        own: Body,
        into: Body,
        done: Arc<dyn Complete>,
    ) {
        let id = self.arrived.operations().begin(done);
        let mut socket = self.socket.lock().unwrap();
        put(&mut socket, &[Call::Collective as u64, self.link]);
        put(&mut socket, &[u64::from(number), code(collective), id]);
        put_bytes(&mut socket, &own);
        put_bytes(&mut socket, &into);
        get(&mut socket);
    }
}
