/** The result of a benchmark: figures, most of them with a baseline from the same run. */
import type { Scratch } from './scratch.ts';

export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** Measured in the same run, in the same unit. */
  readonly baseline?: { readonly name: string; readonly value: number };
  readonly goal?: Goal;
}

export interface Goal {
  /** The figure itself, or the figure over its baseline. */
  readonly of: 'value' | 'ratio';
  readonly is: '≥' | '≤';
  readonly bound: number;
}

export interface BenchPorts {
  /** Directories and processes that are removed when the run is over, however it ends. */
  readonly scratch: Scratch;
  /** Progress messages. */
  progress(line: string): void;
}

export type Bench = (ports: BenchPorts) => Promise<Figure[]>;

export function ratioOf({ value, baseline }: Figure): number | undefined {
  return baseline && value / baseline.value;
}

/** Undefined: the figure has no goal. */
export function holds(figure: Figure): boolean | undefined {
  const { goal, value } = figure;
  if (!goal) return undefined;
  const measured = goal.of === 'value' ? value : ratioOf(figure);
  // Missing measurements, and 0 over 0, reach no goal.
  if (measured === undefined || Number.isNaN(measured)) return false;
  return goal.is === '≥' ? measured >= goal.bound : measured <= goal.bound;
}
