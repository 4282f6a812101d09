// The plan with everybody in it: camera, floors side by side, drawing.

const SPEED_COLOURS = [[200, 40, 52], [236, 122, 48], [240, 186, 70], [127, 190, 160], [58, 146, 196], [44, 92, 176]];
const SHADES = 24;
const STATE_COLOURS = ['#8b98ab', '#2f9e8f', '#e2a03f', '#7a58b0', '#d3312f'];
const GROUP_COLOURS = ['#3f7fbf', '#ef8a32', '#4ea35a', '#9a6cc0', '#c9527c', '#8a6d5b', '#2fa7b0', '#b5a72c', '#6c7a89', '#d96a5b'];
const TRAIL_POINTS = 80000;   // of all trails together; more are drawn with fewer points each

const shadeOf = share => {
  const at = Math.min(1, Math.max(0, share)) * (SPEED_COLOURS.length - 1), k = Math.min(SPEED_COLOURS.length - 2, Math.floor(at));
  return `rgb(${SPEED_COLOURS[k].map((c, i) => Math.round(c + (at - k) * (SPEED_COLOURS[k + 1][i] - c))).join(',')})`;
};

class Stage {
  constructor(canvas, crowd) {
    Object.assign(this, { canvas, crowd, colour: 'speed', trails: '0', names: true, selected: -1, floor: -1, x: 0, y: 0, scale: 10 });
    this.context = canvas.getContext('2d');
    this.shades = Array.from({ length: SHADES }, (_, k) => shadeOf(k / (SHADES - 1)));
    this.floors = crowd.facts.floors.map(floor => {
      const box = [Infinity, Infinity, -Infinity, -Infinity];
      for (const ring of floor.rings) for (let i = 0; i < ring.length; i += 2) {
        box[0] = Math.min(box[0], ring[i]); box[1] = Math.min(box[1], ring[i + 1]); box[2] = Math.max(box[2], ring[i]); box[3] = Math.max(box[3], ring[i + 1]);
      }
      return { ...floor, box: Number.isFinite(box[0]) ? box : [0, 0, 1, 1], path: pathOf(floor.rings) };
    });
    this.goals = crowd.facts.goals.map(goal => ({ ...goal, path: goal.rings && pathOf(goal.rings) }));
    this.doors = crowd.facts.doors.map(door => ({ ...door, path: pathOf(door.rings) }));
    this.terrain = crowd.facts.terrain.map(each => ({ ...each, path: pathOf(each.rings) }));
    this.obstacles = crowd.facts.obstacles.map(each => ({ ...each, path: pathOf([each.corners]) }));
    this.theme();
    this.resize();
    this.fit();
  }

  theme() {
    const style = getComputedStyle(document.documentElement);
    this.ink = Object.fromEntries(['back', 'ground', 'wall', 'ink', 'soft', 'accent', 'exit', 'door', 'stuck', 'terrain', 'obstacle', 'halo', 'rim']
      .map(name => [name, style.getPropertyValue(`--${name}`).trim()]));
  }

  resize() {
    const box = this.canvas.getBoundingClientRect();
    this.dots = Math.min(3, window.devicePixelRatio || 1);
    this.width = Math.max(1, box.width); this.height = Math.max(1, box.height);
    this.canvas.width = Math.round(this.width * this.dots); this.canvas.height = Math.round(this.height * this.dots);
  }

