import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { progressOn } from '../../../src/cli/simulate/command.ts';

it('a simulation of billions of arrivals says how long it will take', () => {
  const said: string[] = [];
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      said.push(String(chunk));
      done();
    },
  });
  let ms = 0;
  const progress = progressOn(stream, () => ms);
  for (ms = 0; ms <= 12_000; ms += 500) progress(ms / 2e7);
  expect(said).toEqual([
    '0.1 % simulated, about 5 h 33 min 19 s left; Ctrl-C ends it\n',
    '0.1 % simulated, about 5 h 33 min 9 s left; Ctrl-C ends it\n',
  ]);
});

it('a short simulation says nothing', () => {
  const stream = new Writable({ write: () => expect.unreachable() });
  let ms = 0;
  const progress = progressOn(stream, () => ms);
  for (ms = 0; ms <= 5_500; ms += 500) progress(ms / 5_500);
});
