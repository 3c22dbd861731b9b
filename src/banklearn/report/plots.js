// Interactive plots: each <figure data-plot> holds its data as JSON and a still picture, which is
// replaced by an SVG that answers to pointer and arrow keys. Nothing is loaded from elsewhere.
(() => {
  "use strict";

  const still = document.querySelector("figure[data-plot] svg");
  if (!still) return;
  const NS = still.namespaceURI;

  const svg = (tag, attributes, parent, text) => {
    const element = document.createElementNS(NS, tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    if (parent) parent.append(element);
    return element;
  };
  const html = (tag, attributes, parent, text) => {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    if (parent) parent.append(element);
    return element;
  };

  // A number in few digits, but enough to tell it from another one that is `apart` from it.
  const short = (value, apart) => {
    if (value === null || !Number.isFinite(value)) return "–";
    const size = Math.abs(value);
    if (size === 0) return "0";
    const usual = size >= 1000 ? 5 : 4;
    const above = apart > 0 ? Math.floor(Math.log10(size)) - Math.floor(Math.log10(apart)) + 1 : 0;
    const digits = Math.min(Math.max(usual, above), 15);
    if (size < 1e-4 || (size >= 1e7 && digits === usual))
      return value.toExponential(Math.min(Math.max(2, above - 1), 14));
    return String(Number(value.toPrecision(digits)));
  };
  const closest = ([low, high]) => (high - low) / 1000;

  // Places of ticks and their texts.
  const ticks = (low, high, count, log) => {
    const out = [];
    if (log) {
      const wide = Math.log10(high / low) > 2.5;
      for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e += 1)
        for (const m of wide ? [1] : [1, 2, 5]) out.push(m * 10 ** e);
      return out.filter((t) => t >= low * 0.999 && t <= high * 1.001).map((t) => [t, short(t)]);
    }
    const rough = (high - low) / Math.max(count, 1);
    const base = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * base).find((s) => s >= rough * 0.999);
    // Numbers that differ by rounding alone leave no room for steps.
    if (!(low + step > low && high + step > high))
      return high > low ? [[low, short(low, high - low)]] : [];
    for (let t = Math.ceil(low / step - 1e-9) * step; t <= high + 1e-9 * step; t += step)
      out.push(Math.abs(t) < 1e-9 * step ? 0 : t);
    return out.map((t) => [t, short(t, step)]);
  };

  const range = (values, log) => {
    const usable = values.filter((v) => v !== null && Number.isFinite(v) && (!log || v > 0));
    let low = Math.min(...usable);
    let high = Math.max(...usable);
    if (!usable.length) [low, high] = log ? [0.1, 1] : [0, 1];
    if (low === high) [low, high] = log ? [low / 2, high * 2] : [low - 1, high + 1];
    return [low, high];
  };

  const scale = ([low, high], [from, to], log) => {
    const f = log ? Math.log10 : (v) => v;
    const [a, b] = [f(low), f(high)];
    return (v) => from + ((f(v) - a) / (b - a)) * (to - from);
  };

  const plot = (figure) => {
    const spec = JSON.parse(figure.querySelector("script").textContent);
    const picture = figure.querySelector("svg");
    const state = { view: 0, hidden: new Set(), log: false, cursor: null };
    const controls = html("div", { class: "controls" });
    const holder = html("div", { class: "holder" });
    const readout = html("output", { class: "readout", "aria-live": "polite" });
    picture.replaceWith(controls, holder, readout);
    let frame = null;

    const view = () => spec.views[state.view];
    const shown = () => view().series.filter((s) => !state.hidden.has(s.name));
    const say = (text) => { readout.textContent = text; };
    const hint = "Move over the plot, or focus it and press the arrow keys, to read values.";

    const buildControls = () => {
      controls.replaceChildren();
      if (spec.views.length > 1) {
        const label = html("label", {}, controls, `${spec.choose} `);
        const select = html("select", {}, label);
        spec.views.forEach((v, i) => {
          html("option", { value: i }, select, v.name).selected = i === state.view;
        });
        select.addEventListener("change", () => {
          Object.assign(state, { view: Number(select.value), cursor: null });
          state.hidden.clear();
          buildControls();
          controls.querySelector("select").focus();
          draw();
        });
      }
      if (view().series.length > 1)
        for (const s of view().series) {
          const pressed = String(!state.hidden.has(s.name));
          const button = html("button", { type: "button", "aria-pressed": pressed }, controls);
          html("span", { class: "swatch", style: `background: var(--${s.color})` }, button);
          button.append(s.name);
          button.addEventListener("click", () => {
            if (!state.hidden.delete(s.name)) state.hidden.add(s.name);
            button.setAttribute("aria-pressed", String(!state.hidden.has(s.name)));
            state.cursor = null;
            draw();
          });
        }
      if (view().log) {
        const label = html("label", { class: "scale" }, controls);
        const box = html("input", { type: "checkbox" }, label);
        box.checked = state.log;
        label.append(" logarithmic");
        box.addEventListener("change", () => { state.log = box.checked; draw(); });
      }
    };

    const drawBars = (root, width, v) => {
      const row = 26;
      const left = Math.min(width * 0.42, 8 + 7.5 * Math.max(...v.labels.map((l) => l.length)));
      const s = v.series[0];
      const x = scale([0, Math.max(...s.high)], [left, width - 16]);
      const height = row * v.labels.length + 44;
      for (const [t, text] of ticks(0, Math.max(...s.high), width / 110)) {
        svg("line", { x1: x(t), x2: x(t), y1: 4, y2: height - 40, class: "grid" }, root);
        svg("text", { x: x(t), y: height - 22, "text-anchor": "middle" }, root, text);
      }
      svg("text", { x: (left + width) / 2, y: height - 4, "text-anchor": "middle" }, root, v.x);
      const fit = Math.floor((left - 8) / 7.5);
      v.labels.forEach((name, i) => {
        const y = 6 + row * i;
        const label = name.length > fit ? `${name.slice(0, Math.max(fit - 1, 1))}…` : name;
        svg("text", { x: left - 6, y: y + 15, "text-anchor": "end" }, root, label);
        svg("rect", { x: left, y: y + 3, width: Math.max(x(s.y[i]) - left, 0.5), height: row - 8,
          class: "bar" }, root);
        svg("line", { x1: x(s.low[i]), x2: x(s.high[i]), y1: y + 12, y2: y + 12,
          class: "whisker" }, root);
      });
      frame = {
        count: v.labels.length,
        nearest: (px, py) => Math.floor((py - 6) / row),
        at: (i) => [left, 6 + row * i, width - 16 - left, row - 2],
        text: (i) => `${v.labels[i]}: ${short(s.y[i])} (${short(s.low[i])} to ${short(s.high[i])})`,
      };
      return height;
    };

    const drawSeries = (group, s, x, y, log) => {
      const ok = (v) => v !== null && Number.isFinite(v) && (!log || v > 0);
      const colour = `var(--${s.color})`;
      if (s.type === "points") {
        s.x.forEach((px, i) => {
          if (!ok(s.y[i])) return;
          if (s.low) svg("line", { x1: x(px), x2: x(px), y1: y(s.low[i]), y2: y(s.high[i]),
            stroke: colour, "stroke-opacity": s.hollow ? 0.8 : 0.3 }, group);
          svg("circle", { cx: x(px), cy: y(s.y[i]), r: 3, stroke: colour,
            fill: s.hollow ? "none" : colour }, group);
        });
        return;
      }
      const path = (xs, ys) => {
        let pen = false;
        let d = "";
        xs.forEach((px, i) => {
          if (!ok(ys[i])) { pen = false; return; }
          d += `${pen ? "L" : "M"}${x(px).toFixed(1)} ${y(ys[i]).toFixed(1)}`;
          pen = true;
        });
        return d;
      };
      if (s.low) {
        const least = log ? Math.min(...s.y.filter((v) => v > 0)) : null;
        const low = s.low.map((v) => (log ? Math.max(v, least) : v));
        const d = `${path(s.x, s.high)}${path([...s.x].reverse(), [...low].reverse())
          .replace("M", "L")}Z`;
        svg("path", { d, fill: colour, "fill-opacity": 0.22, stroke: "none" }, group);
      }
      svg("path", { d: path(s.x, s.y), fill: "none", stroke: colour, "stroke-width":
        s.type === "guide" ? 1.2 : 2, "stroke-dasharray": s.dash || "none" }, group);
    };

    const drawCurves = (root, width, v) => {
      const height = Math.round(Math.min(Math.max(width * 0.58, 240), 380));
      const box = { left: 58, right: width - 12, top: 10, bottom: height - 44 };
      const series = shown();
      const log = state.log && Boolean(v.log);
      const all = series.length ? series : v.series;
      const dots = all.some((s) => s.type === "points");
      const across = range(all.flatMap((s) => s.x));
      const heights = all.flatMap((s) => [...s.y, ...((!log && s.low) || []), ...(s.high || [])]);
      let [low, high] = v.limits && !log ? v.limits : range(heights, log);
      if (!v.limits && !log) [low, high] = [low - 0.04 * (high - low), high + 0.04 * (high - low)];
      const upward = ticks(low, high, height / 60, log);
      box.left = Math.max(box.left, 27 + 7 * Math.max(0, ...upward.map(([, text]) => text.length)));
      const x = scale(across, dots ? [box.left + 8, box.right - 8] : [box.left, box.right]);
      const y = scale([low, high], [box.bottom, box.top], log);
      for (const [t, text] of ticks(...across, width / 110)) {
        svg("line", { x1: x(t), x2: x(t), y1: box.top, y2: box.bottom, class: "grid" }, root);
        svg("text", { x: x(t), y: box.bottom + 17, "text-anchor": "middle" }, root, text);
      }
      for (const [t, text] of upward) {
        svg("line", { x1: box.left, x2: box.right, y1: y(t), y2: y(t), class: "grid" }, root);
        svg("text", { x: box.left - 6, y: y(t) + 4, "text-anchor": "end" }, root, text);
      }
      svg("text", { x: (box.left + box.right) / 2, y: height - 6, "text-anchor": "middle" },
        root, v.x);
      svg("text", { transform: `translate(13 ${(box.top + box.bottom) / 2}) rotate(-90)`,
        "text-anchor": "middle" }, root, v.y);
      const clip = `clip-${figure.id}`;
      const area = svg("clipPath", { id: clip }, svg("defs", {}, root));
      svg("rect", { x: box.left, y: box.top, width: box.right - box.left,
        height: box.bottom - box.top }, area);
      const group = svg("g", { "clip-path": `url(#${clip})` }, root);
      if (v.shaded) svg("rect", { x: x(across[0]), y: box.top, class: "shaded",
        width: Math.max(x(v.shaded) - x(across[0]), 0), height: box.bottom - box.top }, group);
      for (const s of series) drawSeries(group, s, x, y, log);
      const [right, up] = [closest(across), log ? 0 : closest([low, high])];
      const value = (s, i) => `${s.name} ${short(s.y[i], up)}${s.low
        ? ` (${short(s.low[i], up)} to ${short(s.high[i], up)})` : ""}`;
      const places = series.filter((s) => s.type === "points").flatMap((s) =>
        s.x.map((px, i) => ({ s, i, px: x(px), py: y(s.y[i]) })));
      places.sort((a, b) => a.px - b.px);
      if (places.length) {
        frame = {
          count: places.length,
          nearest: (px, py) => places.reduce((best, p, i) => {
            const far = (p.px - px) ** 2 + (p.py - py) ** 2;
            return far < best[1] ? [i, far] : best;
          }, [0, Infinity])[0],
          at: (i) => [places[i].px - 6, places[i].py - 6, 12, 12],
          text: (i) => `${v.x} ${short(places[i].s.x[places[i].i], right)}: `
            + value(places[i].s, places[i].i),
        };
        return height;
      }
      const lines = series.filter((s) => s.type === "line");
      const grid = lines.length ? lines.reduce((a, b) => (b.x.length > a.x.length ? b : a)).x : [];
      const near = (xs, target) => xs.reduce((best, px, i) =>
        (Math.abs(px - target) < Math.abs(xs[best] - target) ? i : best), 0);
      frame = {
        count: grid.length,
        nearest: (px) => grid.reduce((best, gx, i) =>
          (Math.abs(x(gx) - px) < Math.abs(x(grid[best]) - px) ? i : best), 0),
        at: (i) => [x(grid[i]), box.top, 0.01, box.bottom - box.top],
        text: (i) => `${v.x} ${short(grid[i], right)}: `
          + lines.map((s) => value(s, near(s.x, grid[i]))).join("; "),
      };
      return height;
    };

    let root = null;
    const point = () => {
      root.querySelector(".cursor")?.remove();
      if (state.cursor === null || !frame.count) { say(hint); return; }
      const [x, y, width, height] = frame.at(state.cursor);
      svg("rect", { x, y, width, height, class: "cursor" }, root);
      say(frame.text(state.cursor));
    };
    const move = (to) => {
      state.cursor = Math.min(Math.max(to, 0), frame.count - 1);
      point();
    };

    const draw = () => {
      const width = Math.max(holder.clientWidth, 240);
      const focused = root !== null && document.activeElement === root;
      root = svg("svg", { role: "img", tabindex: 0, "aria-label": `${spec.label}. ${hint}` });
      const v = view();
      const height = v.labels ? drawBars(root, width, v) : drawCurves(root, width, v);
      root.setAttribute("viewBox", `0 0 ${width} ${height}`);
      holder.replaceChildren(root);
      if (focused) root.focus();
      root.addEventListener("pointermove", (event) => {
        const place = root.getBoundingClientRect();
        const zoom = width / place.width;
        const [px, py] = [(event.clientX - place.left) * zoom, (event.clientY - place.top) * zoom];
        if (frame.count) move(frame.nearest(px, py));
      });
      root.addEventListener("keydown", (event) => {
        const leap = Math.max(Math.round(frame.count / 10), 1);
        const now = state.cursor ?? -1;
        const to = { ArrowRight: now + 1, ArrowDown: now + 1, ArrowLeft: now - 1, ArrowUp: now - 1,
          PageDown: now + leap, PageUp: now - leap, Home: 0, End: frame.count - 1 }[event.key];
        if (to === undefined || !frame.count) return;
        event.preventDefault();
        move(to);
      });
      point();
    };

    buildControls();
    draw();
    let before = holder.clientWidth;
    new ResizeObserver(() => {
      if (holder.clientWidth !== before) { before = holder.clientWidth; draw(); }
    }).observe(holder);
  };

  document.querySelectorAll("figure[data-plot]").forEach(plot);

  const theme = document.getElementById("theme");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
})();
