/** Makes this number of calls, and returns how many are admitted. */
export function admittedOf(calls: number, limiter: { tryConsume(): boolean }): number {
  let admitted = 0;
  for (let i = 0; i < calls; i++) if (limiter.tryConsume()) admitted++;
  return admitted;
}
