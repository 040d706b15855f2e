/**
 * Marks limiters on a server, whose answers are promises: a promise counts as true where an answer is
 * needed at once. The same symbol in all copies of the package.
 */
export const PROMISES: unique symbol = Symbol.for('zerotime.promises') as never;

/** Whether a limiter has the mark. */
export function isPromising(limiter: unknown): boolean {
  return (limiter as { readonly [PROMISES]?: unknown } | null | undefined)?.[PROMISES] === true;
}

function isAsync(method: unknown): boolean {
  return Object.prototype.toString.call(method) === '[object AsyncFunction]';
}

function isPromise(answer: unknown): answer is PromiseLike<unknown> {
  return typeof (answer as Partial<PromiseLike<unknown>> | null | undefined)?.then === 'function';
}

/**
 * Refuses a limiter whose answers are promises, where they are needed at once.
 *
 * @param answers that it has given, if it was asked
 * @throws TypeError naming the parameter.
 */
export function checkAtOnce(
  name: string,
  limiter: unknown,
  answers: readonly unknown[] = [],
): void {
  const { tryConsume } = (limiter ?? {}) as { readonly tryConsume?: unknown };
  const promises = answers.filter(isPromise);
  // Nobody waits for them, so their errors must not end the process.
  for (const promise of promises) promise.then(undefined, () => undefined);
  if (!isPromising(limiter) && !isAsync(tryConsume) && promises.length === 0) return;
  throw new TypeError(`${name} must answer at once, got one whose answers are promises`);
}
