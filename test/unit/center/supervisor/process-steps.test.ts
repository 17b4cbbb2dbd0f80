import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ProcessStep, processSteps } from '../../../../center/supervisor/process-steps.ts';
import { equalJson } from '../../../../core/object/json-value.ts';
import { isLive } from '../../../../relay/config/live-config.ts';

type Configs = ReadonlyMap<string, Record<string, unknown>>;

/** Paths, parents before their children. */
const ids = ['', 'eu', 'us', 'eu:paris', 'eu:paris:a', 'us:b'];
const config = fc.record({ link: fc.nat(1), inventory: fc.nat(1), spaces: fc.nat(1) });
const configs = fc
  .uniqueArray(fc.constantFrom(...ids))
  .chain((some) => fc.tuple(...ids.map((id) => fc.tuple(fc.constant(id), fc.constant(some.includes(id)), config))))
  .map((all) => new Map(all.flatMap(([id, isThere, one]) => (isThere ? [[id, one] as const] : []))) as Configs);

/** Processes that run with the configuration that they had at their last step. */
function run(before: Configs, after: Configs, steps: readonly ProcessStep[]): Configs {
  const running = new Map(before);
  for (const { do: what, id } of steps) {
    if (what === 'stop') running.delete(id);
    else running.set(id, after.get(id)!);
  }
  return running;
}

describe('the steps from one tree to another', () => {
  it('end with exactly the nodes of the other tree, each with its configuration there', () => {
    fc.assert(
      fc.property(configs, configs, (before, after) => {
        const running = run(before, after, processSteps(before, after));
        expect(Object.fromEntries(running)).toEqual(Object.fromEntries(after));
      }),
    );
  });

  it('touch no node whose configuration stays, and restart none that can take the difference', () => {
    fc.assert(
      fc.property(configs, configs, (before, after) => {
        for (const { do: what, id } of processSteps(before, after)) {
          const [had, has] = [before.get(id), after.get(id)];
          expect(equalJson(had, has)).toBe(false);
          const others = Object.keys(has ?? {}).filter((field) => !equalJson(had?.[field], has?.[field]));
          if (had && has) expect(what).toBe(isLive(others) ? 'reconfigure' : 'restart');
          else expect(what).toBe(has ? 'start' : 'stop');
        }
      }),
    );
  });

  it('stop children before parents, and then touch parents before children', () => {
    fc.assert(
      fc.property(configs, configs, (before, after) => {
        const steps = processSteps(before, after);
        const order = (one: readonly ProcessStep[]) => one.map(({ id }) => ids.indexOf(id));
        const stops = steps.filter((step) => step.do === 'stop');
        expect(steps.slice(0, stops.length)).toEqual(stops);
        expect(order(stops)).toEqual(order(stops).toSorted((a, b) => b - a));
        const others = order(steps.slice(stops.length));
        expect(others).toEqual(others.toSorted((a, b) => a - b));
      }),
    );
  });

  it('do nothing when run again', () => {
    fc.assert(
      fc.property(configs, (tree) => {
        expect(processSteps(tree, tree)).toEqual([]);
      }),
    );
  });
});
