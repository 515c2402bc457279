// What a state comes to, in numbers and in words. A model is made of printed functions; for the rest there is a search.
"use strict";

workshop.answer = (() => {
  const { formulas: f, tolerated, names, times } = workshop.book;
  const { duration, percent, size, rate, digits } = workshop.units;
  const { current, changed, inputs, fromPreset } = workshop.state;
  const LOSSES = ["writing", "redone", "restarts"];

  const printed = (prefix) =>
    Object.fromEntries(["best", "loss", ...LOSSES].map((name) => [name, f[prefix + name.toUpperCase()]]));
  const first = { ...printed(""), best: f.YOUNG };
  const exact = printed("EXACT_");
  const asynchronous = { ...printed("ASYNC_"), restarts: f.RESTARTS };

  const modelOf = (wanted, values) => ("s" in values ? asynchronous : wanted ? exact : first);

  // Where elapsed time goes at one interval. From a loss of 1 on, first order means nothing: `sound` says so.
  // Where the exact powers of e exceed a float, nothing is ever kept: all that is not restarts or writing is redone.
  function ledger(model, given, tau) {
    const at = { ...given, tau };
    const finite = (share, otherwise) => (Number.isFinite(share) ? share : otherwise);
    const lost = finite(model.loss(at), 1);
    const writing = finite(model.writing(at), 0);
    const restarts = finite(model.restarts(at), 0);
    const redone = finite(model.redone(at), lost - writing - restarts);
    return { tau, useful: 1 - lost, writing, redone, restarts, lost, sound: lost < 1 };
  }

  const least = (model, given) => ledger(model, given, model.best(given));

  // The last number on the way from `good` to `bad` for which the test holds, by halving on a logarithmic scale.
  function boundary(holds, good, bad) {
    for (let step = 0; step < 100; step += 1) {
      const middle = Math.sqrt(good) * Math.sqrt(bad);
      if (middle === good || middle === bad) break;
      if (holds(middle)) good = middle;
      else bad = middle;
    }
    return good;
  }

  // The ends of the intervals that lose at most the tolerated share more.
  function flatBottom(model, given, best) {
    const most = (1 + tolerated) * best.lost;
    const holds = (tau) => ledger(model, given, tau).lost <= most;
    return most < 1
      ? [boundary(holds, best.tau, best.tau * 1e-9), boundary(holds, best.tau, best.tau * 1e9)]
      : undefined;
  }

  // The number, the factor, its name, the change.
  const improvable = (v) => [
    ["r", 0.5, "Restart time", "Halve the restart time"],
    ...("s" in v ? [["s", 0.5, "Stall", "Halve the stall"]] : []),
    [
      "delta",
      0.5,
      ...("B" in v
        ? ["Bandwidth", "Double the bandwidth"]
        : "s" in v
          ? ["Drain", "Halve the drain"]
          : ["Write time", "Halve the write time"]),
    ],
    ["M", 2, "Failure interval", "Halve the failure rate"],
  ];

  // One change at a time, each at its own best interval; `gain` is what the loss falls by.
  function levers({ values }, model, best, chosen) {
    const all = improvable(values).map(([key, factor, , label]) => {
      const improved = changed(values, key, current(values, key) * factor);
      return { key, label, values: improved, from: best, then: least(model, inputs(improved)) };
    });
    if (chosen.tau !== best.tau)
      all.unshift({
        key: "tau",
        label: "Use the best interval",
        values: changed(values, "tau"),
        from: chosen,
        then: best,
      });
    return all.map((lever) => ({
      ...lever,
      gain: lever.from.lost - lever.then.lost,
      sound: lever.from.sound && lever.then.sound,
    }));
  }

  // What one quantity must be for a wanted effective time, all others as they are; or what is lost however good it is.
  function needed({ values }, model) {
    return improvable(values).map(([key, factor, name]) => {
      const [good, bad] = factor > 1 ? [1e15, 1e-9] : [1e-15, 1e15];
      const at = (number) => least(model, inputs(changed(values, key, number)));
      const enough = (number) => at(number).useful >= values.target;
      return { key, name, number: enough(good) ? boundary(enough, good, bad) : undefined, floor: at(good).lost };
    });
  }

  function solve(state) {
    const { preset, exact: wanted, values } = state;
    const model = modelOf(wanted, values);
    const given = inputs(values);
    const best = least(model, given);
    const chosen = values.tau === undefined ? best : ledger(model, given, values.tau);
    const changes = levers(state, model, best, chosen);
    const original = fromPreset(preset).values;
    const from = inputs(original);
    const fromModel = modelOf(wanted, original);
    return {
      model,
      given,
      best,
      chosen,
      other: model === asynchronous ? undefined : least(model === exact ? first : exact, given),
      stall: (model === exact ? first : model).writing({ ...given, tau: chosen.tau }) * chosen.tau,
      drain: given.D,
      flat: flatBottom(model, given, best),
      levers: changes,
      most: changes
        .filter(({ key, sound }) => sound && key !== "M") // that always wins, and cannot be bought
        .sort((a, b) => b.gain - a.gain)[0],
      ledger: (tau) => ledger(model, given, tau),
      ghost: Object.keys({ ...given, ...from }).some((key) => given[key] !== from[key])
        ? { best: least(fromModel, from), loss: (tau) => ledger(fromModel, from, tau).lost }
        : undefined,
    };
  }

  // --- Words: *text* is bold, *text|loss* is underlined in the colour of that loss -----------------------------

  const plain = (text) => text.replace(/\*(.+?)(\|\w+)?\*/g, "$1");
  const points = (share) => `${(100 * share).toFixed(1)} points`;
  const several = (number, word) => `*${digits(number, 1)} ${word}${number === 1 ? "" : "s"}*`;
  const lost = (ledger) => (ledger.sound ? `${percent(ledger.lost)} lost` : "no time left");
  const effective = ({ sound, useful, tau }) =>
    sound ? `${percent(useful)} effective at ${duration(tau)}` : "no time left";

  // To the letter as youngdaly.text.answer.
  function answer(_, { model, best, chosen }) {
    const { tau, useful, sound, writing, redone, restarts } = chosen;
    const every = `Save every *${duration(tau)}* and`;
    const largest = (1 - 1e-9) * Math.max(writing, redone, restarts);
    const dominant = LOSSES.filter((name) => chosen[name] >= largest); // two at the first-order best
    const part = percent(dominant.reduce((sum, name) => sum + chosen[name], 0) / chosen.lost, 0);
    const most =
      `The largest part of the loss is ${dominant.map((name) => names[name]).join(" and ")}` +
      (dominant[1] ? `, equally: *${part}* of it together.` : `: *${part}|${dominant}* of it.`);
    if (!sound && model === exact) return `${every} next to nothing is kept. ${most}`;
    if (!sound) {
      const why = best.sound ? "this interval is too far from the best." : "failures come too fast for first order.";
      const share = chosen.lost > 10 ? "more than 1,000 %" : `${digits(100 * chosen.lost, 3)} %`;
      return `${every} first order counts *${share}* of the time as lost. That is no share of time: ${why} ${most}`;
    }
    return (
      `${every} *${percent(useful)}* of the time is effective training. *${percent(chosen.lost)}* is lost: ` +
      `*${percent(writing)}|writing* writing, *${percent(redone)}|redone* redone work, ` +
      `*${percent(restarts)}|restarts* restarts. ${most}`
    );
  }

  function definition({ exact }, { other }) {
    if (!other) return "First order, asynchronous saves, as a share of elapsed time.";
    return exact
      ? `Exact for failures at a constant rate, as a share of elapsed time. First order: ${effective(other)}.`
      : `First order, as a share of elapsed time. Exact, for failures at a constant rate: ${effective(other)}.`;
  }

  function steps({ values: { step } }, { chosen, ledger }) {
    if (step === undefined) return "";
    const about = chosen.tau / step;
    const choices = [Math.max(1, Math.floor(about)), Math.max(1, Math.ceil(about))].map((n) => [n, ledger(n * step)]);
    const [n, there] = choices.reduce((a, b) => (b[1].lost < a[1].lost ? b : a));
    return `In steps of ${duration(step)}: save every ${several(n, "step")} (${duration(there.tau)}), ${lost(there)}.`;
  }

  function perDay(L, c) {
    const cost = (f.COST({ L, c }) * times.d) / times.h;
    return digits(Number(cost.toPrecision(3)), 3);
  }

  const money = ({ values: { price } }, { chosen }) =>
    price === undefined || !chosen.sound
      ? ""
      : `The lost time costs *${perDay(chosen.lost, price)}* a day, in the currency of the price.`;

  function miss({ best, chosen }) {
    if (chosen.tau === best.tau) return "This is the best interval.";
    if (!chosen.sound || !best.sound) return `The best is ${duration(best.tau)}: ${lost(best)}.`;
    return `*${points(chosen.lost - best.lost)}* worse than the best, ${duration(best.tau)}.`;
  }

  function bottom({ flat, ghost }) {
    const dotted = ghost ? " Dotted: where you started." : "";
    if (!flat) return `No interval leaves more than a little.${dotted}`;
    const [low, high] = flat.map((tau) => duration(tau));
    const more = `costs at most ${percent(tolerated, 0)} more than the least loss.`;
    return `The bottom is flat: anywhere from *${low}* to *${high}* (thick bar) ${more}${dotted}`;
  }

  function drain({ drain: D, best, chosen }) {
    if (!D) return "";
    const verdict = chosen.tau < D ? "*Too often.* " : best.tau === D ? "*The drain sets the interval.* " : "";
    const due = `Below the drain of ${duration(D)} (hatched) a save comes due while the one before still drains`;
    return `${verdict}${due}, and training waits for it.`;
  }

  const overlap = ({ given: { s, D } }) =>
    D < s ? `The save is durable before its stall ends: give at most the drain, ${duration(D)}.` : "";

  function between({ given: { M, r }, stall, chosen }, saves) {
    const before = saves
      ? `${several(saves, "save")} of *${duration(stall)}|writing*, then a failure after ${duration(M)}: on average`
      : `A failure after ${duration(M)} comes before the first save has ended:`;
    const redone = `*${duration(chosen.redone * M)}|redone* of work is done again`;
    return `${before} ${redone}, after a restart of *${duration(r)}|restarts*.`;
  }

  function help({ values: { price } }, { model, most }) {
    if (!most) return `No time is left${model === exact ? "" : " to first order"}: no gain can be counted.`;
    const worth = price === undefined ? "" : `, worth ${perDay(most.gain, price)} a day`;
    return `*${most.label}* helps most: ${points(most.gain)}${worth}.`;
  }

  function need({ values }, { key, name, number, floor }) {
    if (number === undefined) return `${name}: cannot do it alone, ${percent(Math.min(1, floor))} would still be lost.`;
    const bandwidth = key === "delta" && "B" in values;
    const [then, now] = bandwidth
      ? [rate(changed(values, key, number).B), rate(values.B)]
      : [duration(number, 3), duration(current(values, key), 3)];
    return `${name}: at ${bandwidth || key === "M" ? "least" : "most"} *${then}*, now ${now}.`;
  }

  const checkpoint = ({ values }) => ("P" in values ? `${size(f.STATE(values))} in each save.` : "");

  const words = { answer, definition, steps, money, miss, bottom, drain, overlap, between, help, need, checkpoint };
  return { LOSSES, needed, solve, plain, points, lost, ...words };
})();
