import { describe, expect, it } from 'vitest';
import type { Space } from '../../../../../core/apiserver/space.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { refusal, testSpace } from './space-support.ts';

const apiVersion = 'mesh.banyan.io/v1alpha1';
const user = { name: 'jo', groups: ['system:masters'] };

function object(kind: string, name: string, spec: object, more: object = {}): KubeObject {
  return { apiVersion, kind, metadata: { name, ...more }, spec } as KubeObject;
}

const own = [
  object('Space', 'retail', { type: 'Workload' }),
  object('Node', 'eu', { path: 'eu', role: 'Relay' }),
  object('Mailbox', 'eu', { path: 'eu' }),
];

/** A system space with the objects that its node has written. */
function system(path = ''): Space {
  const { space } = testSpace('System', path);
  for (const one of own) space.create(one);
  return space;
}

const named: Readonly<Record<string, { resource: string; remedy: RegExp }>> = {
  Space: { resource: 'spaces', remedy: /: to change another field, delete the Space and create it again/ },
  Node: { resource: 'nodes', remedy: /: the node writes its Node objects; / },
  Mailbox: { resource: 'mailboxes', remedy: /: the node writes its Mailbox objects; / },
};

it.each(own.filter(({ kind }) => kind !== 'Space').map((one) => [one.kind, one] as const))(
  'a person can create no %s, and reads what to do instead',
  (kind, written) => {
    const { resource, remedy } = named[kind]!;
    const space = system();
    const { code, message, details } = refusal(() =>
      space.create(object(kind, 'new', written.spec as object), { user }),
    );
    expect([code, details.name, details.kind]).toEqual(['Forbidden', 'new', resource]);
    expect(message).toMatch(/^\w+\.mesh\.banyan\.io "new" is forbidden: /);
    expect(message).toMatch(remedy);
    expect(space.get({ group: 'mesh.banyan.io', resource, namespace: '', name: 'new' })).toBeUndefined();
  },
);

describe.each(own.map((one) => [one.kind, one] as const))('of a %s', (kind, written) => {
  const { remedy } = named[kind]!;
  const patch = (space: Space, change: object, options = {}) =>
    space.patch(space.keyOf(written), { type: 'merge', patch: change } as never, { user, ...options });

  it('a person can change no field that the node writes', () => {
    const space = system();
    const change = kind === 'Space' ? { provider: { type: 'Embedded' } } : { path: 'us' };
    expect(refusal(() => patch(space, { spec: change })).code).toBe('Forbidden');
    const apply = { ...written, spec: { ...(written.spec as object), ...change } } as KubeObject;
    expect(refusal(() => space.apply(apply, { user, fieldManager: 'jo', force: true })).code).toBe('Forbidden');
    const status = { status: { conditions: [] } };
    expect(refusal(() => patch(space, status, { subresource: 'status' })).message).toMatch(remedy);
  });

  it('a person can change labels and annotations, and write the same object again', () => {
    const space = system();
    expect(patch(space, { metadata: { labels: { team: 'till' } } }).metadata.labels).toEqual({ team: 'till' });
    const now = space.get(space.keyOf(written))!;
    expect(space.update(now, { user }).metadata.resourceVersion).toBe(now.metadata.resourceVersion);
  });

  it('the node can still write', () => {
    const space = system();
    const now = space.get(space.keyOf(written))!;
    space.update({ ...now, status: { conditions: [] } }, { subresource: 'status' });
    space.delete(space.keyOf(written));
    expect(space.get(space.keyOf(written))).toBeUndefined();
  });
});

describe('a person who deletes', () => {
  it.each([['Mailbox', /delete the SyncTarget of the child/]])('a %s is refused', (kind, remedy) => {
    const space = system();
    const written = own.find((one) => one.kind === kind)!;
    expect(refusal(() => space.delete(space.keyOf(written), { user })).message).toMatch(remedy);
    expect(space.get(space.keyOf(written))).toBeDefined();
  });

  it('the Node of a child reads what this removes, and the Node of another node that it comes back', () => {
    const warningsAt = (path: string) => {
      const space = system(path);
      const warnings: string[] = [];
      space.delete(space.keyOf(own[1]!), { user, warn: (text) => warnings.push(text) });
      return warnings;
    };
    expect(warningsAt('')).toEqual([expect.stringMatching(/^this node forgets the child .* stay at their clusters$/)]);
    expect(warningsAt('eu')).toEqual([expect.stringMatching(/^this node writes the Node object again/)]);
  });

  it('a Space of the configuration is refused, and another one is deleted', () => {
    const { space } = testSpace('System');
    const named = object('Space', 'retail', { type: 'Workload' }, { annotations: { 'banyan.io/configured': 'true' } });
    const key = space.keyOf(space.create(named));
    expect(refusal(() => space.delete(key, { user })).message).toMatch(
      /take it out of `spaces` of the node in the topology/,
    );
    const other = space.keyOf(space.create(object('Space', 'shop', { type: 'Workload' }), { user }));
    space.delete(other, { user });
    expect([space.get(key), space.get(other)]).toEqual([expect.anything(), undefined]);
  });
});

it('a person approves held deletions in spec.approveHeldDeletions of a Node', () => {
  const space = system();
  const approval = object('Node', 'eu', { approveHeldDeletions: 'token' });
  expect(space.apply(approval, { user, fieldManager: 'banyan' }).spec).toEqual({
    path: 'eu',
    role: 'Relay',
    approveHeldDeletions: 'token',
  });
});

describe('a JoinToken', () => {
  const token = (path: string) =>
    object('JoinToken', 'one', { path, expires: '2030-01-01T00:00:00Z', hash: '0'.repeat(64) });

  it.each([
    ['', 'eu:paris', 'store-17'],
    ['eu:paris', 'eu:store-17', 'eu:paris:store-17'],
    ['eu:paris', 'eu:paris:a:b', 'eu:paris:store-17'],
    ['eu:paris', 'eu:paris:', 'eu:paris:store-17'],
  ])('at %j for %j would admit no agent', (at, path, example) => {
    const { code, message } = refusal(() => system(at).create(token(path), { user }));
    expect([code, message]).toEqual([
      'Invalid',
      expect.stringContaining(`directly below it, such as ${example}: make`),
    ]);
  });

  it.each([
    ['', 'store-17'],
    ['eu:paris', 'eu:paris:store-17'],
  ])('at %j for %j is accepted', (at, path) => {
    expect(system(at).create(token(path), { user }).metadata.uid).toBeDefined();
  });
});
