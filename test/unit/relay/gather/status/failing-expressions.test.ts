import { describe, expect, it } from 'vitest';
import { checkLocationExpression } from '../../../../../core/apiserver/kinds/location-expression-check.ts';
import {
  type LabelSummary,
  type LocationLabels,
  mergeLabelSummaries,
} from '../../../../../core/match/label-summary.ts';
import type { Child } from '../../../../../relay/children/children.ts';
import { FailingExpressions, withExpression } from '../../../../../relay/gather/status/failing-expressions.ts';
import type { Placement } from '../../../../../relay/placements/placement.ts';
import { agentChild, byKey, summaryOf } from '../../support/match-arbitraries.ts';

const at = (env: string, properties: Record<string, string> = {}): Required<LocationLabels> => ({
  labels: { env },
  properties,
  targetLabels: {},
});
const relay = (
  name: string,
  below: readonly Required<LocationLabels>[],
  form = (labels: LabelSummary) => labels,
): Child => {
  const labels = mergeLabelSummaries(below.map((one) => summaryOf(agentChild('x', [one]))));
  return { name, role: 'relay', destinations: [], labels: form(labels) };
};
const green = 'double(properties["carbon"]) < 100.0';
const placement = (locationExpression?: string): Placement => ({
  id: 's/p',
  source: 's',
  name: 'p',
  locationSelectors: [{ matchLabels: { env: 'prod' } }],
  ...(locationExpression === undefined ? {} : { locationExpression }),
  children: new Set(),
});
function failuresOf(children: readonly Child[], locationExpression?: string) {
  return new FailingExpressions('eu', new Map(children.map((child) => [child.name, child]))).of(
    placement(locationExpression),
  );
}

describe('an expression that fails at some destinations', () => {
  it('is reported with their number, and with paths and causes of some', () => {
    const children = [
      agentChild('a', [at('prod', { carbon: '80' })]),
      agentChild('b', [at('prod')]),
      agentChild('c', [at('prod', { carbon: 'low' })]),
      relay('paris', [at('prod'), at('prod'), at('prod', { carbon: '120' })]),
    ];
    const failures = failuresOf(children, green)!;
    expect(failures.destinations).toBe(4);
    expect(failures.sample).toEqual([
      expect.stringMatching(/^2 below eu:paris: .*no such key: carbon/i),
      expect.stringMatching(/^eu:b: .*no such key: carbon/i),
      expect.stringMatching(/^eu:c: .*double/),
    ]);
  });

  it('is reported if it costs more than allowed, with the remedy for that, though admission has accepted it', () => {
    const dear = 'properties.all(a, properties.all(b, !(properties[a] + properties[b]).contains("x")))';
    expect(checkLocationExpression(dear, 'spec.locationExpression')).toEqual([]);
    const long = Object.fromEntries(Array.from({ length: 64 }, (_, i) => [`p${i}`, '-'.repeat(8_000)]));
    const children = [agentChild('a', [at('prod', long)]), agentChild('b', [at('prod', { short: '-' })])];
    const failures = failuresOf(children, dear)!;
    expect(failures).toEqual({
      destinations: 1,
      sample: ['eu:a: expression exceeds its cost limit; use fewer loops inside of others, or shorter lists and texts'],
    });
    expect(withExpression([], failures, 1, '2026-01-01T00:00:00Z')[0]!.message).toBe(
      `spec.locationExpression fails at one destination, which does not match for this reason. ${failures.sample[0]}`,
    );
  });

  it('is reported by at most three', () => {
    const children = ['a', 'b', 'c', 'd'].map((name) => agentChild(name, [at('prod')]));
    expect(failuresOf(children, green)).toMatchObject({ destinations: 4, sample: { length: 3 } });
  });

  it('is not reported if no selector selects, if another Location matches, or if the result is uncertain', () => {
    const children = [
      agentChild('a', [at('test')]),
      agentChild('b', [at('prod'), at('prod', { carbon: '80' })]),
      relay('paris', [at('prod')], byKey),
      relay('rome', [at('test')]),
    ];
    expect(failuresOf(children, green)).toEqual({ destinations: 0, sample: [] });
    expect(failuresOf([relay('paris', [at('prod')])], 'location.metadata.name == "x"')?.destinations).toBe(0);
  });

  it('is a condition while the placement has an expression', () => {
    const now = '2026-01-01T00:00:00Z';
    const failing = withExpression([], { destinations: 2, sample: ['eu:a: no such key: x'] }, 3, now);
    expect(failing).toMatchObject([{ type: 'ExpressionFailing', status: 'True', observedGeneration: 3 }]);
    expect(failing[0]?.message).toContain('fails at 2 destinations');
    expect(failing[0]?.message).toContain('eu:a: no such key: x');
    expect(withExpression(failing, { destinations: 0, sample: [] }, 3, now)).toMatchObject([{ status: 'False' }]);
    expect(withExpression(failing, failuresOf([]), 3, now)).toEqual([]);
  });
});
