import { type MockInstance, vi } from 'vitest';

/** The arguments of `Atomics.compareExchange`. */
interface Exchange<Word> {
  readonly words: Int32Array | BigInt64Array;
  readonly at: number;
  readonly expected: Word;
  readonly next: Word;
}

/** Replaces `Atomics.compareExchange` until the mock is restored; `exchange` makes the real one. */
export function replaceExchanges<Word extends number | bigint>(
  replacement: (exchange: () => Word, of: Exchange<Word>) => Word,
): MockInstance {
  const real = Atomics.compareExchange as (...args: unknown[]) => Word;
  const mock = (words: Exchange<Word>['words'], at: number, expected: Word, next: Word) =>
    replacement(() => real(words, at, expected, next), { words, at, expected, next });
  return vi.spyOn(Atomics, 'compareExchange').mockImplementation(mock as never);
}
