import { type Machine, thisMachine, thisVersion } from '../load/measure/machine.ts';
import { isHarmless } from '../load/plan/headers.ts';
import { HIDDEN, safeText } from '../load/plan/redact.ts';
import type { Facts } from './report/page.ts';

/** The circumstances of a run, for its reports. */
export interface About {
  /** The version of zerotime. */
  readonly version: string;
  readonly node: string;
  /** The command line, without secrets. */
  readonly commandLine: string;
  readonly machine: Machine;
}

/** @param args the command-line arguments */
export function aboutThisRun(args = process.argv.slice(2)): About {
  return {
    version: thisVersion(),
    node: process.version,
    commandLine: safeCommandLine(args),
    machine: thisMachine(),
  };
}

/** What and where, for the end of a page. */
export function aboutFacts({ version, node, machine }: About): Facts {
  const { processor, processors, memoryBytes, system } = machine;
  const memory = `${(memoryBytes / 2 ** 30).toFixed(1)} GiB`;
  return [
    ['Versions', `zerotime ${version}, Node.js ${node}`],
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
export function safeCommandLine(args: readonly string[]): string {
  const safe = args.map((arg, at) => safeArgument(arg, args[at - 1] ?? ''));
  return ['zerotime', ...safe.map(quoted)].join(' ');
}
