import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchesSelector } from '../../../../core/object/selector.ts';
import { ScheduleBench, selecting } from '../support/schedule-bench.ts';

type Command =
  | { readonly do: 'object'; readonly name: string; readonly refs: readonly string[]; readonly body: string }
  | { readonly do: 'removeObject' | 'removePlacement' | 'leave'; readonly name: string }
  | { readonly do: 'placement'; readonly name: string; readonly sites: readonly string[] }
  | { readonly do: 'child'; readonly name: string; readonly sites: readonly string[] }
  | { readonly do: 'step' | 'restart' };

const object = fc.constantFrom('a', 'b', 'c');
const placement = fc.constantFrom('p', 'q', 'r');
/** The relay is the child whose name says so. */
const child = fc.constantFrom('one', 'two', 'relay');
const site = fc.constantFrom('paris', 'rome', 'oslo');
const sites = fc.uniqueArray(site, { maxLength: 2 });
const constant = <T extends Command>(command: T): fc.Arbitrary<Command> => fc.constant(command);
const body = fc.constantFrom('1', '2');
const refs = fc.uniqueArray(placement, { maxLength: 3 });
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('object' as const), name: object, refs, body }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('removeObject' as const), name: object }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('placement' as const), name: placement, sites }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('removePlacement' as const), name: placement }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('child' as const), name: child, sites }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('leave' as const), name: child }) },
  { weight: 3, arbitrary: constant({ do: 'step' }) },
  { weight: 1, arbitrary: constant({ do: 'restart' }) },
);

/** The state that the commands describe. */
class Model {
  readonly objects = new Map<string, readonly string[]>();
  readonly placements = new Map<string, readonly string[]>();
  readonly children = new Map<string, readonly string[]>();

  apply(bench: ScheduleBench, one: Command): void {
    switch (one.do) {
      case 'object':
        this.objects.set(one.name, one.refs);
        return bench.object(one.name, one.refs, one.body);
      case 'removeObject':
        this.objects.delete(one.name);
        return bench.removeObject(one.name);
      case 'placement':
        this.placements.set(one.name, one.sites);
        return bench.placement(one.name, selecting(...one.sites));
      case 'removePlacement':
        this.placements.delete(one.name);
        return bench.removePlacement(one.name);
      case 'child':
        this.children.set(one.name, one.sites);
        if (one.name === 'relay') return bench.relay(one.name, one.sites.map(labelsAt));
        return bench.agent(one.name, labelsAt(one.sites[0] ?? 'nowhere'));
      case 'leave':
        this.children.delete(one.name);
        return bench.leave(one.name);
      case 'step':
        bench.step();
        return;
      case 'restart':
        return bench.restart();
    }
  }

  /** A fold over everything: the placements that match somewhere at the child, and the objects that one of them wants. */
  mailbox(name: string): string[] {
    const at = this.children.get(name) ?? [];
    const below = (name === 'relay' ? at : at.slice(0, 1)).map(labelsAt);
    const matched = [...this.placements.keys()].filter((one) =>
      selecting(...this.placements.get(one)!).locationSelectors!.some((selector) =>
        below.some((labels) => matchesSelector(selector, labels)),
      ),
    );
    const wanted = [...this.objects].filter(([, wantedBy]) => wantedBy.some((one) => matched.includes(one)));
    const placements = matched.flatMap((one) => (name === 'relay' ? [`p/${one}`, `t/${one}`] : [`t/${one}`]));
    return [...wanted.map(([one]) => `o/${one}`), ...placements].sort();
  }
}

const labelsAt = (at: string) => ({ site: at });

describe('a scheduler', () => {
  it('has in every mailbox the result of a fold over all placements, objects and children, restarted at any time', () => {
    fc.assert(
      fc.property(fc.array(command, { maxLength: 40, size: 'max' }), (commands) => {
        const bench = new ScheduleBench();
        const model = new Model();
        for (const one of commands) model.apply(bench, one);
        bench.settle();
        for (const name of ['one', 'two', 'relay'])
          expect(bench.mailbox(name).sort(), name).toEqual(model.mailbox(name));
      }),
      { numRuns: 1000 },
    );
  });
});
