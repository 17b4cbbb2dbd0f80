import { describe, expect, test } from 'vitest';
import type { SparseApplyRules } from '../../../core/entries/apply-rules.ts';
import { BanyanError } from '../../../core/runtime/errors.ts';
import { OwnerRecords } from '../../../edge-agent/apply/owner-records.ts';
import { AgentBench, configMap, namespace, path } from './support/agent-bench.ts';

const till = '/configmaps/shop/till';
const placement = 'center.retail/shop-prod';
const state = `state/center.retail/${till}`;

async function withRules(apply: SparseApplyRules): Promise<AgentBench> {
  const bench = await new AgentBench().start();
  await bench.receive(
    bench.object('/namespaces//shop', namespace('shop'), ['shop-prod']),
    bench.object(till, configMap('till'), ['shop-prod']),
    bench.target(placement, 1, { apply }),
  );
  await bench.advance(10_000);
  bench.cluster.log.length = 0;
  return bench;
}

function edit(bench: AgentBench, value: string): void {
  bench.cluster.write(till, (object) => {
    object.data = { a: value };
  });
}

test.each([
  ['by spec.adopt', {}, { reason: 'NotOwned', applied: false }],
  ['for createOnly', { createOnly: ['shop-prod'] }, { applied: true }],
])('an object that somebody makes between the read and the apply keeps its content %s', async (_, more, reported) => {
  const bench = await withRules({});
  const other = '/configmaps/shop/other';
  const get = bench.cluster.get.bind(bench.cluster);
  bench.cluster.get = async (key) => {
    const found = await get(key);
    if (key.name === 'other' && !bench.cluster.objects.has(other)) {
      bench.cluster.write(other, (object) => {
        object.metadata.managedFields = [{ manager: 'flux', operation: 'Apply' }];
        object.data = { a: 'theirs' };
      });
    }
    return found;
  };
  await bench.receive(bench.object(other, configMap('other'), ['shop-prod'], 'center.retail', more));
  await bench.advance(10_000);
  expect(bench.cluster.objects.get(other)!.data).toEqual({ a: 'theirs' });
  expect(bench.reported(`state/center.retail/${other}`)!.attributes).toMatchObject(reported);
});

test('with drift Report an edit stays and is named, until somebody reverts it', async () => {
  const bench = await withRules({ drift: 'Report' });
  const before = bench.cluster.objects.get(till)!.data;
  edit(bench, 'mine');
  await bench.advance(30_000);
  expect(bench.cluster.log).toEqual([]);
  expect(bench.reported(state)!.attributes).toMatchObject({ applied: true, available: true, reason: 'Drifted' });
  expect(bench.reported(state)!.attributes.message).toContain('data.a is "mine" and was applied as');
  expect(bench.counts(placement)).toMatchObject({ applied: 1, available: 1 });
  bench.cluster.write(till, (object) => {
    object.data = before;
  });
  await bench.advance(30_000);
  expect(bench.reported(state)!.attributes.reason).toBeUndefined();
});

