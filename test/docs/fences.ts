import { readFileSync } from 'node:fs';

/**
 * The languages of fenced blocks. Any other fails the test, so that no example escapes it:
 *
 * - `ts`: run and type-checked.
 * - `text`: the exact output of the `ts` block before it, with only blank lines between.
 * - `sh`: commands for a terminal. `printout`: the output of one run of a command, including timings.
 * - `signature`, `pseudocode`, `diagram`: for reading only.
 */
const LANGUAGES = ['ts', 'text', 'sh', 'printout', 'signature', 'pseudocode', 'diagram'] as const;
type Language = (typeof LANGUAGES)[number];

interface Block {
  readonly language: Language;
  readonly lines: readonly string[];
  /** Line of the opening fence, from 1. */
  readonly line: number;
  /** Line of the closing fence. */
  readonly end: number;
}

/** A `ts` block and its expected output. */
export interface Example {
  readonly page: string;
  /** Line of the first line of code, from 1. */
  readonly line: number;
  readonly code: string;
  readonly output: string;
}

function isLanguage(text: string): text is Language {
  return (LANGUAGES as readonly string[]).includes(text);
}

/**
 * @throws Error, naming page and line, for a fence that is unclosed or not one of {@link
 * LANGUAGES}.
 */
function blocksOf(page: string, lines: readonly string[]): Block[] {
  const blocks: Block[] = [];
  let open: { language: Language; line: number } | undefined;
  lines.forEach((text, at) => {
    const where = `${page}:${at + 1}`;
    if (!/^\s*(>\s*)?(`{3,}|~{3,})/.test(text)) return;
    if (open !== undefined) {
      if (text !== '```') throw new Error(`${where}: a fence inside a fence: ${text}`);
      blocks.push({ ...open, lines: lines.slice(open.line, at), end: at + 1 });
      open = undefined;
      return;
    }
    const language = /^```(\S+)$/.exec(text)?.[1] ?? '';
    if (!isLanguage(language)) {
      throw new Error(`${where}: a fence must be one of ${LANGUAGES.join(', ')}, got ${text}`);
    }
    open = { language, line: at + 1 };
  });
  if (open !== undefined) throw new Error(`${page}:${open.line}: this fence is never closed`);
  return blocks;
}

/** The examples of a page, in order. */
export function examplesOf(page: string, text: string): Example[] {
  const lines = text.split('\n');
  const examples: Example[] = [];
  let previous: Block | undefined;
  for (const block of blocksOf(page, lines)) {
    if (block.language === 'ts') {
      examples.push({ page, line: block.line + 1, code: block.lines.join('\n'), output: '' });
    }
    if (block.language === 'text') {
      const between = lines.slice(previous?.end ?? 0, block.line - 1);
      const example = examples.pop();
      if (previous?.language !== 'ts' || example === undefined || between.some((l) => l !== '')) {
        throw new Error(`${page}:${block.line}: text must follow the ts block that prints it`);
      }
      examples.push({ ...example, output: `${block.lines.join('\n')}\n` });
    }
    previous = block;
  }
  return examples;
}

/** The examples in the comments of a source file. */
export function commentExamplesOf(page: string): Example[] {
  const text = readFileSync(page, 'utf8');
  const examples: Example[] = [];
  for (const found of text.matchAll(/^ *\* *@example\n((?:^ *\*(?! *@|\/).*\n)*)/gm)) {
    const body = (found[1] ?? '').replaceAll(/^ *\* ?/gm, '');
    const before = text.slice(0, found.index).split('\n').length;
    for (const example of examplesOf(page, body)) {
      examples.push({ ...example, line: before + example.line });
    }
  }
  return examples;
}
