import { describe, expect, it } from 'vitest';
import { RolloutBench } from './rollout-bench.ts';

const canary = {
  waves: [
    { name: 'canary', count: 2, soakSeconds: 5 },
    { name: 'half', fraction: 0.5 },
  ],
};
const progressive = { strategy: 'Progressive', ...canary };
const phase = (bench: RolloutBench) => bench.status().rollout?.phase;
const isPromoted = (bench: RolloutBench, release: number) =>
  phase(bench) === 'Promoted' && bench.status().rollout!.release === release;

/** All of a first release is out. */
function promoted(rollout: object = progressive, hops = ['eu', 'us'], perHop = 10): RolloutBench {
  const bench = new RolloutBench(hops, perHop);
  bench.write('greeting', 'one');
  bench.place(rollout);
  bench.until('the first release is out', () => bench.having('greeting', 'one').length === bench.agents.length);
  bench.settle();
  return bench;
}

describe('a release', () => {
  it('of a new placement goes out in waves too', () => {
    const bench = new RolloutBench(['eu', 'us'], 10);
    bench.write('greeting', 'one');
    bench.place(progressive);
    bench.until('the canaries soak', () => phase(bench) === 'Soaking');
    expect(bench.having('greeting', 'one')).toHaveLength(2);
    expect(bench.having('greeting', undefined)).toHaveLength(18);
    bench.until('it is promoted', () => phase(bench) === 'Promoted');
    bench.settle();
    expect(bench.having('greeting', 'one')).toHaveLength(20);
    expect(bench.status().summary).toMatchObject({ expected: 20, fresh: 20, available: 20, outdated: 0 });
  });

  it('leaves destinations without it unchanged, and counts them as outdated', () => {
    const bench = promoted();
    bench.write('greeting', 'two');
    bench.until('the canaries soak', () => phase(bench) === 'Soaking');
    expect([bench.having('greeting', 'two').length, bench.having('greeting', 'one').length]).toEqual([2, 18]);
    expect(bench.status().summary).toMatchObject({ expected: 20, available: 2, outdated: 18 });
    expect(bench.kept()).toEqual(['q/center.retail/shop//configmaps/shop/greeting']);
  });

  it('keeps only the objects that it changes, and nothing when it is promoted', () => {
    const bench = promoted();
    bench.write('price', 'one');
    bench.write('greeting', 'two');
    bench.settle();
    expect(
      bench
        .kept()
        .map((key) => key.split('/').at(-1))
        .sort(),
    ).toEqual(['greeting', 'price']);
    bench.until('it is promoted', () => phase(bench) === 'Promoted');
    expect(bench.kept()).toEqual([]);
    expect(bench.having('price', 'one')).toHaveLength(20);
  });

  it('that removes an object leaves it at destinations that the release has not reached', () => {
    const bench = promoted();
    bench.remove('greeting');
    bench.until('the canaries soak', () => phase(bench) === 'Soaking');
    expect([bench.having('greeting', undefined).length, bench.having('greeting', 'one').length]).toEqual([2, 18]);
    bench.until('it is promoted', () => phase(bench) === 'Promoted');
    bench.settle();
    expect(bench.having('greeting', undefined)).toHaveLength(20);
  });

  it('ends as soon as the objects equal the promoted ones', () => {
    const bench = promoted();
    bench.write('greeting', 'two');
    bench.until('the canaries soak', () => phase(bench) === 'Soaking');
    bench.write('greeting', 'one');
    bench.settle();
    expect([phase(bench), bench.kept(), bench.having('greeting', 'one').length]).toEqual(['Promoted', [], 20]);
    bench.settle();
    expect(bench.status().summary.available).toBe(20);
  });

  it('that changes while it goes out starts anew: its destinations get the promoted objects, or the newer release', () => {
    const bench = promoted();
    bench.write('greeting', 'two');
    bench.until('the canaries soak', () => phase(bench) === 'Soaking');
    bench.write('price', 'one');
    bench.write('greeting', 'three');
    bench.until('the new canaries soak', () => phase(bench) === 'Soaking' && bench.status().rollout!.release === 3);
    expect(bench.having('greeting', 'two')).toEqual([]);
    expect([bench.having('greeting', 'three').length, bench.having('price', 'one').length]).toEqual([2, 2]);
  });

  it('goes out to all when its placement no longer has a strategy', () => {
    const bench = promoted();
    bench.write('greeting', 'two');
    bench.until('the canaries soak', () => phase(bench) === 'Soaking');
    bench.place({ strategy: 'All' });
    bench.turn();
    expect([bench.having('greeting', 'two').length, bench.kept()]).toEqual([20, []]);
    expect(bench.status().rollout).toBeUndefined();
    bench.turn();
    expect(bench.status().summary.available).toBe(20);
  });

  it('begins with the next change when its placement gets a strategy: the present objects count as promoted', () => {
    const bench = promoted({ strategy: 'All' });
    bench.place(progressive);
    bench.turn();
    expect([phase(bench), bench.status().summary.available]).toEqual(['Promoted', 20]);
    bench.write('greeting', 'two');
    bench.until('the canaries soak', () => phase(bench) === 'Soaking');
    expect(bench.having('greeting', 'two')).toHaveLength(2);
  });

  it('is not confused with a release from before its placement had no strategy, by any node that has or reports that one', () => {
    const waves = [{ name: 'canary', count: 2, gates: [{ rolloutGate: 'go' }] }];
    const staged = { strategy: 'Progressive', waves };
    const bench = promoted({ strategy: 'All' });
    bench.place(staged);
    bench.turn();
    bench.write('greeting', 'two');
    bench.until('the canary has it', () => phase(bench) === 'WaitingForGate');
    const holdersBefore = bench.having('greeting', 'two');
    bench.gate('go', { phase: 'Passed', release: 1 });
    bench.connect(holdersBefore[0]!.hop, false);
    bench.place({ strategy: 'All' });
    bench.turn();
    bench.place(staged);
    bench.turn();
    bench.write('greeting', 'three');
    bench.connect(holdersBefore[0]!.hop, true);
    bench.until('the canary of the next one has it', () => phase(bench) === 'WaitingForGate');
    expect(bench.status().rollout).toMatchObject({ release: 2, expected: 2, exposed: 2 });
    expect([bench.having('greeting', 'three').length, bench.having('greeting', 'two').length]).toEqual([2, 18]);
  });

  it('leaves nothing behind when its placement goes', () => {
    const bench = promoted();
    bench.write('greeting', 'two');
    bench.until('the canaries soak', () => phase(bench) === 'Soaking');
    bench.space.delete({ group: 'edge.banyan.io', resource: 'edgeplacements', namespace: '', name: 'shop' });
    bench.turn();
    expect([bench.having('greeting', undefined).length, bench.kept()]).toEqual([20, []]);
  });

  it('does not reach a destination that joins meanwhile, which gets the promoted objects', () => {
    const bench = promoted();
    bench.write('greeting', 'two');
    bench.write('price', 'one');
    bench.until('the canaries soak', () => phase(bench) === 'Soaking');
    const late = { hop: 'eu', name: 'late', labels: { env: 'prod' } };
    bench.join(late);
    expect(bench.holds(late)).toEqual({ greeting: 'one' });
    bench.until('it is promoted', () => phase(bench) === 'Promoted');
    bench.settle();
    expect(bench.holds(late)).toEqual({ greeting: 'two', price: 'one' });
  });
});

