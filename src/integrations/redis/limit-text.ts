import { RateLimitError } from '../../errors.ts';
import { isSound, type Schedule, ticksOf } from '../../kernel/bucket/schedule.ts';
import type { Schedules } from '../../limiters/limit.ts';
import { MAX_LIMITS } from '../../memory/layout.ts';
import { halvesOf } from './ticks.ts';

/** All keys of a keyed bucket have the same schedules. */
const texts = /* @__PURE__ */ new WeakMap<Schedules, string>();

/** Formats limits as stored on the server. Equal limits have equal texts. */
export function limitsText(schedules: Schedules): string {
  let text = texts.get(schedules);
  if (text === undefined) {
    text = schedules.map(limitText).join(';');
    texts.set(schedules, text);
  }
  return text;
}

function limitText(schedule: Schedule): string {
  const { rate, burst, ticksPerToken, ticksPerMicro, fillTicks } = schedule;
  const capTicks = ticksOf(burst, ticksPerToken, Math.ceil);
  return [ticksPerToken, ticksPerMicro, ...halvesOf(capTicks), fillTicks, rate, burst].join(' ');
}

/** @throws RateLimitError `ERR_KEY_INVALID` if the text does not contain valid limits. */
export function readLimits(text: string): Schedules {
  const [first = '', ...others] = text.split(';');
  if (others.length >= MAX_LIMITS) throw invalid();
  return [readLimit(first), ...others.map(readLimit)];
}

function invalid(): RateLimitError {
  return new RateLimitError('ERR_KEY_INVALID', 'the key holds an invalid limit');
}

/** The numbers of a text. One that has others is refused as unsound or written otherwise. */
type Seven = [number, number, number, number, number, number, number];

function readLimit(text: string): Schedule {
  const numbers = text.split(' ').map(Number);
  const [ticksPerToken, ticksPerMicro, , , fillTicks, rate, burst] = numbers as Seven;
  const pace = fillTicks === 0 ? rate : fillTicks / ticksPerMicro;
  const schedule = { rate, burst, ticksPerToken, ticksPerMicro, fillTicks, pace };
  // The script compares texts: to any other one, it would answer again and again.
  if (isSound(schedule) && limitText(schedule) === text) return schedule;
  throw invalid();
}
