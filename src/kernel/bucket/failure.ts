import { HandleError } from '../../errors.ts';

/** The answer of a call whose negative answers are failures. */
export function sound(answer: number): number {
  if (answer < 0) fail();
  return answer;
}

/** Throws the error for a call that failed. */
export function fail(): never {
  throw new HandleError('ERR_REGION_DAMAGED', "the clock or the limiter's origin is invalid");
}

/** The same for a table or a limit set. */
export function failTable(): never {
  throw new HandleError('ERR_REGION_DAMAGED', 'the clock, an entry or a limit is invalid');
}
