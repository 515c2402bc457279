// The pure parts of the workshop page, without a browser. WORKSHOP_BOOK is the printed script.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { runInThisContext } from "node:vm";

const page = new URL("../web/workshop/", import.meta.url);
for (const file of [
  process.env.WORKSHOP_BOOK,
  ...["units", "state", "answer"].map((name) => new URL(`${name}.js`, page)),
]) {
  runInThisContext(readFileSync(file, "utf-8"));
}
const { book, units, state: states, answer } = globalThis.workshop;
const presets = Object.keys(book.presets);
const { values: usual } = states.fromPreset(presets[0]);

// Mulberry32: the same numbers in every run.
let seed = 20240501;
function random() {
  seed = (seed + 0x6d2b79f5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
}
const between = (low, high) => low * (high / low) ** random();
const near = (a, b, tolerance = 1e-9) => assert.ok(Math.abs(a - b) <= tolerance * Math.abs(b), `${a} is not ${b}`);
const solved = (values, exact = false) => answer.solve({ preset: presets[0], exact, values: { ...usual, ...values } });

const accepted = {
  time: [
    ["2 min", 120],
    ["3.1h", 11160],
    ["1 d", 86400],
    ["90 s", 90],
    [" 250ms ", 0.25],
    ["2 hours", 7200],
    ["1e3 s", 1000],
    ["1 yr", 31557600],
    [".5 h", 1800],
  ],
  count: [
    ["405B", 405e9],
    ["16,384", 16384],
    ["16384", 16384],
    ["1.5 T", 1.5e12],
    ["70 B", 70e9],
  ],
  rate: [
    ["50 GB/s", 50e9],
    ["2TB/s", 2e12],
    ["1,000 MB/s", 1e9],
  ],
  bytes: [
    ["16", 16],
    ["14 B", 14],
  ],
  share: [
    ["95 %", 0.95],
    ["57", 0.57],
    ["57%", 0.57],
  ],
  money: [
    ["40,000", 40000],
    ["40k", 40000],
  ],
};
for (const [kind, pairs] of Object.entries(accepted)) {
  for (const [text, value] of pairs)
    test(`${kind}: ${text}`, () => assert.deepEqual(units.parse(kind, text), { value }));
}

const refused = {
  time: [
    "",
    " ",
    "10",
    "-3 h",
    "0 s",
    "NaN",
    "NaN h",
    "Infinity s",
    "1e999 s",
    "2 m",
    "2 GB/s",
    "3,1 h",
    "1 2 h",
    "h",
    "h 2",
    "--3 h",
    "__proto__",
    "5 constructor",
    "0x10 s",
    "1".repeat(10000),
    "<b>2</b> h",
    "2 h; alert(1)",
  ],
  count: ["0", "-1", "405 GB", "1e300", "1,2", "16,38,4"],
  rate: ["50", "50 Gb/s", "50 gb/s", "50 GB", "0 GB/s"],
  bytes: ["0", "16 GB", "-2"],
  share: ["0", "100", "101 %", "-5 %"],
  money: ["-1", "free", "40,00"],
};
for (const [kind, texts] of Object.entries(refused)) {
  for (const text of texts) {
    test(`refused as ${kind}: ${text.slice(0, 30)}`, () => {
      const { value, problem } = units.parse(kind, text);
      assert.equal(value, undefined);
      assert.ok(problem.length < 120 && /give|to/.test(problem), problem);
    });
  }
}

test("a slider's numbers are what their text says", () => {
  for (const kind of Object.keys(units.kinds)) {
    for (let i = 0; i < 2000; i += 1) {
      const value = between(units.kinds[kind].least, units.kinds[kind].most);
      const text = units.show(kind, value);
      const back = units.parse(kind, text);
      if (back.problem)
        assert.ok(value < 1.01 * units.kinds[kind].least || value > 0.99 * units.kinds[kind].most, `${value}: ${text}`);
      else assert.ok(Math.abs(back.value - value) <= 0.0051 * value, `${value}: ${text}`);
    }
  }
});

test("the text of a link is exact", () => {
  for (const kind of Object.keys(units.kinds)) {
    for (let i = 0; i < 500; i += 1) {
      const number = between(units.kinds[kind].least, units.kinds[kind].most);
      const value = kind === "share" ? Number((100 * number).toPrecision(6)) / 100 : number; // as it is typed
      assert.equal(units.parse(kind, units.exactly(kind, value)).value, value);
    }
  }
});

const SAMPLES = {
  delta: [0.1, 1e4],
  P: [1e7, 1e13],
  b: [1, 32],
  B: [1e8, 1e14],
  s: [0.01, 100],
  M: [60, 1e7],
  N: [1, 1e6],
  m: [1e5, 1e9],
  r: [1, 1e4],
  detect: [1, 100],
  replace: [1, 100],
  initialise: [1, 100],
  load: [1, 100],
  warmup: [1, 100],
  tau: [1, 1e5],
  step: [0.1, 100],
  price: [1, 1e6],
};

test("a link gives back the state that made it", () => {
  for (let i = 0; i < 500; i += 1) {
    const preset = presets[Math.floor(random() * presets.length)];
    let { values } = states.fromPreset(preset);
    for (const total of ["delta", "M", "r"]) {
      if (random() < 0.5)
        values = states.isOpen(values, total) ? states.closed(values, total) : states.opened(values, total);
    }
    for (const [key, [low, high]] of Object.entries(SAMPLES)) {
      const optional = states.OPTIONAL.includes(key);
      if (random() < 0.5 && (optional || key in values)) values = { ...values, [key]: between(low, high) };
      else if (optional && random() < 0.5) values = states.changed(values, key);
    }
    const state = { preset, exact: random() < 0.5, values };
    if (states.wrong(values)) continue;
    const back = states.fromQuery(states.toQuery(state));
    assert.deepEqual(back.problems, []);
    assert.deepEqual(back.state, state);
  }
});

test("an unchanged preset has a link of one word", () => {
  for (const preset of presets) assert.equal(states.toQuery(states.fromPreset(preset)), `?preset=${preset}`);
});

for (const query of [
  "?preset=__proto__",
  "?preset=constructor",
  "?preset=toString&exact=2",
  `?M=${"9".repeat(10000)}`,
  "?M=NaN",
  "?M=-3h",
  "?M=0s",
  "?tau=0s",
  "?r=%3Cimg%20src%3Dx%3E",
  "?B=50apples",
  "?P=&b=&B=",
  "?M=",
  "?__proto__=1&constructor=2",
  "?%E0%A4%A",
  "?M=3h&M=4h",
  "?delta=1s&P=1B",
  "?N=0",
  "?P=1e18&b=1e4&B=1B/s",
  "?m=1e-6s&N=1e18",
  "?target=200",
  "?s=1e12s&delta=1e12s",
  "?tau=1e12s&M=1e-6s&exact=1",
  "?delta=1e12s&M=1e-6s",
]) {
  test(`a link from anywhere: ${query.slice(0, 40)}`, () => {
    const { state, problems } = states.fromQuery(query);
    assert.equal(states.wrong(state.values), undefined);
    for (const [key, problem] of problems) {
      assert.ok(key === "preset" || key in states.fields);
      assert.ok(problem.length < 200);
    }
    const view = answer.solve(state);
    const texts = [
      answer.answer(state, view),
      answer.definition(state, view),
      answer.miss(view),
      answer.bottom(view),
      answer.drain(view),
      answer.help(state, view),
    ];
    assert.doesNotMatch(texts.map(answer.plain).join(" "), /NaN|Infinity|undefined|null|e\+/);
  });
}

test("a total keeps its value when it is opened, and its parts when it is closed", () => {
  for (let i = 0; i < 200; i += 1) {
    const values = { delta: between(0.1, 1e4), M: between(60, 1e7), r: between(1, 1e4) };
    for (const key of Object.keys(values)) {
      const opened = states.opened(values, key);
      near(states.current(opened, key), values[key], 1e-14);
      near(states.current(states.changed(opened, key, 2 * values[key]), key), 2 * values[key], 1e-14);
      assert.deepEqual(Object.keys(states.closed(opened, key)).sort(), Object.keys(values).sort());
    }
  }
});

test("no interval beats the best, in any model", () => {
  for (let i = 0; i < 300; i += 1) {
    const sample = { delta: between(0.1, 1e3), M: between(3e3, 1e6), r: between(1, 1e3) };
    for (const [values, exact] of [
      [sample, false],
      [sample, true],
      [{ ...sample, s: between(0.01, 10), delta: between(1, 1e3) }, false],
    ]) {
      const { P, b, B, ...closed } = { ...usual, ...values };
      const view = answer.solve({ preset: presets[0], exact, values: closed });
      for (const factor of [0.3, 0.9, 0.99, 1.01, 1.1, 3]) {
        assert.ok(view.ledger(factor * view.best.tau).lost >= view.best.lost * (1 - 1e-12));
      }
    }
  }
});

test("the shares of a ledger add up to 1, and to the loss", () => {
  for (let i = 0; i < 500; i += 1) {
    for (const exact of [false, true]) {
      const view = solved({ tau: between(1, 1e5), M: between(1e3, 1e6) }, exact);
      const { useful, writing, redone, restarts, lost } = view.chosen;
      near(writing + redone + restarts, lost, 1e-13);
      near(1 - useful, lost, 1e-12);
    }
  }
});

test("both ends of the flat bottom cost the tolerated share more", () => {
  for (const exact of [false, true]) {
    const view = solved({}, exact);
    for (const end of view.flat) near(view.ledger(end).lost, (1 + book.tolerated) * view.best.lost);
    assert.ok(view.flat[0] < view.best.tau && view.best.tau < view.flat[1]);
  }
});

test("what a target needs gives the target", () => {
  for (const [values, exact] of [
    [{ target: 0.93 }, false],
    [{ target: 0.94 }, true],
    [{ target: 0.93, s: 1 }, false],
  ]) {
    const state = { preset: presets[0], exact, values: { ...usual, ...values } };
    for (const { key, number, floor } of answer.needed(state, answer.solve(state).model)) {
      if (number === undefined) assert.ok(1 - floor < values.target);
      else
        near(answer.solve({ ...state, values: states.changed(state.values, key, number) }).best.useful, values.target);
    }
  }
});

test("each lever is what its change gives", () => {
  const view = solved({ tau: 3600 });
  assert.deepEqual(
    view.levers.map(({ key }) => key),
    ["tau", "r", "delta", "M"],
  );
  for (const { values, gain, from } of view.levers)
    near(from.lost - solved({ ...values, tau: undefined }).best.lost, gain);
});

test("below the drain training waits, and the best interval is not there", () => {
  const { P, b, B, ...values } = { ...usual, s: 0.1, delta: 324 };
  const view = answer.solve({ preset: presets[0], exact: false, values });
  assert.equal(view.best.tau, 324);
  assert.ok(view.ledger(323).lost > view.best.lost && view.ledger(325).lost > view.best.lost);
  assert.match(answer.plain(answer.drain(view)), /drain sets the interval/);
});

test("steps are whole, at least one, and the better neighbour of the best interval", () => {
  const text = (step) => answer.plain(answer.steps({ values: { step } }, solved({})));
  assert.match(text(10), /every 27 steps \(4.5 min\)/);
  assert.match(text(3600), /every 1 step \(1 h\)/);
});

const linked = (query) => {
  const { state, problems } = states.fromQuery(query);
  const view = answer.solve(state);
  return { state, problems, view, says: answer.plain(answer.answer(state, view)) };
};

test("equal parts of the loss are named together, whichever way they are rounded", () => {
  assert.match(linked("?preset=short_restart").says, /is writing and redone work, equally: 69 % of it together\.$/);
  for (let i = 0; i < 200; i += 1) {
    const { state, view } = linked(`?r=1s&delta=${between(1, 100)}s&M=${between(1e4, 1e6)}s`);
    assert.match(answer.answer(state, view), /writing and redone work, equally/);
  }
  assert.match(linked("").says, /is restarts: 69 % of it\.$/);
});

test("what helps most can be bought", () => {
  for (let i = 0; i < 200; i += 1) {
    const { state, view } = linked(`?delta=${between(1, 100)}s&M=${between(1e4, 1e6)}s&r=${between(1, 1e3)}s`);
    assert.equal(view.levers.at(-1).key, "M");
    assert.ok(["r", "delta"].includes(view.most.key));
    assert.equal(view.most.gain, Math.max(...view.levers.slice(0, -1).map(({ gain }) => gain)));
    assert.doesNotMatch(answer.help(state, view), /failure/);
  }
});

test("the words are those of the model in use, and name the loss that dominates", () => {
  const exact = linked("?M=60 s&r=86400 s&exact=1");
  assert.match(exact.says, /next to nothing is kept\. The largest part of the loss is restarts: 100 %/);
  assert.doesNotMatch(answer.help(exact.state, exact.view), /first order/);
  const { says } = linked("?s=2 s&delta=5 h&exact=1&tau=1 s");
  assert.match(says, /first order counts more than 1,000 % .* The largest part of the loss is writing: 100 %/);
});

test("a stall that outlasts its save is reported", () => {
  assert.match(answer.overlap(linked("?s=100 s&delta=2 s").view), /before its stall ends: give at most the drain, 2 s/);
  for (const query of ["", "?s=2 s&delta=2 s", "?preset=asynchronous"])
    assert.equal(answer.overlap(linked(query).view), "");
});

test("only a value that can be read opens or closes a total", () => {
  for (const query of ["?delta=NaN", "?N=x", "?r=1&detect=1"])
    assert.deepEqual(linked(query).state, states.fromPreset(presets[0]), query);
  assert.equal(linked("?N=x&M=2h").state.values.M, 7200);
  assert.ok("N" in linked("?N=8").state.values && "delta" in linked("?delta=2s").state.values);
});

test("a refusal gives the true limits and the units", () => {
  assert.match(units.parse("share", "100").problem, /0\.01 % to 99\.99 %$/);
  for (const [kind, text] of [["time", "5 apples"], ["time", "10"], ["rate", "50 Gb/s"]]) {
    for (const unit of Object.keys(units.kinds[kind].units)) assert.ok(units.parse(kind, text).problem.includes(unit));
  }
});
