import { describe, expect, it } from 'vitest';
import { SummaryTree, webOf } from '../../support/summary-tree.ts';

const replicas = {
  groupBy: [{ name: 'image', def: 'obj.spec.template.spec.containers[0].image' }],
  combinedFields: [
    { name: 'shops', type: 'COUNT' },
    { name: 'replicas', type: 'SUM', subject: 'returned.status.readyReplicas' },
    { name: 'most', type: 'MAX', subject: 'returned.status.readyReplicas' },
  ],
};
const ready = (readyReplicas: number) => ({ readyReplicas });

/** The center, and five levels of relays below it; an agent at each. */
const relays = ['a', 'a:b', 'a:b:c', 'a:b:c:d'];
const agents = ['top', ...relays.map((path, i) => `${path}:shop-${i}`)];

async function chain(): Promise<SummaryTree> {
  const tree = new SummaryTree(relays, agents);
  tree.summarizer('replicas', replicas);
  tree.apply(webOf('till'));
  tree.placement('replicas');
  await tree.settle();
  return tree;
}

async function reportedChain(): Promise<SummaryTree> {
  const tree = await chain();
  for (const [i, agent] of agents.entries()) tree.report(agent, 'till', ready(10 ** i));
  await tree.settle();
  return tree;
}

describe('a summary that a user defines', () => {
  it('exists without contents before anybody has reported', async () => {
    const tree = await chain();
    expect(tree.summary('', 'shop.replicas')).toMatchObject({
      rows: [],
      total: 0,
      completeness: { expected: 5, fresh: 0, never: 5, outdated: 0 },
    });
  });

  it('is at each of five levels the sum over the nodes below', async () => {
    const tree = await reportedChain();
    expect(tree.rows('', 'shop.replicas')).toEqual([['web:1', 5, 11111, 10000]]);
    expect(tree.rows('a', 'shop.replicas')).toEqual([['web:1', 4, 11110, 10000]]);
    expect(tree.rows('a:b', 'shop.replicas')).toEqual([['web:1', 3, 11100, 10000]]);
    expect(tree.rows('a:b:c', 'shop.replicas')).toEqual([['web:1', 2, 11000, 10000]]);
    expect(tree.rows('a:b:c:d', 'shop.replicas')).toEqual([['web:1', 1, 10000, 10000]]);
    expect(tree.summary('', 'shop.replicas')?.completeness).toMatchObject({ expected: 5, fresh: 5, outdated: 0 });
  });

  it('follows changes, also a maximum that falls', async () => {
    const tree = await reportedChain();
    tree.report('a:b:c:d:shop-3', 'till', ready(7));
    await tree.settle();
    expect(tree.rows('', 'shop.replicas')).toEqual([['web:1', 5, 1118, 1000]]);
  });

  it('loses the rows of a removed destination, and counts a new one', async () => {
    const tree = await reportedChain();
    tree.leave('a:b:shop-1');
    await tree.settle();
    expect(tree.rows('', 'shop.replicas')).toEqual([['web:1', 4, 11011, 10000]]);
    tree.agent('a:b:shop-1');
    await tree.settle();
    tree.report('a:b:shop-1', 'till', ready(5));
    await tree.settle();
    expect(tree.rows('', 'shop.replicas')).toEqual([['web:1', 5, 11016, 10000]]);
  });

  it('is the same after a start of any node', async () => {
    const tree = await reportedChain();
    const before = ['', ...relays].map((path) => tree.rows(path, 'shop.replicas'));
    for (const path of ['', 'a:b', 'a:b:c:d', 'a']) {
      tree.restart(path);
      await tree.settle();
      expect(['', ...relays].map((at) => tree.rows(at, 'shop.replicas'))).toEqual(before);
    }
  });

  it('covers the objects that the item selects, as long as it selects them', async () => {
    const tree = await reportedChain();
    tree.apply(webOf('signage', 'web:2'));
    await tree.settle();
    for (const agent of agents) tree.report(agent, 'signage', ready(1));
    await tree.settle();
    expect(tree.rows('', 'shop.replicas')).toEqual([
      ['web:1', 5, 11111, 10000],
      ['web:2', 5, 5, 1],
    ]);
    tree.at('').space.delete({ group: 'apps', resource: 'deployments', namespace: 'shop', name: 'signage' });
    await tree.settle();
    expect(tree.rows('', 'shop.replicas')).toEqual([['web:1', 5, 11111, 10000]]);
  });

  it('reads the object as it was delivered, whether or not the state is about that form', async () => {
    const tree = await reportedChain();
    tree.summarizer('current', { filter: 'propagation.current', combinedFields: [{ name: 'n', type: 'COUNT' }] });
    tree.placement('current', 'replicas');
    await tree.settle();
    tree.apply(webOf('till', 'web:9'));
    await tree.settle();
    expect(tree.rows('a', 'shop.replicas')).toEqual([['web:9', 4, 11110, 10000]]);
    expect(tree.rows('', 'shop.current')).toEqual([[0]]);
  });

  it('is computed again when the summarizer changes, and not merged with partials of the old one', async () => {
    const tree = await reportedChain();
    tree.summarizer('replicas', { ...replicas, filter: 'returned.status.readyReplicas > 10' });
    await tree.at('').down();
    await tree.settle();
    expect(tree.rows('', 'shop.replicas')).toEqual([['web:1', 3, 11100, 10000]]);
    expect(tree.summary('', 'shop.replicas')?.completeness.outdated).toBe(0);
  });

  it('shows the same counts differently if only having and orderBy change', async () => {
    const tree = await reportedChain();
    tree.summarizer('replicas', { ...replicas, having: 'shops > 4' });
    await tree.settle();
    expect([tree.rows('', 'shop.replicas')?.length, tree.rows('a', 'shop.replicas')?.length]).toEqual([1, 0]);
  });

  it('goes with its name, its summarizer and its placement, at every level', async () => {
    const tree = await reportedChain();
    tree.placement();
    await tree.settle();
    for (const path of ['', ...relays]) expect(tree.summary(path, 'shop.replicas')).toBeUndefined();
    expect(tree.condition('SummarizersResolved')).toBeUndefined();
    tree.placement('replicas');
    await tree.settle();
    for (const path of ['', ...relays]) expect(tree.summary(path, 'shop.replicas')?.rows).toHaveLength(1);
    tree.delete('edgeplacements', 'shop');
    await tree.settle();
    for (const path of relays) expect(tree.summary(path, 'shop.replicas')).toBeUndefined();
  });

  it('does not exist without its summarizer, and the placement reports that', async () => {
    const tree = await reportedChain();
    expect(tree.condition('SummarizersResolved')).toMatchObject({ status: 'True' });
    tree.delete('statussummarizers', 'replicas');
    await tree.settle();
    for (const path of ['', ...relays]) expect(tree.summary(path, 'shop.replicas')).toBeUndefined();
    expect(tree.condition('SummarizersResolved')).toMatchObject({
      status: 'False',
      message:
        'StatusSummarizer "replicas" does not exist in this space: create it, or take it out of the placement\'s statusSummarizers',
    });
    tree.summarizer('replicas', replicas);
    await tree.settle();
    expect(tree.rows('', 'shop.replicas')).toEqual([['web:1', 5, 11111, 10000]]);
    expect(tree.condition('SummarizersResolved')).toMatchObject({ status: 'True' });
  });

  it('covers objects that were created at the edge, if an upsync item names it and matches', async () => {
    const tree = await reportedChain();
    const subject = 'int(returned.data.cases)';
    tree.summarizer('cases', {
      combinedFields: [
        { name: 'n', type: 'COUNT' },
        { name: 'cases', type: 'SUM', subject },
      ],
    });
    const item = { apiGroup: '', resources: ['configmaps'], namespaces: ['shop'], names: ['a', 'b'] };
    tree.place({ upsync: [{ ...item, statusSummarizers: ['cases'] }] });
    await tree.settle();
    for (const agent of agents) tree.born(agent, 'a', { cases: '3' });
    tree.born('top', 'b', { cases: '10' });
    tree.born('top', 'other', { cases: '1000' });
    await tree.settle();
    expect([tree.rows('', 'shop.cases'), tree.rows('a:b:c', 'shop.cases')]).toEqual([[[6, 25]], [[2, 6]]]);
    for (const path of ['a:b:c:d', '']) tree.restart(path);
    tree.gone('a:b:c:d:shop-3', 'a');
    await tree.settle();
    expect([tree.rows('', 'shop.cases'), tree.rows('a:b:c', 'shop.cases')]).toEqual([[[5, 22]], [[1, 3]]]);
  });

  it('covers objects that placed objects own, distinguished by their kind, if an associated item names it and matches', async () => {
    const tree = await reportedChain();
    tree.summarizer('owned', {
      groupBy: [{ name: 'kind', def: 'returned.kind' }],
      combinedFields: [
        { name: 'n', type: 'COUNT' },
        { name: 'ready', type: 'SUM', subject: 'int(returned.status.ready)' },
      ],
    });
    const associated = [
      { apiGroup: '', resources: ['pods', 'secrets'], limit: 5, statusSummarizers: ['owned'] },
      { apiGroup: 'apps', resources: ['replicasets'], limit: 5 },
    ];
    tree.place({ associated });
    await tree.settle();
    for (const agent of agents) tree.owned(agent, '/pods', 'Pod', 'web-1', { ready: 2 }, ['shop']);
    tree.owned('top', '/pods', 'Pod', 'web-2', { ready: 1 }, ['shop']);
    tree.owned('top', '/secrets', 'Secret', 'web', { ready: 0 }, ['shop']);
    // No rule with the summarizer asks for these objects: because of their kind, their placement, or because the agent reports no placements.
    tree.owned('top', 'apps/replicasets', 'ReplicaSet', 'web', { ready: 9 }, ['shop']);
    tree.owned('top', '/pods', 'Pod', 'web-3', { ready: 9 }, ['other']);
    tree.owned('top', '/pods', 'Pod', 'web-4', { ready: 9 });
    await tree.settle();
    const all = [
      ['Pod', 6, 11],
      ['Secret', 1, 0],
    ];
    expect([tree.rows('', 'shop.owned'), tree.rows('a:b:c', 'shop.owned')]).toEqual([all, [['Pod', 2, 4]]]);
    for (const path of ['a:b:c:d', '']) tree.restart(path);
    tree.ownedGone('a:b:c:d:shop-3', '/pods', 'web-1');
    tree.owned('top', '/pods', 'Pod', 'web-2', { ready: 1 }, []);
    await tree.settle();
    expect([tree.rows('', 'shop.owned'), tree.rows('a:b:c', 'shop.owned')]).toEqual([
      [
        ['Pod', 4, 8],
        ['Secret', 1, 0],
      ],
      [['Pod', 1, 2]],
    ]);
  });

  it.each([
    ['before', true],
    ['after', false],
  ])('of a placement that selects nothing counts nothing, whether the summarizer was made %s it', async (_, first) => {
    const tree = new SummaryTree(['a'], ['a:shop']);
    const mean = { name: 'mean', type: 'AVG', subject: 'returned.status.x' };
    const make = () => tree.summarizer('n', { combinedFields: [{ name: 'n', type: 'COUNT' }, mean] });
    if (first) make();
    tree.placement('n');
    await tree.settle();
    if (!first) make();
    await tree.settle();
    expect([tree.rows('', 'shop.n'), tree.rows('a', 'shop.n')]).toEqual([[[0, null]], [[0, null]]]);
    expect(tree.condition('SummarizersResolved')).toMatchObject({ status: 'True' });
  });
});

