import { type LabelSummary, mergeLabelSummaries, summaryOfAgent } from '../../../../core/match/label-summary.ts';

/** Summary of agents with one label each: `site`. */
export const sites = (...names: string[]): LabelSummary =>
  mergeLabelSummaries(names.map((site) => summaryOfAgent([{ labels: { site } }])));
