// The view: one RGBA8 pixel a cell, red in the low byte.
// Mirror: view.rs. Constants come from there.

@group(0) @binding(0) var<storage, read> field: array<u32>;
@group(0) @binding(1) var<storage, read> food: array<u32>;
@group(0) @binding(2) var<storage, read> flies: array<u32>;
@group(0) @binding(3) var<storage, read_write> view: array<u32>;

// Logarithmic, so that a plume is readable from its source to its edge.
fn odour_level(odour: u32) -> u32 {
    if (odour < (1u << ODOUR_FLOOR_BITS)) {
        return 0u;
    }
    let octave = firstLeadingBit(odour);
    let sixteenth = (odour >> (octave - 4u)) & 15u;
    return min((((octave - ODOUR_FLOOR_BITS) * 16u + sixteenth) * 3u) >> 1u, 255u);
}

// Shortest signed way from one place to another on a circle, both below `size`.
fn apart(origin: u32, place: u32, size: i32) -> i32 {
    let difference = i32(place) - i32(origin);
    if (difference > size / 2) {
        return difference - size;
    }
    if (difference < -(size / 2)) {
        return difference + size;
    }
    return difference;
}

// Sixteenths of a pixel's area that a fly's dart covers; offsets in sixteenths of a cell.
fn dart_margin(along: i32, across: i32) -> i32 {
    let side = (((DART_NOSE - along) * 3) >> 3u) - across;
    let notch = max(DART_NOTCH - across, 0);
    let tail = along + DART_TAIL - notch;
    return min(side, tail);
}

fn mixed(under: u32, over: u32, sixteenths: u32) -> u32 {
    return (under * (16u - sixteenths) + over * sixteenths) >> 4u;
}

@compute @workgroup_size(WORKGROUP_X, WORKGROUP_Y)
fn main(@builtin(global_invocation_id) cell: vec3<u32>) {
    if (cell.x >= WIDTH || cell.y >= HEIGHT) {
        return;
    }
    let index = cell.y * WIDTH + cell.x;
    let level = odour_level(field[index]);
    var red = BACKGROUND_RED + ((max(level, GLOW_START) - GLOW_START) * GLOW_RED) / 128u;
    var green = level;
    var blue = BACKGROUND_BLUE + (level >> 3u);
    if (cell.x % GRID == 0u || cell.y % GRID == 0u) {
        blue += GRID_BLUE;
    }
    var mark = MARK_ODOUR;
    let pixel_x = cell.x * 16u + 8u;
    let pixel_y = cell.y * 16u + 8u;

    for (var slot = 0u; slot < FOOD_SLOTS; slot++) {
        let at = slot * FOOD_WORDS;
        if (food[at + FOOD_WAIT] != 0u) {
            continue;
        }
        let x = apart((food[at + FOOD_X] % WIDTH) * 16u + 8u, pixel_x, i32(WIDTH * 16u));
        let y = apart((food[at + FOOD_Y] % HEIGHT) * 16u + 8u, pixel_y, i32(HEIGHT * 16u));
        let square = x * x + y * y;
        if (square < FOOD_EDGE) {
            let cover = u32(min((FOOD_EDGE - square) / FOOD_SOFTNESS + 1, 16));
            red = mixed(red, FOOD_RED, cover);
            green = mixed(green, FOOD_GREEN, cover);
            blue = mixed(blue, FOOD_BLUE, cover);
            mark = MARK_FOOD;
        }
    }

    for (var slot = 0u; slot < FLY_SLOTS; slot++) {
        let at = slot * FLY_WORDS;
        if ((flies[at + FLY_STATE] & FLY_PRESENT) == 0u) {
            continue;
        }
        let x = apart((flies[at + FLY_X] >> 12u) % (WIDTH * 16u), pixel_x, i32(WIDTH * 16u));
        let y = apart((flies[at + FLY_Y] >> 12u) % (HEIGHT * 16u), pixel_y, i32(HEIGHT * 16u));
        if (abs(x) > DART_REACH || abs(y) > DART_REACH) {
            continue;
        }
        let cosine = bitcast<i32>(flies[at + FLY_COSINE]);
        let sine = bitcast<i32>(flies[at + FLY_SINE]);
        let along = (x * cosine + y * sine) >> SINE_BITS;
        let across = abs((y * cosine - x * sine) >> SINE_BITS);
        let cover = u32(clamp(dart_margin(along, across) + 8, 0, 16));
        if (cover > 0u) {
            let colour = fly_colour(slot);
            // The head, ahead of the middle, is lighter: it shows where the fly is going.
            let light = select(0u, 8u, along > DART_HEAD);
            red = mixed(red, mixed(colour & 255u, 255u, light), cover);
            green = mixed(green, mixed((colour >> 8u) & 255u, 255u, light), cover);
            blue = mixed(blue, mixed((colour >> 16u) & 255u, 255u, light), cover);
            mark = MARK_FLY;
        }
    }

    view[index] = red | (green << 8u) | (((blue & 252u) | mark) << 16u) | 0xff000000u;
}

fn fly_colour(slot: u32) -> u32 {
    switch (slot) {
        case 0u: { return COLOUR_A; }
        case 1u: { return COLOUR_B; }
        case 2u: { return COLOUR_C; }
        default: { return COLOUR_D; }
    }
}