describe('a release to three hundred destinations', () => {
  it('goes to a tenth, to half, to all, and each last hop never exceeds its share in flight', () => {
    const waves = [
      { name: 'canary', fraction: 0.1, gates: [{ expression: 'available/expected >= 0.99' }, { rolloutGate: 'go' }] },
      { name: 'half', fraction: 0.5, gates: [{ rolloutGate: 'on' }] },
    ];
    const bench = new RolloutBench(['eu', 'us', 'asia'], 100);
    bench.write('greeting', 'one');
    bench.place({ strategy: 'All' });
    bench.until('all have it', () => bench.having('greeting', 'one').length === 300);
    bench.place({ strategy: 'Progressive', waves, maxUnavailable: '10%', errorBudget: '20%' });
    bench.settle();
    let most = 0;
    bench.admitted = (children) => {
      most = Math.max(most, children);
    };
    bench.write('greeting', 'two');
    bench.until('the canary is judged', () => phase(bench) === 'WaitingForGate');
    const canaries = bench.having('greeting', 'two').length;
    // Five standard deviations of 300 draws at 10 %.
    expect(Math.abs(canaries - 30)).toBeLessThan(26);
    bench.gate('go', { phase: 'Passed' });
    bench.until('half are judged', () => phase(bench) === 'WaitingForGate' && bench.status().rollout?.wave === 'half');
    expect(Math.abs(bench.having('greeting', 'two').length - 150)).toBeLessThan(44);
    bench.gate('on', { phase: 'Passed' });
    bench.until('it is promoted', () => isPromoted(bench, 1));
    bench.settle();
    expect(bench.having('greeting', 'two')).toHaveLength(300);
    expect(most).toBe(10);
  });
});

