import { describe, expect, it, vi } from 'vitest';
import { type CustomResourceDefinition, crdResource } from '../../../../../core/apiserver/crd/definition.ts';
import type { Space } from '../../../../../core/apiserver/space.ts';
import { testSpace } from '../kinds/space-support.ts';
import { board, boards } from './support.ts';

const key = { ...crdResource, namespace: '', name: 'boards.shop.example.com' };
const boardKey = { group: 'shop.example.com', resource: 'boards', namespace: 'shop', name: 'b' };

function named(
  plural: string,
  names: Partial<CustomResourceDefinition['spec']['names']> = {},
): CustomResourceDefinition {
  const definition = boards({ type: 'object' });
  const kind = plural[0]!.toUpperCase() + plural.slice(1, -1);
  definition.metadata.name = `${plural}.shop.example.com`;
  definition.spec.names = { plural, singular: plural.slice(0, -1), kind, listKind: `${kind}List`, ...names };
  return definition;
}

function conditions(space: Space, name: string): Record<string, string> {
  const object = space.get({
    ...crdResource,
    namespace: '',
    name: `${name}.shop.example.com`,
  }) as CustomResourceDefinition;
  return Object.fromEntries(
    object.status?.conditions?.map(({ type, status, message }) => [type, `${status} ${message}`]) ?? [],
  );
}

describe('a definition', () => {
  it('is established with its names and the version that is stored', () => {
    const { space, settle } = testSpace();
    space.create(boards({ type: 'object' }));
    settle();
    const definition = space.get(key) as CustomResourceDefinition;
    expect(definition.status).toMatchObject({
      acceptedNames: { plural: 'boards', singular: 'board', kind: 'Board', listKind: 'BoardList' },
      storedVersions: ['v1'],
      conditions: [
        { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' },
        { type: 'Established', status: 'True', reason: 'InitialNamesAccepted' },
      ],
    });
    expect(definition.metadata.finalizers).toEqual(['customresourcecleanup.apiextensions.k8s.io']);
  });

  it('is not written again once its status is right', () => {
    const { space, settle } = testSpace();
    space.create(boards({ type: 'object' }));
    settle();
    const before = space.storage.revision();
    settle();
    expect(space.storage.revision()).toBe(before);
  });

  it('records every version that was ever stored', () => {
    const { space, settle } = testSpace();
    space.create(boards({ type: 'object' }));
    settle();
    const definition = structuredClone(space.get(key)) as CustomResourceDefinition;
    const [v1] = definition.spec.versions;
    definition.spec.versions = [
      { ...v1!, storage: false },
      { ...v1!, name: 'v2' },
    ];
    space.update(definition);
    settle();
    expect((space.get(key) as CustomResourceDefinition).status?.storedVersions).toEqual(['v1', 'v2']);
  });

  it('whose short name is taken is not served until the other definition goes', () => {
    const { space, kinds, settle } = testSpace();
    space.create(named('boards', { shortNames: ['bo'] }));
    settle();
    space.create(named('boats', { shortNames: ['bo'] }));
    settle();
    expect(conditions(space, 'boats')).toEqual({
      NamesAccepted: 'False "bo" is already in use',
      Established: 'False not all names are accepted',
    });
    expect(kinds.byResource({ group: 'shop.example.com', resource: 'boats' })).toBeUndefined();
    space.delete(key);
    settle();
    expect(conditions(space, 'boats').Established).toContain('True');
    expect(kinds.byResource({ group: 'shop.example.com', resource: 'boats' })?.shortNames).toEqual(['bo']);
  });

  it('cannot replace a kind of the space, nor delete its objects when it goes', () => {
    const { space, settle } = testSpace();
    const taking = boards({ type: 'object' });
    taking.metadata.name = 'edgeplacements.edge.banyan.io';
    taking.spec.group = 'edge.banyan.io';
    taking.spec.scope = 'Cluster';
    taking.spec.names = { plural: 'edgeplacements', singular: 'x', kind: 'X', listKind: 'XList' };
    space.create({
      apiVersion: 'edge.banyan.io/v1alpha1',
      kind: 'EdgePlacement',
      metadata: { name: 'shop' },
      spec: { locationSelectors: [{}] },
    });
    space.create(taking);
    settle();
    const at = { ...crdResource, namespace: '', name: 'edgeplacements.edge.banyan.io' };
    expect((space.get(at) as CustomResourceDefinition).status?.conditions?.[0]).toMatchObject({
      status: 'False',
      reason: 'PluralConflict',
    });
    space.delete(at);
    settle();
    expect(space.get(at)).toBeUndefined();
    expect(
      space.get({ group: 'edge.banyan.io', resource: 'edgeplacements', namespace: '', name: 'shop' }),
    ).toBeDefined();
  });
});

describe('the deletion of a definition', () => {
  it('deletes its objects too', () => {
    const { space, kinds, settle } = testSpace();
    space.create(boards({ type: 'object' }));
    settle();
    for (let index = 0; index < 600; index++)
      space.create({ ...board({}), metadata: { name: `b${index}`, namespace: 'shop' } });
    space.delete(key);
    settle();
    expect(space.get(key)).toBeUndefined();
    expect(kinds.byResource(boardKey)).toBeUndefined();
    expect(space.storage.scan(boardKey)).toEqual([]);
  });

  it('reads no other definition again', () => {
    const { space, settle } = testSpace();
    const names = Array.from({ length: 26 }, (_, index) => `${String.fromCharCode(97 + index)}oards`);
    for (const name of names) space.create(named(name));
    settle();
    space.create(board({}));
    const parse = vi.spyOn(space, 'parse');
    space.delete(key);
    settle();
    expect(space.get(key)).toBeUndefined();
    expect(parse.mock.calls.map(([{ key: read }]) => read.name).filter((name) => name.startsWith('coards'))).toEqual(
      [],
    );
    space.create(named('zzoards'));
    settle();
    expect(parse.mock.calls.filter(([{ key: read }]) => read.name.startsWith('coards'))).toHaveLength(0);
  });

  it('waits for objects that have finalizers', () => {
    const { space, settle } = testSpace();
    space.create(boards({ type: 'object' }));
    settle();
    const kept = board({});
    kept.metadata.finalizers = ['shop.example.com/hold'];
    space.create(kept);
    space.delete(key);
    settle();
    const waiting = space.get(boardKey);
    expect(space.get(key)?.metadata.deletionTimestamp).toBeDefined();
    expect(waiting?.metadata.deletionTimestamp).toBeDefined();
    space.update({ ...waiting!, metadata: { ...waiting!.metadata, finalizers: [] } });
    settle();
    expect(space.get(key)).toBeUndefined();
  });
});
