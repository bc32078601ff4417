// Lines over time: uPlot with the page's colours.
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import uPlot from "../vendor/uplot.js";
import { number, plural, short } from "./api.js";

// Okabe and Ito's colours, which stay apart in every common kind of colour blindness; yellow darkened for paper.
const DAY = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8f8400", "#7f7f7f"];
const NIGHT = ["#56b4e9", "#ff9f5a", "#2fc79b", "#e5a3c8", "#4f8fd0", "#f0c04a", "#d8cf52", "#a8b0b8"];
const dark = matchMedia("(prefers-color-scheme: dark)");

export function Chart({ times, lines, clock, log, label, height = 260 }) {
  const place = useRef();
  const [night, setNight] = useState(dark.matches);
  useEffect(() => {
    const change = () => setNight(dark.matches);
    dark.addEventListener("change", change);
    return () => dark.removeEventListener("change", change);
  }, []);

  useEffect(() => {
    const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);
    const colours = night ? NIGHT : DAY;
    const decades = (_, splits) => splits.map((v) => (log && !Number.isInteger(Math.log10(v)) ? null : v));
    const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
    const sparse = times.length < 40;
    const values = lines.map((line) => (log ? line.values.map((v) => (v > 0 ? v : null)) : line.values));
    const box = place.current; // sizes are told after the chart has left the page, too
    const width = () => Math.max(240, box.clientWidth);
    const plot = new uPlot(
      {
        width: width(), height,
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1e3), "Etc/UTC"),
        scales: { x: { time: clock }, y: { distr: log ? 3 : 1 } },
        axes: [clock ? { ...axis, values: (_, ticks) => clockTicks(ticks) } : axis, { ...axis, grid: { ...axis.grid, filter: decades }, ticks: { ...axis.ticks, filter: decades }, size: 64, values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : short(tick))) }],
        series: [
          { label: clock ? "window start (UTC)" : "window start", value: clock ? "{YYYY}-{MM}-{DD} {HH}:{mm}:{ss}" : undefined },
          ...lines.map((line, i) => ({
            label: line.name, stroke: colours[i % colours.length], width: 2, spanGaps: false,
            points: { show: sparse, size: 6 }, value: (_, v) => number(v),
          })),
        ],
        cursor: { drag: { x: true, y: false } },
      },
      [times, ...values],
      box,
    );
    plot.root.querySelector(".u-legend").ariaHidden = "true"; // the label below names the lines
    const fit = new ResizeObserver(() => plot.setSize({ width: width(), height }));
    fit.observe(box);
    return () => { fit.disconnect(); plot.destroy(); };
  }, [times, lines, log, night]);

  return html`<div class="chart" ref=${place} role="img" aria-label=${`${label}: ${lines.map((line) => line.name).join(", ")}`}></div>`;
}

// Which aggregate is drawn, and how; what else belongs into the line comes as children.
export function ChartTools({ id, names, column, log, onColumn, onLog, children }) {
  return html`<div class="toolbar">
    <label>Aggregate <select id=${id} value=${column} onChange=${(e) => onColumn(e.target.value)}>
      ${names.map((name) => html`<option value=${name}>${name}</option>`)}
    </select></label>
    <label class="check"><input type="checkbox" checked=${log} onChange=${(e) => onLog(e.target.checked)} /> Log scale</label>
    ${children}
  </div>`;
}

// What the chart leaves out.
export function remarks(chart, limits) {
  const said = [];
  if (chart.groups > chart.lines.length) said.push(`The ${chart.lines.length} groups with the largest values, of ${number(chart.groups)}.`);
  if (chart.windows_per_point > 1)
    said.push(`A point is the largest value of ${number(chart.windows_per_point)} windows: at most ${number(limits.points)} points are drawn.`);
  if (chart.beyond) said.push(`${plural(chart.beyond, "value")} beyond 1.8e308 not drawn.`);
  return said.join(" ");
}

// Times of day in UTC, as the table writes them; the date where it changes, seconds where they matter.
function clockTicks(ticks) {
  const texts = ticks.map((tick) => new Date(tick * 1e3).toISOString());
  const until = texts.every((text) => text.slice(17, 19) === "00") ? 16 : 19;
  return texts.map((text, i) => {
    const newDay = i === 0 || text.slice(0, 10) !== texts[i - 1].slice(0, 10);
    return text.slice(11, until) + (newDay ? `\n${text.slice(0, 10)}` : "");
  });
}
