import { describe, expect, it } from 'vitest';
import { boards } from '../crd/support.ts';
import { placement, refusal, testSpace } from './space-support.ts';

const everywhere = { locationSelectors: [{ matchLabels: { env: 'prod' } }] };
const comesFirst =
  'A kind of a CustomResourceDefinition is known once its definition has been applied: apply that first';

function refused(spec: object, type: 'Workload' | 'System' = 'Workload'): string {
  const { space } = testSpace(type);
  return refusal(() => space.create(placement({ ...everywhere, ...spec }))).message;
}

describe('an EdgePlacement that names a resource which the space does not have', () => {
  it('is refused with the nearest name', () => {
    expect(refused({ downsync: [{ apiGroup: 'apps', resources: ['deploymnets'], namespaces: ['shop'] }] })).toBe(
      `EdgePlacement.edge.banyan.io "shop" is invalid: spec.downsync[0].resources[0]: Invalid value: "deploymnets": this space has no resource of this plural name in API group "apps"; did you mean "deployments"? ${comesFirst}`,
    );
  });

  it.each(['Deployment', 'deployment', 'deploy'])('is refused with the plural of %s', (resource) => {
    expect(refused({ downsync: [{ apiGroup: 'apps', resources: [resource] }] })).toContain(
      'did you mean "deployments"?',
    );
  });

  it('is refused if objects of the resource stay in their space', () => {
    expect(refused({ downsync: [{ apiGroup: 'edge.banyan.io', resources: ['edgeplacements'] }] })).toContain(
      'spec.downsync[0].resources[0]: Invalid value: "edgeplacements": objects of this resource stay in their space',
    );
    expect(refused({ downsync: [{ apiGroup: '*', resources: ['customizers'] }] })).toContain('stay in their space');
  });

  it('is refused with the right API group', () => {
    expect(refused({ downsync: [{ apiGroup: '', resources: ['deployments'] }] })).toContain(
      'did you mean apiGroup "apps"?',
    );
  });

  it('is refused with the nearest API group', () => {
    const message = refused({ downsync: [{ apiGroup: 'app', resources: ['*'] }] });
    expect(message).toContain(
      'spec.downsync[0].apiGroup: Invalid value: "app": this space has no kind of API group "app"; did you mean "apps"?',
    );
  });

  it('is accepted after the definition has been applied, and not before', () => {
    const { space } = testSpace();
    const epl = placement({ ...everywhere, downsync: [{ apiGroup: 'shop.example.com', resources: ['boards'] }] });
    expect(refusal(() => space.create(epl)).message).toContain(comesFirst);
    space.create(boards({ type: 'object' }));
    expect(space.create(epl).metadata.generation).toBe(1);
  });

  it('can still be edited when the definition has gone', () => {
    const { space, settle } = testSpace();
    space.create(boards({ type: 'object' }));
    const epl = space.create(
      placement({ ...everywhere, downsync: [{ apiGroup: 'shop.example.com', resources: ['boards'] }] }),
    );
    space.delete({
      group: 'apiextensions.k8s.io',
      resource: 'customresourcedefinitions',
      namespace: '',
      name: 'boards.shop.example.com',
    });
    settle();
    const next = space.update({ ...epl, spec: { ...(epl.spec as object), priority: 1 } });
    expect(next.metadata.generation).toBe(2);
  });
});

describe('rules of an EdgePlacement', () => {
  it.each([
    [{ downsync: [] }],
    [{ downsync: [{ apiGroup: '*', resources: ['*'] }] }],
    [{ downsync: [{ resources: ['pods'] }, { apiGroup: 'apps' }] }],
    [{ upsync: [{ apiGroup: 'wgpolicyk8s.io', resources: ['policyreports'] }] }],
  ])('%j are valid', (spec) => {
    expect(testSpace().space.create(placement({ ...everywhere, ...spec })).metadata.uid).toBeDefined();
  });

  it.each([
    [
      { matchExpressions: [{ key: 'a', operator: 'In' }] },
      "values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
    ],
    [
      { matchExpressions: [{ key: 'a', operator: 'Exists', values: ['x'] }] },
      "values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
    ],
    [{ matchExpressions: [{ key: 'a', operator: 'Gt', values: ['x'] }] }, 'must be one integer'],
    [
      { matchExpressions: [{ key: 'a b', operator: 'Exists' }] },
      'matchExpressions[0].key: Invalid value: "a b": name part must consist of',
    ],
    [{ matchLabels: { a: 'x y' } }, 'matchLabels[a]: Invalid value: "x y": a valid label must be'],
  ])('%j are invalid selectors', (selector, message) => {
    expect(refused({ locationSelectors: [selector] })).toContain(message);
    expect(refused({ downsync: [{ resources: ['pods'], labelSelectors: [selector] }] })).toContain(
      `spec.downsync[0].labelSelectors[0]`,
    );
  });

  it('have an expression that compiles', () => {
    expect(refused({ locationExpression: 'path ==' })).toContain(
      'spec.locationExpression: Invalid value: "path ==": compilation failed: ',
    );
    expect(refused({ locationExpression: 'path' })).toContain('must be of type bool, is string');
    expect(refused({ locationExpression: 'pathh == ""' })).toContain('unknown variable: pathh');
  });

  it('have an expression that costs little wherever it is evaluated', () => {
    const loops = (...names: string[]) =>
      `${names.map((name) => `properties.all(${name}, `).join('')}${names.join(' + ')} != "x"${')'.repeat(names.length)}`;
    expect(refused({ locationExpression: loops('a', 'b', 'c') })).toContain(
      'costs too much at a destination with 256 labels and 256 properties; use fewer nested loops',
    );
    for (const locationExpression of [loops('a', 'b'), 'properties["nowhere"] == "x"']) {
      const { space } = testSpace('Workload');
      expect(space.create(placement({ locationExpression })).metadata.name).toBe('shop');
    }
  });
});

describe('a Location', () => {
  it('has a valid instance selector', () => {
    const { space } = testSpace('System');
    const location = (operator: string) => ({
      apiVersion: 'inventory.banyan.io/v1alpha1',
      kind: 'Location',
      metadata: { name: 'store-17' },
      spec: { instanceSelector: { matchExpressions: [{ key: 'a', operator }] } },
    });
    expect(refusal(() => space.create(location('In'))).message).toContain(
      'spec.instanceSelector.matchExpressions[0].values: Required value',
    );
    expect(space.create(location('Exists')).metadata.name).toBe('store-17');
  });
});
