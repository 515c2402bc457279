// The page's elements: what the reader does to the state, and what the state does to the elements.
"use strict";

(() => {
  const { book, units, state: states, answer, plot } = workshop;
  const { fields, OPTIONAL, EXTRAS } = states;
  const { LOSSES } = answer;
  const { duration, percent, parse, show } = units;
  const root = document.getElementById("wk");
  const at = (id) => document.getElementById(`wk-${id}`);

  let state;
  let view; // what the model says of the state
  let curve;
  let timeline;
  const widgets = {}; // the parts of each field

  function make(tag, properties, ...children) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  }

  function written(text) {
    return text.split(/\*(.+?)\*/).map((part, i) => {
      const [words, loss] = part.split("|");
      return i % 2 ? make("strong", loss && { className: `wk-${loss}` }, words) : part;
    });
  }

  function write(id, text) {
    at(id).replaceChildren(...written(text));
    at(id).hidden = !text;
  }
  const say = (text) => at("said").replaceChildren(text);

  // --- Fields: a text with a unit, and for most a slider on a logarithmic scale ---------------------------

  const position = (slider, value, low, high) =>
    Math.round((slider.max * Math.log(value / low)) / Math.log(high / low));
  const rounded = (kind, value) => parse(kind, show(kind, value)).value; // a slider stops at numbers that read well

  const place = (tau) => position(at("tau-slider"), tau, curve.axis().low, curve.axis().high);

  function connectField(key) {
    const [text, problem, slider] = ["", "-problem", "-slider"].map((part) => at(key + part));
    const { low, high } = slider?.dataset ?? {};
    text.addEventListener("change", () => typed(key));
    text.addEventListener("keydown", (event) => event.key === "Escape" && accept(key));
    if (low)
      slider.addEventListener("input", () =>
        change(key, rounded(fields[key], low * (high / low) ** (slider.value / slider.max))),
      );
    widgets[key] = { kind: fields[key], low, high, text, problem, slider };
  }

  const valueOf = (key) => (key === "tau" ? view.chosen.tau : states.current(state.values, key));

  // What is wrong stays beside the field until a good value comes or Escape is pressed.
  function refuse(key, problem) {
    const { kind, text, problem: beside } = widgets[key];
    const kept = valueOf(key);
    beside.textContent = `${problem}.${kept === undefined ? "" : ` Kept: ${show(kind, kept)}.`}`;
    text.setAttribute("aria-invalid", "true");
    say(beside.textContent);
  }

  function accept(key) {
    widgets[key].problem.textContent = "";
    widgets[key].text.removeAttribute("aria-invalid");
    fill(key);
  }

  const isRefused = (key) => widgets[key].text.hasAttribute("aria-invalid");

  function typed(key) {
    const text = widgets[key].text.value;
    const cleared = text.trim() === "" && key !== "s" && OPTIONAL.includes(key);
    const { value, problem } = cleared ? {} : parse(widgets[key].kind, text);
    if (problem) return refuse(key, problem);
    widgets[key].typed = { text, value };
    return change(key, value);
  }

  function fill(key) {
    const { kind, low, high, text, typed: last, slider } = widgets[key];
    const value = valueOf(key);
    if (key === "s" && !isRefused(key)) widgets.s.problem.textContent = answer.overlap(view);
    if (!isRefused(key)) text.value = value === undefined ? "" : last?.value === value ? last.text : show(kind, value);
    if (!slider || value === undefined) return;
    slider.value = key === "tau" ? place(value) : position(slider, value, low, high);
    slider.setAttribute("aria-valuetext", show(kind, value) + (key === "tau" ? `, ${answer.lost(view.chosen)}` : ""));
  }

  // --- Changes ------------------------------------------------------------------------------------------

  function change(key, value, hold) {
    const values = states.changed(state.values, key, value);
    const trouble = states.wrong(values);
    if (trouble) refuse(key, trouble);
    else become({ ...state, values }, [key], hold);
  }

  // A new state; the fields that it settles lose what was wrong with them.
  function become(next, settled = Object.keys(widgets), hold = false) {
    state = next;
    view = answer.solve(state);
    render(hold);
    for (const key of settled) if (isRefused(key)) accept(key);
    afterwards();
  }

  let pause;
  function afterwards() {
    clearTimeout(pause);
    pause = setTimeout(() => {
      if (!Object.keys(widgets).some(isRefused)) say(at("answer").textContent);
      try {
        history.replaceState(null, "", states.toQuery(state) + location.hash);
      } catch {
        // Some browsers keep the address of a local file as it is.
      }
    }, 500);
  }

  // On the step of the slider where the best interval lies, the best interval is meant.
  const interval = (tau) => change("tau", place(tau) === place(view.best.tau) ? undefined : rounded("time", tau), true);

  function toggle(key, on) {
    const { values } = state;
    if (key === "s") change("s", on ? book.opened.s : undefined);
    else become({ ...state, values: on ? states.opened(values, key) : states.closed(values, key) });
  }

  function load(preset) {
    const next = states.fromPreset(preset);
    const kept = Object.fromEntries(EXTRAS.filter((key) => key in state.values).map((key) => [key, state.values[key]]));
    at("preset-problem").textContent = "";
    become({ ...next, exact: state.exact, values: { ...next.values, ...kept } });
  }

  async function copy() {
    const link = new URL(states.toQuery(state), location.href).href;
    try {
      await navigator.clipboard.writeText(link);
      at("copy").textContent = "Link copied";
      say("Link copied");
      setTimeout(() => at("copy").replaceChildren("Copy link"), 2000);
    } catch {
      Object.assign(at("link"), { hidden: false, value: link }).select();
    }
  }

  // --- Rendering ----------------------------------------------------------------------------------------

  function render(hold) {
    const { values } = state;
    const [width, length] = ["picture", "between"].map((id) => at(id).clientWidth); // read before anything is written
    for (const name of ["answer", "definition", "steps", "money", "help"]) write(name, answer[name](state, view));
    curve.draw(view, width, hold);
    write("miss", answer.miss(view));
    write("bottom", answer.bottom(view));
    write("drain", answer.drain(view));
    write("size", answer.checkpoint(state));
    write("between-words", answer.between(view, timeline(view, length)));

    at("best").disabled = values.tau === undefined;
    at("preset").value = state.preset;
    at("exact").checked = state.exact && Boolean(view.other);
    at("exact").disabled = !view.other;
    at("link").hidden = true;
    for (const box of root.querySelectorAll("[data-open]")) {
      const key = box.dataset.open;
      box.checked = key === "s" ? "s" in values : states.isOpen(values, key);
      root.querySelector(`[data-parts="${key}"]`).hidden = !box.checked;
    }
    at("delta-label").textContent = "s" in values ? "Drain: until a save is durable" : "Write time";
    Object.keys(widgets).forEach(fill);
    renderLevers();
    if (at("aim").open) renderNeeded();
    if (at("numbers").open) renderNumbers();
  }

  function pull(key) {
    if (!key) return;
    const { values } = view.levers.find((lever) => lever.key === key);
    const trouble = states.wrong(values);
    if (trouble) say(trouble);
    else become({ ...state, values });
  }

  function renderLevers() {
    const most = Math.max(...view.levers.map(({ sound, gain }) => (sound ? gain : 0)));
    for (const button of root.querySelectorAll(".wk-lever")) {
      const lever = view.levers.find(({ key }) => key === button.dataset.key);
      button.hidden = !lever;
      if (!lever) continue;
      const [label, bar, gain] = button.children;
      label.textContent = lever.label;
      gain.textContent = lever.sound ? `+${answer.points(lever.gain)}` : answer.lost(lever.then);
      button.classList.toggle("wk-most", lever === view.most);
      LOSSES.forEach((name, i) => {
        const part = lever.sound ? Math.max(0, lever.from[name] - lever.then[name]) / most : 0;
        bar.children[i].style.width = `${Math.min(100, 100 * part).toFixed(2)}%`;
      });
    }
  }

  function renderNeeded() {
    const rows = answer.needed(state, view.model).map((need) => {
      const text = answer.need(state, need);
      if (need.number === undefined) return make("p", {}, ...written(text));
      const use = make("button", { type: "button" }, "Use it");
      use.setAttribute("aria-label", `Use it: ${answer.plain(text)}`);
      use.addEventListener("click", () => change(need.key, need.number));
      return make("p", {}, ...written(text), " ", use);
    });
    at("needed").replaceChildren(...rows);
  }

  function renderNumbers() {
    const { best, chosen } = view;
    const around = [0.1, 0.2, 0.5, 1, 2, 5, 10].map((factor) => factor * best.tau);
    const share = (number) => (number < 1 ? percent(number, 2) : "–");
    const rows = [...new Set([...around, chosen.tau])]
      .sort((a, b) => a - b)
      .map(view.ledger)
      .map((one) => {
        const which = one.tau === best.tau ? " (best)" : one.tau === chosen.tau ? " (yours)" : "";
        const cells = [...LOSSES.map((name) => one[name]), one.lost].map(share);
        return make(
          "tr",
          {},
          make("th", { scope: "row" }, duration(one.tau) + which),
          ...[...cells, one.sound ? share(one.useful) : "–"].map((text) => make("td", {}, text)),
        );
      });
    at("rows").replaceChildren(...rows);
  }

  // The whole curve, in seconds and shares of time.
  function download() {
    const inputs = Object.entries(view.given)
      .map(([key, seconds]) => `${key}=${seconds}`)
      .join(" ");
    const rows = Array.from({ length: 401 }, (_, i) => view.ledger(curve.axis().at(i / 400)));
    const lines = rows.map((one) => [one.tau, ...LOSSES.map((name) => one[name]), one.lost].join(","));
    const text = [
      `# ${answer.plain(answer.definition(state, view))}`,
      `# seconds: ${inputs}`,
      ["interval_s", ...LOSSES, "lost"].join(","),
      ...lines,
      "",
    ];
    const address = URL.createObjectURL(new Blob([text.join("\n")], { type: "text/csv" }));
    make("a", { href: address, download: "loss_against_interval.csv" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }

  // --- Start --------------------------------------------------------------------------------------------

  function listen() {
    const on = (id, event, action) => at(id).addEventListener(event, action);
    on("preset", "change", () => load(at("preset").value));
    on("reset", "click", () => load(state.preset));
    on("exact", "change", () => become({ ...state, exact: at("exact").checked }, []));
    on("copy", "click", copy);
    on("best", "click", () => change("tau"));
    on("tau-slider", "input", () => interval(curve.axis().at(at("tau-slider").value / at("tau-slider").max)));
    on("aim", "toggle", renderNeeded);
    on("numbers", "toggle", renderNumbers);
    on("csv", "click", download);
    on("levers", "click", ({ target }) => pull(target.closest("button")?.dataset.key));
    for (const box of root.querySelectorAll("[data-open]"))
      box.addEventListener("change", () => toggle(box.dataset.open, box.checked));
    let before;
    curve.onDrag(
      (tau, isFirst) => {
        if (isFirst) before = state;
        interval(tau);
      },
      () => become(before, []),
    );
    new ResizeObserver(() => at("picture").clientWidth && render()).observe(at("picture"));
  }

  function start() {
    const { state: linked, problems } = states.fromQuery(location.search);
    root.hidden = false;
    Object.keys(fields).forEach(connectField);
    curve = plot.lossPlot(at("loss"));
    timeline = plot.timeline(at("between").firstElementChild);
    listen();
    become(linked);
    for (const [key, problem] of problems) {
      if (at(key).offsetParent && key !== "preset") refuse(key, problem);
      else at("preset-problem").append(`${key}: ${problem}. `);
    }
    document.getElementById("wk-static").hidden = true;
    root.dataset.ready = Math.round(performance.now());
  }

  try {
    start();
  } catch (error) {
    root.hidden = true; // the picture and its numbers stay
    throw error;
  }
})();
