import type { Chart } from '../../../src/cli/report/page.ts';

/** The charts of a report. */
export function chartsIn(page: string): Chart[] {
  const [, data = '[]'] =
    /<script type="application\/json" id="charts">(.*)<\/script>/.exec(page) ?? [];
  return JSON.parse(data);
}

/** The titles that it shows above its charts. */
export function titlesIn(page: string): (string | undefined)[] {
  return [...page.matchAll(/<figcaption>(.*?)<\/figcaption>/g)].map(([, title]) => title);
}