describe('any order of rows', () => {
  const orders: [string, (keys: string[]) => string[]][] = [
    ['objects before releases', (keys) => [...keys].sort()],
    ['releases before objects', (keys) => [...keys].sort().reverse()],
    ['by their hashes', (keys) => [...keys].sort((a, b) => a.slice(-3).localeCompare(b.slice(-3)))],
  ];

  it.each(orders)(
    '%s: no destination gets a release before it is authorised, and all get it in the end',
    (_, order) => {
      const bench = new RolloutBench(['eu', 'us'], 5);
      bench.order = order;
      bench.write('greeting', 'one');
      bench.place({ strategy: 'Progressive', waves: [{ name: 'first', count: 1, gates: [{ rolloutGate: 'go' }] }] });
      bench.until('it waits', () => phase(bench) === 'WaitingForGate');
      expect(bench.having('greeting', 'one')).toHaveLength(1);
      bench.gate('go', { phase: 'Passed' });
      bench.until('it is promoted', () => phase(bench) === 'Promoted');
      bench.settle();
      bench.gate('go', { phase: 'Waiting' });
      bench.write('greeting', 'two');
      bench.write('price', 'one');
      bench.until('it waits', () => phase(bench) === 'WaitingForGate');
      expect([bench.having('greeting', 'two').length, bench.having('price', undefined).length]).toEqual([1, 9]);
      bench.write('greeting', 'one');
      bench.remove('price');
      bench.turn();
      expect([bench.having('greeting', 'one').length, bench.having('price', undefined).length]).toEqual([10, 10]);
    },
  );
});

