import fc from 'fast-check';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { MemoryStore } from '../../../../../core/store/memory/memory-store.ts';
import { boards } from '../crd/support.ts';
import { HandlerBench } from './handler-bench.ts';
import { refusalOf } from './handler-errors.ts';

const path = '/api/v1/namespaces/shop/configmaps';

interface List {
  kind: string;
  apiVersion: string;
  metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number };
  items: KubeObject[];
}

let store: MemoryStore;
let api: HandlerBench;
beforeEach(() => {
  store = new MemoryStore();
  api = new HandlerBench({ store });
});

function configMap(name: string, namespace = 'shop', more: object = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, ...more } };
}

function add(...names: string[]): void {
  for (const name of names) api.space.create(configMap(name));
}

function remove(name: string): void {
  api.space.delete(api.space.keyOf(configMap(name)));
}

const namesOf = (list: List) => list.items.map((item) => item.metadata.name);

describe('a list', () => {
  it('has its kind, its revision, and the same objects as a get, by namespace and name', async () => {
    add('b', 'a');
    api.space.create(configMap('c', 'bank'));
    const list = await api.get<List>('/api/v1/configmaps');
    expect(list).toMatchObject({ kind: 'ConfigMapList', apiVersion: 'v1' });
    expect(list.metadata).toEqual({ resourceVersion: String(api.space.storage.revision()) });
    expect(namesOf(list)).toEqual(['c', 'a', 'b']);
    expect(list.items[1]).toEqual(await api.get(`${path}/a`));
    expect(list.items[1]?.metadata.resourceVersion).toMatch(/^[1-9]\d*$/);
  });

  it('of a namespace has only the objects in it', async () => {
    add('a');
    api.space.create(configMap('c', 'bank'));
    expect(namesOf(await api.get<List>('/api/v1/namespaces/bank/configmaps'))).toEqual(['c']);
  });

  it('without objects has an empty list of items', async () => {
    expect((await api.get<List>(path)).items).toEqual([]);
  });

  it('has objects in the version of its URL', async () => {
    const definition = boards({ type: 'object' });
    const [first] = definition.spec.versions;
    definition.spec.versions.push({ ...first!, name: 'v2', storage: false });
    api.space.create(definition);
    api.settle();
    api.space.create({ apiVersion: 'shop.example.com/v1', kind: 'Board', metadata: { name: 'b', namespace: 'shop' } });
    const list = await api.get<List>('/apis/shop.example.com/v2/boards');
    expect(list).toMatchObject({ kind: 'BoardList', apiVersion: 'shop.example.com/v2' });
    expect(list.items.map((item) => item.apiVersion)).toEqual(['shop.example.com/v2']);
    expect(await api.get('/apis/shop.example.com/v2/namespaces/shop/boards/b')).toEqual(list.items[0]);
  });

  it('selects by labels and fields', async () => {
    add('a');
    api.space.create(configMap('b', 'shop', { labels: { tier: 'web' } }));
    expect(namesOf(await api.get<List>(`${path}?labelSelector=tier%3Dweb`))).toEqual(['b']);
    expect(namesOf(await api.get<List>(`${path}?fieldSelector=metadata.name%3Da`))).toEqual(['a']);
    expect(namesOf(await api.get<List>(`${path}?fieldSelector=metadata.name%3Da&labelSelector=tier`))).toEqual([]);
  });
});

