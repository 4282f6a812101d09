// Who was where, when, and in which state. A stretch is a piece of a run in which one agent is there without a gap.

const STUCK_BIT = 8;
const STATES = ['waiting', 'walking', 'standing', 'arrived', 'stuck'];

class Crowd {
  constructor({ facts, arrays }) {
    Object.assign(this, { facts, arrays, step: facts.step_m, tick_s: facts.tick_s });
    this.ticks = arrays.frame_tick;
    this.begin = this.ticks.length ? this.ticks[0] * this.tick_s : facts.first_tick * this.tick_s;
    this.end = Math.max(this.begin, facts.last_tick * this.tick_s, this.ticks.length ? this.ticks.at(-1) * this.tick_s : 0);
    this.who = arrays.stretch_agent; this.first = arrays.stretch_first; this.length = arrays.stretch_length;
    this.row = new Int32Array(this.who.length);
    for (let s = 0, row = 0; s < this.who.length; s++) { this.row[s] = row; row += this.length[s]; }
    this.x = arrays.row_x ?? []; this.y = arrays.row_y ?? [];
    this.stretchesOf = new Map();
    this.who.forEach((agent, s) => { if (!this.stretchesOf.has(agent)) this.stretchesOf.set(agent, []); this.stretchesOf.get(agent).push(s); });
    const speeds = Array.from(arrays.agent_speed).sort((a, b) => a - b);
    const high = speeds.length ? speeds[Math.floor(0.95 * (speeds.length - 1))] / 1000 : 0;
    this.topSpeed = Math.max(0.2, Math.ceil(high * 5) / 5);
    this.frame_s = this.ticks.length > 1 ? (this.ticks[1] - this.ticks[0]) * this.tick_s : this.tick_s;
    this.window = Math.max(1, Math.round(0.25 / this.frame_s));   // frames to each side over which a speed is measured
    this.eventsOf = new Map();
    arrays.event_agent.forEach((agent, e) => { if (agent >= 0) { if (!this.eventsOf.has(agent)) this.eventsOf.set(agent, []); this.eventsOf.get(agent).push(e); } });
  }

  // The frame at or before a time, and how far on to the next it is.
  frameAt(time) {
    const ticks = this.ticks, tick = time / this.tick_s + 1e-6;
    if (!ticks.length) return { frame: -1, share: 0 };
    let low = 0, high = ticks.length - 1;
    while (low < high) { const middle = (low + high + 1) >> 1; if (ticks[middle] <= tick) low = middle; else high = middle - 1; }
    const next = ticks[low + 1];
    return { frame: low, share: next === undefined ? 0 : Math.min(1, Math.max(0, (tick - ticks[low]) / (next - ticks[low]))) };
  }

  timeOf(frame) { return this.ticks[frame] * this.tick_s; }

  // The row of a stretch in a frame, or -1.
  rowIn(stretch, frame) {
    const k = frame - this.first[stretch];
    return k >= 0 && k < this.length[stretch] ? this.row[stretch] + k : -1;
  }

  rowOf(agent, frame) {
    for (const stretch of this.stretchesOf.get(agent) ?? []) { const row = this.rowIn(stretch, frame); if (row >= 0) return [row, stretch]; }
    return [-1, -1];
  }

  // Place in metres from the plan's corner; between two frames in between.
  place(row, stretch, share) {
    const last = row + 1 >= this.row[stretch] + this.length[stretch];
    const to = last ? row : row + 1;
    return [(this.x[row] + share * (this.x[to] - this.x[row])) * this.step, (this.y[row] + share * (this.y[to] - this.y[row])) * this.step];
  }

  // Velocity over about half a second round a row, m/s.
  velocity(row, stretch) {
    const start = this.row[stretch], end = start + this.length[stretch] - 1;
    const from = Math.max(start, row - this.window), to = Math.min(end, row + this.window);
    if (from === to) return [0, 0];
    const frame = this.first[stretch] - start, seconds = (this.ticks[to + frame] - this.ticks[from + frame]) * this.tick_s;
    return [(this.x[to] - this.x[from]) * this.step / seconds, (this.y[to] - this.y[from]) * this.step / seconds];
  }

  // Index into STATES.
  state(row) {
    const state = this.arrays.row_state?.[row];
    return state === undefined ? 1 : state & STUCK_BIT ? 4 : Math.min(3, state);
  }