describe('a release that fails', () => {
  it('is paused within its budget, and the others stay unchanged', () => {
    const bench = promoted({ ...progressive, errorBudget: 2 });
    bench.write('greeting', 'broken');
    bench.until('it is paused', () => phase(bench) === 'Paused');
    for (let i = 0; i < 10; i++) bench.turn();
    expect(bench.having('greeting', 'broken').length).toBeLessThanOrEqual(2);
    // Which places get the release first decides whether the whole budget is spent, or the share of one relay.
    expect(bench.status().rollout?.message).toMatch(/the error budget is 2|share of the error budget/);
    expect(bench.status().conditions).toContainEqual(
      expect.objectContaining({ type: 'Progressing', status: 'False', reason: 'ErrorBudgetSpent' }),
    );
  });

  it('is rolled back everywhere, and stays so over a restart of any node', () => {
    const bench = promoted({ ...progressive, onFailure: 'Rollback' });
    bench.write('greeting', 'broken');
    bench.until('it is taken back', () => phase(bench) === 'RolledBack');
    bench.turn();
    expect(bench.having('greeting', 'one')).toHaveLength(20);
    const backAgain = () => {
      const { summary, display, conditions } = bench.status();
      expect(summary).toMatchObject({ expected: 20, available: 20, outdated: 0, failed: 0 });
      expect(display).toBe('available 20/20 (rolled back)');
      expect(conditions.filter(({ type }) => type !== 'Conflicted' && type !== 'Moving')).toEqual([
        expect.objectContaining({
          type: 'Ready',
          status: 'False',
          reason: 'RolledBack',
          message:
            'all 20 destinations are available with the objects that were promoted before the release that was rolled back; see status.rollout',
        }),
        expect.objectContaining({ type: 'Progressing', status: 'False', reason: 'ErrorBudgetSpent' }),
      ]);
    };
    bench.turn();
    backAgain();
    bench.restartOrigin();
    for (const hop of bench.hops.values()) hop.restart();
    for (let i = 0; i < 10; i++) bench.turn();
    expect([phase(bench), bench.having('greeting', 'one').length]).toEqual(['RolledBack', 20]);
    backAgain();
    bench.write('greeting', 'two');
    bench.until('the next one is on its way', () => phase(bench) === 'Soaking');
    expect(bench.status().summary).toMatchObject({ available: 2, outdated: 18 });
    bench.until('the next one is promoted', () => phase(bench) === 'Promoted');
    bench.settle();
    expect(bench.status().conditions[0]).toMatchObject({ type: 'Ready', status: 'True' });
  });

  it('is counted by the promoted objects where it was rolled back, and as stale where the state is unknown', () => {
    const waves = [{ name: 'first', count: 1, gates: [{ rolloutGate: 'go' }] }];
    const bench = promoted({ strategy: 'All' });
    bench.place({ strategy: 'Progressive', waves, onFailure: 'Rollback' });
    bench.settle();
    bench.gate('go', { phase: 'Waiting' });
    bench.write('greeting', 'two');
    bench.until('the canary has it', () => phase(bench) === 'WaitingForGate');
    const [away] = bench.having('greeting', 'two');
    bench.connect(away!.hop, false);
    bench.gate('go', { phase: 'Failed' });
    bench.until('it is taken back', () => phase(bench) === 'RolledBack');
    bench.settle();
    expect(bench.status().summary).toMatchObject({ expected: 20, fresh: 10, available: 10, stale: 10, outdated: 0 });
    expect(bench.status().conditions[0]).toMatchObject({ reason: 'Stale' });
    bench.connect(away!.hop, true);
    for (let i = 0; i < 3; i++) bench.turn();
    expect(bench.status().summary).toMatchObject({ expected: 20, available: 20, stale: 0, outdated: 0 });
  });
});

describe('restarts', () => {
  it('of the origin between waves change only the time that the release takes', () => {
    const bench = promoted();
    bench.write('greeting', 'two');
    bench.until('the canaries soak', () => phase(bench) === 'Soaking');
    const first = bench.having('greeting', 'two');
    bench.restartOrigin();
    bench.settle();
    expect([phase(bench), bench.having('greeting', 'two')]).toEqual(['Soaking', first]);
    bench.until('it is promoted', () => phase(bench) === 'Promoted');
    bench.settle();
    expect(bench.having('greeting', 'two')).toHaveLength(20);
  });

  it('of a last hop withdraw the release nowhere, and hand it out nowhere before the origin renews the authorisation', () => {
    const bench = promoted({ ...progressive, maxUnavailable: 1, ratePerMinute: 20 });
    bench.write('greeting', 'two');
    bench.until('half of them are under way', () => bench.having('greeting', 'two').length > 3);
    for (const hop of bench.hops.keys()) bench.connect(hop, false);
    const before = bench.having('greeting', 'two');
    for (const hop of bench.hops.values()) hop.restart();
    for (let i = 0; i < 20; i++) bench.turn();
    expect(bench.having('greeting', 'two')).toEqual(before);
    for (const hop of bench.hops.keys()) bench.connect(hop, true);
    bench.until('it is promoted', () => phase(bench) === 'Promoted');
  });

  it('of nodes on the way to a last hop do not renew an authorisation that was old when it arrived', () => {
    const bench = promoted({ ...progressive, maxUnavailable: 1, ratePerMinute: 20 });
    bench.write('greeting', 'two');
    bench.until('some are under way', () => bench.having('greeting', 'two').length > 1);
    const { authorizationSeconds = 60 } = progressive as { authorizationSeconds?: number };
    // From here on, each renewal has waited for this time at a node above that was cut off itself.
    for (const hop of bench.hops.values()) hop.authorizationAgeMs = authorizationSeconds * 1_000;
    for (const hop of bench.hops.keys()) bench.connect(hop, false);
    bench.clock.advance(2 * authorizationSeconds * 1_000);
    for (const hop of bench.hops.keys()) bench.connect(hop, true);
    bench.turn();
    const before = bench.having('greeting', 'two');
    expect(before.length).toBeLessThan(20);
    for (let i = 0; i < 60; i++) bench.turn();
    expect(bench.having('greeting', 'two')).toEqual(before);
    for (const hop of bench.hops.values()) hop.authorizationAgeMs = 0;
    bench.until('it is promoted', () => phase(bench) === 'Promoted');
  });

  it('of a last hop that has received a release, and not yet its staged placement, lose nothing', () => {
    const bench = promoted({ strategy: 'All' });
    bench.order = (keys) => keys.toSorted((a, b) => Number(b.startsWith('r/')) - Number(a.startsWith('r/')));
    bench.stored = (key, hop) => {
      if (!key.startsWith('r/')) return;
      hop.work();
      hop.restart();
    };
    bench.place(progressive);
    for (let i = 0; i < 3; i++) bench.turn();
    expect([phase(bench), bench.status().summary.available]).toEqual(['Promoted', 20]);
  });
});

