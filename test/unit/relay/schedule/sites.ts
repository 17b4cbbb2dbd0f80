import { type LabelSummary, mergeLabelSummaries, summaryOfAgent } from '../../../../core/match/label-summary.ts';

/** Of agents that have a label each: `site`. */
export const sites = (...names: string[]): LabelSummary =>
  mergeLabelSummaries(names.map((site) => summaryOfAgent([{ labels: { site } }])));
