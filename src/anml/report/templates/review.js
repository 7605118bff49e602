(() => {
  "use strict";
  const state = JSON.parse(document.getElementById("state").textContent);
  const at = (id) => document.getElementById(id);
  const make = (tag, text, more = {}) => Object.assign(document.createElement(tag), { textContent: text ?? "" }, more);
  const percent = (p) => (p == null ? "" : ` (${p > 0.99 ? "over 99" : Math.round(100 * p)}%)`);
  let item = null, shownAt = 0, waiting = false;
  let by = state.by;
  try { by ||= localStorage.getItem("anml_reviewer") ?? ""; } catch { /* storage is switched off */ }

  const fail = (text) => { at("error").textContent = text; at("error").hidden = !text; };

  async function send(step, more = {}) {
    if (waiting) return null;
    waiting = true;
    try {
      const headers = { "Content-Type": "application/json" };
      const answer = await fetch(step, { method: "POST", headers, body: JSON.stringify({ by, ...more }) });
      const found = await answer.json();
      fail(found.error ?? "");
      return answer.ok ? found : { failed: true };
    } catch {
      fail("The server does not answer; this answer was not saved. Start anml review again, then repeat it.");
      return { failed: true };
    } finally { waiting = false; }
  }

  async function step(name, more) {
    const found = await send(name, more);
    if (!found) return;
    if (found.failed) {
      at("reviewer").hidden = Boolean(item);
      if (!item) at("by").focus();
      return;
    }
    at("reviewer").hidden = true;
    progress(found.progress);
    item = found.item;
    at("item").hidden = !item;
    at("end").hidden = Boolean(item);
    at("skipped").hidden = !found.progress.skipped;
    if (item) show(); else at("end").querySelector("h2").focus();
  }

  function progress(now) {
    const wrong = now.expected_wrong_left < 9.5 ? now.expected_wrong_left.toFixed(1) : Math.round(now.expected_wrong_left);
    const time = `${Math.floor(now.seconds / 60)}:${String(Math.floor(now.seconds % 60)).padStart(2, "0")} min`;
    at("progress").textContent = `${now.answered} of ${now.items} answered, ${now.changed} changed, ` +
      `${now.skipped} skipped, ${time}. About ${wrong} wrong labels are expected to be left.`;
    at("bar").max = Math.max(now.items, 1);
    at("bar").value = now.answered;
  }

  function show() {
    shownAt = performance.now();
    at("name").textContent = item.name;
    at("what").replaceChildren(...contents());
    const fields = Object.entries(item.fields);
    at("fields").hidden = !fields.length;
    at("fields").replaceChildren(...fields.flatMap(([name, text]) => [make("dt", name), make("dd", text)]));
    at("given").replaceChildren(...item.labels.map(given));
    at("suggestion").textContent = (item.suggested == null ? "" : `Suggested: ${item.suggested}${percent(item.p)}. `) +
      (item.reason ? `Reason: ${item.reason}.` : "");
    at("choices").replaceChildren(...item.choices.map(choice));
    at("other").hidden = !(state.numeric || state.new || state.all.length > item.choices.length);
    at("label").value = at("comment").value = "";
    at("name").focus();
    scrollTo(0, 0);
  }

  function given(each) {
    const line = make("li");
    if (state.names) {
      line.append(make("a", each.by, { href: `contributor?name=${encodeURIComponent(each.by)}`, target: "_blank" }));
    } else line.append(each.by);
    line.append(": ", make("strong", each.label));
    return line;
  }

  function choice(label, number) {
    const button = make("button", "", { type: "button", className: label === item.suggested ? "suggested" : "" });
    button.append(make("kbd", number + 1), label);
    button.setAttribute("aria-keyshortcuts", number + 1);
    button.addEventListener("click", () => answer(label));
    return button;
  }

  function contents() {
    const found = [];
    if (item.text) found.push(item.text[0], make("mark", item.text[1]), item.text[2]);
    if (item.pair) {
      const sides = make("div", "", { className: "pair" });
      for (const [side, text] of [["first", item.pair[0]], ["second", item.pair[1]]]) {
        const part = make("div");
        part.append(make("h3", side), text);
        sides.append(part);
      }
      found.push(sides);
    }
    if (item.image || item.box) found.push(frame());
    return found;
  }

  function frame() {
    const box = make("div", "", { id: "frame" });
    const draw = (width, height) => {
      for (const sides of [...(item.boxes ?? []), ...(item.box ? [item.box] : [])]) {
        const place = make("i", "", { className: String(sides) === String(item.box) ? "this" : "" });
        const [x, y, w, h] = sides.map((side, at) => `${100 * side / (at % 2 ? height : width)}%`);
        Object.assign(place.style, { left: x, top: y, width: w, height: h });
        box.append(place);
      }
    };
    const far = (side) => (state.percent ? 100 : Math.max(...item.boxes.map((each) => each[side] + each[side + 2])));
    if (item.image) {
      const image = make("img", "", { src: item.image, alt: `Image of ${item.name}` });
      image.addEventListener("load", () => (state.percent ? draw(100, 100) : draw(image.naturalWidth, image.naturalHeight)));
      box.append(image);
    } else {
      Object.assign(box.style, { width: "100%", maxWidth: "640px", aspectRatio: `${far(0)} / ${far(1)}`, maxHeight: "45vh" });
      box.setAttribute("role", "img");
      box.setAttribute("aria-label", `Place of ${item.name}: ${item.box.map((side) => Math.round(side)).join(", ")}`);
      draw(far(0), far(1));
    }
    return box;
  }

  const answer = (label) => step("answer", {
    row: item.row, label, comment: at("comment").value, seconds: Math.min((performance.now() - shownAt) / 1000, 600),
  });

  for (const label of state.all) at("labels").append(make("option", "", { value: label }));
  at("reviewer").addEventListener("submit", (event) => {
    event.preventDefault();
    by = at("by").value.trim();
    try { localStorage.setItem("anml_reviewer", by); } catch { /* storage is switched off */ }
    step("next");
  });
  at("other").addEventListener("submit", (event) => { event.preventDefault(); answer(at("label").value); });
  at("skip").addEventListener("click", () => answer(null));
  for (const id of ["undo", "back"]) at(id).addEventListener("click", () => step("undo"));
  at("skipped").addEventListener("click", () => step("skipped"));
  at("again").addEventListener("click", () => location.reload());
  at("finish").addEventListener("click", async () => {
    at("finish").disabled = true;
    at("finish").textContent = "The audit is running";
    const found = await send("finish");
    if (!found || found.failed) {
      at("finish").disabled = false;
      at("finish").textContent = "Finish the round: audit again with the answers";
      return;
    }
    at("item").hidden = at("end").hidden = at("finish").hidden = true;
    at("done").querySelector("p").textContent = `${found.sentence} The new run is ${found.folder}; ${found.items} items are in its queue.`;
    at("done").querySelector("tbody").replaceChildren(...found.rows.map(([name, was, now]) => {
      const row = make("tr");
      row.append(make("th", name, { className: "text", scope: "row" }), make("td", was), make("td", now));
      return row;
    }));
    at("done").hidden = false;
  });
  document.addEventListener("keydown", (event) => {
    if (!item || at("item").hidden || event.target.matches("input") || event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.toLowerCase();
    const chosen = "123456789".includes(key) ? item.choices[Number(key) - 1] : undefined;
    const acts = { s: () => answer(null), u: () => step("undo"), c: () => at("comment").focus() };
    if (chosen === undefined && !acts[key]) return;
    event.preventDefault();
    if (chosen === undefined) acts[key](); else answer(chosen);
  });
  if (by) step("next"); else { at("reviewer").hidden = false; at("by").focus(); }
})();