describe('a last hop that was away', () => {
  it('hands out no release that came in one batch with the staged placement', () => {
    const bench = promoted({ strategy: 'All' }, ['eu'], 2);
    bench.connect('eu', false);
    bench.place(progressive);
    bench.turn();
    bench.write('greeting', 'two');
    bench.turn();
    bench.isBatched = true;
    // The release itself has not arrived yet.
    bench.order = (keys) => keys.filter((key) => !key.startsWith('r/'));
    bench.connect('eu', true);
    bench.settle();
    expect(bench.having('greeting', 'one')).toHaveLength(2);
    bench.order = (keys) => keys;
    bench.until('it is promoted', () => phase(bench) === 'Promoted');
    bench.settle();
    expect(bench.having('greeting', 'two')).toHaveLength(2);
  });

  it('takes nothing from later destinations when all of it came in one batch: the stages, and the removal of an object', () => {
    const bench = promoted({ strategy: 'All' }, ['eu']);
    bench.connect('eu', false);
    bench.place(progressive);
    bench.turn();
    bench.remove('greeting');
    bench.turn();
    bench.isBatched = true;
    bench.connect('eu', true);
    bench.until('the canaries soak', () => phase(bench) === 'Soaking');
    expect([bench.having('greeting', undefined).length, bench.having('greeting', 'one').length]).toEqual([2, 8]);
    bench.until('it is promoted', () => phase(bench) === 'Promoted');
    bench.settle();
    expect(bench.having('greeting', undefined)).toHaveLength(10);
  });
});

describe('a last hop that has lost its store', () => {
  const types = ['p/', 'q/', 'r/', 'o/', 't/'];
  const orders = types.flatMap((last) => [types.filter((type) => type !== last).concat(last), [last, ...types]]);
  const at = (order: string[]) => (keys: string[]) =>
    keys.toSorted((a, b) => order.indexOf(a.slice(0, 2)) - order.indexOf(b.slice(0, 2)));
  const gated = { strategy: 'Progressive', waves: [{ name: 'canary', count: 1, gates: [{ rolloutGate: 'go' }] }] };

  it('gives the release’s destinations the promoted objects as newer ones, in whatever order it receives the rows', () => {
    const bench = promoted(progressive, ['eu'], 2);
    bench.until('it is promoted', () => phase(bench) === 'Promoted');
    bench.place(gated);
    bench.write('greeting', 'two');
    bench.until('the canary has it', () => phase(bench) === 'WaitingForGate');
    // The kept promoted rows are as old as the first of them.
    bench.write('greeting', 'three');
    bench.until('the canary has it', () => bench.having('greeting', 'three').length === 1);
    const [canary] = bench.having('greeting', 'three');
    const newest = bench.revisionOf(canary!, 'greeting');
    bench.place({ ...gated, paused: true });
    for (const order of orders) {
      bench.order = at(order);
      bench.loseStore('eu');
      bench.settle();
      bench.settle();
      expect([order, bench.having('greeting', 'one').length]).toEqual([order, 2]);
      expect(bench.revisionOf(canary!, 'greeting')).toBeGreaterThanOrEqual(newest);
    }
  });

  it('gives them also to destinations from which the release had removed the object', () => {
    const bench = promoted(progressive, ['eu'], 2);
    bench.until('it is promoted', () => phase(bench) === 'Promoted');
    bench.place(gated);
    bench.write('greeting', 'two');
    bench.until('the canary has it', () => phase(bench) === 'WaitingForGate');
    bench.remove('greeting');
    bench.until('the canary has it no more', () => bench.having('greeting', undefined).length === 1);
    const [canary] = bench.having('greeting', undefined);
    const taken = bench.revisionOf(canary!, 'greeting');
    bench.place({ ...gated, paused: true });
    for (const order of orders) {
      bench.order = at(order);
      bench.loseStore('eu');
      bench.settle();
      bench.settle();
      expect([order, bench.having('greeting', 'one').length]).toEqual([order, 2]);
      expect(bench.revisionOf(canary!, 'greeting')).toBeGreaterThanOrEqual(taken);
    }
  });
});

