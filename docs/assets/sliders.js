// The two interactive figures. A notebook leaves <div class="nr-slider" data-kind="price | constants"> with its numbers as JSON
// inside; everything that is shown was computed when the site was built. No library, no network.
(() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";

  const draw = (parent, name, attributes = {}, text = "") => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== "") made.textContent = text;
    parent.append(made);
    return made;
  };

  const html = (parent, name, className = "", text = "") => {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text) made.textContent = text;
    parent.append(made);
    return made;
  };

  const line = (xs, ys) => xs.map((x, i) => `${i ? "L" : "M"}${x.toFixed(1)} ${ys[i].toFixed(1)}`).join("");
  const plain = (value, digits) => value.toFixed(digits).replace("-", "−");
  const thousands = (value) => Math.round(value).toLocaleString("en").replace("-", "−");

  const slider = (parent, label, n, start, id) => {
    const row = html(parent, "label");
    row.htmlFor = id;
    const words = html(row, "span", "", label);
    const input = html(row, "input");
    Object.assign(input, { type: "range", id, min: 0, max: n - 1, step: 1, value: start });
    return { input, words };
  };

  // A panel with axes: ticks are [position, text], in the units of the SVG's box.
  const panel = (parent, width, height, named) => {
    const svg = draw(html(parent, "div", "panel"), "svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": named });
    draw(svg, "text", { x: 4, y: 15, "font-weight": "bold" }, named);
    return svg;
  };

  const axes = (svg, box, xTicks, yTicks, xLabel) => {
    xTicks.forEach(([x, text], i) => {
      draw(svg, "line", { x1: x, x2: x, y1: box.top, y2: box.bottom, class: "grid" });
      draw(svg, "text", { x, y: box.bottom + 16, "text-anchor": i === xTicks.length - 1 ? "end" : "middle" }, text);
    });
    for (const [y, text] of yTicks) {
      draw(svg, "line", { x1: box.left, x2: box.right, y1: y, y2: y, class: "grid" });
      draw(svg, "text", { x: box.left - 6, y: y + 4, "text-anchor": "end" }, text);
    }
    draw(svg, "path", { d: `M${box.left} ${box.top}V${box.bottom}H${box.right}`, fill: "none", class: "axis" });
    draw(svg, "text", { x: (box.left + box.right) / 2, y: box.bottom + 34, "text-anchor": "middle" }, xLabel);
  };

  const span = (low, high, count) => Array.from({ length: count }, (_, i) => low + ((high - low) * i) / (count - 1));

  // The price of a constraint: V*(b) with its tangent, and the best policy as a map of steps and states.
  const price = (home, data, number) => {
    const panels = html(home, "div", "panels");
    const [b, value] = [data.b, data.value];
    const n = b.length;
    const low = Math.min(...value);
    const high = Math.max(...value);
    const room = (high - low) * 0.08;
    const box = { left: 48, right: 388, top: 28, bottom: 250 };
    const X = (v) => box.left + ((v - b[0]) / (b[n - 1] - b[0])) * (box.right - box.left);
    const Y = (v) => box.bottom - ((v - low + room) / (high - low + 2 * room)) * (box.bottom - box.top);
    const curve = panel(panels, 400, 292, "best value V* for each threshold b");
    axes(curve, box, span(b[0], b[n - 1], 5).map((v) => [X(v), plain(v, 2)]), span(low, high, 5).map((v) => [Y(v), plain(v, 2)]), `threshold b: ${data.utility}`);
    draw(curve, "path", { d: line(b.map(X), value.map(Y)), class: "curve" });
    const clip = draw(curve, "clipPath", { id: `nr-clip-${number}` });
    draw(clip, "rect", { x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top });
    const tangent = draw(curve, "path", { class: "tangent", "clip-path": `url(#nr-clip-${number})` });
    const dot = draw(curve, "circle", { r: 6, class: "dot" });

    const [H, S] = [data.steps, data.states.length];
    const map = panel(panels, 400, 292, `the best policy: probability to ${data.action}`);
    const grid = { left: 64, right: 388, top: 28, bottom: 250 };
    const [w, h] = [(grid.right - grid.left) / H, (grid.bottom - grid.top) / S];
    const cells = [];
    for (let step = 0; step < H; step += 1) {
      draw(map, "text", { x: grid.left + (step + 0.5) * w, y: grid.bottom + 16, "text-anchor": "middle" }, String(step + 1));
      for (let s = 0; s < S; s += 1) {
        const place = { x: grid.left + step * w + 1, y: grid.top + s * h + 1, width: w - 2, height: h - 2 };
        draw(map, "rect", { ...place, class: "frame" });
        const cell = draw(map, "rect", { ...place, class: "cell" });
        cells.push([cell, draw(cell, "title")]);
      }
    }
    data.states.forEach((name, s) => draw(map, "text", { x: grid.left - 6, y: grid.top + (s + 0.5) * h + 4, "text-anchor": "end" }, name));
    draw(map, "text", { x: (grid.left + grid.right) / 2, y: grid.bottom + 34, "text-anchor": "middle" }, `step; empty where the policy never comes`);

    const { input, words } = slider(panels.firstElementChild, "threshold b", n, data.start, `nr-price-${number}`);
    const said = html(home, "p", "said");
    said.setAttribute("aria-live", "polite");
    const show = () => {
      const i = Number(input.value);
      dot.setAttribute("cx", X(b[i]));
      dot.setAttribute("cy", Y(value[i]));
      const reach = (b[n - 1] - b[0]) * 0.22;
      const ends = [Math.max(b[0], b[i] - reach), Math.min(b[n - 1], b[i] + reach)];
      tangent.setAttribute("d", line(ends.map(X), ends.map((v) => Y(value[i] - data.dual[i] * (v - b[i])))));
      cells.forEach(([cell, title], c) => {
        const chance = data.policy[i][c] / 100;
        const reached = data.reached[i][c] > 0;
        cell.setAttribute("opacity", reached ? 0.08 + 0.92 * chance : 0);
        title.textContent = reached ? `${data.action} with probability ${chance.toFixed(2)}` : "never reached";
      });
      words.textContent = `threshold b = ${plain(b[i], 2)}`;
      input.setAttribute("aria-valuetext", `b ${plain(b[i], 2)}, best value ${plain(value[i], 3)}, price ${plain(data.dual[i], 3)}`);
      said.replaceChildren();
      for (const [text, shown] of [["Best value V* = ", plain(value[i], 4)], [", price (dual) = ", plain(data.dual[i], 4)], [", Slater gap = ", plain(data.gap[i], 4)]]) {
        said.append(text);
        html(said, "b", "", shown);
      }
      said.append(data.dual[i] > 1e-9 ? `: one more hundredth of utility costs about ${plain(data.dual[i] / 100, 4)} of reward.` : ": the best policy meets this threshold anyway, so it costs nothing.");
    };
    input.addEventListener("input", show);
    show();
  };

  // β and λ: regret and violation of one run for each pair. The vertical scale is logarithmic above 100 and below −100.
  const constants = (home, data, number) => {
    const bend = (v) => Math.sign(v) * (Math.abs(v) <= 100 ? Math.abs(v) / 100 : 1 + Math.log10(Math.abs(v) / 100));
    const panels = html(home, "div", "panels");
    const K = data.episodes[data.episodes.length - 1];
    const made = ["regret", "violation"].map((which) => {
      const all = data[which].flat(2).map(bend);
      const [low, high] = [Math.min(0, Math.floor(Math.min(...all))), Math.ceil(Math.max(...all))];
      const svg = panel(panels, 400, 292, which === "regret" ? "regret so far" : "violation so far");
      const box = { left: 66, right: 388, top: 28, bottom: 250 };
      const X = (k) => box.left + (k / K) * (box.right - box.left);
      const Y = (v) => box.bottom - ((bend(v) - low) / (high - low)) * (box.bottom - box.top);
      const ticks = [];
      for (let t = low; t <= high; t += 1) ticks.push(t === 0 ? 0 : Math.sign(t) * 10 ** (Math.abs(t) + 1));
      axes(svg, box, span(0, K, 3).map((k) => [X(k), thousands(k)]), ticks.map((v) => [Y(v), thousands(v)]), "episode");
      const path = (i, j) => line(data.episodes.map(X), data[which][i][j].map(Y));
      const others = draw(svg, "g", { class: "others" });
      data.beta.forEach((_, i) => data.lam.forEach((__, j) => draw(others, "path", { d: path(i, j) })));
      return { path, bold: draw(svg, "path", { class: "curve" }) };
    });
    const beta = slider(home, "β", data.beta.length, data.start[0], `nr-beta-${number}`);
    const lam = slider(home, "λ", data.lam.length, data.start[1], `nr-lambda-${number}`);
    const said = html(home, "p", "said");
    said.setAttribute("aria-live", "polite");
    const show = () => {
      const [i, j] = [Number(beta.input.value), Number(lam.input.value)];
      for (const { path, bold } of made) bold.setAttribute("d", path(i, j));
      beta.words.textContent = `bonus β = ${data.beta[i]}`;
      lam.words.textContent = `ridge λ = ${data.lam[j]}`;
      beta.input.setAttribute("aria-valuetext", `β ${data.beta[i]}`);
      lam.input.setAttribute("aria-valuetext", `λ ${data.lam[j]}`);
      const untried = data.beta[i] / Math.sqrt(data.lam[j]);
      said.replaceChildren();
      said.append("After ", thousands(K), " episodes: regret ");
      html(said, "b", "", thousands(data.regret[i][j].at(-1)));
      said.append(", violation ");
      html(said, "b", "", thousands(data.violation[i][j].at(-1)));
      said.append(`. An action that was never tried looks worth β/√λ = ${plain(untried, 1)}, and at most H = ${data.H}`);
      said.append(untried < data.H ? ": too little to be worth a try." : ": always worth a try.");
    };
    for (const { input } of [beta, lam]) input.addEventListener("input", show);
    show();
  };

  const begin = () => {
    document.querySelectorAll(".nr-slider").forEach((home, number) => {
      const source = home.querySelector('script[type="application/json"]');
      if (!source || home.querySelector(".panels")) return;
      home.querySelectorAll(".without").forEach((each) => each.remove());
      ({ price, constants })[home.dataset.kind](home, JSON.parse(source.textContent), number);
    });
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
})();
