// Beside the picture: legend, the selected agent, and what happened. Every text goes in as text.

const MOST_LISTED = 400;

const make = (tag, text, parent, name) => {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (name) made.className = name;
  parent?.append(made);
  return made;
};
const byId = id => document.getElementById(id);

function showLegend(stage, crowd) {
  const legend = byId('legend');
  legend.replaceChildren();
  if (stage.colour === 'speed') {
    const bar = make('canvas', undefined, legend), context = bar.getContext('2d');
    bar.width = 150; bar.height = 9;
    for (let x = 0; x < 150; x++) { context.fillStyle = shadeOf(x / 149); context.fillRect(x, 0, 1, 9); }
    const ends = make('div', undefined, legend, 'ends');
    make('span', '0', ends); make('span', (crowd.topSpeed / 2).toFixed(1), ends); make('span', `${crowd.topSpeed.toFixed(1)} m/s`, ends);
    if (crowd.facts.columns.includes('is_stuck')) entry(legend, STATE_COLOURS[4], 'stuck').classList.add('ring');
    return;
  }
  if (stage.colour === 'state') { STATES.forEach((name, k) => { if (k !== 4 || crowd.facts.columns.includes('is_stuck')) entry(legend, STATE_COLOURS[k], name); }); return; }
  crowd.facts.groups.slice(0, 12).forEach((name, k) => entry(legend, GROUP_COLOURS[k % GROUP_COLOURS.length], name));
  if (crowd.facts.groups.length > 12) make('div', `and ${crowd.facts.groups.length - 12} more`, legend);
}

function entry(legend, colour, text) {
  const line = make('div', undefined, legend), dot = make('i', undefined, line);
  dot.style.background = colour;
  make('span', text, line);
  return line;
}

function showScale(stage) {
  const wide = 110 / stage.scale, ten = 10 ** Math.floor(Math.log10(wide)), length = [5, 2, 1].map(k => k * ten).find(each => each <= wide) ?? ten;
  const [bar, text] = byId('scale').children;
  bar.style.width = `${length * stage.scale}px`;
  text.textContent = `${length >= 1 ? length : length.toPrecision(1)} m`;
}

class AgentPanel {
  constructor(crowd, seek) { Object.assign(this, { crowd, seek, agent: -2 }); }

  // What is known of the selected agent at a time; the list of its events is made once.
  show(agent, time) {
    const box = byId('agent'), { crowd } = this;
    if (agent !== this.agent) {
      this.agent = agent;
      box.replaceChildren();
      if (agent < 0) { make('div', 'Nobody is selected.', box); return; }
      const title = make('div', undefined, box, 'who');
      make('span', crowd.nameOf(agent), title);
      const close = make('button', 'x', title);
      close.title = 'Let go (escape)'; close.setAttribute('aria-label', 'Let go'); close.onclick = () => this.seek(null, -1);
      this.list = make('dl', undefined, box);
      this.cells = new Map();
    }
    if (agent < 0) return;
    const { frame, share } = crowd.frameAt(time), [row, stretch] = crowd.rowOf(agent, frame), known = new Map(), a = crowd.arrays;
    known.set('id', String(a.agent_entity[agent]) + (a.agent_scenario_id[agent] >= 0 ? `, in the scenario ${a.agent_scenario_id[agent]}` : ''));
    known.set('state', row < 0 ? this.absence(agent, frame, time) : STATES[crowd.state(row)]);
    if (crowd.facts.states.length) known.set('does', row < 0 ? '-' : this.activity(agent, time));
    known.set('speed', row < 0 ? '-' : `${Math.hypot(...crowd.velocity(row, stretch)).toFixed(2)} of ${(a.agent_speed[agent] / 1000).toFixed(2)} m/s`);
    const ahead = row < 0 ? null : aheadOf(crowd, row, stretch, share);
    known.set('goal', ahead?.name || '-');
    known.set('next corner', ahead?.corner && ahead.toCorner > 0 ? `in ${ahead.toCorner.toFixed(1)} m` : '-');
    known.set('walked', `${crowd.walked(agent, frame).toFixed(1)} m`);
    known.set('radius', `${(a.agent_radius[agent] / 1000).toFixed(2)} m`);
    const layer = row < 0 ? -1 : crowd.layer(row);
    if (crowd.facts.floors.length > 1) known.set('floor', crowd.facts.floors[layer]?.name ?? '-');
    const [x0, y0] = crowd.facts.origin, place = row < 0 ? null : crowd.place(row, stretch, share);
    known.set('place', place ? `${(place[0] + x0).toFixed(2)}, ${(place[1] + y0).toFixed(2)}` : '-');
    for (const [name, text] of known) {
      if (!this.cells.has(name)) { make('dt', name, this.list); this.cells.set(name, make('dd', '', this.list)); }
      if (this.cells.get(name).textContent !== text) this.cells.get(name).textContent = text;
    }
  }