  // Floors that are shown, and where: each in a field of its own, in rows that fill the window best.
  shown() {
    const boxes = this.floors.map(floor => floor.box), high = k => Math.round(boxes[k][3] - boxes[k][1]);
    const numbers = this.floor >= 0 ? [this.floor] : this.floors.map((_, k) => k).sort((a, b) => high(b) - high(a) || a - b);   // large ones first
    const key = `${numbers} ${Math.round(this.width)} ${Math.round(this.height)}`;
    if (this.layout?.key === key) return this.layout.shown;
    const widest = Math.max(...numbers.map(k => boxes[k][2] - boxes[k][0])), highest = Math.max(...numbers.map(k => boxes[k][3] - boxes[k][1]));
    const gap = numbers.length > 1 ? 0.08 * Math.max(widest, highest) + 0.5 : 0, least = 0.3 * widest;   // room for a title
    let best = null;
    for (let most = 1; most <= numbers.length; most++) {
      const limit = most * (widest + gap), placed = [];
      let x = 0, y = 0, row = 0, right = 0;
      for (const number of numbers) {
        const [left, low, end, top] = boxes[number], wide = Math.max(end - left, least);
        if (x > 0 && x + wide > limit) { x = 0; y -= row + gap; row = 0; }
        placed.push({ number, dx: x - left, dy: y - top, box: boxes[number] });
        x += wide + gap; row = Math.max(row, top - low); right = Math.max(right, x - gap);
      }
      const down = row - y, scale = Math.min(this.width / (right + gap), this.height / (down + gap));
      if (!best || scale > best.scale) best = { scale, shown: placed, right, down };
    }
    this.layout = { key, ...best };
    return best.shown;
  }

  fit() {
    this.shown();
    const { right, down } = this.layout, title = this.floors.length > 1 ? 26 : 0;
    this.scale = Math.min((this.width - 48) / Math.max(right, 0.1), (this.height - 64 - title) / Math.max(down, 0.1));
    this.scale = Math.min(400, Math.max(0.02, this.scale));
    this.x = right / 2; this.y = -down / 2 + title / 2 / this.scale;
  }

  zoom(factor, sx = this.width / 2, sy = this.height / 2) {
    const before = this.scale;
    this.scale = Math.min(2000, Math.max(0.02, before * factor));
    this.x += (sx - this.width / 2) * (1 / before - 1 / this.scale);
    this.y -= (sy - this.height / 2) * (1 / before - 1 / this.scale);
  }

  toScreen(x, y, floor) { return [this.width / 2 + (x + floor.dx - this.x) * this.scale, this.height / 2 - (y + floor.dy - this.y) * this.scale]; }

  metres(floor) {   // what is drawn next is in metres
    const s = this.scale * this.dots;
    this.context.setTransform(s, 0, 0, -s, (this.width / 2 + (floor.dx - this.x) * this.scale) * this.dots, (this.height / 2 - (floor.dy - this.y) * this.scale) * this.dots);
  }

  dotsAgain() { this.context.setTransform(this.dots, 0, 0, this.dots, 0, 0); }

  // On which of the shown floors somebody is drawn: without recorded floors, on the first.
  floorOf(row, shown) {
    const layer = this.crowd.layer(row);
    return this.floors.length === 1 || layer < 0 ? shown[0] : shown.find(floor => floor.number === layer);
  }

  draw(time) {
    const context = this.context, shown = this.shown(), { frame, share } = this.crowd.frameAt(time);
    this.dotsAgain();
    context.fillStyle = this.ink.back;
    context.fillRect(0, 0, this.width, this.height);
    this.labels = [];
    for (const floor of shown) this.drawPlan(floor, time, frame, share);
    this.dotsAgain();
    if (frame >= 0) {
      this.drawTrails(shown, frame, share);
      this.drawChosenWay(shown, frame, share);
      this.drawPeople(shown, frame, share);
    }
    if (this.names) this.drawLabels();
  }

