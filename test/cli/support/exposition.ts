// A strict reader of the text format of Prometheus, by its specification:
// https://prometheus.io/docs/instrumenting/exposition_formats/

export interface Family {
  readonly type: string;
  readonly help: string;
  readonly samples: { readonly labels: Readonly<Record<string, string>>; readonly value: number }[];
}

const NAME = /^[a-z_:][\w:]*$/i;
const HEAD = /^# (HELP|TYPE) (\S+) (.*)$/;
const SAMPLE = /^([a-z_:][\w:]*)\{(.*)\} (\S+)$/i;
const LABEL = /([a-z_]\w*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/giy;
const VALUE = /^(?:NaN|[+-]Inf|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/;

function unescaped(text: string): string {
  return text.replace(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char));
}

function labelsIn(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  let end = 0;
  for (const match of text.matchAll(LABEL)) {
    const [all, name = '', value = ''] = match;
    if (name in labels) throw new Error(`${name} is given twice in ${text}`);
    labels[name] = unescaped(value);
    end += all.length;
  }
  if (end !== text.length) throw new Error(`invalid labels ${text}`);
  return labels;
}

/** The families of a text, by name. Throws if a line is invalid, out of place or repeated. */
export function parseExposition(text: string): ReadonlyMap<string, Family> {
  if (!text.endsWith('\n')) throw new Error('the last line does not end');
  const families = new Map<string, Family>();
  const seen = new Set<string>();
  let help = '';
  let current = '';
  for (const line of text.slice(0, -1).split('\n')) {
    const [, keyword, name = '', rest = ''] = HEAD.exec(line) ?? [];
    if (keyword === 'HELP') {
      if (!NAME.test(name) || families.has(name)) throw new Error(`HELP out of place: ${line}`);
      [current, help] = [name, unescaped(rest)];
    } else if (keyword === 'TYPE') {
      if (name !== current || families.has(name)) throw new Error(`TYPE out of place: ${line}`);
      if (rest !== 'counter' && rest !== 'gauge') throw new Error(`unknown type: ${line}`);
      if ((rest === 'counter') !== name.endsWith('_total')) throw new Error(`misnamed: ${line}`);
      families.set(name, { type: rest, help, samples: [] });
    } else {
      const [, sampled = '', labels = '', value = ''] = SAMPLE.exec(line) ?? [];
      if (sampled !== current || !VALUE.test(value)) throw new Error(`invalid line: ${line}`);
      const key = line.slice(0, line.lastIndexOf(' '));
      if (seen.has(key)) throw new Error(`given twice: ${line}`);
      seen.add(key);
      const number = Number(value.replace('Inf', 'Infinity'));
      families.get(sampled)?.samples.push({ labels: labelsIn(labels), value: number });
    }
  }
  return families;
}
