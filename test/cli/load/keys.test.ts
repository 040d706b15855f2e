import { PassThrough } from 'node:stream';
import type { ReadStream } from 'node:tty';
import { expect, it, vi } from 'vitest';
import { Interrupt, RateKeys } from '../../../src/cli/load/keys.ts';
import { PATIENCE_MS } from '../../support/settled.ts';

/** A fake terminal input. */
function terminal(isTTY: boolean) {
  const modes: boolean[] = [];
  const input = Object.assign(new PassThrough(), {
    isTTY,
    setRawMode: (raw: boolean) => modes.push(raw),
  });
  return { input, modes, stdin: input as unknown as ReadStream };
}

it('+ and - multiply the rate by a step and its inverse, and other keys do nothing', async () => {
  const { input, modes, stdin } = terminal(true);
  let rate = 1000;
  const rates: number[] = [];
  const keys = RateKeys.on(stdin);
  keys?.enable((factor) => {
    rate *= factor;
    rates.push(Math.round(rate));
  });
  for (const pressed of ['+', 'x', '=', '\n', '-', '--']) input.write(pressed);
  await vi.waitFor(() => expect(rates).toEqual([1100, 1210, 1100, 1000, 909]), PATIENCE_MS);
  keys?.dispose();
  expect(modes, 'raw, and as before again').toEqual([true, false]);
  expect(input.listenerCount('data')).toBe(0);
});

it('what is typed before the keys are announced, and pasted text, changes nothing', async () => {
  const { input, stdin } = terminal(true);
  const factors: number[] = [];
  const keys = RateKeys.on(stdin);
  const read = new Promise((resolve) => input.once('data', resolve));
  input.write('++');
  await read;
  keys?.enable((factor) => factors.push(factor));
  for (const typed of ['npm run build --quick\n', '-']) input.write(typed);
  await vi.waitFor(() => expect(factors).toEqual([1 / 1.1]), PATIENCE_MS);
  keys?.dispose();
});

it('Ctrl-C still interrupts, though a raw terminal sends no signal', async () => {
  const { input, stdin } = terminal(true);
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
  const keys = RateKeys.on(stdin);
  input.write('\x03');
  await vi.waitFor(() => expect(kill).toHaveBeenCalledWith(process.pid, 'SIGINT'), PATIENCE_MS);
  keys?.dispose();
  kill.mockRestore();
});

it('nothing is read without a terminal', () => {
  const { input, modes, stdin } = terminal(false);
  expect(RateKeys.on(stdin)).toBe(undefined);
  expect([modes, input.listenerCount('data')]).toEqual([[], 0]);
});

it('the first interrupt aborts, a repeat of the same key press is ignored, and the second ends the process', () => {
  const ended = vi.spyOn(process, 'exit').mockImplementation((() => undefined) as never);
  const now = vi.spyOn(performance, 'now');
  const listeners = process.listenerCount('SIGINT');
  const interrupt = new Interrupt();
  expect(interrupt.signal.aborted).toBe(false);
  now.mockReturnValue(1_000);
  process.emit('SIGINT');
  expect(interrupt.signal.aborted).toBe(true);
  now.mockReturnValue(1_500);
  process.emit('SIGINT');
  expect(ended).not.toHaveBeenCalled();
  now.mockReturnValue(1_501);
  process.emit('SIGTERM');
  expect(ended).toHaveBeenCalledExactlyOnceWith(130);
  interrupt.dispose();
  expect(process.listenerCount('SIGINT')).toBe(listeners);
});
