import { HandleError, RateLimitError } from '../../errors.ts';
import { RECORD_COUNT, SLOT_COUNT } from '../../memory/layout.ts';
import { BUSY, CROWDED } from './kernel.ts';

/** The answer of a call whose negative answers are failures. */
export function sound(answer: number): number {
  if (answer < 0) fail(answer);
  return answer;
}

/** Throws the error for a number below {@link NEVER}. */
export function fail(failure: number): never {
  if (failure === BUSY) {
    throw new RateLimitError(
      'ERR_RECONFIGURE_BUSY',
      `all ${RECORD_COUNT} configuration records are claimed`,
    );
  }
  if (failure === CROWDED) {
    throw new RateLimitError('ERR_BUCKET_BUSY', `all ${SLOT_COUNT} slots are held`);
  }
  throw new HandleError('ERR_REGION_DAMAGED', "the clock or the limiter's origin is invalid");
}
