"""The report's style sheet: light and dark, screen, phone and paper."""

_LIGHT = """--paper: #ffffff; --ink: #1a1a1a; --quiet: #55595f; --line: #d8dade;
  --learned: #0072b2; --rival: #d55e00; --shade: #8c8c8c; --chain0: #0072b2; --chain1: #d55e00;
  --chain2: #00795a; --chain3: #a9458a; --chain4: #8a6d00; --chain5: #3c3c3c;"""
_DARK = """--paper: #15181c; --ink: #e8e6e3; --quiet: #a5abb3; --line: #363b42;
  --learned: #5ab4e5; --rival: #f0894a; --shade: #8c9299; --chain0: #5ab4e5; --chain1: #f0894a;
  --chain2: #3fc79f; --chain3: #d98fc3; --chain4: #d9c04a; --chain5: #c8c8c8;"""

CSS = (
    ":root { color-scheme: light dark; " + _LIGHT + " }\n"
    "@media (prefers-color-scheme: dark) { :root { " + _DARK + " } }\n"
    ":root[data-theme=light] { color-scheme: light; " + _LIGHT + " }\n"
    ":root[data-theme=dark] { color-scheme: dark; " + _DARK + " }\n"
    "@media print { :root, :root[data-theme] { color-scheme: light; "
    + _LIGHT
    + " } }\n"
    + """* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, sans-serif; }
main { max-width: 46rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 1rem; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
section { break-inside: avoid; }
ul { padding-left: 1.2rem; margin: 0; }
li { margin: .35rem 0; }
figure { margin: 0; max-width: 38rem; }
svg { display: block; width: 100%; height: auto; color: var(--ink); }
svg text { fill: var(--ink); }
figcaption, section > p { color: var(--quiet); font-size: .9rem; margin: .4rem 0 1rem; }
.table { overflow-x: auto; margin: .6rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0;
  border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; }
thead th { color: var(--quiet); font-weight: 600; }
tbody th { font-weight: 500; }
pre { overflow-x: auto; padding: .8rem; border: 1px solid var(--line); border-radius: 6px;
  font-size: .85rem; line-height: 1.45; }
.controls { display: flex; flex-wrap: wrap; gap: .4rem .7rem; align-items: center;
  font-size: .85rem; margin: .3rem 0; }
.controls select { max-width: 12rem; }
button, select { font: inherit; font-size: .85rem; color: var(--ink); background: var(--paper);
  border: 1px solid var(--line); border-radius: 6px; padding: .2rem .5rem; cursor: pointer; }
button[aria-pressed=false] { opacity: .55; text-decoration: line-through; }
#theme { float: right; }
#theme[hidden] { display: none; }
.swatch { display: inline-block; width: .7em; height: .7em; border-radius: 50%;
  margin-right: .4em; }
.holder svg { font: 12px system-ui, sans-serif; touch-action: pan-y; }
:focus-visible { outline: 2px solid var(--learned); outline-offset: 2px; }
.grid { stroke: var(--line); stroke-width: 1; }
.bar { fill: var(--learned); fill-opacity: .55; }
.whisker { stroke: var(--ink); stroke-width: 1.5; }
.shaded { fill: var(--shade); fill-opacity: .16; }
.cursor { fill: none; stroke: var(--ink); stroke-width: 1; pointer-events: none; }
.readout { display: block; min-height: 2.6em; font-size: .85rem; color: var(--quiet);
  overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
td, th, li, figcaption { overflow-wrap: break-word; }
@media print {
  .readout, #theme, .controls input[type=checkbox], .controls .scale { display: none; }
  .controls button, .controls select { border: 0; padding: 0; appearance: none; }
  .table { overflow: visible; }
  h2 { break-after: avoid; }
  figure, tr { break-inside: avoid; }
  section { break-inside: auto; }
  pre { white-space: pre-wrap; }
}
"""
)
