/** A bar chart with one number per label. */
export interface BarChart {
  readonly kind: 'bars';
  readonly title: string;
  readonly labels: readonly string[];
  readonly values: readonly number[];
  /** What the numbers count, such as `requests`. */
  readonly unit: string;
}

export type Colour = 'blue' | 'grey' | 'red' | 'green' | 'orange' | 'purple';

/** One line of a chart. */
export interface Series {
  readonly label: string;
  readonly colour: Colour;
  /** One value per x; null for a gap. */
  readonly values: readonly (number | null)[];
  readonly look: 'line' | 'area' | 'dashes';
}

/** A line chart over time. */
export interface LineChart {
  readonly kind: 'lines';
  readonly title: string;
  /** Seconds from the start. */
  readonly x: readonly number[];
  readonly series: readonly Series[];
  /** The unit of the values: `/s`, ` ms`. */
  readonly unit: string;
  /** A logarithmic axis for values that differ by orders of magnitude; no value may be 0. */
  readonly logarithmic: boolean;
  /** Draws steps: each value holds until the next x. */
  readonly steps: boolean;
}

export type Chart = LineChart | BarChart;

export interface Table {
  readonly columns: readonly string[];
  /** Rows of text cells; the first cell is the row's name. */
  readonly rows: readonly (readonly string[])[];
}

export interface Section {
  readonly heading: string;
  /** Lines of text with the findings. */
  readonly verdicts: readonly { readonly isGood: boolean; readonly text: string }[];
  readonly table?: Table;
  /** Shares of a whole, as bars. */
  readonly shares?: readonly { readonly name: string; readonly count: number }[];
  readonly charts: readonly Chart[];
}

/** The content of a report as plain data. */
export interface Page {
  readonly title: string;
  /** Names and values, in a row at the top. */
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly sections: readonly Section[];
  readonly footer: string;
}
