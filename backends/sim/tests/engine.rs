//! The engine with actors that are not the balancer's.

mod engine {
    pub(crate) mod collective;
    pub(crate) mod faults;
    pub(crate) mod network;
    pub(crate) mod relay;
}

mod tree;