  drawPlan(floor, time, frame, share) {
    const context = this.context, own = this.floors[floor.number], line = 1 / this.scale;
    const here = each => each.layer === undefined || each.layer < 0 || each.layer === floor.number;
    this.metres(floor);
    context.fillStyle = this.ink.ground;
    context.fill(own.path, 'evenodd');
    context.save();
    context.clip(own.path, 'evenodd');
    for (const each of this.terrain) if (here(each)) this.fill(each.path, this.ink.terrain, 0.28);
    for (const goal of this.goals) if (here(goal) && goal.path) this.fill(goal.path, this.ink.exit, goal.kind === 'exit' ? 0.32 : 0.16);
    context.restore();
    for (const goal of this.goals) if (here(goal) && goal.at && !goal.path && !goal.inline) {
      context.lineWidth = 1.2 * line; context.strokeStyle = this.ink.exit;
      context.beginPath(); context.arc(goal.at[0], goal.at[1], Math.max(goal.within, 4 * line), 0, 7); context.stroke();
    }
    for (const queue of [...this.crowd.facts.queues, ...this.crowd.facts.gates]) if (here(queue)) this.drawQueue(queue, line, floor);
    context.strokeStyle = this.ink.wall; context.lineWidth = Math.min(0.12, Math.max(1.1 * line, 0.04)); context.lineJoin = 'round';
    context.stroke(own.path);
    for (const door of this.doors) if (here(door)) {
      const open = this.crowd.isOpen(door, time);
      if (!open) this.fill(door.path, this.ink.stuck, 0.45);
      context.strokeStyle = open ? this.ink.exit : this.ink.stuck; context.lineWidth = 1.6 * line;
      context.setLineDash(open ? [4 * line, 3 * line] : []); context.stroke(door.path); context.setLineDash([]);
      this.label(open ? door.name : `${door.name} (closed)`, [door.rings[0][0], door.rings[0][1]], floor, open ? this.ink.exit : this.ink.stuck, true);
    }
    this.obstacles.forEach((obstacle, number) => {
      const at = here(obstacle) && frame >= 0 ? this.crowd.obstacle(number, frame, share) : null;
      if (!at) return;
      context.save();
      context.transform(at[2], at[3], -at[3], at[2], at[0], at[1]);
      this.fill(obstacle.path, this.ink.obstacle, 0.75);
      context.lineWidth = 1.2 * line; context.strokeStyle = this.ink.obstacle; context.stroke(obstacle.path);
      context.restore();
      this.label(obstacle.name, at, floor, this.ink.obstacle, true);
    });
    for (const each of this.terrain) if (here(each)) this.label(`${each.name} ${each.speed}`, middleOf(each.rings[0]), floor, this.ink.terrain);
    for (const goal of this.goals) if (here(goal) && goal.at && !goal.inline) this.label(goal.name, goal.at, floor, this.ink.exit);
    if (this.floors.length > 1) this.label(own.title ?? own.name, [floor.box[0], floor.box[3]], floor, this.ink.ink, false, true);
  }

  // Where agents stand in line, and where they are served.
  drawQueue(queue, line, floor) {
    const context = this.context;
    context.strokeStyle = context.fillStyle = this.ink.terrain; context.lineWidth = 1.2 * line;
    context.setLineDash([2 * line, 3 * line]);
    for (const points of queue.lines) {
      context.beginPath();
      points.forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
      context.stroke();
    }
    context.setLineDash([]);
    for (const [x, y] of queue.servers) context.fillRect(x - 0.15, y - 0.15, 0.3, 0.3);
    this.label(queue.name, queue.servers[0], floor, this.ink.terrain, true);
  }

  fill(path, colour, alpha) { const c = this.context; c.globalAlpha = alpha; c.fillStyle = colour; c.fill(path, 'evenodd'); c.globalAlpha = 1; }

  label(text, at, floor, colour, beside = false, title = false) { this.labels.push({ text, at: this.toScreen(at[0], at[1], floor), colour, beside, title }); }

