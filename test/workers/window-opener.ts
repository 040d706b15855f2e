import { parentPort, workerData } from 'node:worker_threads';
import { FixedWindow, type LimiterHandle } from '../../src/index.ts';
import { type TwoStepHandle, TwoStepWindow } from '../support/two-step-window.ts';
import { Gate } from '../support/window-threads.ts';

/** The point at which the call that opens a window is suspended. */
export type OpenerData = { readonly gate: SharedArrayBuffer } & (
  | { readonly at: 'between the steps'; readonly handle: TwoStepHandle }
  | {
      readonly at: 'before the exchange' | 'after the exchange';
      readonly handle: LimiterHandle<'fixed-window'>;
    }
);

const data = workerData as OpenerData;
const gate = new Gate(data.gate);

function hold(): void {
  parentPort?.postMessage('held');
  gate.pass();
}

function openTwoStep(handle: TwoStepHandle): boolean {
  return new TwoStepWindow(handle, hold).tryConsume();
}

/** Suspends the call at its first clock reading, which comes before the exchange. */
function openFixed(handle: LimiterHandle<'fixed-window'>): boolean {
  const window = FixedWindow.attach(handle);
  const now = window.clock.now.bind(window.clock);
  window.clock.now = () => {
    const nowUs = now();
    window.clock.now = now;
    hold();
    return nowUs;
  };
  return window.decide().allowed;
}

/** Suspends the call after its exchange, which can be intercepted in JavaScript only. */
function openFixedAndLinger(handle: LimiterHandle<'fixed-window'>): boolean {
  const window = FixedWindow.attach({ ...handle, kernel: 'atomics' });
  const exchange = Atomics.compareExchange;
  const exchangeAndHold = (...args: Parameters<typeof exchange>) => {
    const seen = exchange(...args);
    hold();
    return seen;
  };
  Object.assign(Atomics, { compareExchange: exchangeAndHold });
  return window.decide().allowed;
}

function open(): boolean {
  if (data.at === 'between the steps') return openTwoStep(data.handle);
  return data.at === 'before the exchange'
    ? openFixed(data.handle)
    : openFixedAndLinger(data.handle);
}

parentPort?.postMessage(open());
