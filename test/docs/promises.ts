import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

// The sentences of README.md and docs that promise a bound, an order or a time, and the tests that name
// them: by a comment `// docs/PAGE.md: "..."`, with the first words of the sentence, above the test.

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Proofs, measurements, lists of tests and sources, and what is said of other people's software. */
const LEFT_OUT =
  /(algorithm.*|architecture|comparison|dependencies|memory-layout|mutants|performance|proof|systems|versions)\.md$/;
const WORDS =
  /\b(at (most|least)|never|no (more|fewer|longer|sooner|earlier|later) than|exactly|in (order|turn)|always|within (about )?[\d.,]+ ?(ns|us|µs|ms|s|seconds?|microseconds?|milliseconds?))\b/i;
const NAMED = /^ *\/\/ ((?:docs\/)?[\w-]+\.md): "([^"\n]+)"$/gm;

export interface Sentence {
  readonly page: string;
  readonly text: string;
  /** The tests that name it. */
  readonly tests: readonly string[];
}

export interface Named {
  readonly page: string;
  /** The first words of the sentence. */
  readonly words: string;
  readonly test: string;
}

/** Without code, pictures, tables' rules and marks. */
function plain(markdown: string): string {
  return markdown
    .replaceAll(/^```[\s\S]*?^```$/gm, '\n\n')
    .replaceAll(/<[^>]*>|!\[[^\]]*\]\([^)]*\)/g, '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[*`"]/g, '');
}

/** The sentences of a page: a cell of a table, an item of a list and a heading end one, too. */
function sentences(markdown: string): string[] {
  return plain(markdown)
    .split(/\n\s*\n|\n(?=\s*(?:[-|#>]|\d+\.))|\|/)
    .flatMap((block) => block.replaceAll(/\s+/g, ' ').split(/(?<=[.!?:;]\)?) (?=[A-Z(])/))
    .map((text) => text.replace(/^[\s#>-]*(\d+\. )?/, '').trim())
    .filter((text) => WORDS.test(text) && /^[A-Z]/.test(text) && text.split(' ').length > 4);
}

function filesIn(folder: string, end: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(end))
    .map((name) => relative(ROOT, join(ROOT, folder, name)));
}

/** All that tests name. */
export function named(): Named[] {
  return filesIn('test', '.ts').flatMap((test) =>
    [...readFileSync(join(ROOT, test), 'utf8').matchAll(NAMED)].map(
      ([, page = '', words = '']): Named => ({ page, words, test }),
    ),
  );
}

/** All sentences that promise something, with the tests that name each. */
export function promises(): Sentence[] {
  const all = named();
  const pages = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'));
  return ['README.md', ...pages.map((name) => `docs/${name}`)]
    .filter((page) => !LEFT_OUT.test(page))
    .flatMap((page) =>
      sentences(readFileSync(join(ROOT, page), 'utf8')).map((text): Sentence => {
        const of = all.filter((one) => one.page === page && text.startsWith(one.words));
        return { page, text, tests: of.map(({ test }) => test) };
      }),
    );
}
