import { STYLE } from '../../report/style.ts';

/** The page without its data: live.ts fills it in. */
export const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>zerotime: limits of this machine</title>
<link rel="stylesheet" href="/style.css">
</head>
<body>
<main>
<header>
<h1>Limits of this machine</h1>
<p id="status" role="status">Connecting …</p>
</header>
<div id="regions"></div>
<noscript><p class="bad">This page needs JavaScript. The same figures are at <a href="/metrics">/metrics</a>.</p></noscript>
<footer>zerotime host serve · <a href="/metrics">metrics for Prometheus</a></footer>
</main>
<script src="/uplot.js"></script>
<script type="module" src="/live.js"></script>
</body>
</html>
`;

/** The style of reports, and what only this page has. */
export const PAGE_STYLE = `${STYLE}
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 18px }
h3 { margin: 20px 0 8px; font-size: 14px; color: var(--strong) }
a { color: var(--blue) }
#status { color: var(--text) }
#status::before { content: '● '; color: var(--good) }
#status.lost { color: var(--red) }
#status.lost::before { color: var(--red) }
[hidden] { display: none !important }
.wide th:first-child { min-width: 110px; max-width: 320px; overflow-wrap: anywhere }
.wide .limit, .wide .text { text-align: left; white-space: normal; overflow-wrap: anywhere }
th.limit, th.text { text-align: left }
tr.refusing .refused { color: var(--red); font-weight: 600 }
tr[aria-current] > * { background: color-mix(in srgb, var(--blue) 9%, transparent) }
button, input, select { font: inherit; color: var(--strong); background: var(--page);
  border: 1px solid var(--grey); border-radius: 6px; padding: 5px 10px; min-height: 34px; max-width: 100% }
button { cursor: pointer; overflow-wrap: anywhere }
button.pick { text-align: left; padding: 3px 9px; min-height: 28px }
button[aria-pressed=true] { border-color: var(--blue); box-shadow: inset 0 0 0 1px var(--blue) }
button.apply { background: var(--strong); color: var(--card); border-color: var(--strong) }
button:disabled { opacity: .55; cursor: default }
:focus-visible { outline: 2px solid var(--blue); outline-offset: 2px }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(340px, 100%), 1fr)); gap: 0 24px }
.charts .u-legend.u-inline { margin-left: 8px }
form { margin: 16px 0 0; padding: 14px 0 0; border-top: 1px solid var(--faint) }
.fields { display: flex; flex-wrap: wrap; gap: 10px; align-items: end; margin: 0 0 10px }
.fields label { display: grid; gap: 2px; font-size: 12px; flex: 1 1 150px; max-width: 320px }
.outcome { margin: 10px 0 0 }
.outcome p { margin: 0 0 4px }
@media (max-width: 720px) {
  .wide tr[aria-current] { padding: 8px; margin: 0 -8px }
  .wide tr[aria-current] > * { background: none }
  .wide tr[aria-current] { background: color-mix(in srgb, var(--blue) 9%, transparent) }
  .wide .limit { grid-column: span 2 }
  button.pick { min-height: 34px }
}
`;
