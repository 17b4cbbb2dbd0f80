/** Objects that are removed together: custom objects, the controllers that serve them, and definitions. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../core/object/meta.ts';
import { AgentBench, board, configMap, definition, deployment, namespace, path } from './support/agent-bench.ts';

const id = 'center.retail/op';
const shop = '/namespaces//shop';
const boards = 'apiextensions.k8s.io/customresourcedefinitions//boards.shop.example.com';
const one = 'shop.example.com/boards/shop/one';
const controller = 'apps/deployments/shop/operator';
const account = '/serviceaccounts/shop/operator';
const role = 'rbac.authorization.k8s.io/clusterroles//operator';
const till = '/configmaps/shop/till';
const companionsMs = 5_000;
const namespaceStayMs = 15_000;
const boundMs = 60_000;

const objects: Record<string, KubeObject> = {
  [shop]: namespace('shop'),
  [boards]: definition(),
  [one]: board('one'),
  [controller]: deployment('operator'),
  [account]: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'operator', namespace: 'shop' } },
  [role]: { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'operator' } },
  [till]: configMap('till'),
};
const all = [shop, boards, one, controller, account, role];

let bench: AgentBench;
const put = (keys: readonly string[], placement = 'op') =>
  keys.map((key) => bench.object(key, objects[key]!, [placement]));
/** The objects are withdrawn. */
const gone = (...keys: string[]) => bench.receive(...keys.map((key) => bench.gone(`o/center.retail/${key}`)));
/** The placement is withdrawn, with these objects. */
const withdrawn = (...keys: string[]) =>
  bench.receive(...[`t/${id}`, ...keys.map((key) => `o/center.retail/${key}`)].map((key) => bench.gone(key)));
const there = (...keys: string[]) => keys.filter((key) => bench.cluster.objects.has(key));
const removed = () => bench.cluster.log.filter((line) => line.startsWith('remove')).map((line) => line.slice(7));
const drain = 'op.example.com/drain';
/** As the controller does: the cluster keeps the object until somebody removes the finalizer. */
const finalize = (key: string) => {
  bench.cluster.finalized.add(key);
  bench.cluster.write(key, ({ metadata }) => Object.assign(metadata, { finalizers: [drain] }));
};
const trouble = () => bench.reported(`node/${path}`)!.attributes.trouble as { reason: string; message: string };

async function placed() {
  bench = await new AgentBench().start();
  await bench.receive(...put(all), bench.target(id));
  bench.cluster.log.length = 0;
}