  drawLabels() {
    const context = this.context;
    context.lineJoin = 'round'; context.textBaseline = 'middle';
    for (const { text, at, colour, beside, title } of this.labels) {
      context.font = `${title ? 600 : 500} ${title ? 13 : 12}px system-ui, "DejaVu Sans", sans-serif`;
      context.textAlign = beside || title ? 'left' : 'center';
      const wide = context.measureText(text).width, begin = beside || title ? 0 : wide / 2;
      let x = at[0] + (beside ? 6 : 0);
      if (x > 0 && x < this.width) x = Math.max(begin + 4, Math.min(x, this.width - wide + begin - 4));   // of a place that is seen, the whole name
      const y = at[1] - (title ? 12 : beside ? 8 : 0);
      context.lineWidth = 3; context.strokeStyle = this.ink.halo; context.strokeText(text, x, y);
      context.fillStyle = colour; context.fillText(text, x, y);
    }
  }

  colourOf(row, stretch) {
    if (this.colour === 'group') return GROUP_COLOURS[this.crowd.arrays.agent_group[this.crowd.who[stretch]] % GROUP_COLOURS.length];
    if (this.colour === 'state') return STATE_COLOURS[this.crowd.state(row)];
    const [vx, vy] = this.crowd.velocity(row, stretch);
    return this.shades[Math.round(Math.min(1, Math.hypot(vx, vy) / this.crowd.topSpeed) * (SHADES - 1))];
  }

  drawPeople(shown, frame, share) {
    const { context, crowd } = this, batches = new Map(), stuck = [], crossed = [];
    for (let s = 0; s < crowd.who.length; s++) {
      const row = crowd.rowIn(s, frame);
      if (row < 0) continue;
      const floor = this.floorOf(row, shown);
      if (!floor) continue;
      const [x, y] = this.toScreen(...crowd.place(row, s, share), floor);
      if (x < -50 || y < -50 || x > this.width + 50 || y > this.height + 50) continue;
      const radius = Math.max(1.6, crowd.arrays.agent_radius[crowd.who[s]] / 1000 * this.scale), colour = this.colourOf(row, s);
      const vehicle = crowd.facts.vehicles[crowd.arrays.agent_group[crowd.who[s]]];
      if (vehicle) this.drawVehicle(x, y, vehicle, crowd.who[s], crowd.velocity(row, s), colour);
      if (!batches.has(colour)) batches.set(colour, []);
      batches.get(colour).push(x, y, radius);
      if (crowd.state(row) === 4) stuck.push(x, y, radius);
      if (crowd.who[s] === this.selected) crossed.push(x, y, radius);
      if (this.scale > 30) this.addNose(batches, x, y, radius, crowd.velocity(row, s));
    }
    const noses = batches.get('noses') ?? [];
    batches.delete('noses');
    const rim = batches.size && Math.max(...[...batches.values()].map(list => list[2])) > 4;
    for (const [colour, list] of batches) {
      context.fillStyle = colour;
      if (list[2] < 2.2) { for (let i = 0; i < list.length; i += 3) context.fillRect(list[i] - list[i + 2], list[i + 1] - list[i + 2], 2 * list[i + 2], 2 * list[i + 2]); continue; }
      circles(context, list, 0); context.fill();
      if (rim) { context.strokeStyle = this.ink.rim; context.lineWidth = 1; context.stroke(); }
    }
    context.strokeStyle = 'rgba(255,255,255,.85)'; context.lineWidth = 1.8; context.beginPath();
    for (let i = 0; i < noses.length; i += 4) { context.moveTo(noses[i], noses[i + 1]); context.lineTo(noses[i + 2], noses[i + 3]); }
    context.stroke();
    context.strokeStyle = this.ink.stuck; context.lineWidth = 2; circles(context, stuck, 2); context.stroke();
    context.strokeStyle = this.ink.accent; context.lineWidth = 2.5; circles(context, crossed, 5); context.stroke();
  }

  // A vehicle as its rectangle, from behind its rear axle to its front; one that stands is directed as it last drove.
  drawVehicle(x, y, [front, back, half], agent, [vx, vy], colour) {
    const context = this.context, speed = Math.hypot(vx, vy);
    if (speed > 0.02) (this.directions ??= new Map()).set(agent, [vx / speed, -vy / speed]);
    const [ux, uy] = this.directions?.get(agent) ?? [1, 0];
    context.save();
    context.transform(ux * this.scale, uy * this.scale, -uy * this.scale, ux * this.scale, x, y);
    context.fillStyle = colour; context.globalAlpha = 0.55;
    context.fillRect(-back, -half, front + back, 2 * half);
    context.restore();
  }

