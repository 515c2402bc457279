// Drawing: the loss against the interval, and the time between two failures. Plain SVG, one unit per CSS pixel.
"use strict";

workshop.plot = (() => {
  const { names, stack, rungs, times } = workshop.book;
  const { duration, percent } = workshop.units;

  const NARROW = 500;
  const STEP = 3; // pixels between two points of a curve
  const MARGIN = { top: 28, right: 12, bottom: 24, left: 48 };
  const TICKS = [1, 10, times.min, 10 * times.min, times.h, 6 * times.h, times.d, 7 * times.d, 30 * times.d, times.yr];

  const fixed = (number) => number.toFixed(1);

  function set(element, attributes) {
    for (const [name, value] of Object.entries(attributes))
      element.setAttribute(name, typeof value === "number" ? fixed(value) : value);
    return element;
  }

  function svg(name, attributes, text = "") {
    const element = set(document.createElementNS("http://www.w3.org/2000/svg", name), attributes);
    element.append(text);
    return element;
  }

  const show = (element, visible) => {
    element.style.display = visible ? "" : "none";
  };
  const clamp = (number, low, high) => Math.min(high, Math.max(low, number));
  const line = (points) => `M${points.map(([x, y]) => `${fixed(x)} ${fixed(y)}`).join("L")}`;

  // The axis runs from 1 s to 1 d, and further by powers of ten where a best interval comes near an end.
  function axisFor(best, chosen) {
    const low = 10 ** Math.min(0, Math.floor(Math.log10(Math.min(...best, 4 * chosen) / 4)));
    const high = times.d * 10 ** Math.max(0, Math.ceil(Math.log10(Math.max(4 * Math.max(...best), chosen) / times.d)));
    return {
      low,
      high,
      share: (tau) => Math.log(tau / low) / Math.log(high / low),
      at: (share) => low * (high / low) ** share,
    };
  }

  function lossPlot(picture) {
    const part = (name) => picture.querySelector(`.wk-${name}`);
    const [waiting, flat, bestLine, bestLabel, ownLine, handle, grid] = [
      "waiting",
      "flat",
      "best",
      "best-label",
      "own",
      "handle",
      "grid",
    ].map(part);
    const ghost = [part("ghost-case"), part("ghost")];

    let width;
    let axis;
    const inner = () => width - MARGIN.left - MARGIN.right;
    const x = (tau) => MARGIN.left + inner() * axis.share(tau);

    function ticks(top, y, bottom) {
      const marks = [];
      const parts = String(top).includes("2") ? 4 : 5;
      for (let part = 0; part <= parts; part += 1) {
        const height = y((top * part) / parts);
        marks.push(svg("path", { d: `M${MARGIN.left} ${fixed(height)}H${width - MARGIN.right}` }));
        marks.push(
          svg(
            "text",
            { x: MARGIN.left - 6, y: height + 4, "text-anchor": "end" },
            `${Number(((100 * top * part) / parts).toFixed(2))} %`,
          ),
        );
      }
      let free = 0;
      const all = [...TICKS, axis.low, axis.high].filter((tau) => tau >= axis.low && tau <= axis.high);
      for (const tau of [...new Set(all)].sort((a, b) => a - b)) {
        const text = duration(tau);
        const half = 3.6 * text.length;
        const centre = clamp(x(tau), MARGIN.left + half - 8, width - half);
        if (centre - half < free || (tau !== axis.high && centre + half > width - 45)) continue;
        free = centre + half + 8;
        marks.push(svg("path", { d: `M${fixed(x(tau))} ${bottom}v5`, class: "wk-tick" }));
        marks.push(svg("text", { x: centre, y: bottom + 18, "text-anchor": "middle" }, text));
      }
      grid.replaceChildren(...marks);
    }

    // A name stands where its area holds it, as near to its usual place as possible: [point, height] or undefined.
    function place(name, below, above, top) {
      const last = below.length - 1;
      const usual = Math.round({ restarts: 0.16, writing: 0.16, redone: 0.84 }[name] * last);
      const half = Math.ceil((4 * names[name].length) / STEP) + 1;
      for (const i of [...below.keys()].sort((a, b) => Math.abs(a - usual) - Math.abs(b - usual))) {
        if (i < half || i > last - half) continue;
        const around = [i - half, i, i + half];
        const floor = Math.max(...around.map((j) => below[j]));
        const ceiling = Math.min(top, ...around.map((j) => above[j]));
        if (ceiling - floor > top / 14) return [i, (floor + ceiling) / 2];
      }
      return undefined;
    }

    // While the interval is dragged the axis holds still.
    function draw(view, available, hold) {
      width = available;
      const height = width < NARROW ? 226 : 316;
      const bottom = height - MARGIN.bottom;
      const { best, chosen } = view;
      if (!hold) axis = axisFor([best.tau, view.ghost?.best.tau ?? best.tau], chosen.tau);
      const shown = 2.2 * Math.max(best.lost, view.ghost ? view.ghost.best.lost : 0);
      const top = rungs.find((rung) => shown <= rung) ?? 1;
      const y = (share) => bottom - ((bottom - MARGIN.top) * Math.min(share, 1.2 * top)) / top;
      set(picture, { viewBox: `0 0 ${width} ${height}`, width, height });
      set(picture.querySelector("clipPath rect"), {
        x: MARGIN.left,
        y: MARGIN.top,
        width: inner(),
        height: bottom - MARGIN.top,
      });
      ticks(top, y, bottom);

      const last = Math.ceil(inner() / STEP);
      const points = Array.from({ length: last + 1 }, (_, i) => axis.at(i / last));
      if (view.drain > axis.low && view.drain < axis.high)
        points.splice(
          points.findIndex((tau) => tau > view.drain),
          0,
          view.drain,
        );
      const ledgers = points.map(view.ledger);
      let below = points.map(() => 0);
      for (const name of stack) {
        const above = below.map((share, i) => share + ledgers[i][name]);
        const edge = points.map((tau, i) => [x(tau), y(above[i])]);
        set(part(`area.wk-${name}`), { d: `${line(edge)}V${bottom}H${MARGIN.left}Z` });
        const spot = place(name, below, above, top);
        show(part(`name.wk-${name}`), spot);
        if (spot) set(part(`name.wk-${name}`), { x: x(points[spot[0]]), y: y(spot[1]) + 4 });
        below = above;
      }

      for (const path of ghost) {
        show(path, view.ghost);
        if (view.ghost) set(path, { d: line(points.map((tau) => [x(tau), y(view.ghost.loss(tau))])) });
      }
      const wait = x(clamp(view.drain ?? 0, axis.low, axis.high)) - MARGIN.left;
      set(waiting, { x: MARGIN.left, y: MARGIN.top, width: wait, height: bottom - MARGIN.top });
      const ends = (view.flat ?? []).map((tau) => [x(clamp(tau, axis.low, axis.high)), bottom]);
      set(flat, { d: ends.length ? line(ends) : "" });
      set(bestLine, { d: `M${fixed(x(best.tau))} ${bottom}V${MARGIN.top - 6}` });
      const words = `best ${duration(best.tau)}${best.sound ? ` · ${percent(best.lost)} lost` : ""}`;
      bestLabel.textContent = words;
      const half = 3.7 * words.length;
      set(bestLabel, { x: clamp(x(best.tau), half, width - half) });
      show(ownLine, chosen.tau !== best.tau);
      set(ownLine, { d: `M${fixed(x(chosen.tau))} ${bottom}V${MARGIN.top}` });
      set(handle, { cx: x(chosen.tau), cy: Math.max(MARGIN.top, y(chosen.lost)) });
    }

    // Dragging sets the interval. A finger that goes on to scroll the page takes back what its first touch did.
    function onDrag(move, cancel) {
      const interval = (event) => {
        const share = (event.clientX - picture.getBoundingClientRect().left - MARGIN.left) / inner();
        return axis.at(clamp(share, 0, 1));
      };
      picture.addEventListener("pointerdown", (event) => {
        if (event.button !== 0) return;
        picture.setPointerCapture(event.pointerId);
        move(interval(event), true);
      });
      picture.addEventListener("pointermove", (event) => {
        if (picture.hasPointerCapture(event.pointerId)) move(interval(event), false);
      });
      picture.addEventListener("pointercancel", cancel);
    }

    return { draw, onDrag, axis: () => axis };
  }

  // From one failure to the next: saves as ticks, the work that is lost, the restart.
  function timeline(picture) {
    const [useful, again, restart, saves] = picture.children;

    // Draws and returns how many saves there are.
    return ({ chosen, stall, given: { M, r } }, width) => {
      const { tau } = chosen;
      const scale = width / (M + r);
      const redone = Math.min(M, chosen.redone * M);
      const count = Math.max(0, Math.floor((M - redone - tau - stall) / (tau + stall)) + 1);
      set(picture, { viewBox: `0 0 ${width} 34`, width });
      set(useful, { x: 0, width: M * scale });
      set(again, { x: (M - redone) * scale, width: redone * scale });
      set(restart, { x: M * scale, width: r * scale });
      // Thinner than a pixel a save keeps a visible edge; closer than two pixels all become one tone.
      const dense = (tau + stall) * scale < 2;
      const starts = Array.from({ length: dense ? 0 : count }, (_, i) => (tau + i * (tau + stall) + stall / 2) * scale);
      set(saves, {
        d: dense ? `M0 17H${fixed((M - redone) * scale)}` : starts.map((at) => `M${fixed(at)} 0V34`).join(""),
        "stroke-width": dense ? 34 : Math.max(1, stall * scale),
        opacity: dense ? String(Math.max(0.25, stall / (tau + stall))) : "1",
      });
      return count;
    };
  }

  return { lossPlot, timeline };
})();