describe('a placement with an operator and its objects', () => {
  beforeEach(placed);

  it('goes in stages: custom objects, the controller, its support, the definition, the namespace', async () => {
    await withdrawn(...all);
    await bench.advance(companionsMs);
    expect(removed().slice(0, 2)).toEqual([one, controller]);
    expect(removed().slice(2, 4).sort()).toEqual([account, role]);
    expect(removed().slice(4)).toEqual([boards, shop]);
  });

  it('keeps its namespace while other objects may follow, as the objects of a chart follow its first hooks', async () => {
    await gone(...all);
    await bench.advance(namespaceStayMs - 1_000);
    expect(there(shop, one)).toEqual([shop]);
    await bench.receive(...put([shop, till]));
    await bench.advance(namespaceStayMs);
    expect(there(shop, till)).toEqual([shop, till]);
    await gone(shop, till);
    await bench.advance(namespaceStayMs);
    expect(there(shop, till)).toEqual([]);
  });

  it('removes its namespace at once when the placement goes', async () => {
    await gone(...all);
    await bench.advance(companionsMs);
    expect(there(...all)).toEqual([shop]);
    await withdrawn();
    expect(there(shop)).toEqual([]);
  });

  it('keeps the controller until the finalizers of custom objects are gone', async () => {
    finalize(one);
    await withdrawn(...all);
    await bench.advance(boundMs - 1_000);
    expect(removed()).toEqual([one]);
    bench.cluster.erase(one);
    await bench.settle();
    expect(bench.cluster.objects.size).toBe(0);
  });

  it('goes on after the bound, and tells object, finalizer and remedy', async () => {
    finalize(one);
    await withdrawn(...all);
    await bench.advance(1_500);
    await bench.advance(boundMs);
    await bench.advance(5_000);
    // With the definition and the namespace, the cluster would only refuse what repairs the object.
    expect(there(...all)).toEqual([shop, boards, one]);
    await bench.advance(5_000);
    expect(trouble()).toMatchObject({ reason: 'RemovalStuck' });
    expect(trouble().message).toContain('boards.shop.example.com shop/one');
    expect(trouble().message).toContain(`it waits for ${drain}`);
    expect(trouble().message).toContain('remove them from metadata.finalizers');
    expect(trouble().message).toContain('has gone on with the objects that are removed after it');
    bench.cluster.erase(one);
    await bench.settle();
    expect(bench.cluster.objects.size).toBe(0);
  });

  it('keeps the order when the objects are withdrawn one after the other, the controller first', async () => {
    finalize(one);
    for (const key of [controller, account, role, boards, shop, one]) {
      await gone(key);
      await bench.advance(500);
    }
    await withdrawn();
    await bench.advance(companionsMs * 2);
    expect(removed()).toEqual([one]);
    bench.cluster.erase(one);
    await bench.settle();
    expect(bench.cluster.objects.size).toBe(0);
  });

  it('keeps the order over a restart in the middle', async () => {
    finalize(one);
    await withdrawn(...all);
    await bench.restart();
    await bench.advance(companionsMs);
    expect(removed()).toEqual([one]);
    await bench.restart();
    await bench.advance(companionsMs);
    bench.cluster.erase(one);
    await bench.settle();
    expect(bench.cluster.objects.size).toBe(0);
  });

  it('keeps the order when everything was withdrawn while no agent ran', async () => {
    await bench.agent.stop();
    finalize(one);
    bench.receiveWhileStopped(...all.map((key) => bench.gone(`o/center.retail/${key}`)));
    await bench.restart();
    await bench.advance(companionsMs * 2);
    expect(removed()).toEqual([one]);
  });

  it('loses a single object at once while the operator stays', async () => {
    await gone(one);
    expect(removed()).toEqual([one]);
  });

  it('loses a controller that is withdrawn alone, a moment later', async () => {
    await gone(controller);
    expect(removed()).toEqual([]);
    await bench.advance(companionsMs);
    expect(removed()).toEqual([controller]);
  });

  it('keeps a controller that is wanted again in time', async () => {
    finalize(one);
    await gone(...all);
    await bench.receive(...put([shop, boards, controller, account, role]));
    bench.cluster.erase(one);
    await bench.advance(companionsMs * 2);
    expect(removed()).toEqual([one]);
  });
});

/**
 * The placement with the objects brings definition and namespace too: its objects need them. It may be of another space, whose definition wins
 * (`ops`) or loses (`zoo`) against that of the operator.
 */
