//! What runs of the counter session do, as digests: the same on every machine, over every transport, in every order.

/// Steps of a short run.
pub const SHORT_STEPS: u64 = 50;
/// Steps of a long run.
pub const STEPS: u64 = 1_000;

/// For so many agents, the [`behaviour_digest`](crate::behaviour_digest) of a short run and of a long one.
pub const DIGESTS: [(usize, &str, &str); 3] = [
    (
        1,
        "0baef233200c0dd16dfa83332009bbda0dfba955bb1bb7ee7b748b52dd5be57d",
        "91e25f036cf87373f987c08274a286ef6ac41ea970a2a7811551f2d4561219b5",
    ),
    (
        2,
        "2afd5a5b31f56d406a10fa982ae54ee39ca1dfb30c452b0ee346cd37907f7aff",
        "9cb7bc928ac4baad7863f711a718318a23a1a26b9bc76b944a174df0176b902a",
    ),
    (
        4,
        "a4cb6b3947f386eea8b8b21e339625c6e3ee3c2e2648bd7f12f2383538a150ee",
        "7b50e407a2b29a56e7bf12071ca9cb7254a4d1b77359d36cc0171e83ed7ab9bb",
    ),
];