describe('the contribution of a replica to a summary', () => {
  const shown = (tree: SummaryTree) => tree.rows('', 'shop.replicas');

  it('is unchanged while the replica’s feed is reconciled for some time, then nothing until the end', async () => {
    const tree = new SummaryTree(['a', 'b'], ['a:shop', 'b:shop']);
    tree.summarizer('replicas', replicas);
    tree.apply(webOf('till'));
    tree.placement('replicas');
    for (const agent of ['a:shop', 'b:shop']) tree.report(agent, 'till', ready(1));
    await tree.settle();
    tree.mixed.add('a');
    tree.frozen.add('a');
    tree.at('').summaries.recount('a');
    tree.report('a:shop', 'till', ready(5));
    tree.report('b:shop', 'till', ready(2));
    await tree.settle();
    expect(shown(tree)).toEqual([['web:1', 2, 3, 2]]);
    tree.frozen.delete('a');
    tree.at('').summaries.recount('a');
    await tree.settle();
    expect(shown(tree)).toEqual([['web:1', 1, 2, 2]]);
    tree.mixed.delete('a');
    tree.at('').summaries.recount('a');
    await tree.settle();
    expect(shown(tree)).toEqual([['web:1', 2, 7, 5]]);
  });

  it('is nothing if a summary is new and the rows are of two histories', async () => {
    const tree = new SummaryTree(['a', 'b'], ['a:shop', 'b:shop']);
    tree.apply(webOf('till'));
    for (const relay of ['a', 'b']) tree.frozen.add(relay);
    tree.mixed.add('a');
    tree.summarizer('replicas', replicas);
    tree.placement('replicas');
    for (const agent of ['a:shop', 'b:shop']) tree.report(agent, 'till', ready(1));
    await tree.settle();
    tree.frozen.clear();
    for (const relay of ['a', 'b']) tree.at('').summaries.recount(relay);
    await tree.settle();
    expect(shown(tree)).toEqual([['web:1', 1, 1, 1]]);
  });
});

