// Under the picture: the time line with people, stuck agents and events, and what each tick took.

class Strips {
  constructor(line, costs, crowd) {
    Object.assign(this, { line, costs, crowd });
    const { arrays, facts } = crowd;
    this.seconds = Float64Array.from(arrays.column_tick, tick => tick * facts.tick_s);
    this.most = Math.max(1, arrays.column_agents.reduce((a, b) => Math.max(a, b), 0));
    const sorted = Array.from(arrays.column_microseconds).sort((a, b) => a - b);
    const usual = sorted.length ? sorted[Math.floor(0.98 * (sorted.length - 1))] / 1000 : 1;
    this.mostMs = Math.max(1.6 * usual, 1.25 * (facts.budget_ms ?? 0), 0.1);
    this.mostOpen = arrays.column_requests_open.reduce((a, b) => Math.max(a, b), 0);
    this.sheets = new Map();
  }

  left = 6;

  x(time, width) { return this.left + (width - 2 * this.left) * (time - this.crowd.begin) / Math.max(1e-9, this.crowd.end - this.crowd.begin); }

  timeAt(canvas, clientX) {
    const box = canvas.getBoundingClientRect(), share = (clientX - box.left - this.left) / Math.max(1, box.width - 2 * this.left);
    return this.crowd.begin + Math.min(1, Math.max(0, share)) * (this.crowd.end - this.crowd.begin);
  }

  // Make both strips anew: after the window or the colours changed.
  redraw() { this.sheets.clear(); }

  draw(time) {
    for (const [canvas, paint] of [[this.line, this.paintLine], [this.costs, this.paintCosts]]) {
      const box = canvas.getBoundingClientRect(), dots = Math.min(3, window.devicePixelRatio || 1);
      let sheet = this.sheets.get(canvas);
      if (!sheet) {   // what does not change while a run plays is drawn once
        sheet = document.createElement('canvas');
        canvas.width = sheet.width = Math.max(1, Math.round(box.width * dots)); canvas.height = sheet.height = Math.max(1, Math.round(box.height * dots));
        const context = sheet.getContext('2d');
        context.scale(dots, dots);
        const style = getComputedStyle(document.documentElement);
        paint.call(this, context, box.width, box.height, name => style.getPropertyValue(`--${name}`).trim());
        this.sheets.set(canvas, sheet);
        this.accent = style.getPropertyValue('--accent').trim();
      }
      const context = canvas.getContext('2d'), x = this.x(time, box.width) * dots;
      context.clearRect(0, 0, canvas.width, canvas.height);
      context.drawImage(sheet, 0, 0);
      context.fillStyle = this.accent;
      context.fillRect(x - dots, 0, 2 * dots, canvas.height);
      if (canvas === this.line) { context.beginPath(); context.arc(x, 6 * dots, 5 * dots, 0, 7); context.fill(); }
    }
  }

  area(context, width, low, high, values, most, colour) {
    context.fillStyle = colour; context.beginPath(); context.moveTo(this.x(this.seconds[0] ?? this.crowd.begin, width), low);
    this.seconds.forEach((second, k) => {
      const y = low - (low - high) * Math.min(1, values[k] / most), next = this.seconds[k + 1] ?? this.crowd.end;
      context.lineTo(this.x(second, width), y); context.lineTo(this.x(next, width), y);
    });
    context.lineTo(this.x(this.crowd.end, width), low); context.fill();
  }

  paintLine(context, width, height, ink) {
    const { crowd } = this, low = height - 17, high = 14;
    this.area(context, width, low, high, crowd.arrays.column_agents, this.most, ink('people'));
    this.area(context, width, low, high, crowd.arrays.column_stuck, this.most, ink('stuck'));
    context.fillStyle = ink('line'); context.fillRect(this.left, low, width - 2 * this.left, 1);
    const seen = new Set();
    for (let e = 0; e < crowd.arrays.event_tick.length; e++) {
      const kind = crowd.facts.kinds[crowd.arrays.event_kind[e]] ?? '', x = Math.round(this.x(crowd.arrays.event_tick[e] * crowd.tick_s, width) * 2) / 2;
      const mark = WORLD_EVENT.test(kind) ? 'door' : kind === 'STUCK' || kind === 'UNREACHABLE' || kind === 'RETIRED' ? 'stuck' : kind === 'ARRIVAL' ? 'exit' : '';
      if (!mark || seen.has(mark + x)) continue;
      seen.add(mark + x);
      context.fillStyle = ink(mark);
      if (mark === 'door') { context.beginPath(); context.moveTo(x, 1); context.lineTo(x + 5, 6); context.lineTo(x, 11); context.lineTo(x - 5, 6); context.fill(); context.fillRect(x - 0.5, 11, 1, low - 11); }
      else context.fillRect(x - 0.5, mark === 'stuck' ? low - 4 : low + 1, 1, mark === 'stuck' ? 5 : 4);
    }
    this.paintTimes(context, width, height, ink);
    this.caption(context, `people, at most ${this.most.toLocaleString('en')}`, this.left + 2, 22, ink);
  }

