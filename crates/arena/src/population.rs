//! The populations of a fly's network, by what they do.

/// One population of 64 neurons. Its number is its place among the neurons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Population {
    /// Smells at the left antenna.
    OdourLeft = 0,
    /// Smells at the right antenna.
    OdourRight = 1,
    /// Sees food left of the heading.
    FoodLeft = 2,
    /// Sees food right of the heading.
    FoodRight = 3,
    /// Sees another fly left of the heading.
    FlyLeft = 4,
    /// Sees another fly right of the heading.
    FlyRight = 5,
    /// Fires of itself; what keeps a fly going.
    Urge = 6,
    /// Food within reach of the mouth.
    Taste = 7,
    /// First of the four populations between senses and motors.
    Between = 8,
    /// Motor: walk.
    Walk = 12,
    /// Motor: feed.
    Feed = 13,
    /// Motor: turn left.
    TurnLeft = 14,
    /// Motor: turn right.
    TurnRight = 15,
}

impl Population {
    /// The population's number, 0 to 15.
    #[must_use]
    pub const fn index(self) -> u32 {
        self as u32
    }
}

/// How many populations are between senses and motors.
pub const BETWEEN_POPULATIONS: u32 = 4;

/// The motors in the order of the outputs.
pub const MOTORS: [Population; 4] = [
    Population::Walk,
    Population::Feed,
    Population::TurnLeft,
    Population::TurnRight,
];
