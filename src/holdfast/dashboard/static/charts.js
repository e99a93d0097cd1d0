// Replaces the drawings of charts by charts with a legend for the position of the pointer.
"use strict";
(() => {
  const charts = new Map();
  const dark = window.matchMedia("(prefers-color-scheme: dark)");

  function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim(); }

  function duration(value) {
    if (value === null || value === undefined) return "–";
    if (value < 1) return `${Math.round(value * 1000)} ms`;
    if (value < 60) return `${Math.round(value * 10) / 10} s`;
    if (value < 3600) return `${Math.round(value / 6) / 10} min`;
    return `${Math.round(value / 360) / 10} h`;
  }
  function count(value) { return value === null || value === undefined ? "–" : value.toLocaleString("en"); }

  function clock(seconds) {
    return seconds ? new Date(seconds * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }) : "–";
  }
  // A value without neighbours has no line: it is drawn as a point.
  function isolated(chart, series) {
    const values = chart.data[series];
    const missing = (place) => values[place] === null || values[place] === undefined;
    return values.map((_value, place) => place).filter((place) => !missing(place) && missing(place - 1) && missing(place + 1));
  }

  function data(id) {
    const element = document.querySelector(`#chart-data [data-of="${id}"]`);
    return element ? JSON.parse(element.dataset.values) : null;
  }
  function values(found) { return [found.times, ...found.series.map((each) => each.values)]; }

  function draw(figure) {
    const found = data(figure.dataset.chart);
    if (!found) return;
    const show = found.unit === "seconds" ? duration : count;
    const box = getComputedStyle(figure);
    const width = figure.clientWidth - parseFloat(box.paddingLeft) - parseFloat(box.paddingRight);
    const axis = { stroke: colour("muted"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    const options = {
      width, height: 150, padding: [8, 16, 0, 0], cursor: { sync: { key: "holdfast" }, points: { size: 5 } },
      scales: { y: { range: (_chart, _low, high) => [0, high > 0 ? high * 1.05 : 1] } },
      axes: [{ ...axis, size: 26, values: (_chart, ticks) => ticks.map(clock) }, { ...axis, size: 56, values: (_chart, ticks) => ticks.map(show) }],
      series: [
        { label: "Time", value: (_chart, seconds) => clock(seconds) },
        ...found.series.map((each) => ({ label: each.name, stroke: colour(each.style), width: 1.5, points: { size: 4, filter: isolated }, spanGaps: false, value: (_chart, value) => show(value) })),
      ],
    };
    const old = charts.get(figure.id);
    if (old) old.destroy();
    figure.classList.add("drawn");
    charts.set(figure.id, new uPlot(options, values(found), figure));
  }
  function all() { for (const figure of document.querySelectorAll("figure[data-chart]")) draw(figure); }
  function update() {
    for (const figure of document.querySelectorAll("figure[data-chart]")) {
      const found = data(figure.dataset.chart);
      const chart = charts.get(figure.id);
      if (found && chart) chart.setData(values(found));
    }
  }

  let timer = 0;
  window.addEventListener("resize", () => { clearTimeout(timer); timer = setTimeout(all, 150); });
  dark.addEventListener("change", all);
  document.addEventListener("holdfast:replaced", update);
  all();
})();