describe('metadata alone', () => {
  const accept = (as: string) => `application/json;as=${as};g=meta.k8s.io;v=v1`;

  it('is returned for each object of a list', async () => {
    api.space.create({ ...configMap('a', 'shop', { labels: { tier: 'web' } }), data: { secret: 'x' } });
    const list = await api.get<List>(path, accept('PartialObjectMetadataList'));
    expect(list).toMatchObject({ kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1' });
    const { metadata } = await api.get<KubeObject>(`${path}/a`);
    expect(list.items).toEqual([{ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata }]);
  });

  it('is returned for one object', async () => {
    add('a');
    const { metadata } = await api.get<KubeObject>(`${path}/a`);
    expect(await api.get(`${path}/a`, accept('PartialObjectMetadata'))).toEqual({
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata,
    });
  });
});

describe('a list in chunks', () => {
  it('states how many objects remain and where to continue, until the last chunk', async () => {
    add('a', 'b', 'c', 'd', 'e');
    const first = await api.get<List>(`${path}?limit=2`);
    expect(namesOf(first)).toEqual(['a', 'b']);
    expect(first.metadata).toMatchObject({ remainingItemCount: 3, continue: expect.stringMatching(/^[\w-]+$/) });
    const second = await api.get<List>(`${path}?limit=2&continue=${first.metadata.continue}`);
    expect(namesOf(second)).toEqual(['c', 'd']);
    expect(second.metadata.remainingItemCount).toBe(1);
    const last = await api.get<List>(`${path}?limit=2&continue=${second.metadata.continue}`);
    expect(namesOf(last)).toEqual(['e']);
    expect(last.metadata).toEqual({ resourceVersion: first.metadata.resourceVersion });
  });

  it('refuses a token without the namespace of its place', async () => {
    const token = Buffer.from(JSON.stringify({ revision: -1, atMs: 1, name: 'a' })).toString('base64url');
    const { code, message } = await refusalOf(api.call('GET', `/api/v1/configmaps?limit=1&continue=${token}`));
    expect([code, message]).toEqual([
      'BadRequest',
      'continue key is not valid: start a new list without the continue parameter',
    ]);
  });

  it('is complete if it has exactly as many objects as the limit', async () => {
    add('a', 'b');
    expect((await api.get<List>(`${path}?limit=2`)).metadata).not.toHaveProperty('continue');
  });

  it.each(['0', '-1', ''])('is complete with the limit "%s"', async (limit) => {
    add('a', 'b');
    expect(namesOf(await api.get<List>(`${path}?limit=${limit}`))).toEqual(['a', 'b']);
  });

  it('has no count of the remaining objects under a selector, like the API server', async () => {
    for (const name of ['a', 'b', 'c']) api.space.create(configMap(name, 'shop', { labels: { tier: 'web' } }));
    add('bb');
    const first = await api.get<List>(`${path}?limit=2&labelSelector=tier`);
    expect(namesOf(first)).toEqual(['a', 'b']);
    expect(first.metadata).not.toHaveProperty('remainingItemCount');
    const next = await api.get<List>(`${path}?limit=2&labelSelector=tier&continue=${first.metadata.continue}`);
    expect(namesOf(next)).toEqual(['c']);
  });

  it('shows the space as it was at the first chunk', async () => {
    add('a', 'b', 'c', 'd');
    const first = await api.get<List>(`${path}?limit=1`);
    remove('b');
    add('bb');
    api.space.update(configMap('c', 'shop', { labels: { new: 'yes' } }));
    const rest = await api.get<List>(`${path}?continue=${first.metadata.continue}`);
    expect(namesOf(rest)).toEqual(['b', 'c', 'd']);
    expect(rest.items[1]?.metadata).not.toHaveProperty('labels');
    expect(rest.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
  });

  it('has every object once and in order, whatever the limits and the changes meanwhile', async () => {
    const names = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,3}$/), { maxLength: 12 });
    const limits = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(names, limits, names, async (before, sizes, touched) => {
        api = new HandlerBench();
        add(...before);
        const seen: (string | undefined)[] = [];
        let token: string | undefined;
        for (let chunk = 0; chunk === 0 || token; chunk++) {
          const size = sizes[chunk % sizes.length]!;
          const list: List = await api.get(`${path}?limit=${size}${token ? `&continue=${token}` : ''}`);
          expect(list.items.length).toBeLessThanOrEqual(size);
          seen.push(...namesOf(list));
          token = list.metadata.continue;
          const name = touched[chunk];
          if (name && api.space.get(api.space.keyOf(configMap(name)))) remove(name);
          else if (name) add(name);
        }
        expect(seen).toEqual(before.toSorted());
      }),
      { numRuns: 50 },
    );
  });

  it('expires when the events since its start are no longer kept: 410 with a token to go on at the newest revision', async () => {
    add('a', 'b');
    const { metadata } = await api.get<List>(`${path}?limit=1`);
    api = new HandlerBench({ store });
    add('c');
    const { code, message, details } = await refusalOf(api.get(`${path}?limit=1&continue=${metadata.continue}`));
    expect(code).toBe('Expired');
    expect(message).toMatch(
      /^The provided continue parameter is too old .* or use the continue token in this response/,
    );
    const rest = await api.get<List>(`${path}?continue=${details.continueToken}`);
    expect(namesOf(rest)).toEqual(['b', 'c']);
  });

  it('expires after five minutes, and the rest has another revision even if nothing has changed', async () => {
    add('a', 'b');
    const first = await api.get<List>(`${path}?limit=1`);
    api.clock.advance(5 * 60_000 + 1);
    const { code, details } = await refusalOf(api.get(`${path}?limit=1&continue=${first.metadata.continue}`));
    expect(code).toBe('Expired');
    const rest = await api.get<List>(`${path}?limit=1&continue=${details.continueToken}`);
    expect(namesOf(rest)).toEqual(['b']);
    expect(Number(rest.metadata.resourceVersion)).toBeGreaterThan(Number(first.metadata.resourceVersion));
  });

  it.each(['x', Buffer.from('{"revision":"1"}').toString('base64url'), Buffer.from('null').toString('base64url')])(
    'does not continue from %s',
    async (token) => {
      const { code, message } = await refusalOf(api.get(`${path}?limit=1&continue=${token}`));
      expect(code).toBe('BadRequest');
      expect(message).toBe('continue key is not valid: start a new list without the continue parameter');
    },
  );
});

