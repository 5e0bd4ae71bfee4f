"""Browser tests of pages, with Chromium and Playwright if both are installed."""

import shutil
from contextlib import contextmanager

import pytest

# Rendered font sizes of all texts, or without those in closed sections. Texts of plots include their scale.
SIZES = """(withoutClosed = false) => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, element = node.parentElement;
    if (!node.textContent.trim() || element.closest("style, .skip, .unfold")) continue;
    if (withoutClosed && !element.checkVisibility()) continue;
    const box = element.getBoundingClientRect();
    if (!box.width || !box.height) continue;
    let size = parseFloat(getComputedStyle(element).fontSize);
    if (element instanceof SVGElement && element.getScreenCTM) size *= element.getScreenCTM().a;
    found.push([Math.round(size * 100) / 100, node.textContent.trim().slice(0, 40)]);
  }
  return found;
}"""

# Contrast of two colors (WCAG 2).
_CONTRAST = """
  const numbers = color => (color.match(/[\\d.]+/g) || []).map(Number);
  const linear = part => (part /= 255) <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  const light = rgb => 0.2126 * linear(rgb[0]) + 0.7152 * linear(rgb[1]) + 0.0722 * linear(rgb[2]);
  const contrast = (...colors) => {
    const [more, less] = colors.map(light).sort((a, b) => b - a);
    return (more + 0.05) / (less + 0.05);
  };"""

# Texts with too little contrast to their background, with the contrast.
FAINT = (
    f"""() => {{{_CONTRAST}"""
    + """
  const behind = element => {
    for (; element; element = element.parentElement) {
      const color = numbers(getComputedStyle(element).backgroundColor);
      if (color.length === 3 || color[3] > 0.5) return color;
    }
    return [255, 255, 255];
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim(), element = walker.currentNode.parentElement;
    const box = element.getBoundingClientRect();
    if (!text || !box.width || !box.height || element.closest("style, script")) continue;
    if (!element.checkVisibility({visibilityProperty: true})) continue;
    const ground = behind(element), color = numbers(getComputedStyle(element).color);
    let seen = color[3] ?? 1;
    for (let one = element; one && !one.matches(":disabled"); one = one.parentElement) {
      seen *= getComputedStyle(one).opacity;
    }
    const own = contrast([0, 1, 2].map(i => seen * color[i] + (1 - seen) * ground[i]), ground);
    if (own < 4.5) found.push([own.toFixed(1), text.slice(0, 40)]);
  }
  return found;
}"""
)

# Borders of fields with too little contrast to their surroundings, with the contrast.
FAINT_FRAMES = (
    f"""() => {{{_CONTRAST}"""
    + """
  const fields = document.querySelectorAll(".form textarea:enabled, .form input[type=number], .form .wrap:has(input)");
  return [...fields].map(one => {
    const [own, around] = [getComputedStyle(one), getComputedStyle(one.closest(".form > *"))];
    if (!one.checkVisibility() || !parseFloat(own.borderTopWidth)) return null;
    return [contrast(numbers(own.borderTopColor), numbers(around.backgroundColor)), one.outerHTML.slice(0, 120)];
  }).filter(one => one && one[0] < 3);
}"""
)

# Interactive elements without an accessible name.
NAMELESS = """() => [...document.querySelectorAll("input, textarea, select, button, iframe")].filter(one => {
  const box = one.getBoundingClientRect();
  const named = one.ariaLabel || one.title || one.labels?.length || one.getAttribute("aria-labelledby");
  return box.width && box.height && !named && !one.innerText?.trim();
}).map(one => one.outerHTML.slice(0, 120))"""

# Commands of Chromium. The first has no windows, so its pages take less time.
_COMMANDS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
# Disabled features of Chromium. The first two are lists under the address bar: invisible pages, which each context
# renders in a process of their own (0.6 s). The others repeat Playwright's list, which an argument replaces.
_DISABLED = (
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "AimEnabled", "AvoidCorsURLLoaderRestartOnRedirect"),
    *("AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsFirstBalancedModeAutoEnable"),
    *("HttpsUpgrades", "LensOverlay", "MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints", "PaintHolding"),
    *("PreconnectToSearch", "ThirdPartyStoragePartitioning"),
)


@contextmanager
def browser():
    """Start Chromium with Playwright. The test is skipped if either of them is missing."""
    api = pytest.importorskip("playwright.sync_api")
    path = next(filter(None, map(shutil.which, _COMMANDS)), None)
    if path is None:
        pytest.skip("no Chromium is installed")
    with api.sync_playwright() as started:
        # No page is there for so long that optimised code would pay for itself.
        arguments = ["--no-sandbox", "--js-flags=--no-opt", f"--disable-features={','.join(_DISABLED)}"]
        chromium = started.chromium.launch(executable_path=path, args=arguments)
        try:
            yield chromium
        finally:
            chromium.close()


@contextmanager
def opened(chromium, path, width, scheme="light", **settings):
    """Open a file as a page, and yield the page and the list of requested URLs."""
    context = chromium.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme, **settings)
    page = context.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    try:
        page.goto(path.as_uri())
        yield page, asked
    finally:
        context.close()


@contextmanager
def leafed(chromium, scheme="light"):
    """Yield `open(path, width)`, which opens one file after another and returns the page and the requested URLs."""
    context = chromium.new_context(color_scheme=scheme)
    page = context.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))

    def open_next(path, width):
        asked.clear()
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(path.as_uri())
        return page, asked

    try:
        yield open_next
    finally:
        context.close()


LOOPBACK = ("http://127.0.0.1", "data:", "blob:", "about:")


@contextmanager
def watched(chromium, address, width, scheme="light"):
    """Open a page of a server, and check that no other machine is requested and no script fails.

    The page of an earlier test is reused if possible, because its process has compiled the scripts of the server. Two
    pages at the same time use separate contexts, because Chromium renders a background page once per second.
    """
    free = [page for context in chromium.contexts for page in context.pages if page.url == "about:blank"]
    page = free[0] if free else chromium.new_context().new_page()
    page.set_viewport_size({"width": width, "height": 1000})
    page.emulate_media(media="screen", color_scheme=scheme)
    page.set_default_timeout(60_000)  # machines may be busy
    asked, failed = [], []
    listeners = {
        "request": lambda request: asked.append(request.url),
        "pageerror": lambda error: failed.append(str(error)),
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    try:
        page.goto(address)
        yield page
        assert [url for url in asked if not url.startswith(LOOPBACK)] == []
        assert failed == []
    finally:
        for event, listener in listeners.items():
            page.remove_listener(event, listener)
        page.context.clear_permissions()
        page.goto("about:blank")


def unfold(page, name, field):
    """Open an accordion of Gradio, and wait until its fields keep what is typed.

    Gradio 6.31 restores the values of the fields in the first frame after they appear.
    """
    page.get_by_role("button", name=name).click()
    field.wait_for(state="attached")
    field.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def check_layout(page, asked, path, *widths):
    """Check that a page has no horizontal scrolling, no external requests and no text below 12 px.

    Each width is checked with all foldable sections closed, and then open.
    """
    for _ in range(2):
        for width in widths:
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            # Closed sections would be laid out one by one, and are opened next.
            small = [one for one in page.evaluate(SIZES, True) if one[0] < 12]
            assert not small, small[:5]
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert [address for address in asked if not address.startswith("data:")] == [path.as_uri()]
