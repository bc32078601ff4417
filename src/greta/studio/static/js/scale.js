// The y axis: whether a logarithm fits, how far the axis reaches, where its ticks are and what they say. Doubles of every
// magnitude, 1e-300 to 1e308, get at least two labels that differ.

// A logarithm needs positive values, and is worth having from two powers of ten on.
export function fitsLog(lines) {
  let low = Infinity, high = -Infinity;
  for (const line of lines)
    for (const value of line.values)
      if (value !== null) { low = Math.min(low, value); high = Math.max(high, value); }
  return low > 0 && high / low >= 100;
}

// The axis for values from `low` to `high` (logarithms of them, if `log`): [from, to].
export function range(low, high, log) {
  if (low === null || high === null || low > high) return log ? [0, 1] : [0, 1];
  if (log) {
    const from = Math.floor(low + 1e-9), to = Math.ceil(high - 1e-9);
    return from < to ? [from, to] : [from - 1, to + 1];
  }
  if (low === high) {
    const pad = Math.abs(low) / 10 || 1;
    return [low - pad, bounded(high + pad)];
  }
  const pad = high / 20 - low / 20;
  const from = low >= 0 && low <= 0.3 * high ? 0 : bounded(low - pad);
  return [from, bounded(high + pad)];
}

// Ticks on an axis with room for so many labels.
export function ticks(from, to, log, room) {
  return log ? decades(from, to, room) : even(from, to, room);
}

export function labels(values, log) {
  if (log) return values.map((power) => powerOfTen(power));
  const step = values.length > 1 ? values[1] - values[0] : Math.abs(values[0]) || 1;
  const largest = Math.max(...values.map(Math.abs));
  const exponent = Math.floor(Math.log10(step) + 1e-9);
  return values.map((value) => {
    if (value === 0) return "0";
    if (largest < 1e6 && step >= 1e-5)
      return value.toLocaleString("en-US", { minimumFractionDigits: Math.max(0, -exponent), maximumFractionDigits: Math.max(0, -exponent) });
    const digits = Math.min(16, Math.max(0, Math.floor(Math.log10(Math.abs(value)) + 1e-9) - exponent));
    return value.toExponential(digits).replace("e+", "e");
  });
}

function powerOfTen(power) {
  if (power >= 0 && power < 4) return (10 ** power).toLocaleString("en-US");
  if (power < 0 && power > -4) return (10 ** power).toFixed(-power);
  return `1e${power}`;
}

function decades(from, to, room) {
  const steps = [1, 2, 5, 10, 20, 25, 50, 100, 200];
  const step = steps.find((each) => (to - from) / each <= room) ?? 500;
  const found = [];
  for (let power = Math.ceil(from / step) * step; power <= to; power += step) found.push(power);
  return found.length > 1 ? found : [from, to];
}

function even(from, to, room) {
  const rough = to / room - from / room;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough * (1 - 1e-9));
  const found = [];
  for (let at = Math.ceil(from / step - 1e-9); at * step <= to && found.length < 50; at++) found.push(at === 0 ? 0 : at * step);
  return found.length > 1 ? found : [from, to];
}

const bounded = (value) => Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value));