describe('a list at a revision', () => {
  it.each(['resourceVersionMatch=Exact', 'limit=9'])('has the objects of this revision with %s', async (option) => {
    add('a', 'b');
    const { resourceVersion } = (await api.get<List>(path)).metadata;
    remove('a');
    add('c');
    const list = await api.get<List>(`${path}?resourceVersion=${resourceVersion}&${option}`);
    expect(namesOf(list)).toEqual(['a', 'b']);
    expect(list.metadata).toEqual({ resourceVersion });
  });

  it('goes on at this revision in the next chunk', async () => {
    add('a', 'b');
    const { resourceVersion } = (await api.get<List>(path)).metadata;
    add('aa');
    const first = await api.get<List>(`${path}?resourceVersion=${resourceVersion}&limit=1`);
    const rest = await api.get<List>(`${path}?continue=${first.metadata.continue}`);
    expect([...namesOf(first), ...namesOf(rest)]).toEqual(['a', 'b']);
    expect(rest.metadata).toEqual({ resourceVersion });
  });

  it('is the newest one with NotOlderThan, and without a match and a limit', async () => {
    add('a');
    const { resourceVersion } = (await api.get<List>(path)).metadata;
    add('b');
    for (const option of ['&resourceVersionMatch=NotOlderThan&limit=9', ''])
      expect(namesOf(await api.get<List>(`${path}?resourceVersion=${resourceVersion}${option}`))).toEqual(['a', 'b']);
  });

  it('has expired if the events since the revision are no longer kept', async () => {
    add('a');
    const { resourceVersion } = (await api.get<List>(path)).metadata;
    api = new HandlerBench({ store });
    add('b');
    const { code, message } = await refusalOf(
      api.get(`${path}?resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`),
    );
    expect(code).toBe('Expired');
    expect(message).toBe('The resourceVersion for the provided list is too old.');
  });
});

describe('a revision that the space has not reached', () => {
  it('is waited for', async () => {
    add('a');
    const ahead = api.space.storage.revision() + 1;
    const list = api.get<List>(`${path}?resourceVersion=${ahead}`);
    add('b');
    expect(namesOf(await list)).toEqual(['a', 'b']);
  });

  it('is a Timeout after three seconds, with the cause that clients look for', async () => {
    const ahead = api.space.storage.revision() + 5;
    const answer = refusalOf(api.get(`${path}?resourceVersion=${ahead}`));
    add('a');
    api.clock.advance(3_000);
    const { code, message, details } = await answer;
    expect(code).toBe('Timeout');
    expect(message).toBe(`Timeout: Too large resource version: ${ahead}, current: ${ahead - 4}`);
    expect(details).toEqual({
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version', field: '' }],
      retryAfterSeconds: 1,
    });
  });
});

describe('sendInitialEvents', () => {
  it('is for watches only', async () => {
    const { code, message } = await refusalOf(api.get(`${path}?sendInitialEvents=true`));
    expect(code).toBe('Invalid');
    expect(message).toContain('sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list');
  });
});

