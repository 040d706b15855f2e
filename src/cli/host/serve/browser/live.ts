// Runs in the browser, in the page of `zerotime host serve`. Bundled; nothing imports it.

import { type ComponentChild, h, render } from 'preact';
import type { ChangeAnswer, ChangeRequest, Sample, State } from '../view.ts';
import { RegionPanel } from './region-panel.ts';

const EVERY_MS = 1000;
const TIMEOUT_MS = 10_000;
/** What the charts show. */
const SHOWN_MS = 300_000;

/** The token in the address, which stays in this tab but not in the address. */
function tokenOf(): string {
  const [, token] = /^#token=([\w-]+)$/.exec(location.hash) ?? [];
  if (token !== undefined) {
    sessionStorage.setItem('token', token);
    history.replaceState(null, '', location.pathname);
  }
  return sessionStorage.getItem('token') ?? '';
}

const token = tokenOf();

async function ask(url: string, options: object = {}): Promise<unknown> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  return (await fetch(url, { ...options, signal })).json();
}

async function change(request: ChangeRequest): Promise<ChangeAnswer> {
  try {
    const answer = await ask('/change', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify(request),
    });
    if (!request.isDry) await poll();
    return answer as ChangeAnswer;
  } catch {
    return { error: 'no answer: look at the changes below to see whether it was made' };
  }
}

/** An element that the page has from the start. */
function known(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no ${id}`);
  return found;
}

function show(content: ComponentChild): void {
  render(content, known('regions'));
}

let samples: Sample[] = [];

async function poll(): Promise<void> {
  const after = samples.at(-1)?.atMs ?? 0;
  const state = (await ask(`/state?after=${after}`)) as State;
  const { nowMs, regions, allowsChanges } = state;
  samples = [...samples, ...state.samples].filter(({ atMs }) => atMs > nowMs - SHOWN_MS);
  const may = allowsChanges && token !== '';
  const common = { samples, nowMs, may, make: change };
  show(regions.map((view) => h(RegionPanel, { key: view.path, view, ...common })));
  say(allowsChanges && !may ? 'Live, read-only: the address has no token' : 'Live');
}

/** Tells how the connection is, but not each second: a screen reader reads changes out. */
function say(text: string, isLost = false): void {
  const status = known('status');
  if (status.textContent !== text) status.textContent = text;
  status.className = isLost ? 'lost' : '';
}

async function follow(): Promise<void> {
  try {
    await poll();
  } catch {
    say('No connection: these figures are old', true);
  }
  setTimeout(follow, EVERY_MS);
}

show(h('p', {}, 'Reading …'));
follow();
