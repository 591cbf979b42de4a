//! What runs of the counter session do, as digests: the same on every machine, over every transport, in every order.

/// Steps of a short run.
pub const SHORT_STEPS: u64 = 50;
/// Steps of a long run.
pub const STEPS: u64 = 1_000;

/// For so many agents, the [`behaviour_digest`](wellwritten_session::behaviour_digest) of a short run and of a long one.
pub const DIGESTS: [(usize, &str, &str); 3] = [
    (
        1,
        "e507550d3e1c62ccc8c7ffb1d2b7f4dbdb48aadb2e8fb1ce896793d8261cba44",
        "19ed5895e82402a9188d7de4df4356fa8d4bbfd4ed40181f222764a849baad1e",
    ),
    (
        2,
        "ab4551b5c57cd66ee1368a0462700a3507ca70e5ff8b92fa29094ae12d520739",
        "551ff16325ee11c65671d0d08793fbd104f76e02fff0f4bcae34c6bfa9a0e4b1",
    ),
    (
        4,
        "783ed06b6136f77c68b78a20f6dbebabad6e3a209fe0c918345ea97193198274",
        "4410df46b81425304a33c7f128a3647246ec19ab019aa9e6ece8d9e6655857a0",
    ),
];
