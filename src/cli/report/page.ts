/** A number for each label, as bars. */
export interface BarChart {
  readonly kind: 'bars';
  readonly title: string;
  readonly labels: readonly string[];
  readonly values: readonly number[];
  /** What the numbers count: `requests`. */
  readonly unit: string;
}

export type Colour = 'blue' | 'grey' | 'red' | 'green' | 'orange' | 'purple';

/** One line of a chart. */
export interface Series {
  readonly label: string;
  readonly colour: Colour;
  /** One for each x; null for nothing. */
  readonly values: readonly (number | null)[];
  readonly look: 'line' | 'area' | 'dashes';
}

/** Lines over time. */
export interface LineChart {
  readonly kind: 'lines';
  readonly title: string;
  /** Seconds from the beginning. */
  readonly x: readonly number[];
  readonly series: readonly Series[];
  /** Of the values: `/s`, ` ms`. */
  readonly unit: string;
  /** A logarithmic axis, for values that differ by orders of magnitude; none may be 0. */
  readonly logarithmic: boolean;
  /** Each value holds from its x to the next, as a step. */
  readonly steps: boolean;
}

export type Chart = LineChart | BarChart;

export interface Table {
  readonly columns: readonly string[];
  /** Cells of text; the first is a row's name. */
  readonly rows: readonly (readonly string[])[];
}

export interface Section {
  readonly heading: string;
  /** Lines of text, with what was found out. */
  readonly verdicts: readonly { readonly isGood: boolean; readonly text: string }[];
  readonly table?: Table;
  /** Parts of a whole, as bars beside their shares. */
  readonly shares?: readonly { readonly name: string; readonly count: number }[];
  readonly charts: readonly Chart[];
}

/** Everything that a report shows, as plain data. */
export interface Page {
  readonly title: string;
  /** Name and value, in a row at the top. */
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly sections: readonly Section[];
  readonly footer: string;
}