describe('a last hop that ends between a release row and the first row of its placement', () => {
  it('hands out the promoted objects when it has received the placement', () => {
    const bench = new RolloutBench(['eu', 'us'], 10);
    bench.connect('us', false);
    bench.write('greeting', 'one');
    bench.place(progressive);
    bench.until('it is promoted', () => phase(bench) === 'Promoted');
    bench.order = (keys) => keys.toSorted((a, b) => Number(b.startsWith('r/')) - Number(a.startsWith('r/')));
    bench.stored = (key, hop) => {
      if (!key.startsWith('r/')) return;
      hop.work();
      hop.restart();
    };
    bench.connect('us', true);
    for (let i = 0; i < 3; i++) bench.turn();
    expect(bench.having('greeting', 'one')).toHaveLength(20);
  });
});

describe('a last hop that ends between a release row and its work', () => {
  it('completes a rollback', () => {
    const waves = [{ name: 'canary', count: 2, gates: [{ rolloutGate: 'go' }] }];
    const bench = promoted();
    bench.place({ strategy: 'Progressive', waves, onFailure: 'Rollback' });
    bench.write('greeting', 'two');
    bench.until('the canaries have it', () => phase(bench) === 'WaitingForGate');
    restartsAtReleases(bench);
    bench.gate('go', { phase: 'Failed' });
    bench.until('it is taken back', () => phase(bench) === 'RolledBack');
    for (let i = 0; i < 3; i++) bench.turn();
    expect(bench.having('greeting', 'one')).toHaveLength(20);
    expect(bench.status().summary).toMatchObject({ available: 20, outdated: 0, failed: 0 });
  });

  it('gives the promoted objects to the destinations of a former release that starts anew', () => {
    const bench = promoted();
    bench.write('greeting', 'two');
    bench.until('the canaries soak', () => phase(bench) === 'Soaking');
    restartsAtReleases(bench);
    bench.write('price', 'one');
    bench.turn();
    expect([bench.having('greeting', 'one').length, bench.having('price', undefined).length]).toEqual([20, 20]);
  });

  it('sends all agents their new reporting rules once the release is promoted', () => {
    const bench = promoted();
    const away = bench.agents.at(-1)!;
    bench.connectAgent(away, false);
    bench.write('greeting', 'two');
    restartsAtReleases(bench, () => isPromoted(bench, 2));
    bench.until('it is promoted', () => isPromoted(bench, 2));
    bench.connectAgent(away, true);
    for (let i = 0; i < 3; i++) bench.turn();
    expect(bench.having('greeting', 'two')).toHaveLength(20);
    expect(bench.status().summary).toMatchObject({ available: 20, outdated: 0 });
  });

  it('drops the release when its placement no longer has a strategy', () => {
    const bench = promoted();
    bench.write('greeting', 'two');
    bench.until('the canaries soak', () => phase(bench) === 'Soaking');
    restartsAtReleases(bench);
    bench.place({ strategy: 'All' });
    for (let i = 0; i < 3; i++) bench.turn();
    expect(bench.having('greeting', 'two')).toHaveLength(20);
    expect(bench.status().summary).toMatchObject({ available: 20, outdated: 0 });
  });
});

