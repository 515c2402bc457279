// Numbers as text, to the letter as youngdaly.text writes them, and typed text as numbers.
"use strict";

workshop.units = (() => {
  const { times, sizes } = workshop.book;
  const counts = { "": 1, k: 1e3, M: 1e6, B: 1e9, T: 1e12 };
  const rates = Object.fromEntries(Object.entries(sizes).map(([unit, size]) => [`${unit}/s`, size]));
  const WORDS = { second: "s", minute: "min", hour: "h", hr: "h", day: "d", year: "yr" };

  const decimals = (number, significant) =>
    number > 0 ? Math.min(100, Math.max(0, significant - 1 - Math.floor(Math.log10(number)))) : 0;

  function digits(number, significant) {
    const [whole, fraction = ""] = number.toFixed(decimals(number, significant)).split(".");
    return `${whole.replace(/\B(?=(\d{3})+$)/g, ",")}.${fraction}`.replace(/\.0*$|(?<=\..*?)0+$/, "");
  }

  // In the largest unit that leaves at least 1 of it once rounded: 59.99 s reads 1 min and not 60 s.
  function inLargest(number, units, significant) {
    let [unit] = Object.keys(units);
    let amount = number / units[unit];
    for (const [larger, size] of Object.entries(units).slice(1)) {
      const shown = Number(amount.toFixed(decimals(amount, significant))) * units[unit];
      if (Math.max(number, shown) < size) break;
      unit = larger;
      amount = Math.max(number / size, 1);
    }
    return [digits(amount, significant), unit];
  }

  const duration = (seconds, significant = 2) => inLargest(seconds, times, significant).join(" ");
  const size = (bytes, significant = 3) => inLargest(bytes, sizes, significant).join(" ");
  const rate = (speed, significant) => `${size(speed, significant)}/s`;
  const percent = (share, places = 1) => `${(100 * share).toFixed(places)} %`;
  const count = (number, significant) => inLargest(number, number < 1e6 ? { "": 1 } : counts, significant).join("");

  // What a field accepts: its units, the range of its values, and how a value is shown.
  const kinds = {
    time: {
      noun: "time",
      units: { ms: 1e-3, ...times },
      least: 1e-6,
      most: 1e12,
      show: duration,
      example: "2 min, 3.1 h or 1 d",
    },
    rate: { noun: "bandwidth", units: rates, least: 1, most: 1e18, show: rate, example: "50 GB/s or 2 TB/s" },
    count: { noun: "number", units: counts, least: 1, most: 1e18, show: count, example: "405B or 16,384" },
    bytes: {
      noun: "number",
      units: { "": 1, B: 1 },
      least: 0.01,
      most: 1e4,
      show: (n, d) => `${digits(n, d)} B`,
      example: "16",
    },
    share: {
      noun: "share of time",
      units: { "": 0.01, "%": 0.01 },
      least: 1e-4,
      most: 0.9999,
      show: (n, d) => `${digits(100 * n, d)} %`,
      example: "95 %",
    },
    money: { noun: "price", units: { "": 1, k: 1e3 }, least: 1e-3, most: 1e12, show: digits, example: "40,000" },
  };
  const show = (kind, value, significant = 3) => kinds[kind].show(value, significant);

  const NUMBER_AND_UNIT = /^\s*([+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d*)?(?:e[+-]?\d+)?)\s*(\D*?)\s*$/i;
  const scaled = (number, size) => (size < 1 ? number / Math.round(1 / size) : number * size); // 57 × 0.01 is not 0.57
  const quoted = (text) => `“${text.length > 24 ? `${text.slice(0, 24)}…` : text}”`;

  // {value} or {problem}: what is wrong, and what would be accepted.
  function parse(kind, text) {
    const { noun, units, least, most, example } = kinds[kind];
    const refused = (what, why, like = `in ${Object.keys(units).filter(Boolean).join(", ")}`) => ({
      problem: `${quoted(what)} ${why}: give a ${noun} ${like}`,
    });
    const [, number = "", word] = NUMBER_AND_UNIT.exec(text.slice(0, 100)) ?? [];
    if (!/\d/.test(number)) return refused(text, `is no ${noun}`, `such as ${example}`);
    const singular = word.replace(/s$/, "");
    const unit = Object.hasOwn(WORDS, singular) ? WORDS[singular] : word;
    if (!Object.hasOwn(units, unit)) return unit ? refused(unit, "is no unit here") : refused(text, "has no unit");
    const value = scaled(Number(number.replaceAll(",", "")), units[unit]);
    if (!(value >= least && value <= most))
      return { problem: `${quoted(text)} is out of range: ${show(kind, least)} to ${show(kind, most, 4)}` };
    return { value };
  }

  // The shortest text that parses to exactly this value, for links.
  function exactly(kind, value) {
    const units = Object.entries(kinds[kind].units).sort(([, a], [, b]) => b - a);
    const texts = [3, 6, 12, 17].flatMap((precision) =>
      units.map(([unit, size]) => Number((value / size).toPrecision(precision)) + unit),
    );
    const exact = texts.filter((text) => parse(kind, text).value === value);
    return exact.reduce((best, text) => (text.length < best.length ? text : best), exact[0] ?? String(value));
  }

  return { duration, size, rate, percent, digits, show, kinds, parse, exactly, quoted };
})();
