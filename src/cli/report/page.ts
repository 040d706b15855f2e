/** A bar chart with one number per label. */
export interface BarChart {
  readonly kind: 'bars';
  readonly title: string;
  readonly labels: readonly string[];
  readonly values: readonly number[];
  /** What the numbers count, such as `requests`. */
  readonly unit: string;
}

export const COLOURS = ['blue', 'orange', 'green', 'purple', 'sky', 'gold'] as const;

export type Colour = (typeof COLOURS)[number] | 'grey' | 'red';

/** One line of a chart. */
export interface Series {
  readonly label: string;
  readonly colour: Colour;
  /** One value per x; null for a gap. */
  readonly values: readonly (number | null)[];
  readonly look: 'line' | 'area' | 'dashes';
}

/** A line chart: over time, or a distribution over percentiles. */
export interface LineChart {
  readonly kind: 'lines';
  readonly title: string;
  /**
   * - `time`: seconds from the start. All such charts of a page have one time axis and one pointer.
   * - `percentile`: 1 / (1 - share of the values below), so 100 is the 99th percentile
   */
  readonly over: 'time' | 'percentile';
  readonly x: readonly number[];
  /** The end of the axis, if that is not the last x. */
  readonly end?: number | undefined;
  readonly series: readonly Series[];
  /** The unit of the values: `/s`, ` ms`. */
  readonly unit: string;
  /** A logarithmic axis for values that differ by orders of magnitude; no value may be 0. */
  readonly logarithmic: boolean;
  /** Draws steps: each value holds until the next x. */
  readonly steps: boolean;
  /** The highest value of the axis, for charts that are to have the same one. */
  readonly top?: number;
  /** Half as high as others, for charts that are compared one below the other. */
  readonly isLow?: boolean;
}

export type Chart = LineChart | BarChart;

export interface Table {
  readonly columns: readonly string[];
  /** Rows of text cells; the first cell is the row's name. */
  readonly rows: readonly (readonly string[])[];
}

/** A finding. */
export interface Verdict {
  readonly isGood: boolean;
  readonly text: string;
}

export interface Section {
  readonly heading: string;
  /** Lines of text with the findings. */
  readonly verdicts: readonly Verdict[];
  readonly table?: Table;
  /** Shares of a whole, as bars. */
  readonly shares?: readonly { readonly name: string; readonly count: number }[];
  readonly charts: readonly Chart[];
  /** Plain text below all else. */
  readonly notes?: readonly string[];
}

/** Names and values. */
export type Facts = readonly (readonly [name: string, value: string])[];

/** The content of a report as plain data. */
export interface Page {
  readonly title: string;
  /** What to know before any figure. */
  readonly verdicts: readonly Verdict[];
  /** The main figures, below the verdict. */
  readonly facts: Facts;
  readonly sections: readonly Section[];
  /** How, with what and where: at the end. */
  readonly circumstances: Facts;
  readonly footer: string;
}
