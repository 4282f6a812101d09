// The page: time, controls, keys and the pointer.

const SPEEDS = [0.25, 0.5, 1, 2, 4, 8, 16, 32];

class Page {
  constructor(run) {
    this.crowd = new Crowd(run);
    this.stage = new Stage(byId('plan'), this.crowd);
    this.strips = new Strips(byId('line'), byId('costs'), this.crowd);
    const seek = (time, agent) => { if (time !== null) this.seek(time); if (agent !== undefined) this.select(agent); };
    this.agentPanel = new AgentPanel(this.crowd, seek);
    this.eventList = new EventList(this.crowd, seek);
    this.time = this.crowd.begin; this.playing = false; this.speed = 1; this.dirty = true; this.tuned = false;
    this.describe();
    this.connect();
    const tell = () => { this.resized(); requestAnimationFrame(now => this.turn(now)); };
    tell();
  }

  describe() {
    const { facts } = this.crowd, people = `${facts.agents.toLocaleString('en')} ${facts.agents === 1 ? 'agent' : 'agents'}`;
    const state = { running: 'cut off or still going on', interrupted: 'stopped before its end', recovered: 'recovered' }[facts.state] ?? facts.ended;
    const parts = [people, clockText(crowdSpan(this.crowd)), facts.model, `seed ${facts.seed}`, state, ...facts.words];
    byId('summary').textContent = parts.filter(Boolean).join(' \u00b7 ');
    byId('summary').title = [facts.description, `crowdsim ${facts.version}, run ${facts.run_id}, ${facts.started}, digest ${facts.digest}`].filter(Boolean).join('\n');
    byId('notice').textContent = this.crowd.who.length ? '' : 'Nobody is in this recording.';
    for (const speed of SPEEDS) { const option = make('option', `${speed} x`, byId('speed')); option.value = speed; option.selected = speed === 1; }
    byId('line').setAttribute('aria-valuemax', this.crowd.end.toFixed(1));
    const state_ = byId('colour').querySelector('[value=state]');
    if (!facts.columns.includes('activity') && !facts.columns.includes('is_stuck')) state_.disabled = true;
    if (facts.floors.length > 1) [['All floors', -1], ...facts.floors.map((floor, k) => [floor.name, k])].forEach(([name, k]) => {
      const button = make('button', name, byId('floors'));
      button.setAttribute('aria-pressed', String(k === -1));
      button.onclick = () => this.showFloor(k);
    });
    if (facts.floors.length > 1 && !facts.columns.includes('layer')) byId('notice').textContent = 'Floors were not recorded: everybody is shown on the first.';
    showLegend(this.stage, this.crowd);
  }

  showFloor(number) {
    [...byId('floors').children].forEach((button, k) => button.setAttribute('aria-pressed', String(k - 1 === number)));
    this.stage.floor = number;
    this.stage.fit();
    this.dirty = true;
  }

  connect() {
    byId('play').onclick = () => (this.playing ? this.pause() : this.play());
    byId('back').onclick = () => this.stepFrames(-1);
    byId('on').onclick = () => this.stepFrames(1);
    byId('fit').onclick = () => { this.stage.fit(); this.dirty = true; };
    byId('theme').onclick = () => this.setTheme(!document.documentElement.classList.contains('dark'));
    byId('speed').onchange = event => { this.speed = Number(event.target.value); };
    byId('colour').onchange = event => { this.stage.colour = event.target.value; showLegend(this.stage, this.crowd); this.dirty = true; };
    byId('trails').onchange = event => { this.stage.trails = event.target.value; this.dirty = true; };
    byId('names').onchange = event => { this.stage.names = event.target.checked; this.dirty = true; };
    byId('find').onchange = event => this.find(event.target.value);
    new ResizeObserver(() => this.resized()).observe(byId('stage'));
    this.connectPlan(byId('plan'));
    for (const strip of [byId('line'), byId('costs')]) this.connectStrip(strip);
    document.addEventListener('keydown', event => this.key(event));
    const system = matchMedia('(prefers-color-scheme: dark)');
    this.setTheme(system.matches);
    system.addEventListener('change', event => this.setTheme(event.matches));
  }

