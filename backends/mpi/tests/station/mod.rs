//! Links of other processes, called through sockets.

mod collectives;
mod packets;

use packets::{Arrived, Packets, There};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use tautline_core::Rank;
use tautline_core::comm::PacketLink;
use tautline_core::port::{Bell, Link, Lost};
use tautline_mpi::{MpiLink, Session};

/// The called function, and the number of the link of that process.
#[derive(Clone, Copy)]
enum Call {
    Connect = 0,
    Send = 1,
    Poll = 2,
    Wait = 3,
    Unsent = 4,
    Drop = 5,
    Quit = 6,
    Open = 7,
    Close = 8,
    SendPacket = 9,
    SendBody = 10,
    Provide = 11,
    OpenCollectives = 12,
    Collective = 13,
}

const NONE: u64 = u64::MAX;

fn put(socket: &mut UnixStream, numbers: &[u64]) {
    let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    socket.write_all(&bytes).expect("the other process lives");
}

fn get(socket: &mut UnixStream) -> u64 {
    let mut bytes = [0; 8];
    socket
        .read_exact(&mut bytes)
        .expect("the other process lives");
    u64::from_le_bytes(bytes)
}

fn put_bytes(socket: &mut UnixStream, bytes: &[u8]) {
    put(socket, &[bytes.len() as u64]);
    socket.write_all(bytes).expect("the other process lives");
}

fn get_bytes(socket: &mut UnixStream) -> Vec<u8> {
    let mut bytes = vec![0; get(socket) as usize];
    socket
        .read_exact(&mut bytes)
        .expect("the other process lives");
    bytes
}

/// Calls the links of this process for rank 0, until it quits.
pub(crate) fn serve(session: &Session, here: Rank, path: &Path) {
    let mut socket = loop {
        match UnixStream::connect(path) {
            Ok(socket) => break socket,
            // Until rank 0 has bound it; there is nothing to wait for.
            Err(_) => thread::sleep(Duration::from_millis(1)),
        }
    };
    let mut links: Vec<Option<Served>> = Vec::new();
    // SAFETY: the links of this process are used by this thread alone.
    let connect = |ranks| unsafe { session.connect_beside(ranks) }.expect("ranks connect");
    put(&mut socket, &[u64::from(here.0)]);
    loop {
        let (call, at) = (get(&mut socket), get(&mut socket) as usize);
        if call == Call::Connect as u64 {
            links.push(Some(Served::new(connect(get(&mut socket) as u32))));
            put(&mut socket, &[links.len() as u64 - 1]);
            continue;
        }
        if call == Call::Quit as u64 {
            return;
        }
        let Served { link, packets } = links[at].as_mut().expect("it was not dropped");
        if call == Call::Send as u64 {
            let (to, parcel) = (Rank(get(&mut socket) as u32), get_bytes(&mut socket));
            let sent = catch_unwind(AssertUnwindSafe(|| link.send(to, &parcel)));
            put(&mut socket, &[u64::from(sent.is_ok())]);
        } else if call == Call::Poll as u64 {
            poll(link, packets, &mut socket);
        } else if call == Call::Wait as u64 {
            link.wait(get(&mut socket));
            put(&mut socket, &[0]);
        } else if call == Call::Unsent as u64 {
            let unsent = link.unsent(Rank(get(&mut socket) as u32));
            put(&mut socket, &[unsent as u64]);
        } else if call == Call::Drop as u64 {
            links[at] = None;
            put(&mut socket, &[0]);
        } else {
            packets.serve(call, &mut socket);
        }
    }
}

/// A link of this process that rank 0 uses.
struct Served {
    link: MpiLink,
    packets: Packets,
}

impl Served {
    fn new(link: MpiLink) -> Self {
        let packets = Packets::new(link.packets());
        Self { link, packets }
    }
}

fn poll(link: &mut MpiLink, packets: &Packets, socket: &mut UnixStream) {
    let mut parcels = Vec::new();
    let polled = link.poll(&mut |from, parcel| parcels.push((from, parcel.to_vec())));
    let (moved, lost, is_gone) = match polled {
        Ok(moved) => (moved, NONE, false),
        Err(lost) => (true, u64::from(lost.rank.0), lost.is_gone),
    };
    let numbers = [
        u64::from(moved),
        lost,
        u64::from(is_gone),
        parcels.len() as u64,
    ];
    put(socket, &numbers);
    for (from, parcel) in parcels {
        put(socket, &[u64::from(from.0)]);
        put_bytes(socket, &parcel);
    }
    packets.put_news(socket);
}

/// The processes of all other ranks, by rank; rank 0 has none.
pub(crate) struct Stations<'s> {
    session: &'s Session,
    sockets: Vec<Option<Arc<Mutex<UnixStream>>>>,
}

