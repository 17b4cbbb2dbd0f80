import { describe, expect, it } from 'vitest';
import type { WriteOptions } from '../../../../core/apiserver/space.ts';
import { placementId } from '../../../../core/entries/placement-id.ts';
import { exactSetsMax, mergeLabelSummaries } from '../../../../core/match/label-summary.ts';
import type { Labels } from '../../../../core/object/selector.ts';
import type { Child } from '../../../../relay/children/children.ts';
import { placementOf } from '../../../../relay/placements/read-placement.ts';
import { dryRunPreview } from '../../../../relay/plan/dry-run.ts';
import { previewPlaces, previewText } from '../../../../relay/plan/place-preview.ts';
import { factsOf } from '../support/facts.ts';

const id = placementId('center.retail', 'web');
const prod: Labels = { env: 'prod' };
const dev: Labels = { env: 'dev' };

function agent(name: string, labels: Labels, cordoned = false): Child {
  const destination = {
    location: name,
    syncTargetUid: name,
    labels,
    facts: factsOf(name, labels),
    evaluate: () => false,
  };
  return { name, role: 'agent', destinations: [cordoned ? { ...destination, cordoned } : destination] };
}

function relay(name: string, all: readonly Labels[]): Child {
  const labels = mergeLabelSummaries(all.map((one) => ({ leaves: 1, sets: [{ labels: one, leaves: 1 }] })));
  return { name, role: 'relay', destinations: [], labels };
}

const ports = (children: readonly Child[], present?: Labels, attached: readonly string[] = []) => ({
  children: new Map(children.map((child) => [child.name, child])),
  pathOf: (child: string) => `all:${child}`,
  present: () => present && placementOf(id, { locationSelectors: [{ matchLabels: present }] }, new Set(attached)),
  boundsOf: () => undefined,
});
const spec = (labels: Labels) => ({ locationSelectors: [{ matchLabels: labels }] });
const tree = [agent('hq', prod), agent('lab', dev), relay('eu', [prod, prod, dev]), relay('us', [prod])];

describe('the preview of a placement', () => {
  it('has the numbers by child, with the agents directly below the node as one part', () => {
    const preview = previewPlaces(ports(tree), id, spec(prod));
    expect(previewText(preview)).toBe('4 places (+4): directly below this node 1, all:eu 2, all:us 1');
  });

  it('compares with the present placement: what joins and what leaves', () => {
    const preview = previewPlaces(ports(tree, prod), id, spec(dev));
    expect(previewText(preview)).toBe('2 places (+2, -4): directly below this node 1, all:eu 1');
    expect(previewText(previewPlaces(ports(tree, prod), id, spec(prod)))).toBe(
      '4 places: directly below this node 1, all:eu 2, all:us 1',
    );
  });

  it('counts a cordoned agent only if it has the placement', () => {
    const children = [agent('hq', prod, true), agent('lab', prod)];
    expect(previewText(previewPlaces(ports(children), id, spec(prod)))).toBe(
      '1 place (+1): directly below this node 1',
    );
    expect(previewText(previewPlaces(ports(children, prod, ['hq', 'lab']), id, spec({})))).toBe(
      '2 places: directly below this node 2',
    );
  });

  it('adds the replicas of a relay up', () => {
    const replicas = [relay('eu', [prod]), relay('eu~1', [prod, prod])];
    expect(previewText(previewPlaces(ports(replicas), id, spec(prod)))).toBe('3 places (+3): all:eu 3');
  });

  it('has bounds where a summary does not know the number, and names relays that have not reported', () => {
    const many = relay(
      'us',
      Array.from({ length: exactSetsMax + 1 }, (_, i) => ({ ...prod, site: `${i}` })),
    );
    const silent: Child = { name: 'asia', role: 'relay', destinations: [] };
    const preview = previewPlaces(ports([agent('hq', prod), many, silent]), id, spec(prod));
    expect(previewText(preview)).toBe(
      `1 to ${exactSetsMax + 2} places (+1 to ${exactSetsMax + 2}): directly below this node 1, all:us at most ${exactSetsMax + 1}; without all:asia, which has not reported its Locations yet`,
    );
  });
});

describe('a dry run', () => {
  const object = (kind = 'edgeplacements') => ({
    key: { group: 'edge.banyan.io', resource: kind, namespace: '', name: 'web' },
    value: {
      apiVersion: 'edge.banyan.io/v1alpha1',
      kind: 'EdgePlacement',
      metadata: { name: 'web' },
      spec: spec(prod),
      status: { matchingLocationCount: 9, observedGeneration: 3 },
    },
  });
  const shown = (children: readonly Child[], options: WriteOptions = {}, kind?: string) => {
    const warnings: string[] = [];
    const { key, value } = object(kind);
    dryRunPreview(ports(children), 'center.retail')(key, value, { warn: (text) => warnings.push(text), ...options });
    return { warnings, status: value.status };
  };

  it('of a placement warns with the text, and has text and number in its status', () => {
    expect(shown(tree)).toEqual({
      warnings: [
        'dry run: EdgePlacement "web" would match 4 places (+4): directly below this node 1, all:eu 2, all:us 1',
      ],
      status: {
        matchingLocationCount: 4,
        observedGeneration: 3,
        display: 'would match 4 places (+4): directly below this node 1, all:eu 2, all:us 1',
      },
    });
  });

  it('has no number in the status if the number is not exact', () => {
    const silent: Child = { name: 'asia', role: 'relay', destinations: [] };
    expect(shown([silent]).status).not.toHaveProperty('matchingLocationCount');
  });

  it('of another kind or of a status shows nothing', () => {
    expect(shown(tree, {}, 'customizers').warnings).toEqual([]);
    expect(shown(tree, { subresource: 'status' }).warnings).toEqual([]);
  });
});
