/** What a benchmark measured. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** For example `≥ 0.5`; absent: only reported. */
  readonly goal?: string;
}