impl<'s> Stations<'s> {
    pub(crate) fn accept(session: &'s Session, path: &Path, ranks: u32) -> Self {
        let listener = UnixListener::bind(path).expect("a new path");
        let mut sockets: Vec<_> = (0..ranks).map(|_| None).collect();
        for _ in 1..ranks {
            let (mut socket, _) = listener.accept().expect("the others connect");
            let rank = get(&mut socket) as usize;
            sockets[rank] = Some(Arc::new(Mutex::new(socket)));
        }
        Self { session, sockets }
    }

    /// Returns the links of the first `ranks` ranks.
    pub(crate) fn connect(&self, ranks: u32) -> Vec<End> {
        let others = &self.sockets[1..ranks as usize];
        let others: Vec<_> = others.iter().flatten().cloned().collect();
        for socket in &others {
            put(
                &mut socket.lock().unwrap(),
                &[Call::Connect as u64, 0, u64::from(ranks)],
            );
        }
        // SAFETY: the links of this process are used by one thread at a time: each suite has one
        // here.
        let own = unsafe { self.session.connect_beside(ranks) }.expect("ranks connect");
        let station = |(rank, socket): (u32, Arc<Mutex<UnixStream>>)| {
            let link = get(&mut socket.lock().unwrap());
            let station = Station {
                here: Rank(rank),
                ranks,
                link,
                socket,
                arrived: Arrived::default(),
            };
            End::There(station)
        };
        let others = (1..).zip(others).map(station);
        [End::Here(own)].into_iter().chain(others).collect()
    }

    pub(crate) fn quit(self) {
        for socket in self.sockets.iter().flatten() {
            put(&mut socket.lock().unwrap(), &[Call::Quit as u64, 0]);
        }
    }
}

/// The link of one rank.
pub(crate) enum End {
    Here(MpiLink),
    There(Station),
}

/// The link of another process.
pub(crate) struct Station {
    here: Rank,
    ranks: u32,
    link: u64,
    socket: Arc<Mutex<UnixStream>>,
    arrived: Arrived,
}

impl Station {
    /// Calls, and returns the first number of the answer.
    fn call(&self, call: Call, numbers: &[u64]) -> u64 {
        let mut socket = self.socket.lock().unwrap();
        put(&mut socket, &[call as u64, self.link]);
        put(&mut socket, numbers);
        get(&mut socket)
    }

    fn send(&self, to: Rank, parcel: &[u8]) {
        let mut socket = self.socket.lock().unwrap();
        put(
            &mut socket,
            &[Call::Send as u64, self.link, u64::from(to.0)],
        );
        put_bytes(&mut socket, parcel);
        let is_sent = get(&mut socket) == 1;
        drop(socket);
        assert!(is_sent, "the other process panicked");
    }

    fn poll(&self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        let mut socket = self.socket.lock().unwrap();
        put(&mut socket, &[Call::Poll as u64, self.link]);
        let [moved, lost, is_gone, parcels] = [(); 4].map(|()| get(&mut socket));
        let parcel = |_| (Rank(get(&mut socket) as u32), get_bytes(&mut socket));
        let parcels: Vec<_> = (0..parcels).map(parcel).collect();
        let news = packets::get_news(&mut socket);
        let ends = collectives::get_ends(&mut socket);
        drop(socket);
        self.arrived.pass_on(news);
        self.arrived.operations().end(ends);
        for (from, parcel) in parcels {
            take(from, &parcel);
        }
        match lost {
            NONE => Ok(moved == 1),
            lost => Err(Lost {
                rank: Rank(lost as u32),
                doing: "being asked",
                is_gone: is_gone == 1,
            }),
        }
    }
}

impl End {
    /// Returns the packets of the rank.
    pub(crate) fn packets(&self) -> Arc<dyn PacketLink> {
        match self {
            Self::Here(link) => link.packets(),
            Self::There(station) => Arc::new(There::of(station)),
        }
    }
}

impl Drop for Station {
    fn drop(&mut self) {
        self.call(Call::Drop, &[]);
    }
}

impl Link for End {
    fn here(&self) -> Rank {
        match self {
            Self::Here(link) => link.here(),
            Self::There(station) => station.here,
        }
    }

    fn ranks(&self) -> u32 {
        match self {
            Self::Here(link) => link.ranks(),
            Self::There(station) => station.ranks,
        }
    }

    fn bell(&self) -> Arc<dyn Bell> {
        match self {
            Self::Here(link) => link.bell(),
            Self::There(_) => panic!("the suites ring rank 0's alone"),
        }
    }

    fn send(&mut self, to: Rank, parcel: &[u8]) {
        match self {
            Self::Here(link) => link.send(to, parcel),
            Self::There(station) => station.send(to, parcel),
        }
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        match self {
            Self::Here(link) => link.poll(take),
            Self::There(station) => station.poll(take),
        }
    }

    fn wait(&mut self, ticks: u64) {
        match self {
            Self::Here(link) => link.wait(ticks),
            Self::There(station) => drop(station.call(Call::Wait, &[ticks])),
        }
    }

    fn unsent(&self, to: Rank) -> usize {
        match self {
            Self::Here(link) => link.unsent(to),
            Self::There(station) => station.call(Call::Unsent, &[u64::from(to.0)]) as usize,
        }
    }
}
