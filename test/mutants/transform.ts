import ts from 'typescript';
import { alternatives, isCondition, isRemovable } from './alternatives.ts';

// Puts all mutants of a source into it, each behind its number, and counts the steps of its loops.

/** One change of the source, identified by the changed code instead of its line. */
export interface Mutant {
  readonly number: number;
  readonly file: string;
  readonly line: number;
  /** The function it is in, or `module`. */
  readonly within: string;
  readonly original: string;
  readonly mutated: string;
  /** Among the same changes in the same function, from 1. */
  readonly occurrence: number;
}

/** A condition, or the start of a function, which has one way only. */
export interface Branch {
  readonly number: number;
  readonly file: string;
  readonly line: number;
  readonly within: string;
  readonly text: string;
}

/** What the transformed sources import. */
const SWITCH = 'switch';

const REMOVED = '(removed)';

export interface TransformationOptions {
  /** Whether to leave a mutant out. */
  readonly dropped: (mutant: Pick<Mutant, 'file' | 'number'>) => boolean;
  /** Whether to report which branches are taken. */
  readonly isTraced: boolean;
  /** Names of constants that are 0. */
  readonly zeros: ReadonlySet<string>;
  /** The file whose functions are the steps at which a call can stop. */
  readonly stepped: string;
}

export class Transformation {
  readonly mutants: Mutant[] = [];
  readonly branches: Branch[] = [];
  readonly #options: TransformationOptions;
  readonly #seen = new Map<string, number>();
  #file = '';
  #within = 'module';
  #source: ts.SourceFile;

  constructor(options: TransformationOptions) {
    this.#options = options;
    this.#source = ts.createSourceFile('', '', ts.ScriptTarget.ESNext);
  }

  /** The text of a file with all of its mutants. */
  transform(file: string, text: string): string {
    this.#file = file;
    this.#source = ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, true, ts.ScriptKind.TS);
    const names = '__burn, __is, __saw, __step';
    const root = '../'.repeat(file.split('/').length - 2);
    return `import { ${names} } from './${root}${SWITCH}';\n${this.#children(this.#source)}\n`;
  }

  #emit(node: ts.Node): string {
    if (isUntouched(node)) return node.getText();
    if (!ts.isFunctionDeclaration(node)) return this.#emitWithin(node);
    this.#within = node.name?.text ?? 'module';
    const text = this.#emitWithin(node);
    this.#within = 'module';
    return text;
  }

  #emitWithin(node: ts.Node): string {
    if (isRemovable(node)) return this.#removable(node);
    // The statement has the mutants of its expression.
    const isOwn = !ts.isExpressionStatement(node.parent);
    const numbers = isOwn ? this.#noted(node, alternatives(node, this.#options.zeros)) : [];
    const inner = this.#condition(node, this.#children(node));
    if (numbers.length === 0) return inner;
    return `(${numbers.map(([number, text]) => `__is(${number}) ? (${text}) : `).join('')}(${inner}))`;
  }

  /** The text of a node whose children are transformed. */
  #children(node: ts.Node): string {
    const { text } = this.#source;
    let at = node.getStart();
    let result = '';
    node.forEachChild((child) => {
      result += text.slice(at, child.getStart());
      result += isBody(child) ? this.#body(child) : this.#emit(child);
      at = child.end;
    });
    return result + text.slice(at, node.end);
  }

  #body(node: ts.Node): string {
    if (!ts.isFunctionDeclaration(node.parent)) return `{ __burn(); ${this.#emit(node)} }`;
    const step = this.#file === this.#options.stepped ? '__step(); ' : '';
    const number = this.#branch(node.parent, `${this.#within}()`);
    const entered = this.#options.isTraced ? `__saw(${number}, true); ` : '';
    return `{ ${entered}${step}${this.#emit(node).slice(1)}`;
  }

  #removable(node: ts.Node): string {
    const expression = ts.isExpressionStatement(node) ? node.expression : undefined;
    const others = expression === undefined ? [] : alternatives(expression, this.#options.zeros);
    const numbers = this.#noted(node, [REMOVED, ...others]);
    const ways = numbers.map(([number, text]) => `if (__is(${number})) { ${bodyOf(text)} } else `);
    return `{ ${ways.join('')}${this.#children(node)} }`;
  }

  #condition(node: ts.Node, text: string): string {
    if (!isCondition(node)) return text;
    const number = this.#branch(node, node.getText());
    return this.#options.isTraced ? `__saw(${number}, (${text}) ? true : false)` : text;
  }

  #branch(node: ts.Node, text: string): number {
    const number = this.branches.length;
    this.branches.push({ number, ...this.#placeOf(node), text: oneLine(text) });
    return number;
  }

  #placeOf(node: ts.Node) {
    const { line } = this.#source.getLineAndCharacterOfPosition(node.getStart());
    return { file: this.#file, line: line + 1, within: this.#within };
  }

  /** Assigns numbers, from 1, and returns those of the mutants to include. */
  #noted(node: ts.Node, texts: readonly string[]): readonly (readonly [number, string])[] {
    const original = oneLine(node.getText()).replace(/;$/, '');
    const noted = texts.map((text): readonly [number, string] => {
      const mutated = oneLine(text);
      const key = [this.#file, this.#within, original, mutated].join('\n');
      const occurrence = (this.#seen.get(key) ?? 0) + 1;
      this.#seen.set(key, occurrence);
      const number = this.mutants.length + 1;
      this.mutants.push({ number, ...this.#placeOf(node), original, mutated, occurrence });
      return [number, text];
    });
    return noted.filter(([number]) => !this.#options.dropped({ file: this.#file, number }));
  }
}

function bodyOf(text: string): string {
  return text === REMOVED ? '' : `${text};`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ');
}

/** Whether a node is what a loop does, or a function. */
function isBody(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isForStatement(parent) || ts.isWhileStatement(parent)) return parent.statement === node;
  return ts.isFunctionDeclaration(parent) && parent.body === node;
}

/** Whether a node is the first value of a variable of the module, which calls set before they read it. */
function isInitial({ parent }: ts.Node): boolean {
  if (!ts.isVariableDeclarationList(parent)) return false;
  return (parent.flags & ts.NodeFlags.Let) !== 0 && ts.isSourceFile(parent.parent.parent);
}

/** What has no value at run time. */
function isUntouched(node: ts.Node): boolean {
  if (ts.isTypeNode(node) || ts.isDecorator(node)) return true;
  if (ts.isBinaryExpression(node.parent) && node.parent.operatorToken === node) return true;
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return true;
  if (isInitial(node)) return true;
  const modifiers = ts.canHaveModifiers(node) ? ts.getModifiers(node) : undefined;
  return modifiers?.some(({ kind }) => kind === ts.SyntaxKind.DeclareKeyword) ?? false;
}
