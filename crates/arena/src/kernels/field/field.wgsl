// One step of the odour field: a 13-point stencil on the torus, decay, emission by the food.
// Mirror: field.rs. Constants come from there.

@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read> food: array<u32>;
@group(0) @binding(2) var<storage, read_write> next: array<u32>;

fn column(x: u32, offset: u32) -> u32 {
    return (x + offset) % WIDTH;
}

fn row(y: u32, offset: u32) -> u32 {
    return ((y + offset) % HEIGHT) * WIDTH;
}

@compute @workgroup_size(WORKGROUP_X, WORKGROUP_Y)
fn main(@builtin(global_invocation_id) cell: vec3<u32>) {
    if (cell.x >= WIDTH || cell.y >= HEIGHT) {
        return;
    }
    // Offsets to the left and up are written as the way round the torus.
    let here = row(cell.y, 0u);
    let near = source[here + column(cell.x, 1u)] + source[here + column(cell.x, WIDTH - 1u)]
        + source[row(cell.y, 1u) + cell.x] + source[row(cell.y, HEIGHT - 1u) + cell.x];
    let right_4 = column(cell.x, 4u);
    let left_4 = column(cell.x, WIDTH - 4u);
    let right_3 = column(cell.x, 3u);
    let left_3 = column(cell.x, WIDTH - 3u);
    let down_3 = row(cell.y, 3u);
    let up_3 = row(cell.y, HEIGHT - 3u);
    let down_4 = row(cell.y, 4u);
    let up_4 = row(cell.y, HEIGHT - 4u);
    let ring = source[down_3 + right_4] + source[down_3 + left_4]
        + source[up_3 + right_4] + source[up_3 + left_4]
        + source[down_4 + right_3] + source[down_4 + left_3]
        + source[up_4 + right_3] + source[up_4 + left_3];
    let mixed = (source[here + cell.x] * CENTRE_WEIGHT + near * NEAR_WEIGHT + ring * RING_WEIGHT) >> WEIGHT_BITS;
    var value = mixed - (mixed >> DECAY_BITS) - min(mixed, 1u);

    for (var slot = 0u; slot < FOOD_SLOTS; slot++) {
        let at = slot * FOOD_WORDS;
        if (food[at + FOOD_WAIT] != 0u) {
            continue;
        }
        let food_x = food[at + FOOD_X];
        let food_y = food[at + FOOD_Y];
        let apart_x = max(cell.x, food_x) - min(cell.x, food_x);
        let apart_y = max(cell.y, food_y) - min(cell.y, food_y);
        let x = min(apart_x, WIDTH - apart_x);
        let y = min(apart_y, HEIGHT - apart_y);
        if (x <= EMIT_RADIUS && y <= EMIT_RADIUS && x * x + y * y <= EMIT_RADIUS * EMIT_RADIUS) {
            value += food[at + FOOD_STRENGTH];
        }
    }
    next[here + cell.x] = min(value, FIELD_MAX);
}
