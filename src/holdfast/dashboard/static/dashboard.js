// Improves pages that work without it: times in the zone of the viewer, live updates, shortcuts, questions before changes.
"use strict";
(() => {
  const zoned = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

  function relative(moment) {
    const seconds = (moment - Date.now()) / 1000;
    const distance = Math.abs(seconds);
    for (const [unit, size] of units) {
      const count = Math.floor(distance / size);
      if (count) return seconds > 0 ? `in ${count.toLocaleString("en")} ${unit}` : `${count.toLocaleString("en")} ${unit} ago`;
    }
    return "now";
  }

  function refreshTimes() {
    for (const element of document.querySelectorAll("time[datetime]")) {
      const moment = new Date(element.dateTime);
      if (isNaN(moment)) continue;
      if (!element.dataset.zoned) { element.title = zoned.format(moment); element.dataset.zoned = "1"; }
      if (!element.hasAttribute("data-exact")) element.textContent = relative(moment);
      else element.textContent = zoned.format(moment);
    }
  }

  // Live updates: the server reports that something changed, and the page replaces its live elements.
  // A hidden tab closes its connection.
  let source = null;
  let trailing = 0;
  // Numbers of a large store may be some seconds old: after the last change the page is read once more.
  function refresh() {
    htmx.trigger(document.body, "holdfast:changed");
    clearTimeout(trailing);
    trailing = setTimeout(() => { if (!document.hidden) htmx.trigger(document.body, "holdfast:changed"); }, 8000);
  }
  function connect() {
    const url = document.body.dataset.live;
    if (!url || source || document.hidden || !window.EventSource) return;
    source = new EventSource(url);
    const pulse = document.getElementById("pulse");
    source.onopen = () => { if (pulse) pulse.hidden = false; };
    source.onerror = () => { if (pulse) pulse.hidden = true; if (source && source.readyState === 2) source = null; };
    source.addEventListener("changed", refresh);
  }
  function disconnect() { if (source) { source.close(); source = null; } }
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { disconnect(); return; }
    connect();
    if (document.body.dataset.live) refresh();
  });
  window.addEventListener("pagehide", disconnect);

  // Elements in use are not replaced: a field with the focus, or selected text. Open details stay open.
  let opened = [];
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const target = event.detail.target;
    const selection = document.getSelection();
    const selected = selection && !selection.isCollapsed && target.contains(selection.anchorNode);
    const focused = target.contains(document.activeElement) && document.activeElement.matches("input, select, textarea");
    if (selected || focused || target.querySelector("input:checked")) { event.detail.shouldSwap = false; return; }
    opened = [...target.querySelectorAll("details[open][id]")].map((each) => each.id);
    const active = document.activeElement;
    if (target.contains(active) && active.id) opened.push(active.id);
  });
  document.addEventListener("htmx:oobAfterSwap", () => {
    for (const id of opened) {
      const element = document.getElementById(id);
      if (element && element.tagName === "DETAILS") element.open = true;
      else if (element) element.focus({ preventScroll: true });
    }
    refreshTimes();
    document.dispatchEvent(new Event("holdfast:replaced"));
  });

  document.addEventListener("submit", (event) => {
    const question = event.target.dataset.confirm;
    if (question && !window.confirm(question)) event.preventDefault();
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("input, select, textarea, [contenteditable]")) return;
    const field = document.querySelector(".search input");
    if (field) { event.preventDefault(); field.focus(); field.select(); }
  });

  refreshTimes();
  setInterval(() => { if (!document.hidden) refreshTimes(); }, 10000);
  connect();
})();