  addNose(batches, x, y, radius, [vx, vy]) {
    const speed = Math.hypot(vx, vy);
    if (speed < 0.05) return;
    if (!batches.has('noses')) batches.set('noses', []);
    batches.get('noses').push(x, y, x + vx / speed * radius * 0.85, y - vy / speed * radius * 0.85);
  }

  // One line along a stretch between two frames, floor by floor.
  trace(path, shown, s, from, to, every, frame, share) {
    const crowd = this.crowd;
    let last = null;
    const add = (row, part) => {
      const floor = this.floorOf(row, shown);
      if (!floor) { last = null; return; }
      const [x, y] = this.toScreen(...crowd.place(row, s, part), floor);
      if (last === floor) path.lineTo(x, y); else path.moveTo(x, y);
      last = floor;
    };
    for (let f = from; f <= to; f += every) add(crowd.row[s] + f - crowd.first[s], 0);
    if (to === frame) add(crowd.row[s] + to - crowd.first[s], share);
  }

  drawTrails(shown, frame, share) {
    if (this.trails === '0') return;
    const { crowd, context } = this, back = this.trails === 'all' ? Infinity : Math.max(1, Math.round(Number(this.trails) / crowd.frame_s));
    const spans = [];
    let points = 0;
    for (let s = 0; s < crowd.who.length; s++) {
      const from = Math.max(crowd.first[s], frame - back), to = Math.min(frame, crowd.first[s] + crowd.length[s] - 1);
      if (from < to) { spans.push([s, from, to]); points += to - from; }
    }
    const every = Math.max(1, Math.ceil(points / TRAIL_POINTS)), paths = new Map();
    for (const [s, from, to] of spans) {
      const colour = this.colour === 'group' ? GROUP_COLOURS[crowd.arrays.agent_group[crowd.who[s]] % GROUP_COLOURS.length] : this.ink.accent;
      if (!paths.has(colour)) paths.set(colour, new Path2D());
      this.trace(paths.get(colour), shown, s, from, to, every, frame, share);
    }
    context.globalAlpha = spans.length > 300 ? 0.25 : 0.45; context.lineWidth = 1.2; context.lineJoin = 'round';
    for (const [colour, path] of paths) { context.strokeStyle = colour; context.stroke(path); }
    context.globalAlpha = 1;
  }