/** From now on last hops end whenever they have stored a release row, and start again before they have acted on it. */
function restartsAtReleases(bench: RolloutBench, when = () => true): void {
  bench.stored = (key, hop) => {
    if (key.startsWith('r/') && when()) hop.restart();
  };
}

describe('an offline part', () => {
  it('that is a subtree blocks nobody, gets nothing of an unfinished release, and the promoted objects when it is back', () => {
    const bench = promoted();
    bench.connect('us', false);
    bench.write('greeting', 'two');
    bench.until('it is promoted without them', () => isPromoted(bench, 2));
    bench.settle();
    expect(bench.having('greeting', 'two').map(({ hop }) => hop)).toEqual(new Array(10).fill('eu'));
    bench.connect('us', true);
    bench.turn();
    expect(bench.having('greeting', 'two')).toHaveLength(20);
  });

  it('that is a destination gets nothing, and does not count among the unavailable ones', () => {
    const waves = [{ name: 'all', fraction: 1, gates: [{ rolloutGate: 'go' }] }];
    const bench = new RolloutBench(['eu', 'us'], 10);
    bench.gate('go', { phase: 'Passed', release: 1 });
    bench.write('greeting', 'one');
    bench.place({ strategy: 'Progressive', waves, maxUnavailable: 1 });
    bench.until('the first release is out', () => isPromoted(bench, 1));
    const away = bench.agents.slice(0, 5);
    for (const agent of away) bench.connectAgent(agent, false);
    bench.write('greeting', 'two');
    bench.until('the gate is asked', () => phase(bench) === 'WaitingForGate');
    expect(bench.having('greeting', 'one')).toEqual(away);
    bench.gate('go', { phase: 'Passed', release: 2 });
    bench.until('it is promoted', () => isPromoted(bench, 2));
    bench.settle();
    expect(bench.having('greeting', 'two')).toHaveLength(20);
  });
});

describe('an object that two placements deliver', () => {
  it('is the candidate if one of them brings it without stages', () => {
    const bench = promoted();
    bench.space.create({
      apiVersion: 'edge.banyan.io/v1alpha1',
      kind: 'EdgePlacement',
      metadata: { name: 'at-once' },
      spec: {
        locationSelectors: [{ matchLabels: { env: 'prod' } }],
        downsync: [{ apiGroup: '', resources: ['configmaps'], objectNames: ['greeting'] }],
      },
    });
    bench.settle();
    bench.write('greeting', 'two');
    bench.write('price', 'one');
    bench.until('the canaries soak', () => phase(bench) === 'Soaking');
    expect([bench.having('greeting', 'two').length, bench.having('price', 'one').length]).toEqual([20, 2]);
  });
});