  layer(row) { return this.arrays.row_layer ? this.arrays.row_layer[row] : -1; }

  // The goal of an agent in a row; one that the run has set is the place that the agent was last sent to.
  goal(row, stretch) {
    const { facts, arrays } = this, number = arrays.row_goal?.[row] ?? -1, named = facts.goals[number];
    if (named || number < 0) return named;
    const tick = this.ticks[row + this.first[stretch] - this.row[stretch]];
    const sent = (this.eventsOf.get(this.who[stretch]) ?? []).findLast(
      e => facts.kinds[arrays.event_kind[e]] === 'SENT' && arrays.event_value[e] === number && arrays.event_tick[e] <= tick);
    if (sent === undefined) return undefined;
    const at = [arrays.event_x[sent] * this.step, arrays.event_y[sent] * this.step];
    return { name: placeText(this, at), kind: 'point', at, layer: -1 };
  }

  nameOf(agent) {
    const group = this.facts.groups[this.arrays.agent_group[agent]] ?? '';
    return `${group}[${this.arrays.agent_index[agent]}]`;
  }

  // The agent that words mean: an entity, or group[index]; -1 if nobody.
  find(words) {
    const text = words.trim(), bracket = /^(.*)\[(\d+)\]$/.exec(text), count = this.arrays.agent_entity.length;
    for (let agent = 0; agent < count; agent++) {
      if (bracket ? this.nameOf(agent) === text : text !== '' && (this.arrays.agent_entity[agent] === Number(text))) return agent;
    }
    if (!bracket && /^\d+$/.test(text)) return this.arrays.agent_scenario_id.indexOf(Number(text));
    return -1;
  }

  // Metres walked until a frame.
  walked(agent, frame) {
    let sum = 0;
    for (const s of this.stretchesOf.get(agent) ?? []) {
      const until = Math.min(this.length[s] - 1, frame - this.first[s]);
      for (let k = 0, row = this.row[s]; k < until; k++, row++) sum += Math.hypot(this.x[row + 1] - this.x[row], this.y[row + 1] - this.y[row]);
    }
    return sum * this.step;
  }

  isOpen(door, time) {
    let open = door.open;
    for (const [tick, opened] of door.turns) if (tick * this.tick_s <= time + 1e-6) open = opened;
    return open;
  }

  // Where an obstacle is: metres, and the unit vector of its x axis; null where it is not there.
  obstacle(number, frame, share) {
    const name = `obstacle${number}`, frames = this.arrays[`${name}_frame`];
    let low = 0, high = frames.length - 1;
    while (low < high) { const middle = (low + high + 1) >> 1; if (frames[middle] <= frame) low = middle; else high = middle - 1; }
    if (!frames.length || frames[low] !== frame) return null;
    const to = frames[low + 1] === frame + 1 ? low + 1 : low;
    const mix = (kind, unit) => { const a = this.arrays[`${name}_${kind}`]; return (a[low] + share * (a[to] - a[low])) * unit; };
    return [mix('x', this.step), mix('y', this.step), mix('direction_x', this.facts.direction_step), mix('direction_y', this.facts.direction_step)];
  }
}

const clockText = seconds => {
  const s = Math.max(0, seconds);
  return s < 60 ? `${s.toFixed(1)} s` : `${Math.floor(s / 60)}:${(s % 60).toFixed(1).padStart(4, '0')} min`;
};

// The state of an agent that an event says, and why it began; -1: its machine has ended.
function stateOf(crowd, e) {
  const value = crowd.arrays.event_value[e], step = crowd.facts.reasons_step, number = Math.floor(value / step);
  return { number, name: crowd.facts.states[number] ?? 'end', reason: crowd.facts.reasons[value - number * step] ?? '' };
}

// What an agent chose, and why.
function chosenOf(crowd, e) {
  const { facts, arrays } = crowd, value = arrays.event_value[e], [step, most] = facts.choices_steps;
  const reason = value % step, goals = Math.floor(value / step), after = goals % most, before = Math.floor(goals / most) - 1;
  const won = arrays.event_x[e] * crowd.step, why = won > 0 ? `${facts.choices[reason]} by ${won.toFixed(1)} s` : facts.choices[reason] ?? '';
  return `chooses ${facts.goals[after]?.name ?? 'a goal'}${before < 0 ? '' : ` in place of ${facts.goals[before]?.name ?? 'another'}`} (${why})`;
}

