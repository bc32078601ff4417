// Numbers, sizes and times as people read them.

export function number(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en-US");
  const size = Math.abs(value);
  return size >= 1e9 || (size < 1e-3 && size > 0)
    ? value.toExponential(5).replace("e+", "e")
    : value.toLocaleString("en-US", { maximumFractionDigits: 4 });
}

export const megabytes = (bytes) => `${(bytes / 1e6).toLocaleString("en-US", { maximumFractionDigits: 1 })} MB`;
export const plural = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;

// A moment in UTC, or plain seconds.
export function moment(seconds, clock) {
  if (!clock) return number(seconds);
  return new Date(seconds * 1e3).toISOString().slice(0, 19).replace("T", " ");
}

// Times of day in UTC, as the table writes them; the date where it changes, seconds where they matter.
export function clockTicks(ticks) {
  const texts = ticks.map((tick) => new Date(tick * 1e3).toISOString());
  const until = texts.every((text) => text.slice(17, 19) === "00") ? 16 : 19;
  return texts.map((text, i) => {
    const newDay = i === 0 || text.slice(0, 10) !== texts[i - 1].slice(0, 10);
    return text.slice(11, until) + (newDay ? `\n${text.slice(0, 10)}` : "");
  });
}

export function ago(seconds) {
  if (seconds < 2) return "now";
  if (seconds < 120) return `${Math.round(seconds)} s ago`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min ago`;
  return `${number(Math.round(seconds / 3600))} h ago`;
}