test('with drift Report an edit is reported while the cluster refuses to show the difference, and named once it shows it', async () => {
  const bench = await withRules({ drift: 'Report' });
  const apply = bench.cluster.apply.bind(bench.cluster);
  bench.cluster.apply = async () => {
    throw new BanyanError('BadRequest', 'admission webhook "shop" does not support dry run');
  };
  edit(bench, 'mine');
  await bench.advance(30_000);
  expect(bench.counts(placement)).toMatchObject({ applied: 1, available: 1 });
  expect(bench.counts(placement)).not.toHaveProperty('failed');
  expect(bench.reported(state)!.attributes).toMatchObject({
    reason: 'Drifted',
    message: expect.stringMatching(/can't find out which fields differ: .*does not support dry run/),
  });
  bench.cluster.apply = apply;
  await bench.advance(300_000);
  expect(bench.reported(state)!.attributes.message).toContain('data.a is "mine" and was applied as');
});

test('with drift Ignore an edit stays without a report, and new desired content is applied', async () => {
  const bench = await withRules({ drift: 'Ignore' });
  edit(bench, 'mine');
  await bench.advance(30_000);
  expect(bench.cluster.log).toEqual([]);
  expect(bench.reported(state)!.attributes.reason).toBeUndefined();
  await bench.receive(bench.object(till, { ...configMap('till'), data: { a: 'new' } }, ['shop-prod']));
  expect(bench.cluster.objects.get(till)!.data).toEqual({ a: 'new' });
});

test('a deleted object is made again only in mode Correct, and Report says that it was deleted', async () => {
  const expected = {
    Correct: [true, {}],
    Report: [false, { applied: true, available: false, reason: 'Drifted' }],
    Ignore: [false, { applied: true, available: true, reason: 'Deleted' }],
  } as const;
  for (const drift of ['Correct', 'Report', 'Ignore'] as const) {
    const [isThere, reported] = expected[drift];
    const bench = await withRules({ drift });
    bench.cluster.erase(till);
    await bench.advance(30_000);
    await bench.restart();
    await bench.advance(30_000);
    expect(bench.cluster.objects.has(till)).toBe(isThere);
    expect(bench.reported(state)!.attributes).toMatchObject(reported);
  }
});

test.each([
  ['its content changes', { ...configMap('till'), data: { a: 'new' } }, {}],
  ['it is made anew in the space', configMap('till'), { uid: 'another' }],
])('an object that somebody has deleted in mode Ignore is made again when %s', async (_, object, more) => {
  const bench = await withRules({ drift: 'Ignore' });
  bench.cluster.erase(till);
  await bench.advance(30_000);
  await bench.receive(bench.object(till, object, ['shop-prod'], 'center.retail', more));
  expect(bench.cluster.objects.get(till)?.data).toEqual(object.data);
});

test('an object that somebody has deleted is made again when the mode becomes Correct', async () => {
  const bench = await withRules({ drift: 'Report' });
  bench.cluster.erase(till);
  await bench.advance(30_000);
  await bench.receive(bench.target(placement));
  await bench.advance(30_000);
  expect(bench.cluster.objects.has(till)).toBe(true);
});

test('an object that is only created is not made again, whether the agent or somebody else had made it, unless its content changes', async () => {
  const bench = await withRules({});
  const [ours, theirs] = ['/configmaps/shop/ours', '/configmaps/shop/theirs'];
  bench.cluster.write(theirs, (object) => {
    object.metadata = { ...object.metadata, name: 'theirs', namespace: 'shop' };
  });
  const created = (key: string, value: string) =>
    bench.object(key, configMap(key.split('/').at(-1)!, { a: value }), ['shop-prod'], 'center.retail', {
      createOnly: ['shop-prod'],
    });
  await bench.receive(created(ours, '1'), created(theirs, '1'));
  // The content changes while the objects are there: they stay as they are.
  await bench.receive(created(ours, '2'), created(theirs, '2'));
  for (const key of [ours, theirs]) bench.cluster.erase(key);
  await bench.advance(30_000);
  expect([ours, theirs].map((key) => bench.cluster.objects.has(key))).toEqual([false, false]);
  expect(bench.counts(placement)).toMatchObject({ applied: 1, available: 1 });
  await bench.receive(created(ours, '3'));
  expect(bench.cluster.objects.get(ours)?.data).toEqual({ a: '3' });
});

test('an ignored field keeps the cluster’s value, also when the object is applied again', async () => {
  const bench = await withRules({ ignored: ['.data.a'] });
  edit(bench, 'mine');
  await bench.advance(30_000);
  expect(bench.cluster.log).toEqual([]);
  const wanted = { ...configMap('till'), data: { a: 'theirs', b: 'ours' } };
  await bench.receive(bench.object(till, wanted, ['shop-prod']));
  expect(bench.cluster.objects.get(till)!.data).toEqual({ a: 'mine', b: 'ours' });
});

test('an object whose labels and annotations all belong to the cluster is marked, and is given back', async () => {
  const bench = await new AgentBench().start();
  const [labels, annotations] = [{ team: 'shop' }, { note: 'ours' }];
  bench.cluster.write(till, (object) => {
    object.metadata = { ...object.metadata, labels, annotations: { ...annotations, 'banyan.io/deletion': 'Orphan' } };
  });
  const wanted = { ...configMap('till'), metadata: { name: 'till', namespace: 'shop', labels, annotations: {} } };
  const ignored = ['.metadata.labels', '.metadata.annotations'];
  await bench.receive(
    bench.object('/namespaces//shop', namespace('shop'), ['shop-prod']),
    bench.object(till, wanted, ['shop-prod']),
    bench.target(placement, 1, { apply: { ignored } }),
  );
  expect(bench.cluster.objects.get(till)!.metadata).toMatchObject({
    labels: { ...labels, 'banyan.io/managed': 'true' },
    annotations: { ...annotations, 'banyan.io/agent': path, 'banyan.io/source': 'center.retail' },
  });
  expect(bench.cluster.objects.get(till)!.metadata.annotations).not.toHaveProperty('banyan.io/deletion');
  await bench.receive(bench.gone(`o/center.retail/${till}`));
  expect(bench.cluster.objects.get(till)!.metadata).toMatchObject({ labels, annotations });
  expect(bench.cluster.objects.get(till)!.metadata.labels).not.toHaveProperty(['banyan.io/managed']);
});

test('correction starts when the rule becomes Correct', async () => {
  const bench = await withRules({ drift: 'Ignore' });
  const before = bench.cluster.objects.get(till)!.data;
  edit(bench, 'mine');
  await bench.receive(bench.target(placement));
  await bench.advance(30_000);
  expect(bench.cluster.objects.get(till)!.data).toEqual(before);
});

test('a record with a fingerprint of another form has its object applied once, without a report', async () => {
  for (const drift of ['Correct', 'Report'] as const) {
    const bench = await withRules({ drift });
    const fingerprintOf = () => new OwnerRecords(bench.store).get(till)!.fingerprint;
    const fingerprint = fingerprintOf();
    await bench.agent.stop();
    const records = new OwnerRecords(bench.store);
    records.set(till, { ...records.get(till)!, fingerprint: 'of another form' });
    await bench.restart();
    await bench.advance(30_000);
    await bench.restart();
    await bench.advance(30_000);
    expect(bench.cluster.log).toEqual(drift === 'Correct' ? [`apply ${till}`] : []);
    expect(bench.reported(state)!.attributes.reason).toBeUndefined();
    expect(fingerprintOf()).toBe(fingerprint);
  }
});

test('an object with a changed immutable field is made anew if the rule says so, and gives a hint otherwise', async () => {
  const refused = 'spec.selector: Invalid value: field is immutable';
  const changed = { ...configMap('till'), data: { a: 'new' } };
  const careful = await withRules({});
  careful.cluster.refuse.set(till, refused);
  await careful.receive(careful.object(till, changed, ['shop-prod']));
  expect(careful.reported(state)!.attributes.message).toMatch(/field is immutable; with spec\.replace: IfImmutable/);
  expect(careful.cluster.log.filter((line) => line.startsWith('remove'))).toEqual([]);

  const bench = await withRules({ replace: true });
  const { uid } = bench.cluster.objects.get(till)!.metadata;
  bench.cluster.refuse.set(till, refused);
  await bench.receive(bench.object(till, changed, ['shop-prod']));
  expect(bench.cluster.log).toContain(`remove ${till}`);
  bench.cluster.refuse.clear();
  await bench.advance(30_000);
  expect(bench.cluster.objects.get(till)!.metadata.uid).not.toBe(uid);
  expect(bench.cluster.objects.get(till)!.data).toEqual({ a: 'new' });
});

test.each([
  ['another agent has applied', { 'banyan.io/agent': 'us:rivoli', 'banyan.io/source': 'center.theirs' }],
  ['a controller has made, with a copy of the label of the mark,', {}],
])('an object that %s is not removed to be made anew', async (_, annotations) => {
  const bench = await new AgentBench().start();
  bench.cluster.write(till, ({ metadata }) => {
    metadata.labels = { 'banyan.io/managed': 'true' };
    metadata.annotations = annotations;
    metadata.managedFields = [{ manager: 'banyan', operation: 'Apply' }];
  });
  bench.cluster.refuse.set(till, 'spec.selector: Invalid value: field is immutable');
  await bench.receive(
    bench.object('/namespaces//shop', namespace('shop'), ['shop-prod']),
    bench.object(till, configMap('till'), ['shop-prod']),
    bench.target(placement, 1, { apply: { adopt: 'Always', replace: true } }),
  );
  await bench.advance(30_000);
  expect(bench.cluster.log.filter((line) => line.startsWith('remove'))).toEqual([]);
  expect(bench.reported(state)!.attributes.message).toMatch(/field is immutable/);
});

describe('an object of the site', () => {
  const theirs = (bench: AgentBench, data: Record<string, string>) =>
    bench.cluster.write(till, (object) => {
      Object.assign(object, configMap('till', data));
      object.metadata = { ...object.metadata, uid: 'theirs' };
    });
  const started = async (data: Record<string, string>, apply: SparseApplyRules = {}) => {
    const bench = await new AgentBench().start();
    theirs(bench, data);
    await bench.receive(bench.object('/namespaces//shop', namespace('shop'), ['shop-prod']));
    await bench.receive(bench.target(placement, 1, { apply }));
    return bench;
  };

  test('is taken over if a webhook refuses the dry run and the values agree', async () => {
    const bench = await started({ a: '1' });
    const apply = bench.cluster.apply.bind(bench.cluster);
    bench.cluster.apply = async (object, options) => {
      if (options?.dryRun) throw new BanyanError('BadRequest', 'admission webhook "shop" does not support dry run');
      return apply(object, options);
    };
    await bench.receive(bench.object(till, configMap('till'), ['shop-prod']));
    expect(bench.cluster.objects.get(till)!.metadata.labels).toHaveProperty(['banyan.io/managed']);
    expect(bench.reported(state)!.attributes).toMatchObject({ applied: true, reason: 'Adopted' });
  });

  test('with other values costs no write while the agent asks again', async () => {
    const bench = await started({ a: 'theirs' });
    await bench.receive(bench.object(till, configMap('till'), ['shop-prod']));
    await bench.advance(600_000);
    expect(bench.reported(state)!.attributes).toMatchObject({ applied: false, reason: 'NotOwned' });
    expect(bench.cluster.log).not.toContain(`apply ${till}`);
    expect(new OwnerRecords(bench.store).get(till)).toBeUndefined();
  });

  test('that is too large to keep is not taken over, even with Always', async () => {
    const bench = await started({ a: 'x'.repeat(2 * 1024 * 1024) }, { adopt: 'Always' });
    await bench.receive(bench.object(till, configMap('till'), ['shop-prod']));
    await bench.advance(10_000);
    expect(bench.reported(state)!.attributes).toMatchObject({
      applied: false,
      reason: 'TooLarge',
      message: expect.stringMatching(
        /it has 2097\d+ bytes, and the agent keeps at most 2097152 bytes.*make the object/,
      ),
    });
    expect((bench.cluster.objects.get(till)!.data as { a: string }).a).toHaveLength(2 * 1024 * 1024);
  });

  test('is given back although the process ended between the take-over and the answer of the cluster', async () => {
    const bench = await started({ a: 'theirs', note: 'keep' }, { adopt: 'Always' });
    const apply = bench.cluster.apply.bind(bench.cluster);
    bench.cluster.apply = async (object, options) => {
      const answer = await apply(object, options);
      return object.kind === 'ConfigMap' ? new Promise(() => {}) : answer;
    };
    bench.receiveWhileStopped(bench.object(till, configMap('till'), ['shop-prod']));
    await bench.crash();
    expect(bench.cluster.objects.get(till)!.data).toEqual({ a: '1' });
    bench.cluster.apply = apply;
    await bench.crash();
    await bench.receive(bench.gone(`o/center.retail/${till}`));
    await bench.advance(10_000);
    expect(bench.cluster.objects.get(till)!.data).toMatchObject({ a: 'theirs' });
    expect(bench.cluster.objects.get(till)!.metadata.uid).toBe('theirs');
  });
});
