import { beforeEach, describe, expect, it } from 'vitest';
import type { Space } from '../../../../core/apiserver/space.ts';
import type { Json } from '../../../../core/object/meta.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import type { NodeSpaces } from '../../../../relay/spaces/node-spaces.ts';
import type { SpaceLimits } from '../../../../relay/spaces/space-settings.ts';
import { startedSpaces } from '../support/started-spaces.ts';

const spaceKey = { group: 'mesh.banyan.io', resource: 'spaces', namespace: '', name: 'tills' };
const tenant = { fieldManager: 'test', user: { name: 'tess', groups: [] } };
const mapKey = (name: string) => ({ group: '', resource: 'configmaps', namespace: 'default', name });

let store: MemoryStore;
let clock: VirtualClock;
let spaces: NodeSpaces;
let space: Space;

function start(): void {
  spaces = startedSpaces(store, [{ name: 'tills', type: 'Workload' }], clock);
  space = spaces.own('center.tills')!;
}

function limit(limits: SpaceLimits | null): void {
  spaces.system.patch(spaceKey, { type: 'merge', patch: { spec: { limits: limits as Json } } }, tenant);
}

function create(name: string, data = 'x', options: object = tenant): void {
  space.create(
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' }, data: { data } },
    options,
  );
}

function refusal(act: () => void): BanyanError | undefined {
  try {
    act();
  } catch (error) {
    if (error instanceof BanyanError) return error;
    throw error;
  }
  return undefined;
}

/** What the space really has. */
function stored() {
  const { storage } = space;
  const all = storage.resources().flatMap((resource) => storage.scan(resource));
  return { objects: all.length, bytes: all.reduce((sum, { body }) => sum + body.length, 0) };
}

const shown = () => (spaces.system.get(spaceKey)!.status as { usage?: object } | undefined)?.usage;

beforeEach(() => {
  store = new MemoryStore();
  clock = new VirtualClock();
  start();
});

describe('the number of objects of a space', () => {
  it('has a limit, which counts exactly, also after a start', () => {
    limit({ objects: stored().objects + 2 });
    create('a');
    create('b');
    const used = stored().objects;
    const error = refusal(() => create('c'))!;
    expect(error.code).toBe('Forbidden');
    expect(error.message).toBe(
      `configmaps "c" is forbidden: exceeded quota: Space tills (spec.limits.objects), requested: objects=1, used: objects=${used}, limited: objects=${used}: delete objects of the space, or ask those who run this node for more`,
    );
    spaces.close();
    start();
    expect(refusal(() => create('c'))?.code).toBe('Forbidden');
    space.delete(mapKey('a'), tenant);
    create('c');
    expect(refusal(() => create('d'))?.code).toBe('Forbidden');
  });

  it('can be lowered at once, which deletes nothing and lets changes and deletions pass', () => {
    create('a');
    limit({ objects: 1 });
    expect(refusal(() => create('b'))?.message).toContain('limited: objects=1');
    space.patch(mapKey('a'), { type: 'merge', patch: { data: { data: 'longer than before' } } }, tenant);
    space.delete(mapKey('a'), tenant);
    limit(null);
    create('b');
  });

  it('does not hold for the node itself, nor for a create that fails anyway', () => {
    limit({ objects: 0 });
    expect(refusal(() => create('a', 'x', {}))).toBeUndefined();
    expect(refusal(() => create('a'))?.code).toBe('AlreadyExists');
  });
});

describe('the bytes of a space', () => {
  it('have a limit for creates and for updates that grow', () => {
    create('a');
    limit({ bytes: stored().bytes + 100 });
    expect(refusal(() => create('b', 'x'.repeat(500)))?.message).toContain('spec.limits.bytes');
    const grow = () => space.patch(mapKey('a'), { type: 'merge', patch: { data: { data: 'x'.repeat(500) } } }, tenant);
    expect(refusal(grow)?.message).toMatch(/requested: bytes=\d+, used: bytes=\d+, limited: bytes=\d+/);
    limit({ bytes: stored().bytes + 499 });
    grow();
    expect(
      refusal(() => space.patch(mapKey('a'), { type: 'merge', patch: { data: { data: 'y' } } }, tenant)),
    ).toBeUndefined();
  });
});

describe('the status of a space', () => {
  it('shows what it stores, within a second, and nothing without limits', async () => {
    create('a');
    await clock.advance(2_000);
    expect(shown()).toBeUndefined();
    limit({ objects: 100 });
    await clock.advance(1_000);
    expect(shown()).toEqual(stored());
    create('b');
    space.delete(mapKey('a'), tenant);
    await clock.advance(1_000);
    expect(shown()).toEqual(stored());
    create('c');
    spaces.close();
    start();
    await clock.advance(1_000);
    expect(shown()).toEqual(stored());
    limit(null);
    await clock.advance(1_000);
    expect(shown()).toBeUndefined();
  });
});

describe('requests to a space', () => {
  const admit = (isWatch = false) => spaces.admitRequest({ space: 'tills' }, isWatch);

  it('have a rate, and a refusal says when to try again', async () => {
    limit({ requestsPerSecond: 2 });
    for (let i = 0; i < 4; i++) admit();
    const error = refusal(() => admit())!;
    expect(error.code).toBe('TooManyRequests');
    expect(error.message).toBe(
      'too many requests: the Space tills allows 2 requests per second (spec.limits.requestsPerSecond): send fewer requests, or ask those who run this node for more',
    );
    expect(error.details.retryAfterSeconds).toBe(1);
    await clock.advance(500);
    admit();
    expect(refusal(() => admit())?.code).toBe('TooManyRequests');
    limit({ requestsPerSecond: 5 });
    for (let i = 0; i < 10; i++) admit();
    limit(null);
    for (let i = 0; i < 100; i++) admit();
  });

  it('may watch as often as the limit says, and again when a watch has ended', () => {
    limit({ watches: 2 });
    const [first] = [admit(true)!, admit(true)!];
    expect(refusal(() => admit(true))?.message).toContain(
      'the Space tills allows 2 watches at a time (spec.limits.watches)',
    );
    admit();
    first();
    first();
    admit(true);
    expect(refusal(() => admit(true))?.code).toBe('TooManyRequests');
  });

  it('elsewhere are not counted', () => {
    limit({ requestsPerSecond: 1, watches: 0 });
    for (const place of [{ space: 'other' }, { node: '' }, { mailbox: 'tills' }]) {
      for (let i = 0; i < 10; i++) spaces.admitRequest(place, true);
    }
  });
});
