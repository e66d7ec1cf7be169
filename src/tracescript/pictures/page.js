"use strict";

// The relations come from the graph in Python. Nothing here works them out: it reads the node
// that the address names, and shows what is related to it.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const numberOf = new Map(data.keys.map((key, number) => [key, number]));
  const peerOf = new Map(data.peers.flatMap(([one, other]) => [[one, other], [other, one]]));
  const body = document.body;
  const about = document.getElementById("about");
  const table = document.querySelector("table");
  const rows = [...table.rows].filter((row) => row.querySelector("[data-n]"));
  const nodes = [...document.querySelectorAll("[data-n]")];
  const lines = [...table.querySelectorAll("[data-s]")].map((element) => ({
    element,
    source: Number(element.dataset.s),
    target: element.dataset.t === undefined ? null : Number(element.dataset.t),
    row: element.closest("tr").rowIndex,
    isOrder: element.classList.contains("order"),
  }));
  const rowOf = new Map();
  for (const cell of table.querySelectorAll("td.code[data-n]")) {
    rowOf.set(Number(cell.dataset.n), cell.parentElement.rowIndex);
  }

  // The address: `#d3`, `#i17` or `#i17.2`, then `&orders` and `&only`.
  const state = { chosen: null, orders: false, only: false };

  function read() {
    const [key, ...options] = location.hash.slice(1).split("&");
    state.chosen = numberOf.get(key) ?? null;
    state.orders = options.includes("orders");
    state.only = options.includes("only");
  }

  function go(changes) {
    const { chosen, orders, only } = { ...state, ...changes };
    const key = chosen === null ? "" : data.keys[chosen];
    const hash = `#${key}${orders ? "&orders" : ""}${only ? "&only" : ""}`;
    // Moving about should not fill the history.
    if (hash !== location.hash) location.replace(hash);
  }

  // Relations.

  function members(position) {
    const found = [];
    const runs = data.sets[position];
    for (let run = 0; run < runs.length; run += 2) {
      for (let offset = 0; offset < runs[run + 1]; offset += 1) found.push(runs[run] + offset);
    }
    return found;
  }

  function related(number) {
    const [after, before, afterOrders, beforeOrders] = data.related[number];
    return {
      after: members(state.orders ? afterOrders : after),
      before: members(state.orders ? beforeOrders : before),
    };
  }

  function relations() {
    const selected = new Set();
    const after = new Set();
    const before = new Set();
    if (state.chosen !== null) {
      for (const number of [state.chosen, peerOf.get(state.chosen)]) {
        if (number === undefined) continue;
        selected.add(number);
        const found = related(number);
        found.after.forEach((each) => after.add(each));
        found.before.forEach((each) => before.add(each));
      }
    }
    return { selected, after, before };
  }

  // Marks.

  function mark({ selected, after, before }) {
    body.classList.toggle("chosen", selected.size > 0);
    body.classList.toggle("orders", state.orders);
    for (const element of nodes) {
      const number = Number(element.dataset.n);
      element.classList.toggle("selected", selected.has(number));
      element.classList.toggle("after", after.has(number));
      element.classList.toggle("before", before.has(number));
      if (element.matches("a")) {
        element.setAttribute("aria-current", String(number === state.chosen));
      }
    }
    markLines("after", new Set([...selected, ...after]));
    markLines("before", new Set([...selected, ...before]));
    // A decision of no instruction stands in a row of its own.
    const marks = "td.code:is(.selected, .after, .before), td.code:not([data-n]) .selected";
    for (const row of rows) row.hidden = state.only && selected.size > 0 && !row.querySelector(marks);
    document.getElementById("toggle-orders").setAttribute("aria-pressed", String(state.orders));
    document.getElementById("toggle-only").setAttribute("aria-pressed", String(state.only));
  }

  // An edge is marked if both its ends are. A line is marked down to the last such edge.
  function markLines(mark, marked) {
    const ends = (source, target) => marked.has(source) && marked.has(target);
    const used = data.uses.filter(([, value, user]) => ends(value, user));
    const values = reaching(used.map(([definer, , user]) => [definer, user]));
    const ordered = state.orders ? data.orders.filter(([source, user]) => ends(source, user)) : [];
    const orders = reaching(ordered);
    for (const { element, source, target, row, isOrder } of lines) {
      const { edges, last } = isOrder ? orders : values;
      const lit = target === null ? row < (last.get(source) ?? -1) : edges.has(`${source} ${target}`);
      element.classList.toggle(mark, lit);
    }
  }

  function reaching(pairs) {
    const edges = new Set();
    const last = new Map();
    for (const [source, user] of pairs) {
      edges.add(`${source} ${user}`);
      last.set(source, Math.max(last.get(source) ?? 0, rowOf.get(user)));
    }
    return { edges, last };
  }

  // The panel.

  function add(parent, name, text, className = "") {
    const element = document.createElement(name);
    element.textContent = text;
    if (className) element.className = className;
    parent.append(element);
    return element;
  }

  function count(numbers, what, pattern) {
    const found = numbers.filter((number) => pattern.test(data.keys[number])).length;
    return found ? [`${found} ${what}${found === 1 ? "" : "s"}`] : [];
  }

  function counts(numbers) {
    const all = [
      ...count(numbers, "decision", /d\d+$/),
      ...count(numbers, "instruction", /i\d+$/),
      ...count(numbers, "random variable", /i\d+\.\d+$/),
    ];
    return all.join(", ") || "nothing";
  }

  function describe() {
    about.hidden = state.chosen === null;
    about.replaceChildren();
    if (state.chosen === null) return;
    const { after, before } = related(state.chosen);
    add(about, "h2", `${data.keys[state.chosen]}  ${textOf(state.chosen)}`);
    add(about, "p", `influences ${counts(after)}`, "after-count");
    add(about, "p", `depends on ${counts(before)}`, "before-count");
    const decisions = before.filter((number) => /d\d+$/.test(data.keys[number]));
    if (decisions.length === 0) return;
    const links = add(about, "p", "decisions behind it: ", "links");
    for (const number of decisions) {
      add(links, "a", `${data.keys[number]} ${textOf(number)}`).href = `#${data.keys[number]}`;
    }
  }

  function textOf(number) {
    const found = table.querySelector(`:is(td, a:not(.num))[data-n="${number}"]`);
    return found ? found.textContent.slice(0, 200) : "";
  }

  // Moving about.

  function show() {
    if (state.chosen === null) return;
    const found = table.querySelector(`a[data-n="${state.chosen}"]`);
    if (!found) return;
    found.focus({ preventScroll: true });
    found.closest("tr").scrollIntoView({ block: "nearest" });
  }

  function step(pattern, by) {
    const kind = data.keys.flatMap((key, number) => (pattern.test(key) ? [number] : []));
    const from = state.chosen ?? (by > 0 ? -1 : data.keys.length);
    const next = by > 0 ? kind.find((number) => number > from) : kind.findLast((number) => number < from);
    if (next !== undefined) go({ chosen: next });
  }

  const KEYS = {
    ArrowDown: () => step(/i\d+$/, 1),
    ArrowUp: () => step(/i\d+$/, -1),
    ArrowRight: () => step(/./, 1),
    ArrowLeft: () => step(/./, -1),
    d: () => step(/d\d+$/, 1),
    D: () => step(/d\d+$/, -1),
    o: () => go({ orders: !state.orders }),
    r: () => go({ only: !state.only }),
    Escape: () => go({ chosen: null }),
  };

  function update() {
    read();
    mark(relations());
    describe();
    show();
  }

  addEventListener("hashchange", update);
  addEventListener("keydown", (event) => {
    const act = KEYS[event.key];
    if (!act || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    act();
  });
  // A link to a node keeps the options; a row is a link to its instruction.
  document.addEventListener("click", (event) => {
    const found = event.target.closest("[data-n], #about a");
    if (!found || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (!getSelection().isCollapsed) return;
    event.preventDefault();
    const number = found.dataset.n === undefined ? numberOf.get(found.hash.slice(1)) : Number(found.dataset.n);
    go({ chosen: number === state.chosen ? null : number });
  });
  document.getElementById("toggle-orders").addEventListener("click", KEYS.o);
  document.getElementById("toggle-only").addEventListener("click", KEYS.r);
  document.getElementById("clear").addEventListener("click", KEYS.Escape);
  update();
})();
