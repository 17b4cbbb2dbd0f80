import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { SchemaProps } from '../../../../../core/apiserver/crd/definition.ts';
import { checkDefinition } from '../../../../../core/apiserver/crd/definition-admission.ts';
import { edgePlacementDefinition } from '../../../../../core/apiserver/kinds/edge-kinds.ts';
import { ownDefinitions, ownKinds } from '../../../../../core/apiserver/kinds/kinds-of-space.ts';
import type { Kind } from '../../../../../core/apiserver/space.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { display } from '../../../../../relay/gather/status/placement-status.ts';

const folder = new URL('../../../../../docs/reference/', import.meta.url);
const examples = readdirSync(folder)
  .filter((name) => name.endsWith('.yaml'))
  .map((name) => parse(readFileSync(new URL(name, folder), 'utf8')) as KubeObject)
  .filter((object) => object.apiVersion.includes('banyan.io/'));
const kinds = [...ownKinds('Workload'), ...ownKinds('System')];

function kindOf(object: KubeObject): Kind {
  const kind = kinds.find((found) => found.kind === object.kind);
  if (!kind) throw new Error(`no kind ${object.kind}`);
  return kind;
}

function causes(object: KubeObject): string[] {
  const { rules } = kindOf(object);
  rules.prepare(object, 'v1alpha1');
  return rules.validate(object, 'v1alpha1').map(({ field, message }) => `${field}: ${message}`);
}

/** Places of defaults below a list. */
function defaultsInLists(schema: SchemaProps, place: string, isInList = false): string[] {
  const below = [
    ...Object.entries(schema.properties ?? {}).flatMap(([name, one]) =>
      defaultsInLists(one, `${place}.${name}`, isInList),
    ),
    ...(schema.items ? defaultsInLists(schema.items, `${place}[]`, true) : []),
    ...(typeof schema.additionalProperties === 'object'
      ? defaultsInLists(schema.additionalProperties, `${place}{}`, isInList)
      : []),
  ];
  return isInList && schema.default !== undefined ? [place, ...below] : below;
}

