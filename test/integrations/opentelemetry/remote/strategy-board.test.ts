import { expect, test, vi } from 'vitest';
import { systemClock } from '../../../../src/index.ts';
import { StrategyBoard } from '../../../../src/integrations/opentelemetry/remote/strategy-board.ts';
import { STRATEGY_BOARD, STRATEGY_PLACE } from '../../../../src/memory/layout.ts';

function boards(maxBytes = 1000) {
  const one = StrategyBoard.create(maxBytes);
  return { one, other: StrategyBoard.attach(one.buffer), words: new Int32Array(one.buffer) };
}

test('shows each text to all attached threads', () => {
  const { one, other } = boards();
  expect(other.version).toBe(0);
  for (const [i, text] of ['first', 'sécond ☃', '', 'x'.repeat(1000)].entries()) {
    one.write(text);
    expect(other.version).toBe(i + 1);
    expect(other.read()).toBe(text);
  }
});

test('refuses a text that has no room, and keeps the last', () => {
  const { one, other } = boards(1000);
  one.write('small');
  expect(() => one.write('x'.repeat(1001))).toThrow(
    new RangeError('the strategy takes 1001 bytes, which exceeds 1000'),
  );
  expect(other.version).toBe(1);
  expect(other.read()).toBe('small');
});

test('reads nothing that is not whole', () => {
  const { one, other, words } = boards();
  one.write('some text');
  const at = STRATEGY_BOARD.places + (words.length * 4 - STRATEGY_BOARD.places) / 2;
  const bytes = new Uint8Array(one.buffer);
  bytes[at + STRATEGY_PLACE.text] = 0x53;
  expect(other.read()).toBeUndefined();
  one.write('another');
  expect(other.read()).toBe('another');
  for (const length of [-1, 1 << 20]) {
    words[(STRATEGY_BOARD.places + STRATEGY_PLACE.length) >> 2] = length;
    expect(other.read()).toBeUndefined();
  }
});

test('one thread at a time writes; one that ended while it did is passed over after a second', () => {
  const now = vi.spyOn(systemClock, 'now');
  const { one, other } = boards();
  now.mockReturnValue(5_000_000_000);
  const mine = one.lock();
  expect(mine).toBeGreaterThan(0);
  expect(other.lock()).toBe(0);
  one.unlock(mine);
  const second = other.lock();
  expect(second).toBeGreaterThan(0);
  now.mockReturnValue(5_000_999_000);
  expect(one.lock()).toBe(0);
  now.mockReturnValue(5_001_000_000);
  const third = one.lock();
  expect(third).toBeGreaterThan(0);
  other.unlock(second); // comes too late
  expect(other.lock()).toBe(0);
  one.unlock(third);
  now.mockReturnValue(2 ** 30 * 1000); // 0 milliseconds in the word
  expect(one.lock()).toBe(1);
});

test('each turn is taken once, and later questions come later', () => {
  const { one, other } = boards();
  expect([one.takeTurn(5), other.takeTurn(5), other.takeTurn(6), one.takeTurn(6)]).toEqual([
    ...[true, false, true, false],
  ]);
  expect(other.takeTurn(5)).toBe(false);
  expect([one.takeTurn(2 ** 31 - 1), other.takeTurn(-(2 ** 31))]).toEqual([true, true]);
  const first = one.ask();
  const second = other.ask();
  expect(other.polls).toBe(2);
  expect(other.isNewest(second)).toBe(true);
  expect(one.isNewest(first)).toBe(false);
  expect(one.isNewest(second)).toBe(false);
  one.fail();
  expect(other.failures).toBe(1);
});

test.each([
  undefined,
  {},
  new ArrayBuffer(1024),
  new SharedArrayBuffer(64),
  new SharedArrayBuffer(1001),
])('rejects what is not a board: %s', (buffer) => {
  expect(() => StrategyBoard.attach(buffer)).toThrow("not a remote sampler's board");
});