describe('the objects that a list reads', () => {
  let read: string[];

  /** Counts the objects that the storage hands out. */
  beforeEach(() => {
    const { storage } = api.space;
    for (let i = 0; i < 100; i++) add(`c${String(i).padStart(2, '0')}`);
    read = [];
    const visit = storage.visit.bind(storage);
    vi.spyOn(storage, 'visit').mockImplementation((of, options, see) =>
      visit(of, options, (stored) => {
        read.push(stored.key.name);
        return see(stored);
      }),
    );
  });

  it('are those of its page, and no others', async () => {
    const first = await api.get<List>(`${path}?limit=10`);
    expect(first.metadata.remainingItemCount).toBe(90);
    expect(read).toEqual(namesOf(first));
    const next = await api.get<List>(`${path}?limit=10&continue=${first.metadata.continue}`);
    expect(next.metadata.remainingItemCount).toBe(80);
    expect(read).toEqual([...namesOf(first), ...namesOf(next)]);
  });

  it('are read once, without a limit and with a label selector', async () => {
    const all = await api.get<List>(path);
    expect(read).toEqual(namesOf(all));
    await api.get<List>(`${path}?labelSelector=none`);
    expect(read).toHaveLength(200);
  });

  it('are read until one more than the limit is selected', async () => {
    const list = await api.get<List>(`${path}?labelSelector=!none&limit=10`);
    expect(namesOf(list)).toHaveLength(10);
    // The list keeps the ten small objects from its first look, and sees that one more follows.
    expect(read).toHaveLength(11);
  });
});

describe('a list that is read in parts', () => {
  const large = (name: string, text = 'old') => ({ ...configMap(name), data: { text, filling: 'x'.repeat(50_000) } });
  const names = Array.from({ length: 40 }, (_, i) => `c${String(i).padStart(2, '0')}`);
  const rest = (pieces: Iterable<Buffer>) => Buffer.concat([...pieces]).toString();

  beforeEach(() => {
    for (const name of names) api.space.create(large(name));
  });

  it('shows the revision at which it began, whatever changes later', async () => {
    const pieces = await api.pieces(path);
    const head = pieces.next().value!;
    const before = String(api.space.storage.revision());
    remove(names[39]!);
    remove(names[38]!);
    api.space.create(large(names[38]!, 'made again'));
    api.space.update(large(names[37]!, 'new'));
    api.space.update(large(names[37]!, 'newer'));
    api.space.create(large('c99'));
    const list = JSON.parse(head + rest(pieces)) as List;
    expect(list.metadata.resourceVersion).toBe(before);
    expect(namesOf(list)).toEqual(names);
    expect(new Set(list.items.map(({ data }) => (data as { text: string }).text))).toEqual(new Set(['old']));
  });

  it('continues behind a page at the revision of the page, whatever changes before and during the read', async () => {
    const first = await api.get<List>(`${path}?limit=10`);
    remove(names[38]!);
    const pieces = await api.pieces(`${path}?continue=${first.metadata.continue}`);
    const head = pieces.next().value!;
    remove(names[39]!);
    const list = JSON.parse(head + rest(pieces)) as List;
    expect([...namesOf(first), ...namesOf(list)]).toEqual(names);
  });

  it('ends if more changes happen meanwhile than it keeps', async () => {
    const pieces = await api.pieces(path);
    pieces.next();
    const huge = 'x'.repeat(1_000_000);
    for (const name of names.slice(30)) {
      for (const text of ['a', 'b']) api.space.update({ ...configMap(name), data: { text, huge } });
    }
    expect(() => rest(pieces)).not.toThrow();
    const late = await api.pieces(path);
    late.next();
    for (const name of names.slice(30)) api.space.update({ ...configMap(name), data: { text: 'c', huge } });
    expect(() => rest(late)).toThrow(/more than 4194304 bytes have changed since revision \d+: list again/);
  });

  it('has the same length in all forms as when it is read at once', async () => {
    const accept = (as: string) => `application/json;as=${as};g=meta.k8s.io;v=v1`;
    expect((await api.get<{ rows: unknown[] }>(path, accept('Table'))).rows).toHaveLength(40);
    expect((await api.get<List>(path, accept('PartialObjectMetadataList'))).items).toHaveLength(40);
  });

  it('receives no more changes once it is given up', async () => {
    const pieces = await api.pieces(path);
    pieces.next();
    pieces.return();
    expect(pieces.next()).toEqual({ done: true, value: undefined });
  });
});
