import { describe, expect, it } from 'vitest';
import type { WriteAnswer } from '../../../../center/cli/api-client.ts';
import { undo } from '../../../../center/cli/undo.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';

const space = 'space/center/retail';
const mapKey = (name: string) => ({ group: '', resource: 'configmaps', namespace: 'shop', name });
const map = (name: string, data: object, more: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'shop', ...more },
  data,
});

/** A space with these objects, by path. `refuse`: a method and path that the space refuses. */
function fake(found: object, objects: Record<string, KubeObject> = {}, refuse = '') {
  const asked: string[] = [];
  const sent: { line: string; object: KubeObject }[] = [];
  const api = {
    ask: async <T>(_context: string, path: string) => {
      asked.push(path);
      return found as T;
    },
    get: async (_context: string, path: string) => objects[path],
    write: async (_context: string, method: string, path: string, object: object): Promise<WriteAnswer> => {
      const line = `${method} ${path}`;
      sent.push({ line, object: object as KubeObject });
      if (line === refuse) return { refused: { code: 'Invalid', message: 'data: is wrong', causes: [] } };
      return { object: object as KubeObject };
    },
  };
  return { api, asked, sent };
}

const ask = { space, name: 'web', prune: false, dryRun: false };
const maps = '/api/v1/namespaces/shop/configmaps';
const dry = '?dryRun=All&fieldManager=banyan-undo';

describe('banyan undo', () => {
  it('replaces an object, keeps what only the space knows, and checks by a dry run first', async () => {
    const live = map(
      'a',
      { text: '2' },
      {
        uid: 'u',
        resourceVersion: '7',
        finalizers: ['keep'],
        labels: { new: 'label' },
        annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{}', other: 'x' },
        managedFields: [],
      },
    );
    const { api, sent, asked } = fake(
      { to: 1, write: [{ key: mapKey('a'), object: map('a', { text: '1' }) }], extra: [] },
      { [`${maps}/a`]: live },
    );
    expect(await undo(api, ask)).toEqual([
      'EdgePlacement web: back to the objects of revision 1',
      'configmaps shop/a written',
    ]);
    expect(asked).toEqual(['/undo/web']);
    expect(sent.map(({ line }) => line)).toEqual([`PUT ${maps}/a${dry}`, `PUT ${maps}/a?fieldManager=banyan-undo`]);
    expect(sent[1]!.object).toEqual(
      map(
        'a',
        { text: '1' },
        {
          uid: 'u',
          resourceVersion: '7',
          finalizers: ['keep'],
          annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{}' },
        },
      ),
    );
  });

  it('creates what is gone, the Namespace first and without a dry run of what is in it', async () => {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
    const write = [
      { key: mapKey('a'), object: map('a', {}) },
      { key: { group: '', resource: 'namespaces', namespace: '', name: 'shop' }, object: namespace },
    ];
    const { api, sent } = fake({ to: 3, write, extra: [] });
    await undo(api, { ...ask, to: 3 });
    expect(sent.map(({ line }) => line)).toEqual([
      `POST /api/v1/namespaces${dry}`,
      'POST /api/v1/namespaces?fieldManager=banyan-undo',
      `POST ${maps}?fieldManager=banyan-undo`,
    ]);
  });

  it('writes nothing if the space refuses one of the objects', async () => {
    const write = ['a', 'b'].map((name) => ({ key: mapKey(name), object: map(name, {}) }));
    const { api, sent } = fake({ to: 1, write, extra: [] }, {}, `POST ${maps}${dry}`);
    await expect(undo(api, ask)).rejects.toThrow(
      "configmaps shop/a can't be written back: data: is wrong (nothing was written)",
    );
    expect(sent).toHaveLength(1);
  });

  it('leaves what the revision does not have, and deletes it with --prune, but no Namespace', async () => {
    const extra = [mapKey('c'), { group: '', resource: 'namespaces', namespace: '', name: 'shop' }];
    const live = { [`${maps}/c`]: map('c', {}, { uid: 'u', resourceVersion: '9' }) };
    const left = fake({ to: 1, write: [], extra }, live);
    expect(await undo(left.api, ask)).toEqual([
      'EdgePlacement web: its objects are as in revision 1',
      'configmaps shop/c stays: revision 1 does not have it; --prune deletes it',
      'namespaces shop stays: revision 1 does not have it; --prune deletes it',
    ]);
    expect(left.sent).toEqual([]);
    const pruned = fake({ to: 1, write: [], extra }, live);
    expect(await undo(pruned.api, { ...ask, prune: true })).toEqual([
      'EdgePlacement web: back to the objects of revision 1',
      'configmaps shop/c deleted',
      'namespaces shop stays: revision 1 does not have it',
    ]);
    expect(pruned.sent.at(-1)).toMatchObject({
      line: `DELETE ${maps}/c?fieldManager=banyan-undo`,
      object: { preconditions: { uid: 'u', resourceVersion: '9' } },
    });
  });

  it('with --dry-run only checks', async () => {
    const { api, sent } = fake({ to: 1, write: [{ key: mapKey('a'), object: map('a', {}) }], extra: [] });
    expect(await undo(api, { ...ask, dryRun: true })).toContain('configmaps shop/a created (dry run)');
    expect(sent.map(({ line }) => line)).toEqual([`POST ${maps}${dry}`]);
  });
});
