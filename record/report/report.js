'use strict';
// The page of "ptguard report". All text comes from the data block and reaches the page as
// text nodes only; nothing is loaded, and nothing leaves the page.
(() => {
const $ = (id) => document.getElementById(id);
const D = JSON.parse($('data').textContent);
const S = D.strings, R = D.rows, N = R.t.length;
const num = new Intl.NumberFormat('en').format;

// h makes an element; strings become text nodes.
function h(tag, props, ...kids) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(props || {})) {
    if (v === undefined || v === null || v === false) continue;
    if (k === 'class') e.className = v;
    else if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
    else e.setAttribute(k, v === true ? '' : v);
  }
  for (const kid of kids.flat()) if (kid !== null && kid !== undefined && kid !== '') e.append(kid);
  return e;
}

// ---- the records: columns of indices into tables (see record/report.go)
const WHO = D.who, WHAT = D.what, WHY = D.why;
const [W_RUN, W_PID, W_PPID, W_EXE, W_COMM, W_ARGV] = [0, 1, 2, 3, 4, 5];
const [A_EVENT, A_CALL, A_ACCESS, A_FLAGS] = [0, 1, 2, 3];
const [Y_KIND, Y_VERDICT, Y_RULE, Y_LAYER, Y_REASON, Y_HINT, Y_FIX, Y_ERRNO] = [0, 1, 2, 3, 4, 5, 6, 7];
let seq = 0;
const SEQ = R.seq.map((d) => (seq += d));
let time = 0;
const T = Float64Array.from(R.t, (d) => (time += d)); // microseconds since D.base
const REFUSED = WHY.map((y) => D.refusals.includes(S[y[Y_KIND]]));
const ALLOWED = WHY.map((y) => S[y[Y_KIND]] === 'decision');
const program = (w) => S[w[W_COMM]] || S[w[W_EXE]].split('/').pop() || '?';
const who = (w) => (w[W_PID] ? program(w) + '[' + w[W_PID] + ']' : 'several processes');
const times = (i) => Math.max(R.count[i], 1);
const object = (i) => S[R.obj[i]] || (REFUSED[R.why[i]] || ALLOWED[R.why[i]] ? 'call ' + S[WHAT[R.what[i]][A_CALL]] : S[WHO[R.who[i]][W_ARGV]]);

function clock(us, digits) {
  const d = new Date(D.base + us / 1000);
  return d.toLocaleTimeString('en-GB', { hour12: false }) + (digits ? '.' + String(Math.floor(us / 1000 + D.base) % 1000).padStart(3, '0') : '');
}
function span(us) {
  const s = us / 1e6;
  if (s < 1) return (us / 1000).toFixed(us < 10000 ? 1 : 0) + ' ms';
  if (s < 60) return s.toFixed(1) + ' s';
  if (s < 3600) return Math.floor(s / 60) + ' min ' + Math.floor(s % 60) + ' s';
  return Math.floor(s / 3600) + ' h ' + Math.floor(s / 60) % 60 + ' min';
}

// ---- what is shown
const F = { q: '', verdict: '', access: '', run: D.runs.length > 1 ? D.runs.length - 1 : -1, who: null, rule: -1, path: '', addr: -1, from: -1, to: -1 };
let M = new Uint32Array(0); // the rows that match, time included
let base = M;               // the same, whatever the time
let lower = null;

function search(word) {
  lower ||= S.map((s) => s.toLowerCase());
  const str = new Uint8Array(S.length);
  for (let i = 0; i < S.length; i++) if (lower[i].includes(word)) str[i] = 1;
  const any = (table, columns) => Uint8Array.from(table, (row) => (columns.some((c) => str[row[c]]) ? 1 : 0));
  const w = any(WHO, [W_EXE, W_COMM]), argv = any(WHO, [W_ARGV]);
  if (/^\d+$/.test(word)) WHO.forEach((row, i) => { if (String(row[W_PID]) === word) w[i] = 1; });
  return { str, w, argv, a: any(WHAT, [A_EVENT, A_CALL, A_ACCESS]), y: any(WHY, [Y_VERDICT, Y_RULE, Y_REASON, Y_FIX]) };
}

function filter() {
  const words = F.q.toLowerCase().split(/\s+/).filter(Boolean).map(search);
  const whoOK = Uint8Array.from(WHO, (w) => ((F.run < 0 || w[W_RUN] === F.run) && (!F.who || (w[W_PID] === F.who.pid && w[W_RUN] === F.who.run)) ? 1 : 0));
  const whatOK = Uint8Array.from(WHAT, (a) => (!F.access || S[a[A_ACCESS]].split(', ').includes(F.access) ? 1 : 0));
  const whyOK = Uint8Array.from(WHY, (y, i) => ((F.verdict === '' || (F.verdict === 'refused' ? REFUSED[i] : ALLOWED[i])) && (F.rule < 0 || y[Y_RULE] === F.rule) ? 1 : 0));
  let objOK = null;
  if (F.path) {
    const below = F.path.endsWith('/') ? F.path : F.path + '/';
    objOK = Uint8Array.from(S, (s) => (s === F.path || s.startsWith(below) ? 1 : 0));
  }
  const out = new Uint32Array(N), all = new Uint32Array(N);
  let n = 0, m = 0;
  rows: for (let i = 0; i < N; i++) {
    const w = R.who[i], a = R.what[i], y = R.why[i], o = R.obj[i];
    if (!whoOK[w] || !whatOK[a] || !whyOK[y] || (objOK && !objOK[o]) || (F.addr >= 0 && o !== F.addr)) continue;
    for (const f of words) if (!(f.w[w] || f.a[a] || f.y[y] || f.str[o] || f.str[R.path[i]] || (!o && f.argv[w]))) continue rows;
    all[m++] = i;
    if (F.from < 0 || (T[i] >= F.from && T[i] < F.to)) out[n++] = i;
  }
  M = out.subarray(0, n);
  base = all.subarray(0, m);
}