describe('ten thousand groups below two regions', () => {
  it('are a thousand exact ones at each level, and the others in one with its bound, whatever each level has dropped', async () => {
    const [shops, each] = [['a', 'b', 'a:c'].map((relay) => `${relay}:shop`), 5_000];
    const tree = new SummaryTree(['a', 'b', 'a:c'], shops);
    const values = [
      { name: 'n', type: 'COUNT' },
      { name: 'sum', type: 'SUM', subject: 'returned.status.value' },
    ];
    tree.summarizer('wide', { groupBy: [{ name: 'group', def: 'returned.status.group' }], combinedFields: values });
    tree.placement('wide');
    for (let i = 0; i < each; i++) tree.apply(webOf(`web-${i}`));
    await tree.settle();
    // Half of the groups of each shop are also groups of the next one: 10,000 in all.
    for (const [shop, path] of shops.entries())
      tree.reportMany(
        path,
        Array.from({ length: each }, (_, i) => [`web-${i}`, { group: `g${shop * 2_500 + i}`, value: 1 }]),
      );
    await tree.settle();
    for (const [path, rows, groups] of [
      ['', 15_000, 10_000],
      ['a', 10_000, 10_000],
      ['a:c', 5_000, 5_000],
      ['b', 5_000, 5_000],
    ] as const) {
      const { total, dropped = 0, errorBound, rows: shown } = tree.summary(path, 'shop.wide')!;
      const columns = shown.map((row) => row.columns as [string, number, number]);
      const [name, inOthers] = columns.at(-1)!;
      expect([path, shown.length, name, total]).toEqual([path, 1_001, '__other__', rows]);
      expect(errorBound).toBe(inOthers);
      expect(columns.reduce((sum, [, n]) => sum + n, 0)).toBe(rows);
      expect(columns.every(([, n, sum]) => n === sum)).toBe(true);
      expect(Math.abs(dropped - (groups - 1_000))).toBeLessThan(groups * 0.15);
    }
  });
});

