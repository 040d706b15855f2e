/** Runs everything that can run without a move of the clock. */
export async function settled(turns = 5): Promise<void> {
  for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
}
