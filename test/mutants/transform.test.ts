import { expect, test } from 'vitest';
import { misfits } from './misfits.ts';
import { Transformation } from './transform.ts';

const OPTIONS = { dropped: () => false, isTraced: false, zeros: new Set<string>(), stepped: '' };

function changes(source: string, zeros: readonly string[] = []): readonly string[] {
  const transformation = new Transformation({ ...OPTIONS, zeros: new Set(zeros) });
  transformation.transform('engine/some.ts', source);
  return transformation.mutants.map(({ original, mutated }) => `${original} -> ${mutated}`);
}

test('a comparison is shifted, turned round and decided', () => {
  expect(changes('const less = a < b;')).toEqual([
    'a < b -> a <= b',
    'a < b -> a >= b',
    'a < b -> true',
    'a < b -> false',
  ]);
});

test('an operand of && is not made false, since that is && made false', () => {
  expect(changes('const both = a && b;')).toEqual([
    'a && b -> a || b',
    'a && b -> true',
    'a && b -> false',
    'a -> true',
    'b -> true',
  ]);
});

test('operands stay together when the operator between them changes', () => {
  expect(changes('const sum = (a + b) * c;')).toContain('(a + b) * c -> (a + b) / c');
  expect(changes('const any = a || b && c;')).toContain('a || b && c -> a && (b && c)');
});

test('statements that do something are removed', () => {
  expect(changes('function run(): void { store(a); }')).toEqual(['store(a) -> (removed)']);
});

test('adding a constant that is 0 is left alone', () => {
  expect(changes('const at = cell + OFFSET;')).toEqual(['cell + OFFSET -> cell - OFFSET']);
  expect(changes('const at = cell + OFFSET;', ['OFFSET'])).toEqual([]);
});

test('types, imports and first values of variables are left alone', () => {
  expect(changes("import { a } from './a';\nlet last: Ticks<1> = 0;")).toEqual([]);
});

test('equal changes in a function are numbered by occurrence, whatever their lines', () => {
  const transformation = new Transformation(OPTIONS);
  transformation.transform('engine/some.ts', 'function f(): i32 {\n return -a\n + -a; }');
  const negations = transformation.mutants.filter(({ original }) => original === '-a');
  expect(negations.map(({ occurrence, within }) => [within, occurrence])).toEqual([
    ['f', 1],
    ['f', 2],
  ]);
});

test('a complaint of the compiler is traced to the mutant that it is about', () => {
  const text = new Transformation(OPTIONS).transform('engine/some.ts', 'const sum = a + -b;');
  const [line = '', column] = [text.split('\n')[1], text.split('\n')[1]?.indexOf('? (b)')];
  expect(line).toContain('__is(2) ? (b)');
  const complaint = `└─ in engine/some.ts(2,${Number(column) + 4})`;
  expect(misfits(complaint, new Map([['engine/some.ts', text]]))).toEqual([2]);
});
