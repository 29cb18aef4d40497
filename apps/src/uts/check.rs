//! Validation of a tree's parameters.
//!
//! A supercritical tree is accepted if it is one of the named trees, which are known to be finite:
//! so the check depends on their table, and the table on the parameters alone.

use super::named;
use super::params::{Kind, KindId, ParamError, Params, Shape};

/// The maximum number of children of a root: far above any published tree, and a count of 32 bits.
const ROOT_CHILDREN_MAX: f64 = 1e8;
/// Bounds of the mean of a geometric tree; all but its first 100 children are cut off.
const MEAN_MIN: f64 = 1e-6;
const MEAN_MAX: f64 = 1e6;

impl Params {
    /// Rejects parameters of no tree, of an infinite tree, or of one that cannot be counted.
    ///
    /// # Errors
    ///
    /// The first parameter that is out of bounds.
    pub fn check(&self) -> Result<(), ParamError> {
        if self.seed > Self::SEED_MAX {
            return Err(ParamError::Seed(self.seed));
        }
        if !(1..=Self::GRANULARITY_MAX).contains(&self.granularity) {
            return Err(ParamError::Granularity(self.granularity));
        }
        match self.kind {
            Kind::Binomial => {
                self.check_branching(0.0, ROOT_CHILDREN_MAX)?;
                self.check_binomial()?;
            }
            Kind::Geometric => self.check_geometric()?,
            Kind::Hybrid => {
                self.check_geometric()?;
                self.check_binomial()?;
                if !(0.0..=1.0).contains(&self.shift) {
                    return Err(ParamError::Shift(self.shift));
                }
            }
            Kind::Balanced => self.check_balanced()?,
        }
        let has_last_level = match self.kind {
            Kind::Balanced => true,
            Kind::Geometric => self.shape == Shape::Fixed,
            _ => false,
        };
        if self.count_last_level && !has_last_level {
            let kind = KindId(self.kind, self.shape);
            return Err(ParamError::LastLevel { kind });
        }
        Ok(())
    }

    fn check_branching(&self, least: f64, most: f64) -> Result<(), ParamError> {
        let value = self.branching;
        if (least..=most).contains(&value) {
            Ok(())
        } else {
            Err(ParamError::Branching { value, least, most })
        }
    }

    fn check_depth(&self, least: u32) -> Result<(), ParamError> {
        let value = self.depth;
        if (least..=Self::DEPTH_MAX).contains(&value) {
            Ok(())
        } else {
            Err(ParamError::Depth { value, least })
        }
    }

    fn check_geometric(&self) -> Result<(), ParamError> {
        self.check_branching(MEAN_MIN, MEAN_MAX)?;
        self.check_depth(1)?;
        if self.shape == Shape::Exponential && self.branching <= 1.0 {
            return Err(ParamError::Growing(self.branching));
        }
        Ok(())
    }

    fn check_binomial(&self) -> Result<(), ParamError> {
        let (chance, arity) = (self.chance, self.arity);
        if !(1..=Self::ARITY_MAX).contains(&arity) {
            return Err(ParamError::Arity(arity));
        }
        if !(0.0..=1.0).contains(&chance) {
            return Err(ParamError::Chance(chance));
        }
        let product = chance * f64::from(arity);
        if product >= 1.0 && !named::has_end(self) {
            return Err(ParamError::Infinite {
                chance,
                arity,
                product,
            });
        }
        Ok(())
    }

    fn check_balanced(&self) -> Result<(), ParamError> {
        self.check_branching(0.0, ROOT_CHILDREN_MAX)?;
        self.check_depth(0)?;
        let arity = self.branching as u64;
        let (mut nodes, mut level) = (Some(1u64), Some(1u64));
        // A tree of one branch has d + 1 nodes; all others end after 64 levels.
        for _ in 0..self.depth.min(64) {
            level = level.and_then(|l| l.checked_mul(arity));
            nodes = level.and_then(|l| nodes?.checked_add(l));
        }
        if nodes.is_none() {
            return Err(ParamError::TooLarge {
                branching: self.branching,
                depth: self.depth,
            });
        }
        Ok(())
    }
}
