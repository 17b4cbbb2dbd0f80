import { beforeEach, describe, expect, it } from 'vitest';
import type { ApiRequest, ApiResponse } from '../../../../core/apiserver/http/requests.ts';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import { formatKey, type ObjectKey } from '../../../../core/object/key.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { text } from '../../../../core/store/bytes.ts';
import type { Child } from '../../../../relay/children/children.ts';
import { Placements } from '../../../../relay/placements/placements.ts';
import { planUrls } from '../../../../relay/plan/plan-urls.ts';
import { SpaceBench } from '../support/space-bench.ts';

const spec = {
  locationSelectors: [{}],
  downsync: [{ apiGroup: '', resources: ['configmaps', 'secrets'], namespaces: ['shop'] }],
};
const secretOf = (pin: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'till', namespace: 'shop' },
  type: 'Opaque',
  data: { pin: Buffer.from(pin).toString('base64') },
});

describe('an answer with objects of the node', () => {
  let bench: SpaceBench;
  let asked: string[];
  const ask = async (method: string, url: string, body: object, mayRead: (key: ObjectKey) => boolean) => {
    const producer = bench.store.write((t) =>
      FeedProducer.open(t, { name: 'mailbox', bootNonce: 'b', random: new SeededRandom(1) }),
    );
    bench.store.write((t) => {
      for (const row of bench.rows())
        producer.put(t, { key: row.key, attributes: text(row.attributes), body: text(row.body) }, 1);
    });
    const urls = planUrls({
      store: bench.store,
      path: '',
      children: new Map<string, Child>([['shop', { name: 'shop', role: 'agent', destinations: [] }]]),
      placements: new Placements(),
      tableOf: () => bench.table,
      mailboxOf: () => producer,
      pathOf: (child) => child,
      present: () => undefined,
      boundsOf: () => undefined,
      ownSpace: (source) => (source === 'center.retail' ? bench.space : undefined),
    });
    const { pathname: path, searchParams: query } = new URL(`https://node${url}`);
    const request: Partial<ApiRequest> = {
      method,
      path,
      query,
      body: () => Promise.resolve(Buffer.from(JSON.stringify(body))),
      mustRead(key) {
        asked.push(formatKey(key));
        if (!mayRead(key)) throw new BanyanError('Forbidden', `${formatKey(key)} is forbidden`);
      },
    };
    const answer = await urls(request as ApiRequest, undefined as never);
    return String((answer as ApiResponse).body);
  };
  const all = () => true;
  const allButSecrets = ({ resource }: ObjectKey) => resource !== 'secrets';
  const encoded = Buffer.from('first').toString('base64');
  const till = '/secrets/shop/till';

  beforeEach(() => {
    asked = [];
    bench = new SpaceBench();
    bench.namespace('shop');
    bench.placement('web', spec);
    bench.configMap('shop', 'price', {}, '9');
    bench.space.apply(secretOf('first'), { fieldManager: 'test', force: true });
    bench.settle();
    bench.clock.advance(120_000);
    bench.space.apply(secretOf('second'), { fieldManager: 'test', force: true });
    bench.settle();
  });

  const rows = () =>
    bench
      .rows()
      .filter(({ key }) => key.endsWith(till))
      .map(({ key, attributes, body }) => ({ key, attributes: JSON.parse(attributes), body: JSON.parse(body) }));
  const urls: [string, string, string, () => object][] = [
    ['what undo writes', 'GET', '/spaces/retail/undo/web?to=1', () => ({})],
    ['the rows of a plan', 'POST', '/spaces/retail/plan/rows', () => ({ objects: [] })],
    [
      'what an agent has',
      'POST',
      '/mailboxes/shop/plan',
      () => ({ source: 'center.retail', planned: ['web'], rows: rows(), make: rows().map(({ key }) => key) }),
    ],
  ];

  it.each(urls)('%s: is for those who may read each of the objects', async (name, method, url, body) => {
    const shown = await ask(method, url, body(), all);
    expect(shown).toContain(name === 'what undo writes' ? encoded : Buffer.from('second').toString('base64'));
    expect(asked).toContain(till);
  });

  it.each(urls)('%s: is refused to somebody who may not read Secrets', async (_, method, url, body) => {
    await expect(ask(method, url, body(), allButSecrets)).rejects.toThrow(`${till} is forbidden`);
  });

  it('is not refused for objects that it does not show: names in a history, counts in a plan', async () => {
    expect(await ask('GET', '/spaces/retail/history/web', {}, () => false)).toContain('"till"');
    expect(await ask('POST', '/spaces/retail/plan', { objects: [] }, () => false)).toContain('"placements"');
    expect(asked).toEqual([]);
  });
});
