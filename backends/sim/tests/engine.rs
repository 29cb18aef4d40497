//! The engine with actors that are not the balancer's, and with protocols of the core.

mod engine {
    pub(crate) mod collective;
    pub(crate) mod faults;
    pub(crate) mod network;
    pub(crate) mod protocol;
    pub(crate) mod relay;
    pub(crate) mod waves;
}

mod tree;
