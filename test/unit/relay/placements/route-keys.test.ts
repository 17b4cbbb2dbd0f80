import { describe, expect, it } from 'vitest';
import type { Placement } from '../../../../relay/placements/placement.ts';
import { routeKeysOf } from '../../../../relay/placements/route-keys.ts';

const rule = (locationExpression: string): Placement => ({
  id: 's/p',
  source: 's',
  name: 'p',
  locationSelectors: [{ matchLabels: { env: 'prod' } }, { matchExpressions: [{ key: 'tier', operator: 'Exists' }] }],
  locationExpression,
  children: new Set(),
});

describe('the keys of a placement', () => {
  it('are those of its selectors and those that its expression reads', () => {
    const source =
      'properties["a.b"] == "x" && has(location.metadata.labels.zone) && syncTarget.metadata.labels.k == "v"';
    expect([...routeKeysOf(rule(source))].sort()).toEqual([
      'labels/env',
      'labels/tier',
      'labels/zone',
      'properties/a.b',
      'targetLabels/k',
    ]);
  });

  it('include those of its waves: a Location with a changed value may belong to another wave', () => {
    const waveSelectors = [{ matchLabels: { ring: 'canary' } }];
    expect([...routeKeysOf({ ...rule('true'), waveSelectors })]).toEqual(['labels/env', 'labels/tier', 'labels/ring']);
  });

  it('are the whole map if a key is computed, and everything else of an object', () => {
    expect([...routeKeysOf(rule('"a" in properties'))]).toContain('properties/*');
    expect([...routeKeysOf(rule('location.metadata.name == "a"'))]).toContain('*');
    expect([...routeKeysOf(rule('syncTarget.spec.properties.a == "a"'))]).toContain('properties/a');
  });
});
