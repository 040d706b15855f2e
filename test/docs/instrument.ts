import ts from 'typescript';
import type { Example } from './fences.ts';

/** Matches a comment that promises a value or an error; each must follow a statement. */
const PROMISE = /\/\/ (->|throws) (.*)$/gm;

/**
 * Runs in the process of the example: compares values, and fails if a promise was never reached. An
 * error that the page promises goes on, because the example has to catch it.
 */
export const CHECKS = `
import { inspect } from 'node:util';
const looked = new Set();
function compare(line, mark, got, wanted) {
  looked.add(line);
  if (got === wanted) return;
  // Not an error: the example may catch all.
  console.error('line ' + line + ': ' + mark + ' ' + got + ', the page says ' + wanted);
  process.exit(1);
}
export function check(line, wanted, value) {
  compare(line, '->', inspect(value, { breakLength: Infinity }), wanted);
  return value;
}
export async function throws(line, wanted, run) {
  try {
    await run();
  } catch (error) {
    const { code, name, message } = error;
    const kind = typeof code === 'string' ? code : name;
    compare(line, 'throws', wanted.includes(': ') ? kind + ': ' + message : kind, wanted);
    throw error;
  }
  compare(line, 'throws', 'nothing', wanted);
}
export function expect(lines) {
  process.on('exit', (code) => {
    const missed = lines.filter((line) => !looked.has(line));
    if (code !== 0 || missed.length === 0) return;
    console.error('never reached: line ' + missed.join(', '));
    process.exitCode = 1;
  });
}
`;

interface Edit {
  readonly at: number;
  readonly text: string;
}

/** The expression whose value a `// ->` after this statement promises. */
function promised(statement: ts.Statement): ts.Expression | undefined {
  if (ts.isExpressionStatement(statement)) return statement.expression;
  if (!ts.isVariableStatement(statement)) return undefined;
  const { declarations } = statement.declarationList;
  return declarations.length === 1 ? declarations[0]?.initializer : undefined;
}

/**
 * Turns an example into a module that checks its comments: `expression; // -> value`, as shown by
 * `util.inspect`, and `statement; // throws CODE` or `// throws CODE: message`.
 */
export function instrumented({ page, line: firstLine, code }: Example, checks: string): string {
  const file = ts.createSourceFile('example.ts', code, ts.ScriptTarget.Latest, true);
  const edits: Edit[] = [];
  const lines: number[] = [];
  const visit = (node: ts.Node) => {
    ts.forEachChild(node, visit);
    if (!ts.isStatement(node)) return;
    const rest = code.slice(node.end).split('\n', 1)[0] ?? '';
    const [, mark, wanted] = /^ *\/\/ (->|throws) (.*)$/.exec(rest) ?? [];
    if (mark === undefined || wanted === undefined) return;
    const line = firstLine + file.getLineAndCharacterOfPosition(node.end).line;
    const args = `${line}, ${JSON.stringify(wanted)}`;
    const expression = promised(node);
    if (mark === 'throws') {
      edits.push({ at: node.getStart(), text: `await __throws(${args}, async () => {` });
      edits.push({ at: node.end, text: '});' });
    } else if (expression !== undefined) {
      edits.push({ at: expression.getStart(), text: `__check(${args}, (` });
      edits.push({ at: expression.end, text: '))' });
    } else return;
    lines.push(line);
  };
  visit(file);
  const promises = [...code.matchAll(PROMISE)].length;
  if (promises !== lines.length) {
    throw new Error(
      `${page}:${firstLine}: ${promises - lines.length} comments with -> or throws stand after no statement`,
    );
  }
  let checked = code;
  for (const { at, text } of edits.sort((a, b) => b.at - a.at)) {
    checked = checked.slice(0, at) + text + checked.slice(at);
  }
  const head = `import { check as __check, expect as __expect, throws as __throws } from ${JSON.stringify(checks)};
import { isMainThread as __isMainThread } from 'node:worker_threads';
if (__isMainThread) __expect(${JSON.stringify(lines)});
`;
  return head + checked;
}
