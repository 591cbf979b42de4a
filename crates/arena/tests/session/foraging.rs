//! Oracle: a random walk of the same speed that eats whatever it bumps into. Flies find
//! more food than it does, in total over the seeds. The numbers are printed; they are the same on every
//! machine. `WELLWRITTEN_LONG=1` runs 20 seeds for ten
//! seconds instead of one for five.

use crate::lockstep::begin;
use futures::executor::block_on;
use wellwritten_arena::draw::Draw;
use wellwritten_arena::food::Food;
use wellwritten_arena::physics::{Action, Flies};
use wellwritten_arena::{ArenaConfig, DEFAULT_MASTER_SEED, Inspection};

async fn foraging(master_seed: u64, steps: u32) -> Vec<u32> {
    let mut session = begin(ArenaConfig {
        master_seed,
        ..ArenaConfig::default()
    })
    .await;
    let mut meals = Vec::new();
    for step in 0..steps {
        session.step(false).await.unwrap();
        let inspection: Inspection = session.observation.inspection.read().unwrap();
        meals.resize(inspection.food.eaten as usize, step);
    }
    meals
}

fn random_walk(seed: u32, steps: u32) -> u32 {
    let mut flies = Flies::new(2);
    let mut food = Food::new(seed, &flies.cells());
    let mut draw = Draw::new(!seed);
    let mut turns = [0_i32; 2];
    for _ in 0..steps {
        for turn in &mut turns {
            *turn = *turn * 7 / 8 + draw.below(161).cast_signed() - 80;
        }
        let actions = turns.map(|turn| Action {
            walk: true,
            feed: true,
            turn: turn.clamp(-256, 256),
        });
        flies.step(&actions, &mut food);
    }
    food.eaten()
}

#[test]
fn flies_find_more_food_than_a_random_walk() {
    let long = std::env::var_os("WELLWRITTEN_LONG").is_some();
    let (seeds, steps) = if long {
        (1..=20, 600)
    } else {
        (DEFAULT_MASTER_SEED..=DEFAULT_MASTER_SEED, 300)
    };
    let (mut found, mut walked) = (0_usize, 0_usize);
    for master_seed in seeds {
        let meals = block_on(foraging(master_seed, steps));
        let walk = random_walk(u32::try_from(master_seed).unwrap(), steps);
        let count = meals.len();
        println!("master seed {master_seed}: {count} meals at steps {meals:?}, random walk {walk}");
        assert!(
            master_seed != DEFAULT_MASTER_SEED || count >= 4,
            "the default seed is worth watching"
        );
        found += count;
        walked += walk as usize;
    }
    println!("{steps} steps each: flies {found}, random walk {walked}");
    assert!(found > 2 * walked);
}