  // Of the selected agent: where it came from, the corner it steers at, and its goal.
  drawChosenWay(shown, frame, share) {
    const { crowd, context } = this;
    if (this.selected < 0) return;
    const path = new Path2D();
    for (const s of crowd.stretchesOf.get(this.selected) ?? []) {
      const to = Math.min(frame, crowd.first[s] + crowd.length[s] - 1);
      if (crowd.first[s] <= to) this.trace(path, shown, s, crowd.first[s], to, 1, frame, share);
    }
    context.lineWidth = 2.5; context.lineJoin = 'round'; context.strokeStyle = this.ink.accent; context.stroke(path);
    const [row, s] = crowd.rowOf(this.selected, frame), floor = row >= 0 && this.floorOf(row, shown);
    if (!floor) return;
    this.drawParty(shown, frame, share, this.toScreen(...crowd.place(row, s, share), floor));
    const ahead = aheadOf(crowd, row, s, share), points = [crowd.place(row, s, share), ...(ahead.corner ? [ahead.corner] : [])].map(p => this.toScreen(...p, floor));
    context.beginPath(); points.forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y))); context.lineWidth = 2; context.stroke();
    if (!ahead.goal) return;
    const other = this.floors.length > 1 && ahead.goal.layer >= 0 ? shown.find(each => each.number === ahead.goal.layer) : floor;
    if (!other) return;
    const end = this.toScreen(...ahead.goal.at, other);
    if (other === floor) {
      context.setLineDash([3, 5]); context.beginPath(); context.moveTo(...points.at(-1)); context.lineTo(...end); context.stroke(); context.setLineDash([]);
    }
    context.beginPath(); context.arc(...end, 7, 0, 7); context.moveTo(end[0] - 4, end[1]); context.lineTo(end[0] + 4, end[1]);
    context.moveTo(end[0], end[1] - 4); context.lineTo(end[0], end[1] + 4); context.stroke();
  }

  // Thin lines from the selected agent to the other members of its party.
  drawParty(shown, frame, share, from) {
    const { crowd, context } = this, party = crowd.arrays.agent_party, own = party?.[this.selected] ?? -1;
    if (own < 0) return;
    context.beginPath();
    for (let agent = 0; agent < party.length; agent++) {
      if (party[agent] !== own || agent === this.selected) continue;
      const [row, s] = crowd.rowOf(agent, frame), floor = row >= 0 && this.floorOf(row, shown);
      if (floor) { context.moveTo(...from); context.lineTo(...this.toScreen(...crowd.place(row, s, share), floor)); }
    }
    context.lineWidth = 1; context.stroke();
  }

  // The agent under a point of the window; -1 if there is none near it.
  under(sx, sy, time) {
    const { frame, share } = this.crowd.frameAt(time), shown = this.shown();
    let best = -1, least = Infinity;
    for (let s = 0; frame >= 0 && s < this.crowd.who.length; s++) {
      const row = this.crowd.rowIn(s, frame), floor = row >= 0 && this.floorOf(row, shown);
      if (!floor) continue;
      const [x, y] = this.toScreen(...this.crowd.place(row, s, share), floor), far = Math.hypot(x - sx, y - sy);
      if (far < least && far <= Math.max(9, this.crowd.arrays.agent_radius[this.crowd.who[s]] / 1000 * this.scale + 2)) { least = far; best = this.crowd.who[s]; }
    }
    return best;
  }
}

// What lies before an agent: the corner it steers at and the nearest place of its goal; a goal that is a choice stands for its nearest part.
function aheadOf(crowd, row, stretch, share) {
  const here = crowd.place(row, stretch, share), x = crowd.arrays.row_corner_x?.[row], chosen = crowd.goal(row, stretch);
  const corner = x === undefined ? null : [x * crowd.step, crowd.arrays.row_corner_y[row] * crowd.step];
  const places = (chosen?.kind === 'nearest_of' ? chosen.parts.map(k => crowd.facts.goals[k]) : [chosen]).filter(goal => goal?.at);
  const from = corner ?? here, far = goal => Math.hypot(goal.at[0] - from[0], goal.at[1] - from[1]);
  const goal = places.sort((a, b) => far(a) - far(b))[0] ?? null;
  return { corner, goal, name: chosen?.name ?? '', toCorner: corner ? Math.hypot(corner[0] - here[0], corner[1] - here[1]) : null };
}

function circles(context, list, wider) {
  context.beginPath();
  for (let i = 0; i < list.length; i += 3) { context.moveTo(list[i] + list[i + 2] + wider, list[i + 1]); context.arc(list[i], list[i + 1], list[i + 2] + wider, 0, 6.2832); }
}

function pathOf(rings) {
  const path = new Path2D();
  for (const ring of rings) {
    for (let i = 0; i < ring.length; i += 2) (i ? path.lineTo(ring[i], ring[i + 1]) : path.moveTo(ring[0], ring[1]));
    path.closePath();
  }
  return path;
}

function middleOf(ring) {
  let x = 0, y = 0;
  for (let i = 0; i < ring.length; i += 2) { x += ring[i]; y += ring[i + 1]; }
  return [2 * x / ring.length, 2 * y / ring.length];
}