  paintTimes(context, width, height, ink) {
    const span = Math.max(1e-9, crowdSpan(this.crowd)), rough = span / Math.max(2, width / 90);
    const step = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400].find(s => s >= rough) ?? Math.ceil(rough / 14400) * 14400;
    context.fillStyle = ink('soft'); context.font = '11px system-ui, "DejaVu Sans", sans-serif'; context.textBaseline = 'bottom';
    for (let t = Math.ceil(this.crowd.begin / step) * step; t <= this.crowd.end + 1e-9; t += step) {
      const x = this.x(t, width), text = step < 1 ? `${t.toFixed(1)} s` : t < 60 ? `${Math.round(t)} s` : `${Math.floor(t / 60)}:${String(Math.round(t % 60)).padStart(2, '0')}`;
      context.textAlign = x < 20 ? 'left' : x > width - 20 ? 'right' : 'center';
      context.fillText(text, x, height);
    }
  }

  paintCosts(context, width, height, ink) {
    const { arrays, facts } = this.crowd, low = height - 1, high = 2;
    this.area(context, width, low, high, Float64Array.from(arrays.column_microseconds, v => v / 1000), this.mostMs, ink('people'));
    if (this.mostOpen > 0) {
      context.strokeStyle = ink('door'); context.lineWidth = 1.2; context.beginPath();
      this.seconds.forEach((second, k) => context.lineTo(this.x(second, width), low - (low - high) * arrays.column_requests_open[k] / this.mostOpen));
      context.stroke();
    }
    const words = [`ms a tick, up to ${this.mostMs < 10 ? this.mostMs.toFixed(1) : Math.round(this.mostMs).toLocaleString('en')}`];
    if (facts.budget_ms) {
      const y = low - (low - high) * Math.min(1, facts.budget_ms / this.mostMs);
      context.strokeStyle = ink('stuck'); context.lineWidth = 1; context.setLineDash([5, 4]); context.beginPath(); context.moveTo(this.left, y); context.lineTo(width - this.left, y); context.stroke(); context.setLineDash([]);
      words.push(`budget ${facts.budget_ms} ms`);
    }
    if (this.mostOpen > 0) words.push(`path requests waiting, at most ${this.mostOpen.toLocaleString('en')}`);
    context.fillStyle = ink('line'); context.fillRect(this.left, low, width - 2 * this.left, 1);
    this.caption(context, words.join('; '), this.left + 2, 11, ink);
  }

  caption(context, text, x, y, ink) {
    context.font = '11px system-ui, "DejaVu Sans", sans-serif'; context.textAlign = 'left'; context.textBaseline = 'middle';
    context.lineJoin = 'round'; context.lineWidth = 3; context.strokeStyle = ink('panel'); context.strokeText(text, x, y);
    context.fillStyle = ink('soft'); context.fillText(text, x, y);
  }

  // What the columns under a time say.
  words(time) {
    const { arrays, facts } = this.crowd, tick = time / facts.tick_s;
    let k = 0;
    while (k + 1 < arrays.column_tick.length && arrays.column_tick[k + 1] <= tick + 1e-6) k++;
    if (!arrays.column_tick.length) return '';
    const count = (n, one, many) => `${n.toLocaleString('en')} ${n === 1 ? one : many}`, open = arrays.column_requests_open[k];
    const parts = [count(arrays.column_agents[k], 'person', 'people')];
    if (arrays.column_stuck[k]) parts.push(`${arrays.column_stuck[k].toLocaleString('en')} stuck`);
    parts.push(`${(arrays.column_microseconds[k] / 1000).toFixed(2)} ms`);
    if (facts.budget_ms && arrays.column_microseconds[k] > 1000 * facts.budget_ms) parts.push(`over the budget: ${facts.systems[arrays.column_culprit[k]] ?? ''}`);
    if (open) parts.push(`${count(open, 'request', 'requests')} waiting`);
    return parts.join(', ');
  }
}

const crowdSpan = crowd => crowd.end - crowd.begin;
