import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import {
  decodeLabelSummary,
  encodeLabelSummary,
  type LabelSummary,
  type LocationLabels,
  mergeLabelSummaries,
} from '../../../../core/match/label-summary.ts';
import { type Child, matchChild } from '../../../../relay/children/children.ts';
import {
  agentChild,
  byFewKeys,
  byKey,
  byRange,
  comparison,
  isCordoned,
  placement,
  places,
  summaryOf,
  usesSummaryDataOnly,
} from '../support/match-arbitraries.ts';

type Tree =
  | { readonly agent: readonly Required<LocationLabels>[]; readonly cordoned: boolean }
  | { readonly below: readonly Tree[]; readonly form: 'sets' | 'keys' | 'fewKeys' | 'ranges' };

const agent = fc.record({ agent: places, cordoned: fc.constantFrom(false, false, false, false, true) });
/** Five levels: a relay has relays and agents below it. */
const tree = [1, 2, 3, 4].reduce<fc.Arbitrary<Tree>>(
  (child) =>
    fc.record({
      below: fc.array(fc.oneof(child, agent), { maxLength: 3, size: 'max' }),
      form: fc.constantFrom('sets' as const, 'sets' as const, 'keys' as const, 'fewKeys' as const, 'ranges' as const),
    }),
  agent,
);

const forms = { sets: (summary: LabelSummary) => summary, keys: byKey, fewKeys: byFewKeys, ranges: byRange };

interface Seen {
  readonly summary: LabelSummary;
  readonly agents: readonly Child[];
  /** Some summary at or below this node has lost its sets. */
  readonly isRough: boolean;
}

/** Every subtree with its summary, as it was reported hop by hop, and its agents. */
function* levels(node: Tree, name: string): Generator<Seen, Seen> {
  if ('agent' in node) {
    const child = agentChild(name, node.agent, node.cordoned);
    return { summary: summaryOf(child), agents: [child], isRough: false };
  }
  const parts: Seen[] = [];
  for (const [i, one] of node.below.entries()) parts.push(yield* levels(one, `${name}${i}`));
  const merged = mergeLabelSummaries(parts.map(({ summary }) => summary));
  const reportedSummary = decodeLabelSummary(encodeLabelSummary(forms[node.form](merged)));
  const isRough = node.form !== 'sets' || parts.some((part) => part.isRough);
  const seen = { summary: reportedSummary, agents: parts.flatMap(({ agents }) => agents), isRough };
  yield seen;
  return seen;
}

const everywhere = { id: 's/p', source: 's', name: 'p', locationSelectors: [{}], children: new Set<string>() };
const figures = { asked: 0, none: 0, forwardedInVain: 0, certain: 0 };

describe('a node’s decision about a subtree by its label summary', () => {
  afterAll(() => {
    const { asked, none, forwardedInVain, certain } = figures;
    process.stdout.write(
      `pruning: ${asked} decisions; ${none} subtrees without a match, ${forwardedInVain} of them not pruned; ${certain} exact counts\n`,
    );
  });

  it('never excludes a destination that matches, and counts exactly where it gives a count', () => {
    fc.assert(
      fc.property(tree, placement, (root, rule) => {
        for (const { summary, agents, isRough } of levels(root, 'n')) {
          const relay: Child = { name: 'relay', role: 'relay', destinations: [], labels: summary };
          // A cordoned agent may have the placement from before.
          const could = agents.filter(
            (agent) => matchChild({ ...rule, children: new Set([agent.name]) }, agent).matches,
          );
          const certain = could.filter((agent) => !isCordoned(agent)).length;
          const { matches, expected } = matchChild(rule, relay);
          figures.asked++;
          if (could.length > 0) expect(matches).toBe(true);
          else figures.none++;
          if (expected !== undefined) {
            expect(expected).toBe(certain);
            figures.certain++;
          }
          if (could.length === 0 && matches) figures.forwardedInVain++;
          const isKnown = !isRough && certain === could.length && usesSummaryDataOnly(rule);
          if (isKnown) expect({ matches, expected }).toEqual({ matches: could.length > 0, expected: could.length });
        }
      }),
      { numRuns: 2_000 },
    );
    expect(figures.certain).toBeGreaterThan(figures.asked / 4);
  });

  it('never excludes a number within a range', () => {
    fc.assert(
      fc.property(fc.array(places, { minLength: 1, maxLength: 3 }), comparison, (all, locationExpression) => {
        const agents = all.map((one, i) => agentChild(`n${i}`, one));
        const labels = byRange(mergeLabelSummaries(agents.map(summaryOf)));
        const rule = { ...everywhere, locationExpression };
        if (!agents.some((one) => matchChild(rule, one).matches)) return;
        expect(matchChild(rule, { name: 'relay', role: 'relay', destinations: [], labels }).matches).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});
