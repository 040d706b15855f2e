// Runs in the browser, in the page of `zerotime host serve`. Bundled; nothing imports it.

import { el, known, write } from './dom.ts';
import { RegionPanel } from './region-panel.ts';
import type { ChangeAnswer, ChangeRequest, Sample, State } from './view.ts';

declare function fetch(
  url: string,
  options: object,
): Promise<{ readonly ok: boolean; json(): Promise<unknown> }>;
declare function setTimeout(action: () => void, ms: number): void;
declare const AbortSignal: { timeout(ms: number): object };
declare const location: { hash: string; readonly pathname: string };
declare const history: { replaceState(state: null, title: string, url: string): void };
declare const sessionStorage: {
  getItem(name: string): string | null;
  setItem(name: string, value: string): void;
};

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

const panels = new Map<string, RegionPanel>();
let samples: Sample[] = [];
let order = '';

async function poll(): Promise<void> {
  const after = samples.at(-1)?.atMs ?? 0;
  const state = (await ask(`/state?after=${after}`)) as State;
  const { nowMs, regions, allowsChanges } = state;
  samples = [...samples, ...state.samples].filter(({ atMs }) => atMs > nowMs - SHOWN_MS);
  for (const { path } of regions) {
    if (!panels.has(path)) panels.set(path, new RegionPanel(path, change));
  }
  const paths = JSON.stringify(regions.map(({ path }) => path));
  if (paths !== order) {
    order = paths;
    known('regions').replaceChildren(
      ...regions.flatMap(({ path }) => panels.get(path)?.node ?? []),
    );
  }
  const may = allowsChanges && token !== '';
  for (const view of regions) panels.get(view.path)?.update(view, samples, nowMs, may);
  say(allowsChanges && !may ? 'Live, read-only: the address has no token' : 'Live');
}

/** Tells how the connection is, but not each second: a screen reader reads changes out. */
function say(text: string, isLost = false): void {
  const status = known('status');
  write(status, text);
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

known('regions').replaceChildren(el('p', {}, 'Reading …'));
follow();