  // The state of its machine, and for how long.
  activity(agent, time) {
    const { crowd } = this, { event_tick, event_kind } = crowd.arrays;
    const began = (crowd.eventsOf.get(agent) ?? []).findLast(e => crowd.facts.kinds[event_kind[e]] === 'STATE' && event_tick[e] * crowd.tick_s <= time + 1e-6);
    if (began === undefined) return '-';
    const { number, name } = stateOf(crowd, began);
    return number < 0 ? 'its behaviour has ended' : `${name} since ${(time - event_tick[began] * crowd.tick_s).toFixed(0)} s`;
  }

  absence(agent, frame, time) {
    const { crowd } = this, all = crowd.stretchesOf.get(agent) ?? [];
    if (!all.length) return 'was not recorded';
    if (frame < crowd.first[all[0]]) return 'not there yet';
    const ends = (crowd.eventsOf.get(agent) ?? []).filter(e => ['ARRIVAL', 'RETIRED'].includes(crowd.facts.kinds[crowd.arrays.event_kind[e]]));
    const last = ends.findLast(e => crowd.arrays.event_tick[e] * crowd.tick_s <= time + 1e-6);
    return last === undefined ? 'not in what was recorded' : sentence(crowd, last);
  }
}

class EventList {
  constructor(crowd, seek) { Object.assign(this, { crowd, seek, agent: -2 }); }

  // Noteworthy events of everybody, or all of one agent.
  show(agent, time) {
    if (agent !== this.agent) { this.agent = agent; this.fill(agent); }
    this.items?.forEach(([item, at]) => item.classList.toggle('later', at > time + 1e-6));
  }

  // Events as lists of those that are one line: what happens to more than three agents in one tick, for no reason of their own.
  together(chosen) {
    const { event_tick, event_kind, event_value } = this.crowd.arrays, found = new Map();
    for (const e of chosen) {
      const key = `${event_tick[e]} ${event_kind[e]} ${this.crowd.facts.kinds[event_kind[e]] === 'PATH_LOST' ? '' : event_value[e]}`;
      if (!found.has(key)) found.set(key, []);
      found.get(key).push(e);
    }
    return [...found.values()].flatMap(events => (events.length > 3 && this.crowd.arrays.event_agent[events[0]] >= 0 ? [events] : events.map(e => [e])));
  }

  fill(agent) {
    const { crowd } = this, list = byId('events'), arrays = crowd.arrays;
    list.replaceChildren();
    let chosen = [];
    if (agent >= 0) chosen = crowd.eventsOf.get(agent) ?? [];
    else for (let e = 0; e < arrays.event_tick.length; e++) if (NOTED_EVENT.test(crowd.facts.kinds[arrays.event_kind[e]] ?? '')) chosen.push(e);
    const lines = this.together(chosen);
    this.items = lines.slice(0, MOST_LISTED).map(events => {
      const e = events[0], at = arrays.event_tick[e] * crowd.tick_s, item = make('li', undefined, list), button = make('button', undefined, item);
      const who = events.length > 1 ? -1 : arrays.event_agent[e], one = agent < 0 && who >= 0 ? `${crowd.nameOf(who)} ${sentence(crowd, e)}` : sentence(crowd, e);
      make('time', clockText(at), button);
      make('span', events.length > 1 ? `${events.length.toLocaleString('en')} agents: ${sentence(crowd, e)}` : one, button);
      button.onclick = () => this.seek(at, who >= 0 ? who : undefined);
      return [item, at];
    });
    if (lines.length > MOST_LISTED) make('li', `and ${(lines.length - MOST_LISTED).toLocaleString('en')} more`, list);
    if (!chosen.length) make('li', agent >= 0 ? 'Nothing is recorded of it.' : 'Nobody got stuck, and nothing changed.', list);
  }
}
