// What the reader has chosen, and the link that says it.
//
// `values` holds the independent numbers. A total (write time, failure interval, restart time) is one of them, or is
// opened and follows from its parts. Without `s` saves block training; without `tau` the interval is the best.
"use strict";

workshop.state = (() => {
  const { formulas, presets, target, opened: first } = workshop.book;
  const { kinds, parse, exactly, quoted } = workshop.units;

  // Every number there can be, and its kind; a link names them in this order.
  const fields = {
    delta: "time",
    P: "count",
    b: "bytes",
    B: "rate",
    s: "time",
    M: "time",
    N: "count",
    m: "time",
    r: "time",
    detect: "time",
    replace: "time",
    initialise: "time",
    load: "time",
    warmup: "time",
    tau: "time",
    step: "time",
    price: "money",
    target: "share",
  };
  const OPTIONAL = ["s", "tau", "step", "price"];
  const EXTRAS = ["step", "price", "target"]; // a preset leaves them alone

  // How a total follows from its parts, and which part moves when an opened total is set.
  const totals = {
    delta: {
      parts: ["P", "b", "B"],
      from: (v) => formulas.WRITE_TIME({ S: formulas.STATE(v), B: v.B }),
      set: (v, delta) => ({ B: formulas.BANDWIDTH({ S: formulas.STATE(v), delta }) }),
    },
    M: {
      parts: ["N", "m"],
      from: formulas.FAILURE_INTERVAL,
      set: (v, M) => ({ m: formulas.DEVICE_INTERVAL({ M, N: v.N }) }),
    },
    r: {
      parts: ["detect", "replace", "initialise", "load", "warmup"],
      from: (v) => totals.r.parts.reduce((sum, part) => sum + v[part], 0),
      set: (v, r) => Object.fromEntries(totals.r.parts.map((part) => [part, (v[part] * r) / totals.r.from(v)])),
    },
  };

  const isOpen = (values, key) => totals[key].parts[0] in values;
  const current = (values, key) => (key in totals && isOpen(values, key) ? totals[key].from(values) : values[key]);
  const without = (values, keys) => Object.fromEntries(Object.entries(values).filter(([key]) => !keys.includes(key)));

  function changed(values, key, value) {
    if (value === undefined) return without(values, [key]);
    return { ...values, ...(key in totals && isOpen(values, key) ? totals[key].set(values, value) : { [key]: value }) };
  }

  // Opened, a total keeps its value; its parts begin in the proportions of the book's first example.
  function opened(values, key) {
    const parts = Object.fromEntries(totals[key].parts.map((part) => [part, first[part]]));
    return changed({ ...without(values, [key]), ...parts }, key, values[key]);
  }

  const closed = (values, key) => ({ ...without(values, totals[key].parts), [key]: current(values, key) });

  // The numbers that a model takes.
  function inputs(values) {
    const [delta, M, r] = Object.keys(totals).map((key) => current(values, key));
    return "s" in values ? { s: values.s, D: delta, M, r } : { delta, M, r };
  }

  // What is wrong with values that may each be right, or undefined.
  function wrong(values) {
    const out = [...Object.keys(values), ...Object.keys(totals)].find((key) => {
      const { least, most } = kinds[fields[key]];
      return !(current(values, key) >= least && current(values, key) <= most);
    });
    return out && `this would take ${out} out of its range`;
  }

  const fromPreset = (preset) => ({ preset, exact: false, values: { target, ...presets[preset] } });

  // Only what differs from the preset, with units, so that a link can be read and written by hand.
  function toQuery({ preset, exact, values }) {
    const from = fromPreset(preset).values;
    const pairs = [["preset", preset]];
    for (const key of Object.keys(fields)) {
      if (key in values && values[key] !== from[key]) pairs.push([key, exactly(fields[key], values[key])]);
      if (key in from && !(key in values) && OPTIONAL.includes(key)) pairs.push([key, ""]);
    }
    if (exact) pairs.push(["exact", "1"]);
    return `?${pairs.map(([key, text]) => `${key}=${encodeURIComponent(text).replaceAll("%2F", "/")}`).join("&")}`;
  }

  // The state of a link, and the problems in it: a list of [field, what is wrong]. What is wrong is left out.
  function fromQuery(query) {
    const given = new URLSearchParams(query);
    const problems = [];
    const [usual] = Object.keys(presets);
    const asked = given.get("preset") ?? usual;
    const known = Object.hasOwn(presets, asked);
    if (!known) problems.push(["preset", `the link asks for ${quoted(asked)}, which is not in the list`]);
    const state = { ...fromPreset(known ? asked : usual), exact: given.get("exact") === "1" };
    let { values } = state;

    const parses = (key) => given.has(key) && !parse(fields[key], given.get(key)).problem;
    for (const [key, { parts }] of Object.entries(totals)) {
      if (parts.some(parses)) {
        if (given.has(key)) problems.push([key, "the link gives this and its parts: the parts count"]);
        given.delete(key);
        if (!isOpen(values, key)) values = opened(values, key);
      } else if (parses(key) && isOpen(values, key)) values = closed(values, key);
    }
    for (const [key, kind] of Object.entries(fields)) {
      if (!given.has(key)) continue;
      const text = given.get(key);
      const { value, problem } = text === "" && OPTIONAL.includes(key) ? {} : parse(kind, text);
      const candidate = problem ? values : changed(values, key, value);
      const trouble = problem ?? wrong(candidate);
      if (trouble) problems.push([key, `in the link, ${trouble}`]);
      else values = candidate;
    }
    return { state: { ...state, values }, problems };
  }

  return {
    fields,
    OPTIONAL,
    EXTRAS,
    isOpen,
    current,
    changed,
    opened,
    closed,
    inputs,
    wrong,
    fromPreset,
    toQuery,
    fromQuery,
  };
})();