// ---- a list of which only the visible rows are in the page
class VList {
  constructor(name, label, role, render, act) {
    this.render = render; this.act = act; this.n = 0; this.active = 0; this.name = name; this.H = 28;
    this.inner = h('div', { role: 'presentation' });
    this.box = h('div', { class: 'vlist', role, tabindex: 0, 'aria-label': label, id: name }, this.inner);
    this.box.addEventListener('scroll', () => { if (!this.due) { this.due = true; requestAnimationFrame(() => { this.due = false; this.draw(); }); } });
    this.box.addEventListener('keydown', (e) => this.key(e));
    this.box.addEventListener('focus', () => this.draw());
    this.inner.addEventListener('click', (e) => {
      const row = e.target.closest('.vrow');
      if (!row) return;
      this.go(Number(row.dataset.i), false);
      this.act(this.active, e);
    });
  }
  set(n) {
    this.n = n; this.active = Math.min(this.active, Math.max(0, n - 1));
    this.inner.style.height = n * this.H + 'px';
    if (this.box.getAttribute('role') === 'grid') this.box.setAttribute('aria-rowcount', n);
    this.draw();
  }
  draw(all) {
    const first = all ? 0 : Math.max(0, Math.floor(this.box.scrollTop / this.H) - 8);
    const last = all ? Math.min(this.n, 1000) : Math.min(this.n, Math.ceil((this.box.scrollTop + (this.box.clientHeight || 800)) / this.H) + 8);
    const rows = [];
    for (let i = first; i < last; i++) {
      const r = this.render(i);
      r.classList.add('vrow');
      if (i % 2) r.classList.add('zebra');
      r.dataset.i = i; r.id = this.name + '-' + i;
      r.style.transform = 'translateY(' + i * this.H + 'px)';
      if (i === this.active) r.classList.add('active');
      rows.push(r);
    }
    if (all && this.n > last) rows.push(h('div', { class: 'vrow dim' }, '… and ' + num(this.n - last) + ' more'));
    this.inner.replaceChildren(...rows);
    if (this.n && this.active >= first && this.active < last) this.box.setAttribute('aria-activedescendant', this.name + '-' + this.active);
    else this.box.removeAttribute('aria-activedescendant');
  }
  go(i, scroll = true) {
    this.active = Math.max(0, Math.min(this.n - 1, i));
    const top = this.active * this.H, b = this.box;
    if (scroll && top < b.scrollTop) b.scrollTop = top;
    if (scroll && top + this.H > b.scrollTop + b.clientHeight) b.scrollTop = top + this.H - b.clientHeight;
    this.draw();
  }
  key(e) {
    if (e.target !== this.box || e.ctrlKey || e.altKey || e.metaKey) return;
    const page = Math.max(1, Math.floor(this.box.clientHeight / this.H) - 1);
    const to = { ArrowDown: this.active + 1, ArrowUp: this.active - 1, PageDown: this.active + page, PageUp: this.active - page, Home: 0, End: this.n - 1 }[e.key];
    if (to !== undefined) this.go(to);
    else if (this.n && (e.key === 'Enter' || e.key === ' ' || e.key === 'ArrowRight' || e.key === 'ArrowLeft')) this.act(this.active, e);
    else return;
    e.preventDefault();
  }
}

