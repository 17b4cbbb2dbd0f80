import { describe, expect, it } from 'vitest';
import { board, boards } from '../crd/support.ts';
import { refusal, testSpace } from './space-support.ts';

const crds = { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' };
const resource = { group: 'shop.example.com', resource: 'boards' };

describe('the kinds of a space', () => {
  it('are the built-in ones and its own', () => {
    const { kinds } = testSpace();
    expect(kinds.byKind('apps', 'v1', 'Deployment')?.resource).toBe('deployments');
    expect(kinds.byResource({ group: 'edge.banyan.io', resource: 'edgeplacements' })?.kind).toBe('EdgePlacement');
    expect(kinds.byResource({ group: 'mesh.banyan.io', resource: 'nodes' })).toBeUndefined();
    expect(testSpace('System').kinds.byKind('mesh.banyan.io', '', 'Node')?.versions).toEqual(['v1alpha1']);
  });

  it('grow at once with a definition, and shrink with it', () => {
    const { space, kinds, settle } = testSpace();
    const before = kinds.generation;
    space.create(boards({ type: 'object' }));
    expect(kinds.byKind('shop.example.com', 'v1', 'Board')?.resource).toBe('boards');
    expect(kinds.byKind('shop.example.com', 'v2', 'Board')).toBeUndefined();
    expect(kinds.generation).toBeGreaterThan(before);
    settle();
    space.delete({ ...crds, namespace: '', name: 'boards.shop.example.com' });
    settle();
    expect(kinds.byResource(resource)).toBeUndefined();
  });

  it('follow a definition that changes', () => {
    const { space, kinds } = testSpace();
    const definition = space.create(boards({ type: 'object' }));
    const next = boards({ type: 'object', properties: { rows: { type: 'integer' } } });
    space.update({ ...next, metadata: definition.metadata });
    expect(kinds.byResource(resource)?.rules.prepare(board({ rows: 1, x: 1 }), 'v1')).toEqual(['spec.x']);
  });

  it('stay the same object when only the status of a definition changes', () => {
    const { space, kinds, settle } = testSpace();
    space.create(boards({ type: 'object' }));
    settle();
    const [kind, generation] = [kinds.byResource(resource), kinds.generation];
    space.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', namespace: 'shop' } });
    expect(kinds.generation).toBe(generation);
    expect(kinds.byResource(resource)).toBe(kind);
  });

  it('validate, prune and default custom objects as the definition says', () => {
    const { space } = testSpace();
    const currency = { type: 'string', pattern: '^[A-Z]{3}$' };
    space.create(
      boards({
        type: 'object',
        required: ['currency'],
        properties: { currency, seconds: { type: 'integer', default: 30 } },
      }),
    );
    expect(space.create(board({ currency: 'EUR', x: 1 })).spec).toEqual({ currency: 'EUR', seconds: 30 });
    const error = refusal(() =>
      space.create({ ...board({ currency: 'eur' }), metadata: { name: 'c', namespace: 'shop' } }),
    );
    expect(error.message).toBe(
      `Board.shop.example.com "c" is invalid: spec.currency: Invalid value: "eur": spec.currency in body should match '^[A-Z]{3}$'`,
    );
  });
});
