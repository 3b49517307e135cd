//! Chance from a seed, split by purpose.

/// A splitmix64 generator: small, fast, and the same everywhere.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A generator for one purpose. Other purposes do not shift its numbers.
    pub fn new(seed: u64, purpose: &str) -> Self {
        let mut state = seed ^ 0x51ab_c0de_5eed_0001;
        for byte in purpose.bytes() {
            state = mix(state ^ u64::from(byte)).wrapping_add(0x9e37_79b9_7f4a_7c15);
        }
        Self(state)
    }

    /// Any number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `limit` (0 if the limit is 0).
    pub fn below(&mut self, limit: u64) -> u64 {
        if limit == 0 { 0 } else { self.next_u64() % limit }
    }

    /// True `parts` times in a thousand.
    pub fn per_mille(&mut self, parts: u64) -> bool {
        self.below(1000) < parts
    }

    /// Shuffles in place (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = usize::try_from(self.below(last as u64 + 1)).unwrap_or_default();
            items.swap(last, other);
        }
    }
}

fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purposes_do_not_share_their_numbers() {
        let mut a = Random::new(1, "latency");
        let mut b = Random::new(1, "faults");
        assert_ne!(a.next_u64(), b.next_u64());
        assert_eq!(Random::new(7, "x").next_u64(), Random::new(7, "x").next_u64());
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..50).collect();
        Random::new(3, "order").shuffle(&mut items);
        assert_ne!(items, (0..50).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..50).collect::<Vec<_>>());
    }
}
