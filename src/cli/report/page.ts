export const COLOURS = ['blue', 'orange', 'green', 'purple', 'sky', 'gold'] as const;

export type Colour = (typeof COLOURS)[number] | 'grey' | 'red';

/** A line of a chart, or its bars. */
export interface Series {
  readonly label: string;
  readonly colour: Colour;
  /** One value per x; null is a gap. */
  readonly values: readonly (number | null)[];
  readonly look: 'line' | 'area' | 'dashes' | 'bars';
}

/** A chart over time, or of a distribution. */
export interface Chart {
  readonly title: string;
  /**
   * - `time`: seconds since the start. All such charts of a page share a time axis and pointer.
   * - `past`: seconds before now, negative; `end` is the length of the axis
   * - `percentile`: 1 / (1 - share of the values below): 100 is the 99th percentile
   * - `labels`: the indexes of `labels`, for bars
   */
  readonly over: 'time' | 'past' | 'percentile' | 'labels';
  readonly labels?: readonly string[];
  /** What the legend says before the x of the pointer. Default: `at`. */
  readonly head?: string;
  readonly x: readonly number[];
  /** The end of the axis. Default: the last x. */
  readonly end?: number | undefined;
  readonly series: readonly Series[];
  /** The unit of the values: `/s`, ` ms`. */
  readonly unit: string;
  /** Use a logarithmic axis, for values that differ by orders of magnitude. No value may be 0. */
  readonly logarithmic?: boolean;
  /** Draw steps: each value holds until the next x. */
  readonly steps?: boolean;
  /** The highest value of the axis, for charts that share a scale. */
  readonly top?: number;
  /** Half height, for charts stacked for comparison. */
  readonly isLow?: boolean;
}

export interface Table {
  readonly columns: readonly string[];
  /** Rows of text cells. The first cell names the row. */
  readonly rows: readonly (readonly string[])[];
}

/** A finding. */
export interface Verdict {
  readonly isGood: boolean;
  /** Whether it only limits what the figures can be used for: neither good nor bad. */
  readonly isNote?: boolean;
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
  /** Plain text at the end of the section. */
  readonly notes?: readonly string[];
}

/** Names and values. */
export type Facts = readonly (readonly [name: string, value: string])[];

/** The content of a report as plain data. */
export interface Page {
  readonly title: string;
  /** The verdict, which precedes all figures. */
  readonly verdicts: readonly Verdict[];
  /** The main figures. */
  readonly facts: Facts;
  readonly sections: readonly Section[];
  /** Command, versions and machine, at the end of the page. */
  readonly circumstances: Facts;
  readonly footer: string;
}
