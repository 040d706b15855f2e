import type { Client } from '../load/measure/machine.ts';
import { isHarmless } from '../load/plan/headers.ts';
import { HIDDEN, safeText } from '../load/plan/redact.ts';
import type { Facts } from './report/page.ts';

/** The client of a run, for the end of a page. */
export function clientFacts({ zerotime, node, machine }: Client): Facts {
  const { processor, processors, memoryBytes, system } = machine;
  const memory = `${(memoryBytes / 2 ** 30).toFixed(1)} GiB`;
  return [
    ['Versions', `zerotime ${zerotime}, Node.js ${node}`],
    ['Machine', `${processors} x ${processor}, ${memory}, ${system}`],
  ];
}

const HEADER = /^(-H|--header=)(.+)$/s;
const BODY = /^(--(?:body|data)=)(?!@)(.+)$/s;
/** Arguments that need no quotes in a shell. */
const PLAIN = /^[\w@%+=:,./-]+$/;

function safeHeader(text: string): string {
  const colon = text.indexOf(':');
  if (colon === -1) return safeText(text);
  const name = text.slice(0, colon).trim();
  return isHarmless(name) ? safeText(text) : `${name}: ${HIDDEN}`;
}

function safeArgument(arg: string, before: string): string {
  if (before === '-H' || before === '--header') return safeHeader(arg);
  if (before === '--body' || before === '--data') return arg.startsWith('@') ? arg : HIDDEN;
  const [, header = '', named = ''] = HEADER.exec(arg) ?? [];
  if (header !== '') return header + safeHeader(named);
  return safeText(arg).replace(BODY, `$1${HIDDEN}`);
}

function quoted(arg: string): string {
  return PLAIN.test(arg) ? arg : `'${arg.replaceAll("'", `'\\''`)}'`;
}

/** A command line that may be stored: without passwords, secret headers, tokens and bodies. */
export function safeCommandLine(args: readonly string[] = process.argv.slice(2)): string {
  const safe = args.map((arg, at) => safeArgument(arg, args[at - 1] ?? ''));
  return ['zerotime', ...safe.map(quoted)].join(' ');
}
