import { button, choiceForm, element, numberInput } from './form.ts';
import { isolate } from './isolation.ts';
import { LIMITERS, TRAFFIC } from './kinds.ts';
import type { Lane } from './lane.ts';
import { LaneCard } from './lane-card.ts';
import { Playground, STALL_MS } from './playground.ts';
import { PRESETS } from './presets.ts';
import { hashOf, initial, MOST_LIMITERS, MOST_WAIT_MS, MOST_WORKERS, setupOf } from './setup.ts';
import { WorkerList } from './worker-list.ts';
import 'uplot/dist/uPlot.min.css';
import './style.css';

const DRAW_MS = 100;
const SAY_MS = 5_000;

function place(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no ${id}`);
  return found;
}

/** Shows a message, also to screen readers. */
function say(text: string): void {
  place('status').textContent = text;
}

function firstSetup() {
  const { setup, problems } = setupOf(location.hash);
  place('problem').textContent = problems.join('\n');
  return setup;
}

/** Links to the presets, and what to see in the current one. */
function showPresets(): void {
  for (const { title, look, hash } of PRESETS) {
    const link = element('a', { href: `#${hashOf(setupOf(hash).setup)}` }, [title]);
    place('presets').append(link);
    if (location.hash !== link.hash) continue;
    link.setAttribute('aria-current', 'true');
    place('look').textContent = look;
  }
}

function run(): void {
  const playground = new Playground(firstSetup());
  showPresets();
  // Only a link or the address bar changes the hash: `replaceState` tells nobody.
  addEventListener('hashchange', () => location.reload());
  const cards = new Map<Lane, LaneCard>();
  let places = 0;
  const keepLink = () => history.replaceState(null, '', playground.link);
  const attempt = (change: () => void) => {
    try {
      change();
      place('problem').textContent = '';
    } catch (error) {
      place('problem').textContent = (error as Error).message;
    }
    keepLink();
  };
  const addCard = (lane: Lane) => {
    const card = new LaneCard(lane, ++places, {
      onChange: (choice) => attempt(() => playground.change(lane, choice)),
      onRemove: () => {
        playground.remove(lane);
        card.remove();
        cards.delete(lane);
        keepLink();
        update();
        add.focus({ preventScroll: true });
      },
    });
    cards.set(lane, card);
    place('lanes').append(card.element);
  };
  const update = () => {
    add.disabled = playground.lanes.length >= MOST_LIMITERS;
    hire.disabled = playground.crew.members.length >= MOST_WORKERS;
  };

  const { setup } = playground;
  place('traffic').append(
    choiceForm('Pattern', TRAFFIC, setup.traffic, (choice) =>
      attempt(() => {
        playground.traffic = choice;
      }),
    ),
    numberInput(
      { name: 'waitMs', label: 'wait', unit: 'ms at most', min: 0, max: MOST_WAIT_MS, initial: 0 },
      setup.waitMs,
      (waitMs) =>
        attempt(() => {
          playground.waitMs = waitMs;
        }),
    ),
  );
  const workers = new WorkerList(place('workers'), playground, {
    onStall: (name) => {
      playground.crew.stall(name, STALL_MS);
      say(`Worker ${name} stalls for ${STALL_MS / 1_000} seconds.`);
    },
    onKill: (name) => {
      playground.kill(name);
      say(`Worker ${name} was killed.`);
      keepLink();
      update();
      hire.focus({ preventScroll: true });
    },
  });
  const hire = button('Add a worker', 'Add a worker', () => {
    playground.crew.hire();
    keepLink();
    update();
  });
  place('crew').append(hire);
  const add = button('Add a limiter', 'Add a limiter', () => {
    addCard(playground.add(initial(LIMITERS, 'sliding-log')));
    keepLink();
    update();
  });
  place('more').append(add);
  const pause = button('Pause', 'Pause the traffic', () => {
    if (playground.isPaused) playground.resume();
    else playground.pause();
    pause.textContent = playground.isPaused ? 'Resume' : 'Pause';
    pause.setAttribute(
      'aria-label',
      playground.isPaused ? 'Resume the traffic' : 'Pause the traffic',
    );
  });
  const copy = button('Copy the link', 'Copy the link to this set-up', () => {
    keepLink();
    navigator.clipboard.writeText(playground.link).then(
      () => say('The link was copied.'),
      () => say('The link is in the address bar.'),
    );
  });
  place('buttons').append(pause, copy);
  for (const lane of playground.lanes) addCard(lane);
  update();

  setInterval(() => playground.sample(), DRAW_MS / 2);
  setInterval(() => {
    if (playground.isPaused) return;
    for (const card of cards.values()) card.show(playground.slots, playground.offered);
    workers.show();
  }, DRAW_MS);
  setInterval(() => {
    if (!playground.isPaused) say([...cards.values()].map(({ summary }) => summary).join('. '));
  }, SAY_MS);
}

if (await isolate()) run();
else {
  place('problem').textContent =
    'This page has no shared memory, because it is not cross-origin isolated. Serve it with Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp, over https or from localhost.';
}
