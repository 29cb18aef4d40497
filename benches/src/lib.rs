//! Benchmarks of Tautline beside its peers, on the same work: see the files beside this folder.
#![forbid(unsafe_code)]
