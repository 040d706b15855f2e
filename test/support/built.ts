/** The compiled package: for what starts threads of its own, which can't run TypeScript. */
export const built = (await import(
  new URL('../../dist/src/index.js', import.meta.url).href
)) as typeof import('../../src/index.ts');
