// Sorting and searching of tables. The page is whole without it.
(function () {
  "use strict";
  // Rows of a long table as it opens, and those that each click adds.
  var FIRST = 25, STEP = 200;

  // "<1%" is below 1, ">99%" above 99; figures stand first in their cell.
  function key(cell) {
    var text = cell.textContent.trim().replace(/,/g, "").replace("−", "-");
    var number = parseFloat(text.replace(/^[<>+]/, ""));
    if (isNaN(number)) { return text.toLowerCase(); }
    return number + (text[0] === "<" ? -0.5 : text[0] === ">" ? 0.5 : 0);
  }

  function compare(a, b) {
    if (typeof a === typeof b) { return a < b ? -1 : a > b ? 1 : 0; }
    return typeof a === "number" ? -1 : 1;
  }

  function enhance(table) {
    var body = table.tBodies[0];
    var section = table.closest("section") || document;
    var rest = section.querySelector("template.rest[data-of='" + table.id + "']");
    var rows = Array.from(body.rows);
    if (rest) { rows = rows.concat(Array.from(rest.content.querySelectorAll("tr"))); }
    var order = rows.slice();
    var tools = section.querySelector(".tools[data-of='" + table.id + "']");
    var found = tools && tools.querySelector("input");
    var count = tools && tools.querySelector("output");
    var more = section.querySelector("button.more[data-of='" + table.id + "']");
    var first = rows.length > 2 * FIRST && more ? FIRST : rows.length;
    var shown = first;

    function show() {
      var wanted = found ? found.value.trim().toLowerCase() : "";
      var match = order.filter(function (row) {
        return !wanted || row.textContent.toLowerCase().indexOf(wanted) >= 0;
      });
      body.replaceChildren.apply(body, match.slice(0, shown));
      if (count) {
        var seen = Math.min(shown, match.length);
        count.textContent = seen < match.length
          ? seen.toLocaleString("en") + " shown of " + match.length.toLocaleString("en")
          : match.length.toLocaleString("en") + " of " + rows.length.toLocaleString("en");
      }
      if (more) { more.hidden = match.length <= shown; }
    }

    Array.from(table.tHead.rows[0].cells).forEach(function (head, place) {
      if (!head.textContent.trim()) { return; }
      var button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append.apply(button, Array.from(head.childNodes));
      head.append(button);
      button.addEventListener("click", function () {
        var down = head.getAttribute("aria-sort") === "ascending";
        Array.from(table.tHead.rows[0].cells).forEach(function (each) { each.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        var keys = new Map(rows.map(function (row) { return [row, key(row.cells[place])]; }));
        order = rows.slice().sort(function (a, b) { return (down ? -1 : 1) * compare(keys.get(a), keys.get(b)); });
        show();
      });
    });
    if (found) {
      tools.hidden = false;
      found.addEventListener("input", function () { shown = first; show(); });
    }
    if (more) { more.addEventListener("click", function () { shown += STEP; show(); }); }
    if (found || more) { show(); }
    window.addEventListener("beforeprint", function () { shown = Math.max(shown, STEP); show(); });
  }

  // A table that fits needs no cue that it scrolls.
  function cues() {
    document.querySelectorAll(".scroll").forEach(function (box) {
      var cue = box.previousElementSibling, wide = box.scrollWidth > box.clientWidth + 1;
      if (cue && cue.classList.contains("cue")) {
        cue.classList.toggle("on", wide);
        cue.classList.toggle("off", !wide);
      }
    });
  }

  document.querySelectorAll("table.sortable").forEach(enhance);
  cues();
  window.addEventListener("resize", cues);
}());
