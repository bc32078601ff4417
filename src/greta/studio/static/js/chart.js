// Lines over time: uPlot with the page's colours, an axis for every magnitude, points that can be clicked, and a zoom.
import { html, useEffect, useRef } from "../vendor/preact.js";
import uPlot from "../vendor/uplot.js";
import { clockTicks, moment, number, plural } from "./format.js";
import { useNight } from "./palette.js";
import { labels, range, ticks } from "./scale.js";

const LABEL_HEIGHT = 34; // pixels per label of the y axis
const NEAR = 30; // pixels between a click and the point it means

// times: seconds. lines: {name, values, group?}. log: draw logarithms. joined: lines go on over times without a value.
// zoom: [from, to] or null; onZoom hears of another one. onPoint(line, at): a point was clicked.
// marks: {band: [from, to], paths: [{points: [[time, value], …], strong}]} drawn over the lines.
export function Chart({ times, lines, clock, log = false, joined = false, label, height = 240, palette, x = "window start", zoom = null, onZoom, onPoint, marks = null }) {
  const place = useRef(), plot = useRef(), latest = useRef({});
  const night = useNight();
  latest.current = { onZoom, onPoint, marks, zoom };

  useEffect(() => {
    const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);
    const strokes = palette.colours(lines.map((line) => line.group ?? line.name), night);
    const drawn = lines.map((line) => (log ? line.values.map((v) => (v > 0 ? Math.log10(v) : null)) : line.values));
    const box = place.current; // sizes are told after the chart has left the page, too
    const width = () => Math.max(240, box.clientWidth);
    const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
    const room = Math.max(2, Math.floor(height / LABEL_HEIGHT));
    const sparse = times.length < 60;
    const options = {
      width: width(), height, padding: [null, 28, null, null],
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1e3), "Etc/UTC"),
      scales: { x: { time: clock }, y: { range: (_, low, high) => range(low, high, log) } },
      axes: [
        clock ? { ...axis, values: (_, found) => clockTicks(found) } : axis,
        {
          ...axis,
          // uPlot draws no axis without a step that it accepts; its own end at 1e16, and those below 5 must be its own.
          incrs: (_, __, from, to) => [Math.max(5, to / 4 - from / 4)], space: 1,
          splits: (_, __, from, to) => ticks(from, to, log, room),
          values: (_, found) => labels(found, log),
          size: (_, texts) => 18 + 7.2 * Math.max(4, ...(texts ?? []).map((text) => text.length)),
        },
      ],
      series: [
        { label: clock ? `${x} (UTC)` : x, value: (_, v) => (v === null ? "–" : moment(v, clock)) },
        ...lines.map((line, i) => ({
          label: line.name, stroke: strokes[i], width: 2, spanGaps: joined,
          dash: [[], [7, 3], [2, 3], [9, 3, 2, 3]][alike(lines, i) % 4],
          points: { show: true, size: 6, filter: (_, at) => (sparse ? null : joined ? [] : lonely(drawn[at - 1])) },
          value: (_, __, at, i) => number(i === null ? null : lines[at - 1].values[i]),
        })),
      ],
      cursor: { drag: { x: true, y: false }, focus: { prox: NEAR } },
      hooks: {
        draw: [(u) => drawMarks(u, latest.current.marks, log, colour)],
        setScale: [(u, key) => {
          if (key !== "x" || !u.scales.x.min || times.length < 2) return;
          const { min, max } = u.scales.x, whole = min <= times[0] && max >= times.at(-1);
          const next = whole ? null : [min, max];
          if (JSON.stringify(next) !== JSON.stringify(latest.current.zoom)) latest.current.onZoom?.(next);
        }],
      },
    };
    const u = (plot.current = new uPlot(options, [times, ...drawn], box));
    u.root.querySelector(".u-legend").ariaHidden = "true"; // the label below names the lines
    if (latest.current.zoom) u.setScale("x", { min: latest.current.zoom[0], max: latest.current.zoom[1] });
    u.over.addEventListener("click", () => {
      const point = nearest(u, drawn);
      if (point) latest.current.onPoint?.(point.line, point.at);
    });
    const fit = new ResizeObserver(() => u.setSize({ width: width(), height }));
    fit.observe(box);
    return () => { fit.disconnect(); u.destroy(); plot.current = null; };
  }, [times, lines, log, night, height]);

  useEffect(() => {
    if (plot.current && !zoom && times.length > 1) plot.current.setScale("x", { min: times[0], max: times.at(-1) });
  }, [zoom === null]);
  useEffect(() => { plot.current?.redraw(false, false); }, [JSON.stringify(marks)]);

  return html`<div class=${onPoint ? "chart clickable" : "chart"} ref=${place} role="img" aria-label=${`${label}: ${lines.map((line) => line.name).join(", ")}`}></div>`;
}