  connectPlan(plan) {
    const fingers = new Map();
    let moved = 0, apart = 0;
    const at = event => { const box = plan.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    plan.onpointerdown = event => { plan.setPointerCapture(event.pointerId); fingers.set(event.pointerId, at(event)); if (fingers.size === 1) moved = 0; apart = 0; plan.classList.add('drag'); };
    plan.onpointermove = event => {
      const before = fingers.get(event.pointerId), now = at(event);
      if (!before) { plan.style.cursor = this.stage.under(...now, this.time) >= 0 ? 'pointer' : ''; return; }
      fingers.set(event.pointerId, now);
      moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
      this.stage.x -= (now[0] - before[0]) / this.stage.scale / fingers.size;
      this.stage.y += (now[1] - before[1]) / this.stage.scale / fingers.size;
      if (fingers.size === 2) {
        const [[ax, ay], [bx, by]] = [...fingers.values()], far = Math.hypot(ax - bx, ay - by);
        if (apart > 0) this.stage.zoom(far / apart, (ax + bx) / 2, (ay + by) / 2);
        apart = far;
      }
      this.dirty = true;
    };
    plan.onpointerup = event => {
      const was = fingers.delete(event.pointerId);
      plan.classList.remove('drag');
      if (was && moved < 5) this.select(this.stage.under(...at(event), this.time));
    };
    plan.onpointercancel = event => { fingers.delete(event.pointerId); plan.classList.remove('drag'); };
    plan.addEventListener('wheel', event => {
      event.preventDefault();
      this.stage.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), ...at(event));
      this.dirty = true;
    }, { passive: false });
  }

  connectStrip(strip) {
    strip.onpointerdown = event => { strip.setPointerCapture(event.pointerId); this.seek(this.strips.timeAt(strip, event.clientX)); };
    strip.onpointermove = event => {
      const time = this.strips.timeAt(strip, event.clientX);
      if (event.buttons & 1) this.seek(time);
      strip.title = `${clockText(time)}: ${this.strips.words(time)}`;
    };
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT)$/.test(event.target.tagName)) return;
    if (event.key === ' ' && event.target.tagName === 'BUTTON') return;   // it presses that button
    const keys = {
      ' ': () => (this.playing ? this.pause() : this.play()), ArrowLeft: () => this.stepFrames(event.shiftKey ? -10 : -1), ArrowRight: () => this.stepFrames(event.shiftKey ? 10 : 1),
      Home: () => this.seek(this.crowd.begin), End: () => this.seek(this.crowd.end), Escape: () => this.select(-1), 0: () => this.stage.fit(),
      '+': () => this.stage.zoom(1.25), '=': () => this.stage.zoom(1.25), '-': () => this.stage.zoom(0.8), ',': () => this.faster(-1), '.': () => this.faster(1),
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
    this.dirty = true;
  }

  faster(by) {
    this.speed = SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, SPEEDS.indexOf(this.speed) + by))];
    byId('speed').value = String(this.speed);
  }

  setTheme(dark) {
    document.documentElement.classList.toggle('dark', dark);
    byId('theme').textContent = dark ? 'Light' : 'Dark';
    this.stage.theme();
    this.strips.redraw();
    this.dirty = true;
  }

  // The view keeps its place when the window changes, once somebody has moved it; until then the whole plan is shown.
  resized() {
    const fits = this.lastFit === undefined || Math.abs(this.lastFit - this.stage.scale) < 1e-9;
    this.stage.resize();
    if (fits) { this.stage.fit(); this.lastFit = this.stage.scale; }
    this.strips.redraw();
    this.dirty = true;
  }

  play() {
    if (this.time >= this.crowd.end - 1e-9) this.time = this.crowd.begin;
    this.playing = true; this.before = undefined;
    byId('play').textContent = 'Pause';
  }

  pause() { this.playing = false; byId('play').textContent = 'Play'; }

  seek(time) { this.time = Math.min(this.crowd.end, Math.max(this.crowd.begin, time)); this.dirty = true; }

  stepFrames(by) {
    const { frame, share } = this.crowd.frameAt(this.time), last = this.crowd.ticks.length - 1;
    this.pause();
    if (frame < 0) return;
    const from = by < 0 && share > 1e-3 ? frame + 1 : frame;
    this.seek(this.crowd.timeOf(Math.min(last, Math.max(0, from + by))));
  }

  find(words) {
    if (!words.trim()) return;
    const agent = this.crowd.find(words), field = byId('find');
    field.setCustomValidity(agent < 0 ? 'There is nobody of that name.' : '');
    if (agent < 0) { field.reportValidity(); return; }
    this.select(agent);
    const { frame } = this.crowd.frameAt(this.time), mine = this.crowd.stretchesOf.get(agent);
    if (mine && this.crowd.rowOf(agent, frame)[0] < 0) this.seek(this.crowd.timeOf(this.crowd.first[mine[0]]));
  }

  select(agent) { this.stage.selected = agent; this.dirty = true; }

  turn(now) {
    if (this.playing) {
      const seconds = this.before === undefined ? 0 : Math.min(0.25, (now - this.before) / 1000);
      this.before = now;
      this.time += seconds * this.speed;
      if (this.time >= this.crowd.end) { this.time = this.crowd.end; this.pause(); }
      this.dirty = true;
    }
    if (this.dirty) {
      this.dirty = false;
      this.stage.draw(this.time);
      this.strips.draw(this.time);
      this.agentPanel.show(this.stage.selected, this.time);
      this.eventList.show(this.stage.selected, this.time);
      byId('clock').textContent = clockText(this.time);
      byId('now').textContent = this.strips.words(this.time);
      byId('line').setAttribute('aria-valuenow', this.time.toFixed(1));
      byId('line').setAttribute('aria-valuetext', clockText(this.time));
      showScale(this.stage);
    }
    requestAnimationFrame(next => this.turn(next));
  }
}

// For programs that drive the page: `await crowdsim` gives it, `crowdsim.places()` tells where everybody is in the frame of now, in the coordinates of the run.
window.crowdsim = unpack(byId('data').textContent).then(run => {
  byId('data').remove();
  const page = new Page(run);
  page.places = () => {
    const { crowd } = page, { frame } = crowd.frameAt(page.time), [x0, y0] = run.facts.origin, found = {};
    for (let s = 0; s < crowd.who.length; s++) {
      const row = crowd.rowIn(s, frame);
      if (row >= 0) { const [x, y] = crowd.place(row, s, 0); found[run.arrays.agent_entity[crowd.who[s]]] = [x + x0, y + y0]; }
    }
    return found;
  };
  return page;
}).catch(error => { byId('notice').textContent = `The run cannot be shown: ${error.message}`; throw error; });
