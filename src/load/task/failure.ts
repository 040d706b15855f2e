/** An error that a task threw or rejected with, as it is counted. */
export interface Failure {
  readonly kind: string;
  readonly example: string;
}

const MOST_OF_KIND = 80;
const MOST_OF_EXAMPLE = 200;

/** Names a thrown value. An error has its name, and its code if any. */
export function failureOf(thrown: unknown): Failure {
  try {
    if (typeof thrown !== 'object' || thrown === null) {
      return { kind: `thrown ${typeof thrown}`, example: cut(String(thrown), MOST_OF_EXAMPLE) };
    }
    const { name, code, message } = thrown as Record<'name' | 'code' | 'message', unknown>;
    const named = typeof name === 'string' && name !== '' ? name : 'thrown object';
    const kind = typeof code === 'string' ? `${named} ${code}` : named;
    return {
      kind: cut(kind, MOST_OF_KIND),
      example: cut(typeof message === 'string' ? message : '', MOST_OF_EXAMPLE),
    };
  } catch {
    // A getter of the value throws.
    return { kind: 'thrown object', example: '' };
  }
}

/** The first line, truncated to `most` characters. */
function cut(text: string, most: number): string {
  return (text.split('\n', 1)[0] ?? '').slice(0, most);
}