describe.each(['center.retail', 'center.ops', 'center.zoo'])(
  'two placements, one with the operator and one of %s with its objects',
  (source) => {
    const own = [controller, account, role];
    const needed = [shop, boards];
    const others = [...needed, one];
    /** Withdraws the placement with the operator, or the one with the objects. Rows of one source name all its placements. */
    const withdraw = (what: 'operator' | 'objects', isFirst: boolean) => {
      const isShared = source === 'center.retail';
      const rest = what === 'operator' ? ['objects'] : ['op'];
      const from = what === 'operator' ? 'center.retail' : source;
      const keys = what === 'operator' ? [...own, ...needed] : others;
      return bench.receive(
        bench.gone(what === 'operator' ? `t/${id}` : `t/${source}/objects`),
        ...keys.map((key) =>
          isShared && isFirst && needed.includes(key)
            ? bench.object(key, objects[key]!, rest, from, { implied: ['objects'] })
            : bench.gone(`o/${from}/${key}`),
        ),
      );
    };

    beforeEach(async () => {
      bench = await new AgentBench().start();
      const refs = source === 'center.retail' ? ['op', 'objects'] : ['op'];
      await bench.receive(
        ...needed.map((key) => bench.object(key, objects[key]!, refs, 'center.retail', { implied: ['objects'] })),
        ...put(own),
        ...others
          .filter((key) => source !== 'center.retail' || !needed.includes(key))
          .map((key) =>
            bench.object(key, objects[key]!, ['objects'], source, { implied: needed.includes(key) ? ['objects'] : [] }),
          ),
        bench.target(id),
        bench.target(`${source}/objects`),
      );
      bench.cluster.log.length = 0;
      finalize(one);
    });

    it.each([
      ['operator', 'objects'],
      ['objects', 'operator'],
    ] as const)(
      'withdrawn at about the same time, %s first: the objects go first, also over a restart',
      async (first, second) => {
        await withdraw(first, true);
        await bench.advance(1_000);
        await withdraw(second, false);
        await bench.advance(companionsMs * 2);
        expect(removed()).toEqual([one]);
        await bench.restart();
        await bench.advance(companionsMs * 2);
        expect(removed()).toEqual([one]);
        bench.cluster.erase(one);
        await bench.settle();
        expect(bench.cluster.objects.size).toBe(0);
      },
    );

    it('the operator alone goes, and its definition and namespace stay for the objects', async () => {
      await withdraw('operator', true);
      await bench.advance(companionsMs);
      expect(there(...all)).toEqual([shop, boards, one]);
    });

    it('the objects alone go, and the operator stays', async () => {
      await withdraw('objects', true);
      bench.cluster.erase(one);
      await bench.advance(companionsMs * 2);
      expect(there(...all)).toEqual(all.filter((key) => key !== one));
    });
  },
);

it('an object of a built-in kind that gets the finalizer of a controller goes before the controller', async () => {
  bench = await new AgentBench().start();
  await bench.receive(...put([shop, till, controller, account]), bench.target(id));
  finalize(till);
  bench.cluster.log.length = 0;
  await withdrawn(shop, till, controller, account);
  await bench.advance(10_000);
  expect(removed()).toEqual([till]);
  bench.cluster.erase(till);
  await bench.settle();
  expect(bench.cluster.objects.size).toBe(0);
});

it('an object of a built-in kind with the finalizer of a controller goes before the controller, also after a restart', async () => {
  bench = await new AgentBench().start();
  await bench.receive(...put([shop, till, controller, account]), bench.target(id));
  finalize(till);
  await bench.agent.stop();
  bench.receiveWhileStopped(...[shop, till, controller, account].map((key) => bench.gone(`o/center.retail/${key}`)));
  bench.cluster.log.length = 0;
  // The new process has no observation of any object when it begins.
  for (const resource of ['/configmaps', 'apps/deployments', '/serviceaccounts']) bench.cluster.silent.add(resource);
  await bench.restart();
  await bench.advance(1_000);
  expect(removed()).toEqual([till]);
});

it('an ordinary placement goes without a pause, in stages', async () => {
  bench = await new AgentBench().start();
  await bench.receive(...put([shop, till, controller, account]), bench.target(id));
  bench.cluster.log.length = 0;
  await withdrawn(shop, till, controller, account);
  expect(removed()[0]).toBe(controller);
  expect(bench.cluster.objects.size).toBe(0);
});

it('an object that the cluster refuses to remove holds up the others for a bounded time', async () => {
  bench = await new AgentBench().start();
  await bench.receive(...put([shop, till, controller]), bench.target(id));
  bench.cluster.irremovable.set(controller, 'not allowed');
  await gone(shop, till, controller);
  await bench.advance(boundMs - 1_000);
  expect(there(till)).toEqual([till]);
  await bench.advance(1_000);
  expect(there(till)).toEqual([]);
});
