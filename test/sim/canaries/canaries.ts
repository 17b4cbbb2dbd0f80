/**
 * Bugs on purpose, one for each class of rule: each takes one decision of the product away from outside, by another method in place of its own or by a
 * store that lies, to prove that the checks bite. The product knows nothing of them.
 */
import type { Canaries, Canary } from './canary.ts';
import { feedCanaries } from './feeds.ts';
import { moveCanaries } from './moves.ts';
import { siblingCanaries } from './replicas.ts';
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
  ...siblingCanaries,
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
