/* Films made of numbers: each <div class="film" data-kind="policy|car"> holds its pictures as JSON in a <script>. */
(function () {
  "use strict"
  const NS = "http://www.w3.org/2000/svg"

  function node(name, attributes, parent, text) {
    const made = document.createElementNS(NS, name)
    for (const key in attributes) made.setAttribute(key, attributes[key])
    if (text !== undefined) made.textContent = text
    if (parent) parent.append(made)
    return made
  }

  function mix(share) { // blue over pale yellow to red
    const stops = [[49, 54, 149], [255, 255, 191], [165, 0, 38]]
    const low = share < 0.5 ? 0 : 1, t = share * 2 - low
    return "rgb(" + stops[low].map((part, i) => Math.round(part + t * (stops[low + 1][i] - part))).join(",") + ")"
  }

  const kinds = {
    /* A policy: steps to the right, states upwards; colour is the chance of the action, height of a cell how often one is there. */
    policy(svg, data) {
      const H = data.H, S = data.S, w = 400 / H, h = 240 / S
      svg.setAttribute("viewBox", "0 0 460 300")
      const cells = []
      for (let step = 0; step < H; step++) {
        node("text", { x: 44 + (step + 0.5) * w, y: 264, "text-anchor": "middle", class: "film-tick" }, svg, step + 1)
        for (let s = 0; s < S; s++) cells.push(node("rect", { stroke: "none" }, svg))
      }
      for (let s = 0; s < S; s++) node("text", { x: 36, y: 10 + (S - s - 0.35) * h, "text-anchor": "end", class: "film-tick" }, svg, s)
      node("text", { x: 244, y: 288, "text-anchor": "middle", class: "film-label" }, svg, data.across)
      node("text", { x: 12, y: 130, transform: "rotate(-90 12 130)", "text-anchor": "middle", class: "film-label" }, svg, data.up)
      node("rect", { x: 44, y: 10, width: 400, height: 240, fill: "none", stroke: "currentColor", "stroke-opacity": 0.4 }, svg)
      return frame => {
        cells.forEach((cell, i) => {
          const step = Math.floor(i / S), s = i % S, there = Math.sqrt(frame.there[i] / 100)
          cell.setAttribute("x", 44 + step * w)
          cell.setAttribute("width", w)
          cell.setAttribute("height", h * there)
          cell.setAttribute("y", 10 + (S - s - 0.5) * h - h * there / 2)
          cell.setAttribute("fill", mix(frame.act[i] / 100))
        })
      }
    },
    /* A car between two hills, with the pushes that it used. */
    car(svg, data) {
      svg.setAttribute("viewBox", "0 0 460 230")
      const X = x => 20 + (x + 1.2) / 1.8 * 420, Y = x => 150 - 62 * Math.sin(3 * x)
      const path = []
      for (let x = -1.2; x <= 0.601; x += 0.02) path.push(X(x).toFixed(1) + "," + Y(x).toFixed(1))
      node("polyline", { points: path.join(" "), fill: "none", stroke: "currentColor", "stroke-width": 2 }, svg)
      const top = X(0.5)
      node("path", { d: `M${top} ${Y(0.5)}v-34l18 7-18 7`, fill: "#d55e00", stroke: "#d55e00", "stroke-width": 2 }, svg)
      node("rect", { x: 20, y: 8, width: 300, height: 12, fill: "none", stroke: "currentColor", "stroke-opacity": 0.5 }, svg)
      const used = node("rect", { x: 20, y: 8, height: 12, fill: "#00897b" }, svg)
      const limit = 20 + 300 * data.limit / data.most
      node("line", { x1: limit, x2: limit, y1: 3, y2: 25, stroke: "#d55e00", "stroke-width": 2.5 }, svg)
      node("text", { x: 328, y: 18, class: "film-label" }, svg, "pushes, at most " + data.limit)
      const car = node("circle", { r: 9, fill: "#0072b2" }, svg)
      const push = node("path", { fill: "none", stroke: "#d55e00", "stroke-width": 3, "stroke-linecap": "round" }, svg)
      return frame => {
        const [x, action, pushes] = frame.car, cx = X(x), cy = Y(x) - 9
        car.setAttribute("cx", cx)
        car.setAttribute("cy", cy)
        push.setAttribute("d", action ? `M${cx - 12 * action} ${cy}l${-10 * action} 0` : "")
        used.setAttribute("width", 300 * Math.min(pushes / data.most, 1))
        used.setAttribute("fill", pushes > data.limit ? "#d55e00" : "#00897b")
      }
    },
  }

  function start(film) {
    if (film.dataset.ready) return
    film.dataset.ready = "yes"
    const data = JSON.parse(film.querySelector("script").textContent)
    const svg = node("svg", { role: "img", "aria-label": film.dataset.label || "" }, film)
    const show = kinds[film.dataset.kind](svg, data)
    const bar = document.createElement("div"), button = document.createElement("button"), slider = document.createElement("input")
    const said = document.createElement("div")
    bar.className = "film-bar"
    said.className = "film-said"
    button.type = "button"
    slider.type = "range"
    slider.min = 0
    slider.max = data.frames.length - 1
    slider.setAttribute("aria-label", "picture")
    bar.append(button, slider)
    film.append(bar, said)
    let at = 0, timer = 0
    const draw = () => {
      slider.value = at
      said.textContent = data.frames[at].said
      show(data.frames[at])
    }
    const stop = () => { clearInterval(timer); timer = 0; button.textContent = "▶ play" }
    const play = () => {
      if (at === data.frames.length - 1) at = 0
      button.textContent = "❚❚ stop"
      timer = setInterval(() => { if (at === data.frames.length - 1) stop(); else { at++; draw() } }, data.pause)
    }
    button.addEventListener("click", () => (timer ? stop() : play()))
    slider.addEventListener("input", () => { stop(); at = Number(slider.value); draw() })
    stop()
    at = data.first || 0
    draw()
  }

  const all = () => document.querySelectorAll("div.film").forEach(start)
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", all)
  else all()
})()
