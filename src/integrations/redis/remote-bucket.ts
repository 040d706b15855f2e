import { LATER, NEVER, type Outcome } from '../../kernel/bucket/kernel.ts';
import { ticksAt, tokensOf, untilHeld } from '../../kernel/bucket/record.ts';
import { type Schedule, ticksOf } from '../../kernel/bucket/schedule.ts';
import { MAX_SPAN_TICKS } from '../../kernel/constants.ts';
import { systemClock } from '../../time/system-clock.ts';
import { halvesOf, limitText, readLimit, ticksOfHalves } from './limit-text.ts';
import type { Link } from './link.ts';
import type { ServerNode } from './server-node.ts';

/** The state of a bucket on the server after a call. */
interface Standing {
  readonly result: string;
  readonly schedule: Schedule;
  readonly originUs: number;
  /** The server's time, adjusted so that it never runs backwards. */
  readonly nowUs: number;
  /** In ticks since the origin. */
  readonly zeroTime: bigint;
  /** Counts limit changes and renewals of the origin. */
  readonly generation: number;
  /** Whole tokens taken by a drain. */
  readonly taken: number;
}

/** What an acquisition wrote, needed by `cancel`. */
export interface RemoteReceipt {
  readonly originUs: number;
  readonly zeroTime: bigint;
  readonly generation: number;
  readonly cost: bigint;
}

/** What an acquisition came to. */
export interface Acquired {
  /** Microseconds to wait before acting, LATER or NEVER. */
  readonly waitUs: number;
  readonly burst: number;
  /** The server's time, adjusted so that it never runs backwards. */
  readonly nowUs: number;
  readonly receipt: RemoteReceipt;
}

/** The balance in ticks; negative in debt. */
function heldTicks({ schedule, originUs, nowUs, zeroTime }: Standing): number {
  const held = BigInt(ticksAt(schedule, originUs, nowUs)) - zeroTime;
  return Number(held < schedule.capTicks ? held : schedule.capTicks);
}

function waitUsOf(standing: Standing): number {
  if (standing.result === 'never') return NEVER;
  if (standing.result === 'later') return LATER;
  const { schedule, originUs, nowUs } = standing;
  const { fillTicks, ticksPerMicro } = schedule;
  const due = 0 - heldTicks(standing);
  if (due <= 0) return 0;
  if (fillTicks === 0) return due / ticksPerMicro;
  const ticks = Math.round((nowUs - originUs) * ticksPerMicro);
  const sinceFill = ticks - Math.floor(ticks / fillTicks) * fillTicks;
  return (Math.ceil(due / fillTicks) * fillTicks - sinceFill) / ticksPerMicro;
}

/** The parts of a bucket on a server. */
export interface RemoteOptions {
  readonly link: Link;
  readonly key: string;
  /** The limit to use if the key does not exist. */
  readonly schedule: Schedule;
  readonly timeoutMs: number;
  /** For tests: replaces the server's time, in whole microseconds. */
  readonly timeUs?: () => number;
}

/**
 * The operations of src/kernel on a bucket on a server. Divisions and roundings happen here, based
 * on the limit that the server last reported. If another limit applies by now, the script changes
 * nothing and returns it, and the call is repeated.
 */
export class RemoteBucket {
  readonly #options: RemoteOptions;
  readonly #ownText: string;
  #schedule: Schedule;
  #text: string;

  constructor(options: RemoteOptions) {
    this.#options = options;
    this.#schedule = options.schedule;
    this.#ownText = limitText(options.schedule);
    this.#text = this.#ownText;
  }

  /** The current limit, as last reported by the server. */
  get schedule(): Schedule {
    return this.#schedule;
  }

  /** The server on which the bucket lies. */
  get node(): ServerNode {
    return this.#options.link.nodeOf(this.#options.key);
  }

