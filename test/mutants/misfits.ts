// Which mutants a compiler's complaints are about.

/** Where complaints are: `in engine/buckets.ts(115,271)`. */
const PLACE = /in (\S+)\((\d+),(\d+)\)/g;
const MUTANT = /__is\((\d+)\)\)? (?:\? \(|\{ )/g;
const OPENING = '({';
const CLOSING = ')}';

/** The offset at which the bracket closes that is open before `from`. */
function closing(text: string, from: number): number {
  let depth = 1;
  for (let at = from; at < text.length; at++) {
    if (OPENING.includes(text.charAt(at))) depth++;
    if (CLOSING.includes(text.charAt(at))) depth--;
    if (depth === 0) return at;
  }
  return text.length;
}

/** The number of the mutant whose text an offset is in. */
function mutantAt(text: string, offset: number): number | undefined {
  const before = [...text.slice(0, offset).matchAll(MUTANT)];
  const around = before.findLast(({ 0: match, index }) => {
    return closing(text, index + match.length) >= offset;
  });
  return around?.[1] === undefined ? undefined : Number(around[1]);
}

/** Numbers of the mutants that do not fit where they stand: their types are others. */
export function misfits(message: string, texts: ReadonlyMap<string, string>): readonly number[] {
  return [...message.matchAll(PLACE)].map(([place, file = '', line, column]) => {
    const text = texts.get(file) ?? '';
    const lines = text.split('\n').slice(0, Number(line) - 1);
    const start = lines.reduce((sum, { length }) => sum + length + 1, 0);
    const number = mutantAt(text, start + Number(column) - 1);
    if (number === undefined) throw new Error(`no mutant ${place}:\n${message}`);
    return number;
  });
}
