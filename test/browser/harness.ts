import { JestAsymmetricMatchers, JestChaiExpect, JestExtend } from '@vitest/expect';
import * as chai from 'chai';

// Takes the place of vitest in a page: it collects the claims of a suite, and runs them in turn.

type Run = (...args: never[]) => unknown;

interface Claim {
  readonly name: string;
  readonly run: () => unknown;
}

/** A claim that does not hold. */
export interface Broken {
  readonly name: string;
  readonly message: string;
}

for (const plugin of [JestExtend, JestChaiExpect, JestAsymmetricMatchers]) chai.use(plugin);
export const { expect } = chai;

const claims: Claim[] = [];
let subject = '';

/** Names each part of a suite after its case, as in `$name`. */
export const describe = {
  each:
    <Case extends object>(cases: readonly Case[]) =>
    (name: string, body: (each: Case) => void) => {
      for (const each of cases) {
        const fields = new Map(Object.entries(each));
        subject = name.replaceAll(/\$(\w+)/g, (_, field) => `${fields.get(field)}`);
        body(each);
      }
    },
};

function claim(name: string, run: () => unknown): void {
  claims.push({ name: `${subject} ${name}`, run });
}

export const it = Object.assign(claim, {
  each: (rows: readonly (readonly unknown[])[]) => (name: string, run: Run) => {
    for (const row of rows) claim(name.replace('%s', `${row[0]}`), () => run(...(row as never[])));
  },
});

/** Runs every claim; returns the broken ones, and the number of claims. */
export async function runClaims(): Promise<{ claims: number; broken: readonly Broken[] }> {
  const broken: Broken[] = [];
  for (const { name, run } of claims) {
    try {
      await run();
    } catch (error) {
      broken.push({ name, message: error instanceof Error ? error.message : `${error}` });
    }
  }
  return { claims: claims.length, broken };
}
