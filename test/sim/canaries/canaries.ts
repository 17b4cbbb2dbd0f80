/**
 * Deliberate bugs, one for each class of rule. A canary removes one decision of the product from outside, by a replaced method or by a store that lies. It
 * proves that the checks find the bug. The product does not know the canaries.
 */
import type { Canaries, Canary } from './canary.ts';
import { feedCanaries } from './feeds.ts';
import { moveCanaries } from './moves.ts';
import { replicaCanaries } from './replicas.ts';
import { reportCanaries } from './reports.ts';
import { resumeCanaries } from './resume.ts';
import { rolloutCanaries } from './rollouts.ts';
import { sessionCanaries } from './sessions.ts';
import { streamCanaries } from './streams.ts';
import { summaryCanaries } from './summaries.ts';
import { treeCanaries } from './tree.ts';

const canaries: Canaries = {
  ...resumeCanaries,
  ...feedCanaries,
  ...sessionCanaries,
  ...streamCanaries,
  ...replicaCanaries,
  ...treeCanaries,
  ...rolloutCanaries,
  ...moveCanaries,
  ...summaryCanaries,
  ...reportCanaries,
};

export function canaryNames(): string[] {
  return Object.keys(canaries);
}

export function canaryOf(name: string): Canary {
  const canary = canaries[name];
  if (!canary) throw new Error(`there is no canary ${name}`);
  return canary;
}
