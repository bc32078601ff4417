// A chart as a file: SVG drawn from the numbers, PNG drawn from the SVG.
import { clockTicks, number } from "./format.js";
import { labels, range, ticks } from "./scale.js";

const WIDTH = 960, HEIGHT = 420, TOP = 34, BOTTOM = 74, RIGHT = 20;
const INK = "#1b1f24", MUTED = "#59636e", LINE = "#d9dfe5", FONT = "font-family='system-ui, sans-serif'";
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800, 2592000, 31536000];

// The chart on paper, in daylight colours: what is drawn between the ends of the zoom.
export function picture(chart, log, palette, zoom) {
  const from = zoom?.[0] ?? chart.times[0] ?? 0, to = Math.max(zoom?.[1] ?? chart.times.at(-1) ?? 1, from + 1e-3);
  const shown = chart.times.map((time) => time >= from && time <= to);
  const level = (value) => (value === null || (log && value <= 0) ? null : log ? Math.log10(value) : value);
  const all = chart.lines.flatMap((line) => line.values.filter((value, i) => shown[i] && level(value) !== null).map(level));
  const [low, high] = range(all.reduce((a, b) => Math.min(a, b), Infinity), all.reduce((a, b) => Math.max(a, b), -Infinity), log);
  const marks = ticks(low, high, log, 8), texts = labels(marks, log);
  const left = 24 + 7 * Math.max(...texts.map((text) => text.length));
  const x = (time) => left + ((time - from) / (to - from)) * (WIDTH - left - RIGHT);
  const y = (value) => TOP + ((high - value) / (high - low)) * (HEIGHT - TOP - BOTTOM);
  const colours = palette.colours(chart.lines.map((line) => line.group ?? line.name), false);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" ${FONT} font-size="12">`
    + `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/><text x="${left}" y="20" font-weight="600" fill="${INK}">${escape(chart.column)}</text>`
    + marks.map((mark, i) => `<line x1="${left}" x2="${WIDTH - RIGHT}" y1="${round(y(mark))}" y2="${round(y(mark))}" stroke="${LINE}"/>`
      + `<text x="${left - 8}" y="${round(y(mark) + 4)}" text-anchor="end" fill="${MUTED}">${escape(texts[i])}</text>`).join("")
    + timeAxis(chart, from, to, x)
    + chart.lines.map((line, i) => paths(chart.times, line.values.map(level), shown, x, y, colours[i])).join("")
    + legend(chart.lines, colours, left)
    + "</svg>";
}

function timeAxis(chart, from, to, x) {
  const step = STEPS.find((each) => (to - from) / each <= 9) ?? (to - from) / 6;
  const moments = [];
  for (let at = Math.ceil(from / step); at * step <= to && moments.length < 20; at++) moments.push(at * step);
  const texts = chart.clock ? clockTicks(moments) : moments.map((each) => number(each));
  return moments.map((each, i) => texts[i].split("\n").map((text, row) =>
    `<text x="${round(x(each))}" y="${HEIGHT - BOTTOM + 18 + 15 * row}" text-anchor="middle" fill="${MUTED}">${escape(text)}</text>`).join("")).join("");
}

// Lines from gap to gap; a point without neighbours is a dot.
function paths(times, values, shown, x, y, colour) {
  const runs = [[]];
  values.forEach((value, i) => {
    if (value === null || !shown[i]) runs.push([]);
    else runs.at(-1).push([round(x(times[i])), round(y(value))]);
  });
  return runs.filter((run) => run.length).map((run) => (run.length === 1
    ? `<circle cx="${run[0][0]}" cy="${run[0][1]}" r="3" fill="${colour}"/>`
    : `<polyline points="${run.map((point) => point.join(",")).join(" ")}" fill="none" stroke="${colour}" stroke-width="2"/>`)).join("");
}

function legend(lines, colours, left) {
  let at = left;
  return lines.map((line, i) => {
    const begin = at;
    at += 34 + 7 * line.name.length;
    return `<rect x="${begin}" y="${HEIGHT - 24}" width="12" height="12" rx="3" fill="${colours[i]}"/>`
      + `<text x="${begin + 18}" y="${HEIGHT - 14}" fill="${INK}">${escape(line.name)}</text>`;
  }).join("");
}

export async function raster(svg) {
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    const image = new Image(WIDTH, HEIGHT);
    image.src = address;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: 2 * WIDTH, height: 2 * HEIGHT });
    canvas.getContext("2d").drawImage(image, 0, 0, 2 * WIDTH, 2 * HEIGHT);
    return await new Promise((done) => canvas.toBlob(done, "image/png"));
  } finally {
    URL.revokeObjectURL(address);
  }
}

export function download(name, type, content) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

const round = (value) => Math.round(value * 10) / 10;
const escape = (text) => String(text).replace(/[&<>"']/g, (sign) => `&#${sign.codePointAt(0)};`);