// ---- a tree of which only the open branches are in the list
class Tree {
  constructor(name, label, show, pick) {
    this.open = new Set(); this.flat = []; this.show = show; this.pick = pick; this.roots = [];
    this.list = new VList(name, label, 'tree', (i) => this.row(i), (i, e) => this.act(i, e));
  }
  set(roots, open) { this.roots = roots; this.open = open; this.list.active = 0; this.flatten(); }
  flatten() {
    const out = [];
    const stack = [];
    const push = (list, level) => { for (let i = list.length - 1; i >= 0; i--) stack.push([list[i], level, i + 1, list.length]); };
    push(this.roots, 1);
    while (stack.length) {
      const top = stack.pop();
      out.push(top);
      if (this.open.has(top[0])) push(top[0].kids(), top[1] + 1);
    }
    this.flat = out;
    this.list.set(out.length);
  }
  row(i) {
    const [n, level, pos, size] = this.flat[i];
    const has = n.more, open = this.open.has(n);
    const r = h('div', { class: 'trow', role: 'treeitem', 'aria-level': level, 'aria-posinset': pos, 'aria-setsize': size, 'aria-expanded': has ? String(open) : null },
      h('span', { class: 'tw', 'aria-hidden': 'true' }, has ? (open ? '▾' : '▸') : ''), ...this.show(n));
    r.style.paddingLeft = 10 + Math.min(level - 1, 40) * 16 + 'px';
    return r;
  }
  act(i, e) {
    const [n, level] = this.flat[i];
    if (e.target.closest?.('button')) return this.pick(n);
    if (e.key === 'Enter') return this.pick(n);
    if (e.key === 'ArrowLeft' && !this.open.has(n)) {
      for (let j = i - 1; j >= 0; j--) if (this.flat[j][1] < level) return this.list.go(j);
      return;
    }
    if (e.key === 'ArrowRight' && this.open.has(n)) return this.list.go(i + 1);
    if (!n.more) return;
    if (this.open.has(n)) this.open.delete(n); else this.open.add(n);
    this.flatten();
  }
}

const counts = (bad, ok) => h('span', { class: 'tc' }, bad ? h('span', { class: 'v-bad' }, num(bad) + ' refused') : '', bad && ok ? ' · ' : '', ok ? num(ok) + ' other' : '');

// openTo opens the branches that lead to refusals, as long as the list stays short.
function openTo(roots, limit) {
  const open = new Set();
  let shown = roots.length, level = roots;
  while (level.length) {
    const next = [];
    for (const n of level) {
      if (!n.more || (!n.bad && roots.length > 1 && n.badAnywhere)) continue;
      const kids = n.kids();
      if ((shown += kids.length) > limit) return open;
      open.add(n);
      next.push(...kids.filter((k) => k.bad || open.size < 12));
    }
    level = next;
  }
  return open;
}

// ---- panels
const panels = { refusals: drawRefusals, processes: drawProcesses, files: drawFiles, network: drawNetwork, records: drawRecords };
const names = Object.keys(panels);
let tab = 'refusals';
const stale = new Set();

function empty(text) { return h('p', { class: 'empty' }, text); }

// more appends rows a piece at a time.
function more(total, step, first, add, into, where) {
  let at = 0;
  const button = h('button', { type: 'button', class: 'more', onclick: () => grow(step) });
  const grow = (n) => {
    for (const end = Math.min(total, at + n); at < end; at++) into.append(add(at));
    button.textContent = 'Show ' + num(Math.min(step, total - at)) + ' more of ' + num(total - at);
    button.hidden = at >= total;
  };
  grow(first);
  where.append(button);
}

function copy(text) {
  return h('button', { type: 'button', class: 'copy', 'aria-label': 'Copy ' + text, onclick: async (e) => {
    const b = e.currentTarget;
    try { await navigator.clipboard.writeText(text); } catch {
      const area = h('textarea', {}); area.value = text; document.body.append(area); area.select();
      document.execCommand('copy'); area.remove(); b.focus();
    }
    b.textContent = 'copied'; setTimeout(() => { b.textContent = 'copy'; }, 1500);
  } }, 'copy');
}