const placeText = (crowd, at) => `(${(at[0] + crowd.facts.origin[0]).toFixed(2)}, ${(at[1] + crowd.facts.origin[1]).toFixed(2)})`;

// What an event was, in words; null for those that are told of single agents only when they are asked for.
function sentence(crowd, e) {
  const { facts, arrays } = crowd, value = arrays.event_value[e], kind = facts.kinds[arrays.event_kind[e]] ?? `kind ${arrays.event_kind[e]}`;
  const door = facts.areas[value] ?? 'a door', obstacle = facts.obstacles[value]?.name ?? 'an obstacle', goal = facts.goals[value]?.name ?? 'its goal', queue = facts.queues[value]?.name ?? 'a queue', connection = facts.connections[Math.floor(value / 1024)] ?? 'a connection';
  const by = value === -1 ? 'a wall' : value === 0 ? '' : agentText(crowd, value);
  return {
    SPAWN: 'came', ARRIVAL: `arrived at ${goal}`, GOAL_REACHED: `reached ${goal}`, RETIRED: 'left without arriving', UNREACHABLE: 'has no path',
    PATH_FOUND: `has a path of ${(arrays.event_x[e] * crowd.step).toFixed(1)} m`,
    STUCK: `stuck${by ? `, blocked by ${by}` : ''}`, UNSTUCK: `free after ${(value * facts.tick_s).toFixed(1)} s`,
    SYMMETRY_BROKEN: 'turned a little', STRAYED: 'pushed off its path', GROUND_HELD: 'holds its ground', PATH_LOST: 'lost its path', PUT_OUT: 'put out of a wall',
    GROUND_LOST: 'lost the ground', GROUND_BACK: 'has ground again', REPLANNED: 'asks for a new path', MOVED: 'was put elsewhere by a program', GAVE_WAY: `gives way${by ? ` to ${by}` : ''}`,
    NUDGED: `asked aside${by ? ` by ${by}` : ''}`, RADIUS_SET: `radius ${(value / 1000).toFixed(2)} m`,
    AREA_OPENED: `${door} opens`, AREA_CLOSED: `${door} closes`, PART_ADDED: `${door} comes`, PART_REMOVED: `${door} goes`, TILE_REMOVED: `tile ${value} taken out`, TILE_ADDED: `tile ${value} put in`,
    OBSTACLE_APPEARED: `${obstacle} appears`, OBSTACLE_GONE: `${obstacle} is gone`, OBSTACLE_STANDS: `${obstacle} stands`,
    OBSTACLE_MOVES: `${obstacle} goes on`, OBSTACLE_SENT: `${obstacle} is sent by a program`,
    SENT: `is sent to ${placeText(crowd, [arrays.event_x[e] * crowd.step, arrays.event_y[e] * crowd.step])}`, DEADLOCKED: 'deadlocked',
    STATE: kind === 'STATE' && (({ number, name, reason }) => `${number < 0 ? 'behaviour ends' : name} (${reason})`)(stateOf(crowd, e)),
    CHOSE: kind === 'CHOSE' && chosenOf(crowd, e),
    JOINED_LINE: `joins the line of ${queue}`, CALLED: `is called at ${queue}`, SERVED: `is served at ${queue}`,
    WAITS_AT: `waits for ${connection}`, BOARDED: `goes into ${connection}`, ALIGHTED: `comes out of ${connection}`, LEFT_GATE: `waits for ${connection} no more`,
    JUMPED: 'jumps', PORTAL_GONE: `${connection} is gone`,
  }[kind] ?? kind.toLowerCase().replaceAll('_', ' ');
}

function agentText(crowd, entity) {
  const agent = crowd.arrays.agent_entity.indexOf(entity);
  return agent < 0 ? `${entity}` : crowd.nameOf(agent);
}

const WORLD_EVENT = /^(AREA|OBSTACLE|TILE)_/;
const NOTED_EVENT = /^(AREA|OBSTACLE|TILE)_|^(STUCK|UNREACHABLE|RETIRED|PATH_LOST|PUT_OUT|GROUND_LOST)$/;