  #learn(text: string): void {
    this.#schedule = text === this.#ownText ? this.#options.schedule : readLimit(text);
    this.#text = text;
  }

  async #call(operation: string, words: (schedule: Schedule) => string[]): Promise<Standing> {
    const { link, key, timeoutMs, timeUs } = this.#options;
    const untilUs = systemClock.now() + timeoutMs * 1000;
    for (;;) {
      const schedule = this.#schedule;
      const text = this.#text;
      const own = text === this.#ownText ? '1' : '0';
      const rest = words(schedule);
      const answer = await link.ask(key, untilUs, (deadlineUs) => [
        operation,
        text,
        own,
        String(deadlineUs),
        timeUs === undefined ? '' : String(timeUs()),
        ...rest,
      ]);
      const [result = ''] = answer;
      if (result === 'stale') this.#learn(answer[2] ?? '');
      else if (result === 'gone') this.#learn(this.#ownText);
      else return this.#standing(result, schedule, answer.slice(2).map(Number));
    }
  }

  #standing(result: string, schedule: Schedule, numbers: readonly number[]): Standing {
    const [nowUs = 0, originUs = 0, high = 0, low = 0, generation = 0, taken = 0] = numbers;
    const zeroTime = ticksOfHalves(high, low);
    return { result, schedule, nowUs, originUs, zeroTime, generation, taken };
  }

  async #take(tokens: number, maxWaitUs: number): Promise<Standing> {
    return this.#call('take', ({ ticksPerToken, ticksPerMicro }) => [
      ...halvesOf(ticksOf(tokens, ticksPerToken, Math.ceil)),
      String(Math.min(Math.round(maxWaitUs * ticksPerMicro), MAX_SPAN_TICKS)),
    ]);
  }

  /** Takes nothing and reports the state. */
  #look(): Promise<Standing> {
    return this.#take(0, 0);
  }

  async acquire(tokens: number, maxWaitUs: number): Promise<Acquired> {
    const standing = await this.#take(tokens, maxWaitUs);
    const { schedule, originUs, zeroTime, generation } = standing;
    return {
      // A call that costs nothing never waits, even in debt.
      waitUs: tokens === 0 || schedule.ticksPerToken === 0 ? 0 : waitUsOf(standing),
      burst: schedule.burst,
      nowUs: standing.nowUs,
      receipt: {
        originUs,
        zeroTime,
        generation,
        cost: ticksOf(tokens, schedule.ticksPerToken, Math.ceil),
      },
    };
  }

  async decide(tokens: number): Promise<Outcome> {
    const standing = await this.#take(tokens, 0);
    const { schedule, nowUs, result } = standing;
    const held = heldTicks(standing);
    const wanted = Number(ticksOf(tokens, schedule.ticksPerToken, Math.ceil));
    const allowed = result === 'ok';
    return {
      allowed,
      burst: schedule.burst,
      balance: tokensOf(schedule, held),
      retryUs: allowed ? 0 : untilHeld(standing, nowUs, held, wanted),
      fullUs: untilHeld(standing, nowUs, held, Number(schedule.capTicks)),
    };
  }

  async drain(tokens: number): Promise<number> {
    const { taken } = await this.#call('drain', ({ ticksPerToken, burst }) => {
      const whole = Math.floor(tokens);
      // The burst bounds the result, and the script can count up to it exactly.
      const most = ticksPerToken === 0 ? whole : Math.min(whole, Math.floor(burst));
      return [...halvesOf(ticksOf(most, ticksPerToken, Math.ceil)), String(most)];
    });
    return taken;
  }

  async returnTokens(tokens: number): Promise<void> {
    await this.#call('return', ({ ticksPerToken }) =>
      halvesOf(ticksOf(Math.min(tokens, MAX_SPAN_TICKS), ticksPerToken, Math.floor)),
    );
  }

  /** Undoes an acquisition if nothing was written since. */
  async cancel({ originUs, zeroTime, generation, cost }: RemoteReceipt): Promise<boolean> {
    const { result } = await this.#call('cancel', () => [
      ...halvesOf(cost),
      ...halvesOf(zeroTime),
      String(originUs),
      String(generation),
    ]);
    return result === 'ok';
  }

  async balance(): Promise<number> {
    const standing = await this.#look();
    return tokensOf(standing.schedule, heldTicks(standing));
  }

  async timeUntil(tokens: number): Promise<number> {
    const standing = await this.#look();
    const { schedule, nowUs } = standing;
    const wanted = Number(ticksOf(tokens, schedule.ticksPerToken, Math.ceil));
    return untilHeld(standing, nowUs, heldTicks(standing), wanted);
  }

  /** Replaces the limit by the one that `change` derives from it. */
  async reconfigure(change: (schedule: Schedule) => Schedule): Promise<void> {
    let next = this.#schedule;
    await this.#call('change', (schedule) => {
      next = change(schedule);
      const text = limitText(next);
      return ['0', '0', text, text === this.#ownText ? '0' : '1'];
    });
    this.#learn(limitText(next));
  }
}