describe('gates', () => {
  it('behind a webhook are called again until they pass', async () => {
    const webhook = { url: 'https://gate.example/ask' };
    const bench = promoted();
    bench.place({ strategy: 'Progressive', waves: [{ name: 'first', count: 1, gates: [{ webhook }] }] });
    bench.answers.push({ passed: false, failed: false, message: 'not yet' }, { passed: true });
    bench.write('greeting', 'two');
    bench.until('it waits', () => phase(bench) === 'WaitingForGate');
    await Promise.resolve();
    bench.settle();
    expect(bench.status().rollout?.message).toContain("waits for gate '1' (not yet)");
    expect(bench.asked[0]).toEqual({
      webhook,
      question: {
        placement: 'shop',
        source: 'center.retail',
        release: 2,
        wave: 'first',
        summary: { expected: 1, fresh: 1, exposed: 1, available: 1, failed: 0 },
      },
    });
    bench.turn(5_000);
    await Promise.resolve();
    bench.until('it is promoted', () => phase(bench) === 'Promoted');
    expect(bench.asked).toHaveLength(2);
  });

  it('behind a webhook are called with the present state, and no more once the rollout is paused', async () => {
    const webhook = { url: 'https://gate.example/ask' };
    const waves = [{ name: 'first', count: 3, gates: [{ webhook }] }];
    const rollout = { strategy: 'Progressive', waves, errorBudget: '100%' };
    const bench = promoted();
    bench.place(rollout);
    bench.write('greeting', 'two');
    bench.until('it waits', () => phase(bench) === 'WaitingForGate');
    await Promise.resolve();
    const [away] = bench.having('greeting', 'two');
    bench.connectAgent(away!, false);
    bench.settle();
    bench.turn(5_000);
    await Promise.resolve();
    const summaries = bench.asked.map(({ question }) => (question as { summary: object }).summary);
    expect(summaries).toMatchObject([{ fresh: 3 }, { fresh: 2 }]);
    bench.place({ ...rollout, paused: true });
    bench.until('it is paused', () => phase(bench) === 'Paused');
    bench.asked.length = 0;
    for (let i = 0; i < 5; i++) {
      bench.turn(5_000);
      await Promise.resolve();
    }
    expect(bench.asked).toEqual([]);
    bench.answers.push({ passed: true });
    bench.place({ ...rollout, paused: false });
    bench.until('it waits again', () => phase(bench) === 'WaitingForGate');
    await Promise.resolve();
    bench.until('it is promoted', () => phase(bench) === 'Promoted');
    expect(bench.asked).toHaveLength(1);
  });

  it('behind a webhook send nothing more when the placement goes during a call', async () => {
    const webhook = { url: 'https://gate.example/ask' };
    const bench = promoted();
    bench.place({ strategy: 'Progressive', waves: [{ name: 'first', count: 1, gates: [{ webhook }] }] });
    bench.write('greeting', 'two');
    bench.until('it waits', () => phase(bench) === 'WaitingForGate');
    bench.space.delete({ group: 'edge.banyan.io', resource: 'edgeplacements', namespace: '', name: 'shop' });
    bench.settle();
    bench.controllers.run('center.retail/shop');
    for (let i = 0; i < 5; i++) {
      await Promise.resolve();
      bench.turn(5_000);
    }
    expect(bench.asked).toHaveLength(1);
  });

  it('behind a changed webhook are called at the new address, and ignore the answer of the former one', async () => {
    const bench = promoted();
    const place = (url: string) => {
      const gates = [{ webhook: { url } }, { rolloutGate: 'go' }];
      bench.place({ strategy: 'Progressive', waves: [{ name: 'first', count: 1, gates }] });
    };
    place('https://old.example/ask');
    bench.answers.push({ passed: true });
    bench.write('greeting', 'two');
    bench.until('it waits', () => phase(bench) === 'WaitingForGate');
    await Promise.resolve();
    bench.settle();
    expect(bench.status().rollout?.message).toContain("waits for gate 'go'");
    place('https://new.example/ask');
    bench.gate('go', { phase: 'Passed' });
    bench.turn(1_000);
    await Promise.resolve();
    bench.settle();
    expect(bench.status().rollout?.message).toContain("waits for gate '1' (no answer)");
    bench.turn(5_000);
    await Promise.resolve();
    const urls = bench.asked.map(({ webhook }) => webhook.url);
    expect(urls).toEqual(['https://old.example/ask', 'https://new.example/ask', 'https://new.example/ask']);
  });

  it('between two sides wait for the annotation that names the release', () => {
    const sides = ['blue', 'green'].map((color) => ({ name: color, selector: { matchLabels: { color } } }));
    const bench = new RolloutBench(['eu'], 6, (i) => ({ color: i % 2 === 0 ? 'blue' : 'green' }));
    bench.write('greeting', 'one');
    const rollout = { strategy: 'BlueGreen', waves: sides };
    bench.place(rollout);
    bench.until('it waits', () => phase(bench) === 'WaitingForApproval');
    expect(bench.having('greeting', 'one').map(({ labels }) => labels.color)).toEqual(['blue', 'blue', 'blue']);
    bench.place(rollout, {}, { 'edge.banyan.io/approve': '1' });
    bench.until('it is promoted', () => phase(bench) === 'Promoted');
  });
});