describe('SUM over strings', () => {
  it.each([
    [
      'grouped',
      {
        combinedFields: [
          { name: 'n', type: 'COUNT' },
          { name: 's', type: 'SUM', subject: 'returned.status.tills' },
        ],
      },
      [[3, 6]],
    ],
    ['selected', { select: [{ name: 's', def: 'returned.status.tills * 2' }] }, [[2], [4], [6]]],
  ])(
    '%s is an error of each of these rows, counted and sampled at every level, beside the values of the others',
    async (_, spec, rows) => {
      const tree = new SummaryTree(['a', 'a:b'], ['a:x', 'a:b:y', 'a:b:z', 'w', 'v']);
      tree.summarizer('tills', spec);
      tree.apply(webOf('till'));
      tree.placement('tills');
      await tree.settle();
      for (const [path, tills] of [
        ['a:x', 1],
        ['a:b:y', 2],
        ['w', 3],
        ['a:b:z', 'seven'],
        ['v', 'two'],
      ] as const)
        tree.report(path, 'till', { tills });
      await tree.settle();
      const shown = tree.summary('', 'shop.tills')!;
      expect([...shown.rows.map(({ columns }) => columns)].sort()).toEqual(rows);
      expect([shown.total, shown.rowErrors.count]).toEqual([3, 2]);
      expect(shown.rowErrors.sample.map(({ path }) => path).sort()).toEqual(['a:b:z', 'v']);
      for (const { field, message } of shown.rowErrors.sample)
        expect([field, message]).toEqual([
          expect.stringMatching(/^spec\.(combinedFields\[1\]\.subject|select\[0\]\.def)$/),
          expect.stringMatching(/string|overload/),
        ]);
      expect([
        tree.summary('a:b', 'shop.tills')!.rowErrors.count,
        tree.summary('a', 'shop.tills')!.rowErrors.count,
      ]).toEqual([1, 1]);
      tree.report('v', 'till', { tills: 4 });
      await tree.settle();
      expect(tree.summary('', 'shop.tills')!.rowErrors.count).toBe(1);
    },
  );
});

describe('the cost of one change among a thousand agents', () => {
  it('is log2 of the rows, and log2 of the children above', async () => {
    const many = Array.from({ length: 1000 }, (_, i) => `a:shop-${i}`);
    const tree = new SummaryTree(['a'], many);
    tree.summarizer('replicas', replicas);
    tree.apply(webOf('till'));
    tree.placement('replicas');
    await tree.settle();
    for (const agent of many) tree.report(agent, 'till', ready(1));
    await tree.settle();
    const merges = () => tree.at('a').summaries.merges('center.retail/shop', 'replicas');
    const before = merges();
    tree.report('a:shop-500', 'till', ready(2));
    await tree.settle();
    expect(tree.rows('', 'shop.replicas')).toEqual([['web:1', 1000, 1001, 2]]);
    expect(merges() - before).toBeLessThanOrEqual(Math.log2(1000) + 1);
    expect(merges() - before).toBeGreaterThan(0);
  });
});