function drawRefusals(box) {
  const groups = new Map();
  for (const i of M) {
    const y = R.why[i];
    if (!REFUSED[y]) continue;
    const rule = WHY[y][Y_RULE];
    let g = groups.get(rule);
    if (!g) groups.set(rule, g = { rule, y: WHY[y], n: 0, kinds: new Map() });
    g.n += times(i);
    // What one flag would allow is one line: a tool's cache is refused file by file.
    const what = WHAT[R.what[i]], fix = WHY[y][Y_FIX];
    const key = what[A_ACCESS] + '|' + (fix ? 'fix ' + fix : R.obj[i] + '|' + (R.obj[i] ? '' : what[A_CALL]));
    let k = g.kinds.get(key);
    if (!k) g.kinds.set(key, k = { i, n: 0, who: new Map(), objects: new Map() });
    k.n += times(i);
    k.objects.set(R.obj[i], i);
    k.who.set(program(WHO[R.who[i]]), R.who[i]);
  }
  const list = [...groups.values()].sort((a, b) => b.n - a.n);
  box.replaceChildren();
  if (!list.length) return box.append(empty(D.denials ? 'No refusal matches the filters.' : 'Nothing was refused.'));
  more(list.length, 50, 50, (at) => {
    const g = list[at];
    const kinds = [...g.kinds.values()].sort((a, b) => b.n - a.n);
    const body = h('tbody', {});
    const card = h('section', { class: 'card group' },
      h('header', {}, h('div', { class: 'row' },
        h('h3', {}, h('button', { type: 'button', class: 'link', title: 'Only this rule', onclick: () => set({ rule: g.rule }) }, S[g.rule] || 'no rule')),
        h('span', {}, S[g.y[Y_LAYER]] ? h('span', { class: 'tag' }, S[g.y[Y_LAYER]]) : '', ' ', h('span', { class: 'tag bad' }, num(g.n) + (g.n === 1 ? ' time' : ' times')))),
      h('p', {}, S[g.y[Y_REASON]])),
      h('table', {}, h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Access'), h('th', { scope: 'col' }, 'Object'), h('th', { scope: 'col' }, 'Program'), h('th', { scope: 'col', class: 'n' }, 'Times'), h('th', { scope: 'col' }, 'Allow with'))), body));
    more(kinds.length, 200, 20, (j) => {
      const k = kinds[j], y = WHY[R.why[k.i]], fix = S[y[Y_FIX]], hint = S[y[Y_HINT]];
      return h('tr', {},
        h('td', {}, S[WHAT[R.what[k.i]][A_ACCESS]] || 'call'),
        h('td', {}, objects(k)),
        h('td', {}, [...k.who.keys()].slice(0, 4).join(', ') + (k.who.size > 4 ? ' +' + (k.who.size - 4) : '')),
        h('td', { class: 'n' }, num(k.n)),
        h('td', { class: 'fix' }, fix ? [h('code', {}, fix), copy(fix)] : h('span', { class: 'dim' }, hint || '–')));
    }, body, card);
    return card;
  }, box, box);
}

// objects names what was refused; several fold.
function objects(k) {
  const link = (i) => h('button', { type: 'button', class: 'link', title: 'Details', onclick: () => detail(i) }, h('code', {}, object(i)));
  const all = [...k.objects.values()];
  if (all.length === 1) return link(k.i);
  const list = h('ul', {});
  const d = h('details', { ontoggle: () => { if (!list.firstChild) more(all.length, 200, 50, (j) => h('li', {}, link(all[j])), list, d); } },
    h('summary', {}, h('code', {}, object(k.i)), h('span', {}, '  and ' + num(all.length - 1) + ' more')), list);
  return d;
}

const processTree = new Tree('process-tree', 'Processes', (n) => [
  h('span', { class: 'tn' }, n.name), h('span', { class: 'ta mono' }, n.argv), h('button', { type: 'button', tabindex: -1 }, 'only this'), counts(n.ownBad, n.ownOK)], (n) => set({ who: { pid: n.pid, run: n.run, name: n.name } }));

function processes() {
  const nodes = new Map();
  const key = (run, pid) => run * 4194304 * 4 + pid;
  for (const i of M) {
    const w = WHO[R.who[i]];
    if (!w[W_PID] && !REFUSED[R.why[i]]) continue;
    const k = key(w[W_RUN], w[W_PID]);
    let n = nodes.get(k);
    if (!n) nodes.set(k, n = { pid: w[W_PID], ppid: w[W_PPID], run: w[W_RUN], ownBad: 0, ownOK: 0, bad: 0, list: [], parent: null, last: w, kids() { return this.list; }, get more() { return this.list.length > 0; } });
    const kind = S[WHY[R.why[i]][Y_KIND]];
    if (kind === 'start' || kind === 'end') { n.own = true; continue; }
    // A record of an exec still shows the image that the process leaves.
    if (kind === 'exec' || !S[WHAT[R.what[i]][A_ACCESS]].includes('exec') || !n.seen) { n.last = w; n.seen = true; }
    if (REFUSED[R.why[i]]) n.ownBad += times(i); else n.ownOK++;
  }
  const roots = [];
  for (const n of nodes.values()) {
    n.name = n.own && !n.seen ? 'ptguard[' + n.pid + ']' : who(n.last);
    n.argv = S[n.last[W_ARGV]].slice(0, 400);
    const p = nodes.get(key(n.run, n.ppid));
    let up = p;
    for (let d = 0; up && up !== n && d < 10000; d++) up = up.parent;
    if (p && p !== n && up !== n) { n.parent = p; p.list.push(n); } else roots.push(n);
  }
  for (const n of nodes.values()) if (n.ownBad) for (let p = n, d = 0; p && d < 10000; p = p.parent, d++) p.bad += n.ownBad;
  return { roots, n: nodes.size };
}

function drawProcesses(box) {
  const t = processes();
  box.replaceChildren();
  if (!t.n) return box.append(empty('No process matches the filters.'));
  box.append(h('p', { class: 'hint' }, h('kbd', {}, '↑'), ' ', h('kbd', {}, '↓'), ' move, ', h('kbd', {}, '→'), ' ', h('kbd', {}, '←'), ' open and close, ', h('kbd', {}, 'Enter'), ' shows only that process'), processTree.list.box);
  processTree.set(t.roots, openTo(t.roots, 400));
}

class Folder {
  constructor(name, path) { this.name = name; this.path = path; this.sub = new Map(); this.bad = 0; this.ok = 0; this.here = false; }
  get more() { return this.sub.size > 0; }
  kids() {
    if (!this.sorted) {
      this.sorted = [...this.sub.values()].map((n) => {
        // A folder with one entry and nothing of its own shares the line.
        while (!n.here && n.sub.size === 1) { const only = n.sub.values().next().value; only.name = n.name + '/' + only.name; n = only; }
        return n;
      }).sort((a, b) => (b.bad > 0) - (a.bad > 0) || (a.name < b.name ? -1 : 1));
    }
    return this.sorted;
  }
}

const fileTree = new Tree('file-tree', 'Files', (n) => [
  h('span', { class: 'tn mono' }, n.name + (n.more ? '/' : '')), h('button', { type: 'button', tabindex: -1 }, 'only this'), counts(n.bad, n.ok)], (n) => set({ path: n.path }));

function files() {
  const bad = new Map(), ok = new Map();
  for (const i of M) {
    if (S[R.obj[i]][0] !== '/') continue;
    if (REFUSED[R.why[i]]) bad.set(R.obj[i], (bad.get(R.obj[i]) || 0) + times(i));
    else ok.set(R.obj[i], (ok.get(R.obj[i]) || 0) + 1);
  }
  const root = new Folder('', '');
  const all = new Set([...bad.keys(), ...ok.keys()]);
  for (const o of all) {
    const b = bad.get(o) || 0, k = ok.get(o) || 0;
    let n = root, at = 0;
    n.bad += b; n.ok += k;
    const path = S[o];
    while (at < path.length) {
      let end = path.indexOf('/', at + 1);
      if (end < 0) end = path.length;
      const name = path.slice(at + 1, end);
      let sub = n.sub.get(name);
      if (!sub) n.sub.set(name, sub = new Folder(name, path.slice(0, end)));
      n = sub; n.bad += b; n.ok += k;
      at = end;
    }
    n.here = true;
  }
  return { root, n: all.size };
}

function drawFiles(box) {
  const t = files();
  box.replaceChildren();
  if (!t.n) return box.append(empty('No file matches the filters.'));
  box.append(h('p', { class: 'hint' }, 'Counts are of all beneath. ', h('kbd', {}, 'Enter'), ' shows only that folder or file.'), fileTree.list.box);
  const roots = t.root.kids();
  for (const r of roots) if (!r.name.startsWith('/')) r.name = '/' + r.name;
  fileTree.set(roots, openTo(roots, 400));
}

function network() {
  const out = new Map();
  for (const i of M) {
    const access = S[WHAT[R.what[i]][A_ACCESS]];
    if (!/connect|bind/.test(access)) continue;
    const key = R.obj[i] + '|' + access;
    let k = out.get(key);
    if (!k) out.set(key, k = { i, access, bad: 0, ok: 0, who: new Set() });
    if (REFUSED[R.why[i]]) { k.bad += times(i); k.i = i; } else k.ok++;
    k.who.add(program(WHO[R.who[i]]));
  }
  return [...out.values()].sort((a, b) => b.bad - a.bad || b.ok - a.ok);
}

function drawNetwork(box) {
  const list = network();
  box.replaceChildren();
  if (!list.length) return box.append(empty('No address was connected to or bound, or none matches the filters.'));
  const body = h('tbody', {}), card = h('div', { class: 'card group' }, h('table', {}, h('thead', {}, h('tr', {},
    ...['Access', 'Address', 'Programs', 'Refused', 'Allowed', 'Allow with'].map((t, i) => h('th', { scope: 'col', class: i === 3 || i === 4 ? 'n' : null }, t)))), body));
  more(list.length, 200, 200, (j) => {
    const k = list[j], fix = S[WHY[R.why[k.i]][Y_FIX]];
    return h('tr', {}, h('td', {}, k.access), h('td', {}, h('button', { type: 'button', class: 'link', title: 'Only this address', onclick: () => set({ addr: R.obj[k.i] }) }, h('code', {}, object(k.i)))),
      h('td', {}, [...k.who].slice(0, 5).join(', ')), h('td', { class: 'n' }, k.bad ? h('span', { class: 'v-bad' }, num(k.bad)) : '–'), h('td', { class: 'n' }, k.ok ? num(k.ok) : '–'),
      h('td', { class: 'fix' }, fix ? [h('code', {}, fix), copy(fix)] : ''));
  }, body, card);
  box.append(card);
}

const cell = (text, c) => h('span', { class: c, role: 'gridcell', title: text.length > 24 ? text.slice(0, 500) : null }, text);
const recordList = new VList('record-list', 'Records', 'grid', (at) => {
  const i = M[at], y = WHY[R.why[i]], w = WHO[R.who[i]], a = WHAT[R.what[i]];
  const kind = S[y[Y_KIND]], verdict = S[y[Y_VERDICT]] || kind;
  return h('div', { class: 'cells', role: 'row', 'aria-rowindex': at + 1 },
    cell(String(SEQ[i]), 'num'), cell(clock(T[i], true), 'num'), cell(verdict, REFUSED[R.why[i]] ? 'v-bad' : ALLOWED[R.why[i]] ? 'v-ok' : 'dim'),
    cell(S[a[A_ACCESS]] || (REFUSED[R.why[i]] || ALLOWED[R.why[i]] ? 'call' : ''), null),
    cell((R.count[i] > 0 ? num(R.count[i]) + ' × ' : '') + object(i), 'mono'), cell(kind === 'start' || kind === 'end' || kind === 'warning' ? 'ptguard' : who(w), null), cell(S[y[Y_RULE]] || S[y[Y_REASON]], 'dim'));
}, (at, e) => { if (!e.key || e.key === 'Enter' || e.key === ' ') detail(M[at]); });

function drawRecords(box) {
  box.replaceChildren();
  if (!M.length) return box.append(empty('No record matches the filters.'));
  box.append(h('div', { class: 'cells head', 'aria-hidden': 'true' }, ...['Seq', 'Time', 'Verdict', 'Access', 'Object', 'Program', 'Rule'].map((t, i) => h('span', { class: i < 2 ? 'num' : null }, t))), recordList.box);
  box.firstChild.style.paddingRight = 13 + recordList.box.offsetWidth - recordList.box.clientWidth - 2 + 'px'; // the scroll bar
  recordList.set(M.length);
}

// ---- one record
function detail(i) {
  const w = WHO[R.who[i]], a = WHAT[R.what[i]], y = WHY[R.why[i]], d = $('detail');
  const kind = S[y[Y_KIND]];
  const facts = [
    ['time', new Date(D.base + T[i] / 1000).toISOString() + '  (' + span(T[i] - D.runs[w[W_RUN]].t0) + ' into the run)'], ['verdict', [S[y[Y_VERDICT]], S[y[Y_ERRNO]]].filter(Boolean).join(', ')],
    ['access', S[a[A_ACCESS]]], ['object', S[R.obj[i]]], ['as given', S[R.path[i]]], ['times', R.count[i] ? num(R.count[i]) + ' more of the same' : ''],
    ['system call', S[a[A_CALL]]], ['event', S[a[A_EVENT]]], ['flags', S[a[A_FLAGS]]],
    ['rule', [S[y[Y_RULE]], S[y[Y_LAYER]]].filter(Boolean).join('  —  ')], ['reason', S[y[Y_REASON]]], ['hint', S[y[Y_HINT]]], ['allow with', S[y[Y_FIX]]],
    ['process', w[W_PID] ? who(w) + ', parent ' + w[W_PPID] : ''], ['program', S[w[W_EXE]]], ['arguments', S[w[W_ARGV]]], ['run', D.runs[w[W_RUN]].id],
  ].filter((f) => f[1]);
  const only = (text, to) => h('button', { type: 'button', onclick: () => { d.close(); set(to); } }, text);
  d.replaceChildren(
    h('div', { class: 'top' }, h('h2', { id: 'detail-h' }, 'Record ' + SEQ[i] + ': ' + kind), h('button', { type: 'button', onclick: () => d.close(), 'aria-label': 'Close' }, 'Close')),
    h('dl', {}, ...facts.flatMap(([k, v]) => [h('dt', {}, k), h('dd', {}, v)])),
    h('div', { class: 'row' }, S[y[Y_FIX]] ? copy(S[y[Y_FIX]]) : '', w[W_PID] ? only('Only this process', { who: { pid: w[W_PID], run: w[W_RUN], name: who(w) } }) : '',
      S[y[Y_RULE]] ? only('Only this rule', { rule: y[Y_RULE] }) : '', S[R.obj[i]].startsWith('/') ? only('Only this path', { path: S[R.obj[i]] }) : ''));
  d.showModal();
}

// ---- timeline
const BARS = 80;
let bars = [], focusBar = 0, anchor = -1;
function drawTimeline() {
  const box = $('timeline');
  let t0 = Infinity, t1 = 0;
  const scope = F.run < 0 ? D.runs : [D.runs[F.run]];
  for (const r of scope) { t0 = Math.min(t0, r.t0); t1 = Math.max(t1, r.t1); }
  if (!(t1 > t0)) t1 = t0 + 1;
  const width = (t1 - t0) / BARS, bad = new Float64Array(BARS), ok = new Float64Array(BARS), other = new Float64Array(BARS);
  for (const i of base) {
    const b = Math.max(0, Math.min(BARS - 1, Math.floor((T[i] - t0) / width)));
    if (REFUSED[R.why[i]]) bad[b] += times(i); else if (ALLOWED[R.why[i]]) ok[b]++; else other[b]++;
  }
  let top = 1;
  for (let b = 0; b < BARS; b++) top = Math.max(top, bad[b] + ok[b] + other[b]);
  bars = [];
  for (let b = 0; b < BARS; b++) {
    const from = t0 + b * width, to = b === BARS - 1 ? t1 + 1 : from + width;
    const picked = F.from >= 0 && from >= F.from - 0.5 && to <= F.to + 0.5;
    const e = h('div', { role: 'option', tabindex: b === focusBar ? 0 : -1, 'aria-selected': String(picked), title: span(from - t0) + ' – ' + span(to - t0) + ': ' + num(bad[b]) + ' refused, ' + num(ok[b]) + ' allowed',
      'aria-label': 'from ' + span(from - t0) + ' to ' + span(to - t0) + ': ' + num(bad[b]) + ' refused, ' + num(ok[b]) + ' allowed, ' + num(other[b]) + ' other' });
    // Few are seen too: at least two pixels, and by the square root.
    for (const [c, n] of [['b-bad', bad[b]], ['b-ok', ok[b]], ['b-other', other[b]]]) {
      if (!n) continue;
      const part = h('i', { class: c });
      part.style.height = 'max(2px, ' + (Math.sqrt((bad[b] + ok[b] + other[b]) / top) * 100 * n / (bad[b] + ok[b] + other[b])).toFixed(2) + '%)';
      e.append(part);
    }
    e.addEventListener('click', (ev) => pickBar(b, ev.shiftKey));
    bars.push({ e, from, to });
  }
  box.classList.toggle('picked', F.from >= 0);
  const focused = box.contains(document.activeElement);
  box.replaceChildren(...bars.map((b) => b.e));
  if (focused) bars[focusBar].e.focus();
  const axis = $('axis').children;
  axis[0].textContent = clock(t0); axis[1].textContent = span(t1 - t0); axis[2].textContent = clock(t1);
}
function pickBar(b, extend) {
  focusBar = b;
  if (!extend || anchor < 0) {
    if (F.from === bars[b].from && F.to === bars[b].to) { anchor = -1; return set({ from: -1, to: -1 }); }
    anchor = b;
  }
  set({ from: bars[Math.min(anchor, b)].from, to: bars[Math.max(anchor, b)].to });
}
$('timeline').addEventListener('keydown', (e) => {
  const to = { ArrowRight: focusBar + 1, ArrowLeft: focusBar - 1, Home: 0, End: BARS - 1 }[e.key];
  if (to !== undefined) {
    bars[focusBar].e.tabIndex = -1;
    focusBar = Math.max(0, Math.min(BARS - 1, to));
    bars[focusBar].e.tabIndex = 0; bars[focusBar].e.focus();
    if (e.shiftKey && anchor >= 0) pickBar(focusBar, true);
  } else if (e.key === 'Enter' || e.key === ' ') pickBar(focusBar, e.shiftKey);
  else return;
  e.preventDefault();
});

// ---- the frame
function set(change) {
  Object.assign(F, change);
  if ('run' in change) { F.from = F.to = -1; F.who = null; header(); }
  update();
}

function update() {
  filter();
  for (const n of names) stale.add(n);
  drawTimeline();
  drawChips();
  $('count').textContent = M.length === N ? num(N) + ' records' : num(M.length) + ' of ' + num(N) + ' records';
  let bad = 0;
  for (const i of M) if (REFUSED[R.why[i]]) bad += times(i);
  badge('refusals', bad); badge('records', M.length);
  draw();
  const later = () => { badge('processes', processes().n); badge('files', files().n); badge('network', network().length); };
  clearTimeout(update.timer);
  update.timer = setTimeout(later, N > 20000 ? 120 : 0);
}
function badge(name, n) { $('tab-' + name).querySelector('b').textContent = num(n); }

function draw() {
  for (const n of names) {
    const on = n === tab, t = $('tab-' + n);
    t.setAttribute('aria-selected', String(on)); t.tabIndex = on ? 0 : -1;
    $(n).hidden = !on;
  }
  if (stale.delete(tab)) panels[tab]($(tab));
}

function drawChips() {
  const out = [];
  const chip = (text, clear) => out.push(h('button', { type: 'button', class: 'chip', 'aria-label': 'Remove filter ' + text, onclick: () => { set(clear); $('q').focus(); } }, text + '  ✕'));
  if (F.who) chip('process ' + F.who.name, { who: null });
  if (F.rule >= 0) chip('rule ' + S[F.rule], { rule: -1 });
  if (F.path) chip('beneath ' + F.path, { path: '' });
  if (F.addr >= 0) chip('address ' + S[F.addr], { addr: -1 });
  if (F.from >= 0) chip('time ' + clock(F.from, true) + ' – ' + clock(F.to, true), { from: -1, to: -1 });
  $('chips').replaceChildren(...out);
  $('clear').hidden = !(out.length || F.q || F.verdict || F.access);
}

function clear() {
  $('q').value = $('verdict').value = $('access').value = '';
  set({ q: '', verdict: '', access: '', who: null, rule: -1, path: '', addr: -1, from: -1, to: -1 });
}

function header() {
  const r = F.run < 0 ? (D.runs.length === 1 ? D.runs[0] : null) : D.runs[F.run];
  const start = r?.start, end = r?.end;
  $('heading').textContent = 'report' + (D.name ? ' · ' + D.name : '');
  $('command').textContent = start ? start.command.join(' ') : D.runs.length > 1 ? D.runs.length + ' runs' : '(the trace does not say)';
  const facts = [];
  if (r) facts.push(['started', new Date(D.base + r.t0 / 1000).toLocaleString('en-GB')], ['took', end ? span(end.wall_ms * 1000) : span(r.t1 - r.t0)]);
  if (end) facts.push(['ended', end.signal ? 'killed by ' + end.signal : 'status ' + end.status]);
  if (start) facts.push(['mode', start.mode], ['protection', start.tier], ['work folder', start.work], ['ptguard', start.version], ['Linux', start.kernel], ['policy', start.policy_digest.slice(0, 12)]);
  if (start?.lifted?.length) facts.push(['lifted', start.lifted.join(', ')]);
  $('facts').replaceChildren(...facts.map(([k, v]) => h('div', {}, h('dt', {}, k), h('dd', {}, v))));
  const notices = [];
  if (start?.audit) notices.push('Audit mode: nothing was enforced. What stands here as refused was allowed and would have been refused.');
  if (r && !end) notices.push('The trace has no end record: the run was killed, or goes on.');
  if (end?.lost) notices.push(num(end.lost) + ' records were lost while the run went on.');
  if (D.bad) notices.push(num(D.bad) + ' lines of the trace were cut off or broken, and are left out.');
  if (D.total > N) notices.push(num(D.total - N) + ' of ' + num(D.total) + ' records are not listed here (refusals come first); use ptguard dump for all.');
  $('notices').replaceChildren(...notices.map((t) => h('p', { class: 'notice' }, t)));
  const seen = { bad: 0, kinds: new Set(), prog: new Set(), files: new Set(), procs: new Set(), n: 0 };
  for (let i = 0; i < N; i++) {
    const w = WHO[R.who[i]];
    if (F.run >= 0 && w[W_RUN] !== F.run) continue;
    seen.n++;
    if (w[W_PID] && (REFUSED[R.why[i]] || ALLOWED[R.why[i]])) { seen.procs.add(w[W_RUN] + ' ' + w[W_PID]); seen.prog.add(w[W_EXE]); }
    if (S[R.obj[i]][0] === '/') seen.files.add(R.obj[i]);
    if (REFUSED[R.why[i]]) { seen.bad += times(i); seen.kinds.add(R.obj[i] + '|' + WHAT[R.what[i]][A_ACCESS] + '|' + WHY[R.why[i]][Y_RULE]); }
  }
  const card = (n, text, c) => h('li', { class: c }, h('b', {}, num(n)), h('span', {}, text));
  $('cards').replaceChildren(card(seen.bad, seen.bad === 1 ? 'act refused' : 'acts refused', seen.bad ? 'bad' : null), card(seen.kinds.size, 'kinds of refusal'), card(seen.prog.size, 'programs'), card(seen.procs.size, 'processes'), card(seen.files.size, 'files and folders'), card(seen.n, 'records'));
  if (D.title) document.title = D.title;
}

// ---- wiring
let typing = 0;
$('q').addEventListener('input', (e) => { clearTimeout(typing); typing = setTimeout(() => set({ q: e.target.value }), N > 20000 ? 150 : 30); });
$('verdict').addEventListener('change', (e) => set({ verdict: e.target.value }));
$('access').addEventListener('change', (e) => set({ access: e.target.value }));
$('run').addEventListener('change', (e) => set({ run: Number(e.target.value) }));
$('clear').addEventListener('click', () => { clear(); $('q').focus(); });
$('tabs').addEventListener('click', (e) => { const t = e.target.closest('[role=tab]'); if (t) { tab = t.id.slice(4); draw(); } });
$('tabs').addEventListener('keydown', (e) => {
  const at = names.indexOf(tab), to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: names.length - 1 }[e.key];
  if (to === undefined) return;
  tab = names[(to + names.length) % names.length]; draw(); $('tab-' + tab).focus(); e.preventDefault();
});
document.addEventListener('keydown', (e) => {
  const typingIn = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName);
  if (e.key === '/' && !typingIn && !$('detail').open) { $('q').focus(); $('q').select(); e.preventDefault(); }
  else if (e.key === 'Escape' && !$('detail').open && !$('clear').hidden) clear();
});
const themes = ['auto', 'light', 'dark'];
let theme = 'auto';
$('theme').addEventListener('click', () => {
  theme = themes[(themes.indexOf(theme) + 1) % 3];
  if (theme === 'auto') delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = theme;
  $('theme').querySelector('span').textContent = theme;
  $('theme').setAttribute('aria-label', 'Colours: ' + (theme === 'auto' ? 'as the system says' : theme));
});
window.addEventListener('beforeprint', () => {
  for (const n of names) { if (stale.delete(n)) panels[n]($(n)); $(n).dataset.title = $('tab-' + n).firstChild.textContent.trim(); }
  for (const l of [processTree.list, fileTree.list, recordList]) l.draw(true);
});
window.addEventListener('afterprint', () => { for (const l of [processTree.list, fileTree.list, recordList]) l.draw(); });

const accesses = new Set();
for (const a of WHAT) for (const w of S[a[A_ACCESS]].split(', ')) if (w) accesses.add(w);
for (const a of [...accesses].sort()) $('access').append(h('option', { value: a }, a));
if (D.runs.length > 1) {
  $('run-label').hidden = false;
  $('run').append(h('option', { value: -1 }, 'all ' + D.runs.length), ...D.runs.map((r, i) => h('option', { value: i }, clock(r.t0) + ' ' + (r.start ? r.start.command.join(' ').slice(0, 40) : r.id))));
  $('run').value = F.run;
}
if (!D.denials) tab = 'processes';
header();
update();
document.documentElement.dataset.ready = '1';
})();