// How many lines before this one have its colour.
const alike = (lines, i) => lines.slice(0, i).filter((line) => line.group !== undefined && line.group === lines[i].group).length;

// Points without neighbours, of which no line would be drawn.
function lonely(values) {
  const alone = [];
  for (let i = 0; i < values.length; i++)
    if (values[i] !== null && (values[i - 1] ?? null) === null && (values[i + 1] ?? null) === null) alone.push(i);
  return alone;
}

function nearest(u, drawn) {
  const { left, top } = u.cursor;
  let best = null, distance = NEAR ** 2;
  drawn.forEach((values, line) => {
    if (!u.series[line + 1].show) return;
    for (let at = 0; at < values.length; at++) {
      if (values[at] === null) continue;
      const dx = u.valToPos(u.data[0][at], "x") - left;
      if (dx * dx > distance) continue;
      const dy = u.valToPos(values[at], "y") - top;
      if (dx * dx + dy * dy < distance) { distance = dx * dx + dy * dy; best = { line, at }; }
    }
  });
  return best;
}

function drawMarks(u, marks, log, colour) {
  if (!marks) return;
  const { ctx, bbox } = u, pixel = devicePixelRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  if (marks.band) {
    const [from, to] = marks.band.map((time) => u.valToPos(time, "x", true));
    ctx.fillStyle = colour("--accent");
    ctx.globalAlpha = 0.13;
    ctx.fillRect(from, bbox.top, Math.max(2, to - from), bbox.height);
    ctx.globalAlpha = 1;
  }
  for (const path of [...(marks.paths ?? [])].sort((a, b) => a.strong - b.strong)) {
    const points = path.points.map(([time, value]) => [u.valToPos(time, "x", true), u.valToPos(log ? Math.log10(value) : value, "y", true)]);
    ctx.strokeStyle = ctx.fillStyle = colour(path.strong ? "--negative" : "--muted");
    ctx.globalAlpha = path.strong ? 1 : 0.45;
    ctx.lineWidth = (path.strong ? 3 : 1.5) * pixel;
    ctx.beginPath();
    points.forEach(([left, top], i) => (i ? ctx.lineTo(left, top) : ctx.moveTo(left, top)));
    ctx.stroke();
    for (const [left, top] of points) {
      ctx.beginPath();
      ctx.arc(left, top, (path.strong ? 4.5 : 2.5) * pixel, 0, 2 * Math.PI);
      ctx.fill();
    }
  }
  ctx.restore();
}

// What the chart leaves out.
export function remarks(chart, limits) {
  const said = [];
  if (chart.groups > chart.lines.length) said.push(`${chart.lines.length} of ${number(chart.groups)} groups are drawn.`);
  if (chart.windows_per_point > 1)
    said.push(`A point is the largest value of ${number(chart.windows_per_point)} windows: at most ${number(limits.points)} points are drawn.`);
  if (chart.beyond) said.push(`${plural(chart.beyond, "value")} beyond 1.8e308 not drawn.`);
  return said.join(" ");
}
