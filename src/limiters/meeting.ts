import { onInstant } from '../time/agenda.ts';
import type { Clock } from '../time/clock.ts';
import { onAbort } from '../time/on-abort.ts';
import { drop, type Permit } from './permit.ts';
import type { Semaphore } from './semaphore.ts';
import { timedOut, type Wait } from './waiting.ts';

// How a permit and the tokens of a call meet. Both are scarce, and either may take long to come.
//
// The rule: nobody holds a permit while tokens are awaited. If the tokens are there, the caller
// waits for its permit first, and takes the tokens with it: they stay for others meanwhile. If they
// are not there, or gone by then, it takes its place in the limiter's queue without a permit. When
// it has the tokens, it waits for a permit and keeps them.
//
// So a permit is never idle, and no token is lost: tokens that wait for a permit are used later, or
// returned by a caller that gives up. It always ends: each of the two queues serves in order, and
// once a caller has its tokens, only the permit is left to wait for. Since each line has one head,
// at most one call of a line keeps tokens, so a shortage of permits stores up no burst.
//
// `Admission` of throttled functions follows the same rule for a queue whose calls have neither until
// they start. Meeting one call at a time would not keep up: at 20,000 calls a second,
// `allOf(semaphore, bucket).run` starts 14,000, in three times the processor time of a call.

/** The tokens of one call. */
export interface Tokens {
  /** Whether they can be taken now. */
  areThere(): boolean;
  /** Takes them now, or none. */
  take(): boolean;
  /** Waits for them and takes them; false, without any, if the caller should look again. */
  wait(): Promise<boolean>;
  /** Whether tokens that were taken some time ago still admit the call. */
  areValid(): boolean;
  giveBack(): void;
}

/** Takes a permit, if there is a semaphore, and tokens now: `[permit]`; or takes neither. */
export function meetNow(
  semaphore: Semaphore | undefined,
  take: () => boolean,
): readonly [Permit | undefined] | undefined {
  const permit = semaphore?.tryAcquire();
  if (semaphore !== undefined && permit === undefined) return undefined;
  return takesToo(take, () => permit && drop(permit)) ? [permit] : undefined;
}

/** Whether `take` succeeds. If it does not, or throws, gives back what was taken before it. */
export function takesToo(take: () => boolean, giveBack: () => void): boolean {
  let isTaken = false;
  try {
    isTaken = take();
  } finally {
    if (!isTaken) giveBack();
  }
  return isTaken;
}

/** Waits for a permit, if there is a semaphore, and for tokens. Takes nothing if that fails. */
export async function meet(
  semaphore: Semaphore | undefined,
  tokens: Tokens,
  signal: AbortSignal,
): Promise<Permit | undefined> {
  let tokensFirst = !tokens.areThere();
  for (;;) {
    if (tokensFirst && !(await tokens.wait())) {
      tokensFirst = !tokens.areThere();
      continue;
    }
    let isMet = false;
    try {
      const permit = await semaphore?.acquire(1, { signal });
      const take = () => {
        signal.throwIfAborted();
        return tokensFirst ? tokens.areValid() : tokens.take();
      };
      isMet = takesToo(take, () => permit && drop(permit));
      if (isMet) return permit;
    } finally {
      if (tokensFirst && !isMet) tokens.giveBack();
    }
    tokensFirst = true;
  }
}

/** {@link Tokens} for a thread that blocks. */
export interface BlockingTokens extends Pick<Tokens, 'areThere' | 'take' | 'giveBack'> {
  /** Blocks until they are there, and takes them; false if they cannot come in time. */
  wait(): boolean;
}

/** Blocks for a permit from `acquire` and for tokens; undefined, without either, if one times out. */
export function meetSync(
  acquire: () => Permit | undefined,
  tokens: BlockingTokens,
): Permit | undefined {
  let tokensFirst = !tokens.areThere();
  for (;;) {
    if (tokensFirst && !tokens.wait()) return undefined;
    let isMet = false;
    try {
      const permit = acquire();
      if (permit === undefined) return undefined;
      isMet = takesToo(
        () => tokensFirst || tokens.take(),
        () => drop(permit),
      );
      if (isMet) return permit;
    } finally {
      if (tokensFirst && !isMet) tokens.giveBack();
    }
    tokensFirst = true;
  }
}

/** Serves one caller at a time, in order of arrival. */
export class Lane {
  readonly #line = new Set<() => void>();
  #isTaken = false;

  /** Runs an action once all earlier callers have left. An abort ends the wait for that. */
  async serve<T>(signal: AbortSignal, action: () => Promise<T>): Promise<T> {
    await this.#enter(signal);
    try {
      return await action();
    } finally {
      this.#leave();
    }
  }

  /** Whether no caller is served or waits. */
  get isEmpty(): boolean {
    return !this.#isTaken;
  }

  async #enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!this.#isTaken) {
      this.#isTaken = true;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const unlink = onAbort(signal, (reason) => {
        this.#line.delete(enter);
        reject(reason);
      });
      const enter = () => {
        unlink();
        resolve();
      };
      this.#line.add(enter);
    });
  }

  #leave(): void {
    const [next] = this.#line;
    this.#isTaken = next !== undefined;
    if (next === undefined) return;
    this.#line.delete(next);
    next();
  }
}

/** Runs an action whose signal aborts with the caller's signal, and at the deadline of its wait. */
export async function within<T>(
  clock: Clock,
  n: number,
  { timeoutMs, signal }: Pick<Wait, 'timeoutMs' | 'signal'>,
  action: (signal: AbortSignal, deadlineUs: number) => Promise<T>,
): Promise<T> {
  const leave = new AbortController();
  const deadlineUs = clock.now() + timeoutMs * 1000;
  const unlink = onAbort(signal, (reason) => leave.abort(reason));
  const cancel = onInstant(clock, deadlineUs, () => leave.abort(timedOut(n, timeoutMs)));
  try {
    return await action(leave.signal, deadlineUs);
  } finally {
    unlink();
    cancel();
  }
}
