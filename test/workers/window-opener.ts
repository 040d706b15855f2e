import { parentPort, workerData } from 'node:worker_threads';
import { FixedWindow, type LimiterHandle } from '../../src/index.ts';
import { type TwoStepHandle, TwoStepWindow } from '../support/two-step-window.ts';
import { Gate } from '../support/window-threads.ts';

/** Where the call that opens a window is held. */
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

/** Holds the call at a reading of the clock: the first comes before the exchange, the second after. */
function openFixed(handle: LimiterHandle<'fixed-window'>, reading: number): boolean {
  const window = FixedWindow.attach(handle);
  const now = window.clock.now.bind(window.clock);
  let readings = 0;
  window.clock.now = () => {
    const nowUs = now();
    readings++;
    if (readings === reading) hold();
    return nowUs;
  };
  return window.decide().allowed;
}

const allowed =
  data.at === 'between the steps'
    ? openTwoStep(data.handle)
    : openFixed(data.handle, data.at === 'before the exchange' ? 1 : 2);
parentPort?.postMessage(allowed);