describe('the definitions of the mesh', () => {
  it('have no defaults below lists: kubectl apply would see a change in such a list each time', () => {
    const found = ownDefinitions.flatMap(({ spec }) =>
      spec.versions.flatMap(({ schema }) => defaultsInLists(schema!.openAPIV3Schema!, spec.names.kind)),
    );
    expect(found).toEqual([]);
  });

  it.each(ownDefinitions.map((definition) => [definition.metadata.name, definition] as const))(
    '%s is a valid CustomResourceDefinition',
    (_, definition) => {
      expect(checkDefinition(definition)).toEqual([]);
    },
  );

  it.each(kinds.map((kind) => [kind.kind, kind] as const))(
    '%s is in the category banyan, with a short name, descriptions and columns',
    (_, kind) => {
      expect(kind.categories).toEqual(['banyan']);
      expect(kind.shortNames).toHaveLength(1);
      expect(kind.columns('v1alpha1').at(-1)?.name).toBe('Age');
      expect(JSON.stringify(kind.openapi?.('v1alpha1'))).toMatch(/^\{"type":"object","description":"[A-Z]/);
    },
  );

  it('are cluster-scoped except Customizers, which a team keeps beside its objects', () => {
    expect(kinds.filter((kind) => kind.namespaced).map((kind) => kind.kind)).toEqual(['Customizer']);
  });

  it('have no plural, kind or short name twice in one type of space', () => {
    for (const type of ['Workload', 'System', 'Inventory'] as const) {
      const names = ownKinds(type).flatMap((kind) => [kind.resource, ...kind.shortNames]);
      expect(new Set(names).size).toBe(names.length);
    }
  });
});

describe('the reference', () => {
  it('has an example of each kind', () => {
    expect(new Set(examples.map((example) => example.kind))).toEqual(new Set(kinds.map((kind) => kind.kind)));
  });

  it.each(examples.map((example) => [example.kind, example] as const))(
    'has a valid %s without unknown fields',
    (_, example) => {
      const { rules } = kindOf(example);
      expect(rules.prepare(example, 'v1alpha1')).toEqual([]);
      expect(rules.validate(example, 'v1alpha1')).toEqual([]);
    },
  );
});

function placement(spec: object): KubeObject {
  return { apiVersion: 'edge.banyan.io/v1alpha1', kind: 'EdgePlacement', metadata: { name: 'shop' }, spec };
}

describe('an EdgePlacement', () => {
  const needed =
    'spec.locationSelectors: Required value: at least one label selector is needed unless spec.locationExpression is given; matchLabels: {} selects every Location';

  it.each([[{}], [{ locationSelectors: [] }]])('requires a location selector: %j', (spec) => {
    expect(causes(placement(spec))).toEqual([needed]);
  });

  it('requires none beside an expression', () => {
    expect(causes(placement({ locationExpression: 'true' }))).toEqual([]);
  });

  it('names a wrong operator and the right ones', () => {
    const spec = { locationSelectors: [{ matchExpressions: [{ key: 'env', operator: 'Near', values: ['prod'] }] }] };
    expect(causes(placement(spec))).toEqual([
      'spec.locationSelectors[0].matchExpressions[0].operator: Unsupported value: "Near": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"',
      '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
    ]);
  });

  it('refuses a limit below 1', () => {
    const spec = { locationSelectors: [{}], associated: [{ resources: ['pods'], limit: 0 }] };
    expect(causes(placement(spec))).toEqual([
      'spec.associated[0].limit: Invalid value: 0: spec.associated[0].limit in body should be greater than or equal to 1',
    ]);
  });

  it('has defaults, and reports unknown fields', () => {
    const object = placement({ locationSelectors: [{}], surprise: {}, downsync: [{ resource: ['pods'] }] });
    expect(kindOf(object).rules.prepare(object, 'v1alpha1')).toEqual(['spec.surprise', 'spec.downsync[0].resource']);
    expect(object.spec).toMatchObject({ wantSingletonReportedState: false, priority: 0 });
  });

  it('accepts the status that the node writes', () => {
    const counts = {
      expected: 4,
      fresh: 4,
      stale: 0,
      never: 0,
      quarantined: 0,
      synced: 4,
      applied: 4,
      available: 4,
      failed: 0,
      conflicted: 0,
      outdated: 0,
    };
    const object: KubeObject = {
      ...placement({ locationSelectors: [{}] }),
      status: {
        observedGeneration: 1,
        matchingLocationCount: 4,
        summary: { ...counts, oldestSince: '2026-01-01T00:00:00Z' },
        display: display(counts),
        failures: [{ path: 'eu:paris:store-17', object: 'deployments.apps shop/till', reason: 'x', message: 'y' }],
        conditions: [
          {
            type: 'Ready',
            status: 'True',
            reason: 'AllAvailable',
            message: '',
            lastTransitionTime: '2030-01-01T00:00:00Z',
            observedGeneration: 1,
          },
        ],
      },
    };
    expect(kindOf(object).rules.prepare(object, 'v1alpha1')).toEqual([]);
    expect(causes(object)).toEqual([]);
  });

  it('supports kubectl wait, and has columns', () => {
    expect(
      edgePlacementDefinition.spec.versions[0]?.additionalPrinterColumns?.map(({ name }) => name).slice(0, 3),
    ).toEqual(['Display', 'Ready', 'Reason']);
  });
});

describe('a SinglePlacementSlice', () => {
  it('has at most 1,000 entries in all', () => {
    const slice = (destinations: number, subtrees: number): KubeObject => ({
      apiVersion: 'edge.banyan.io/v1alpha1',
      kind: 'SinglePlacementSlice',
      metadata: { name: 'shop-0' },
      destinations: Array.from({ length: destinations }, (_, n) => ({
        locationName: `l${n}`,
        syncTargetName: `l${n}`,
        path: `l${n}`,
      })),
      subtrees: Array.from({ length: subtrees }, (_, n) => ({ path: `r${n}`, matched: n })),
    });
    expect(causes(slice(999, 1))).toEqual([]);
    expect(causes(slice(1000, 1))[0]).toContain('more than 1000 entries together');
    expect(causes(slice(1001, 0))[0]).toContain('Too many: 1001: must have at most 1000 items');
  });
});

describe('a Space', () => {
  const space = (spec: object): KubeObject => ({
    apiVersion: 'mesh.banyan.io/v1alpha1',
    kind: 'Space',
    metadata: { name: 'retail' },
    spec,
  });

  it('in a Kubernetes API server requires a kubeconfig', () => {
    expect(causes(space({ provider: { type: 'Kubernetes' } }))).toEqual([
      'spec: Invalid value: "object": a provider of type Kubernetes needs kubeconfigSecretRef',
    ]);
  });

  it('keeps its type', () => {
    const { rules } = kindOf(space({}));
    const found = rules.validate(space({ type: 'System' }), 'v1alpha1', space({ type: 'Workload' }));
    expect(found.map(({ message }) => message)).toEqual([
      'Invalid value: "object": the type of a space can not be changed',
    ]);
  });
});
