// What runs in the page: the list of metrics, what is copied, light or dark, the address.
(() => {
  const root = document.documentElement, $ = (query, from = document) => from.querySelector(query);
  const all = (query, from = document) => [...from.querySelectorAll(query)];
  const tell = (element, name, detail) => element.dispatchEvent(new CustomEvent(name, {detail, bubbles: true}));
  // An address that asks for something is waited for, so that nothing else is seen before it.
  const asked = new URLSearchParams(location.search);
  if (asked.has("metric") || asked.has("view")) {
    root.classList.add("opening");
    setTimeout(() => root.classList.remove("opening"), 20000);
  }

  // -- What is said, and what is copied
  let saying;
  const say = (text, milliseconds = 1600) => {
    let bar = $("#said");
    if (!bar) {
      bar = Object.assign(document.createElement("div"), {id: "said"});
      bar.setAttribute("role", "status");
      document.body.append(bar);
    }
    bar.textContent = text;
    bar.classList.add("on");
    clearTimeout(saying);
    saying = setTimeout(() => bar.classList.remove("on"), milliseconds);
  };
  const copy = async text => {
    try { await navigator.clipboard.writeText(text); } catch {
      // Where the page came over plain http from another machine there is no clipboard.
      const area = Object.assign(document.createElement("textarea"), {value: text});
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    say("Copied");
  };

  // -- The list of metrics
  const sheet = () => $("#sheet dialog");
  const seen = () => all("[role=option]", sheet()).filter(one => !one.hidden);
  let at = -1, opener;
  const mark = place => {
    const options = seen(), input = $("input", sheet());
    at = Math.max(0, Math.min(options.length - 1, place));
    all(".at", sheet()).forEach(one => one.classList.remove("at"));
    input.removeAttribute("aria-activedescendant");
    if (!options[at]) return;
    options[at].classList.add("at");
    options[at].scrollIntoView({block: "nearest"});
    input.setAttribute("aria-activedescendant", options[at].id);
  };
  const sift = () => {
    const typed = $("input", sheet()).value.toLowerCase(), words = typed.split(/\s+/).filter(Boolean);
    all("[role=option]", sheet()).forEach(one => one.hidden = !words.every(word => one.dataset.words.includes(word)));
    all("[role=group]", sheet()).forEach(one => one.hidden = !$("[role=option]:not([hidden])", one));
    $(".none", sheet()).hidden = seen().length > 0;
    mark(typed ? 0 : seen().findIndex(one => one.ariaSelected === "true"));
  };
  const open = button => {
    opener = button;
    const box = button.getBoundingClientRect(), list = sheet();
    list.style.setProperty("--left", `${box.left}px`);
    list.style.setProperty("--top", `${box.bottom + 6}px`);
    all("[role=option]", list).forEach(one => one.ariaSelected = one.dataset.metric === button.dataset.metric);
    $("input", list).value = "";
    list.showModal();
    sift();
    $("input", list).focus();
  };
  const take = option => {
    if (!option) return;
    sheet().close();
    tell($("#sheet dialog"), "picked", {metric: option.dataset.metric});
  };

  // -- The address is that of what is shown
  const shown = () => all("[data-url]").find(one => one.checkVisibility());
  const address = () => {
    const own = shown();
    if (own && !root.classList.contains("opening")) history.replaceState(null, "", own.dataset.url || location.pathname);
  };
  const tabs = {data: "Dataset", compare: "Compare", leaderboard: "Leaderboard", about: "About"};
  window.vg = {
    opened() {
      root.classList.remove("opening");
      const wanted = asked.get("metric");
      if (wanted !== null && !all("#sheet [role=option]").some(one => one.dataset.metric === wanted)) {
        say(`There is no metric "${wanted.slice(0, 40)}". This is another one.`, 8000);
      }
      const view = tabs[asked.get("view")];
      if (view) all("#views [role=tab]").find(one => one.innerText.trim() === view)?.click();
      if (["predictions", "references", "styles"].some(one => asked.has(one))) $("#go")?.click();
    },
  };
  // What Gradio 6.31 gives to those who do not see it is mended: a button is called as it reads, what scrolls can have
  // the focus, and a button holds no second one.
  const mend = () => {
    all("button.upload-container").forEach(one => {
      if (one.innerText.trim()) one.removeAttribute("aria-label");
      else if (!one.ariaLabel) one.ariaLabel = "Upload another file";
    });
    all(".cm-scroller").forEach(one => one.tabIndex = 0);
    all(".search-input:not([aria-label])").forEach(one => one.ariaLabel = "Filter the rows");
    all(".icon-button button.upload-container:enabled").forEach(one => one.disabled = true);
    all(".boards table").filter(one => !$("[data-sort]", one)).forEach(draw);
    all("button input[type=file]").forEach(one => { one.tabIndex = -1; one.ariaHidden = "true"; });
  };
  // -- Leaderboards: an interval in each cell, sorted by a click; who shares a rank group shares a place
  const parsed = cell => {
    const found = cell?.dataset.text.match(/^([-\u2212]?[\d.]+)(?: \[([-\u2212]?[\d.]+), ([-\u2212]?[\d.]+)\])?/);
    return found ? found.slice(1).map(one => one === undefined ? NaN : +one.replace("\u2212", "-")) : null;
  };
  const line = (name, values) => `<line class="${name}" ${Object.entries(values).map(([key, value]) => `${key}="${value}"`).join(" ")}/>`;
  const sortable = (head, place) => {
    const button = Object.assign(document.createElement("button"), {type: "button", textContent: head.textContent.trim()});
    button.dataset.sort = head.dataset.place = place;
    if (/[\u2191\u2193]/.test(head.textContent)) head.dataset.arrow = "1";
    head.replaceChildren(button);
    head.ariaSort = "none";
  };
  const draw = table => {
    const heads = all("thead th", table), rows = all("tbody tr", table);
    rows.forEach(row => all("td", row).forEach(cell => cell.dataset.text = cell.textContent));
    heads.forEach((head, place) => {
      const up = head.textContent.includes("\u2191");
      if (!up && !head.textContent.includes("\u2193")) return;
      const cells = rows.map(row => row.children[place]), values = cells.map(parsed);
      const ends = values.flatMap(one => one?.filter(Number.isFinite) ?? []), [low, high] = [Math.min(...ends), Math.max(...ends)];
      const at = value => `${4 + 92 * (high > low ? (up ? value - low : high - value) / (high - low) : .5)}%`;
      cells.forEach((cell, i) => {
        if (!values[i]) return;
        const [value, from, to] = values[i];
        const span = Number.isFinite(from) ? line("w", {x1: at(from), x2: at(to), y1: 8, y2: 8}) : "";
        cell.innerHTML = cell.innerHTML.replace(/ (\[[^\]<]*\][^<]?)/, ' <span class="interval">$1</span>');
        cell.insertAdjacentHTML("beforeend", `<svg class="drawn" aria-hidden="true">${line("base", {x1: 0, x2: "100%", y1: 8, y2: 8})}${span}<circle cx="${at(value)}" cy="8" r="4"/></svg>`);
      });
      sortable(head, place);
    });
    // Names and counts: not ranked by, but sorted.
    heads.forEach((head, place) => { if (place && !head.dataset.place && !/^group$/.test(head.textContent.trim())) sortable(head, place); });
    const first = $("th[data-arrow] [data-sort]", table);
    if (first) { table.dataset.drawn = "1"; const by = all("th[data-arrow] [data-sort]", table).find(one => isSorted(rows, +one.dataset.sort, one)); const own = (by ?? first).closest("th"); own.ariaSort = upOf(by ?? first) ? "descending" : "ascending"; if (by) number(rows, own, +by.dataset.sort, upOf(by)); }
  };
  const upOf = button => button.textContent.includes("\u2191");
  const better = (row, place, up) => { const value = parsed(row.children[place])?.[0]; return value === undefined ? -Infinity : up ? value : -value; };
  const isSorted = (rows, place, button) => rows.every((row, i) => !i || better(rows[i - 1], place, upOf(button)) >= better(row, place, upOf(button)));
  const number = (rows, head, place, up) => {
    const grouped = head.nextElementSibling?.textContent.trim() === "group";
    const key = row => grouped ? -(parseInt(row.children[place + 1].dataset.text, 10) || Infinity) : better(row, place, up);
    const keys = rows.map(key);
    rows.forEach((row, i) => {
      const none = head.dataset.unranked !== undefined || !parsed(row.children[place]), same = keys.filter(one => one === keys[i]).length > 1;
      row.children[0].textContent = none ? "-" : `${1 + keys.filter(one => one > keys[i]).length}${same ? "=" : ""}`;
    });
  };
  const sortPlain = button => {
    const table = button.closest("table"), place = +button.dataset.sort, head = button.closest("th"), rows = all("tbody tr", table);
    const text = row => row.children[place].dataset.text.trim(), turned = head.ariaSort === "ascending" ? -1 : 1;
    rows.sort((one, other) => turned * text(one).localeCompare(text(other), undefined, {numeric: true}));
    rows.forEach(row => row.parentNode.append(row));
    all("th[aria-sort]", table).forEach(one => one.ariaSort = "none");
    head.ariaSort = turned === 1 ? "ascending" : "descending";
  };
  const sort = button => {
    if (!button.closest("th").dataset.arrow) return sortPlain(button);
    const table = button.closest("table"), place = +button.dataset.sort, up = upOf(button), head = button.closest("th");
    const best = up ? "descending" : "ascending", turned = head.ariaSort === best, rows = all("tbody tr", table);
    rows.sort((one, other) => (turned ? -1 : 1) * (better(other, place, up) - better(one, place, up) || 0));
    rows.forEach(row => row.parentNode.append(row));
    number(rows, head, place, up);
    all("th[aria-sort]", table).forEach(one => one.ariaSort = "none");
    head.ariaSort = turned ? (up ? "ascending" : "descending") : best;
  };
  const asCsv = board => all("table", board).map(table => [all("thead th", table), ...all("tbody tr", table).map(row => [...row.children])]
    .map(cells => cells.map(cell => `"${(cell.dataset.text ?? cell.textContent).trim().replaceAll('"', '""')}"`).join(",")).join("\n")).join("\n\n") + "\n";
  addEventListener("click", event => {
    const button = event.target.closest?.(".boards [data-sort]"), kept = event.target.closest?.(".boards [data-csv]");
    if (button) sort(button);
    if (kept) copy(asCsv(kept.closest(".boards")));
  });
  let mending;
  new MutationObserver(() => { cancelAnimationFrame(mending); mending = requestAnimationFrame(mend); }).observe(root, {childList: true, subtree: true});
  // What comes from the server is patched in place.
  new MutationObserver(address).observe(root, {attributes: true, attributeFilter: ["data-url"], subtree: true});
  new MutationObserver(changed => {
    if (changed.some(one => [...one.addedNodes].some(node => node.querySelector?.("[data-url]") || node.dataset?.url))) address();
  }).observe(root, {childList: true, subtree: true});

  addEventListener("click", event => {
    const find = query => event.target.closest?.(query);
    let found;
    if ((found = find("[data-copy]"))) copy(found.dataset.copy);
    else if ((found = find("[data-copy-link]"))) copy(location.origin + location.pathname + found.dataset.copyLink);
    else if ((found = find(".acts [aria-disabled]"))) say(found.title);
    else if ((found = find(".pick"))) open(found);
    else if ((found = find("#sheet [role=option]"))) take(found);
    else if (event.target === sheet()) sheet().close();
    // Of two buttons in one the outer is left, and does what the inner did.
    else if (event.target.type !== "file" && (found = find(".icon-button:has(.upload-container)"))) $("input", found).click();
    else if ((found = find("[data-set]"))) {
      if (found.ariaChecked !== "true") tell(found, "set", {[found.dataset.set]: found.dataset.value});
    } else if ((found = find(".card[data-number]"))) tell(found, "chosen", {number: +found.dataset.number});
    else if (find(".mode")) {
      localStorage.setItem("vlgauge-mode", document.body.classList.contains("dark") ? "light" : "dark");
      keep();
    }
  });
  addEventListener("input", event => { if (event.target.closest?.("#sheet")) sift(); });
  addEventListener("change", event => {
    const list = event.target.closest?.("select[data-choice]");
    if (list) tell(list, "set", {[list.dataset.choice]: list.value});
  });
  addEventListener("close", () => opener?.focus(), true);
  addEventListener("keydown", event => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { $("#go")?.click(); return; }
    const list = sheet();
    if (list?.open) {
      const move = {ArrowDown: 1, ArrowUp: -1, PageDown: 6, PageUp: -6}[event.key];
      if (move) { event.preventDefault(); mark(at + move); }
      else if (event.key === "Enter") { event.preventDefault(); take(seen()[at]); }
      else if (event.key === "Tab") { event.preventDefault(); list.close(); }
      return;
    }
    // One of several choices has the focus; arrows go on to the next, as for radio buttons.
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    const group = step && event.target.closest?.("[role=radiogroup]");
    if (group && event.target.matches("button[role=radio]")) {
      const every = all("[role=radio]", group), next = every[(every.indexOf(event.target) + step + every.length) % every.length];
      event.preventDefault();
      next.focus();
      next.click();
    }
    if ((event.key === "/" && !/INPUT|TEXTAREA|SELECT/.test(event.target.tagName)) || (event.key === "k" && (event.ctrlKey || event.metaKey))) {
      const button = all(".pick").find(one => one.checkVisibility());
      if (button) { event.preventDefault(); open(button); }
    }
    // In gradio 6.31 Escape closes a list and leaves what was typed, until the list is left. That of data sets takes it.
    const box = event.key === "Escape" && event.target.closest?.("[role=combobox]");
    if (box && !box.closest("#data-set, #sheet")) box.blur();
  });

  // -- A phrase, its box and its bar belong together
  const tie = event => {
    const own = event.target.closest?.(".evidence mark[tabindex], .evidence .shares li[data-n]");
    all(".evidence .hot").forEach(one => one.classList.remove("hot"));
    const number = own && (own.dataset.n || $(".n", own)?.textContent.match(/\d+/)?.[0]);
    if (!number) return;
    const result = own.closest(".evidence");
    all(".tg", result).forEach(one => one.textContent.trim() === number && one.classList.add("hot"));
    all(".shares li[data-n]", result).forEach(one => one.dataset.n === number && one.classList.add("hot"));
    all("mark[tabindex]", result).forEach(one => $(".n", one)?.textContent.match(/^\d+/)?.[0] === number && one.classList.add("hot"));
  };
  addEventListener("mouseover", tie);
  addEventListener("focusin", tie);

  // -- Light or dark: what the visitor chose, also after Gradio has put its own class
  const keep = () => {
    const mode = localStorage.getItem("vlgauge-mode");
    if (mode && document.body.classList.contains("dark") !== (mode === "dark")) document.body.classList.toggle("dark");
  };
  const begin = () => {
    keep();
    new MutationObserver(keep).observe(document.body, {attributes: true, attributeFilter: ["class"]});
  };
  document.readyState === "loading" ? addEventListener("DOMContentLoaded", begin) : begin();
})();
