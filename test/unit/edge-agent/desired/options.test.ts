import { describe, expect, it } from 'vitest';
import type { TargetAttributes } from '../../../../core/entries/down-attributes.ts';
import { deliveryOptionsOf, sameOptions } from '../../../../edge-agent/desired/options.ts';

const target = (more: Partial<TargetAttributes> = {}): TargetAttributes => ({
  generation: 1,
  target: 1,

  priority: 0,
  created: '',
  uid: '',
  ...more,
});
const options = (here: Record<string, TargetAttributes>, createOnly: string[] = [], named: string[] = []) =>
  deliveryOptionsOf({ names: ['a', 'b', 'elsewhere'], createOnly, named }, (name) => here[name]);

describe('the options of an object that several placements of a space want', () => {
  it('leave it alone after creation only if all placements that reach the cluster say so', () => {
    expect(options({ a: target(), b: target() }, ['a', 'b']).createOnly).toBe(true);
    expect(options({ a: target(), b: target() }, ['a']).createOnly).toBe(false);
    expect(options({ a: target() }, ['a']).createOnly).toBe(true);
  });

  it('leave it alone while the placements that reach the cluster are unknown, if one says so', () => {
    expect(options({}, ['a']).createOnly).toBe(true);
    expect(options({}).createOnly).toBe(false);
  });

  it('name it if a placement that reaches the cluster names it', () => {
    expect(options({ a: target(), b: target() }, [], ['b']).named).toBe(true);
    expect(options({ a: target() }, [], ['b']).named).toBe(false);
  });

  it('remove it in the most careful way that one of them asks for', () => {
    expect(options({ a: target() }).deletion).toBe('Background');
    expect(options({ a: target(), b: target({ deletion: 'Foreground' }) }).deletion).toBe('Foreground');
    expect(options({ a: target({ deletion: 'Orphan' }), b: target({ deletion: 'Foreground' }) }).deletion).toBe(
      'Orphan',
    );
    expect(options({}).deletion).toBeUndefined();
  });

  it('enforce a value that one of them wants enforced, and take a risk only if all take it', () => {
    const rules = (...all: (TargetAttributes['apply'] | undefined)[]) =>
      deliveryOptionsOf({ names: all.map((_, i) => `${i}`), createOnly: [], named: [] }, (name) =>
        target(all[Number(name)] ? { apply: all[Number(name)]! } : {}),
      ).rules;
    expect(rules()).toEqual({ drift: 'Correct', ignored: [], adopt: 'IfUnowned', replace: false });
    expect(rules({ drift: 'Report', ignored: ['.a', '.b'], adopt: 'Always', replace: true })).toMatchObject({
      drift: 'Report',
      adopt: 'Always',
      replace: true,
    });
    expect(rules({ drift: 'Ignore', replace: true }, { drift: 'Report' })).toMatchObject({
      drift: 'Report',
      replace: false,
    });
    expect(rules({ ignored: ['.a', '.b'] }, { ignored: ['.b'] }).ignored).toEqual(['.b']);
    expect(rules({ adopt: 'Always' }, undefined).adopt).toBe('IfUnowned');
    expect(rules({ adopt: 'Always' }, { adopt: 'Never' }).adopt).toBe('Never');
  });

  it('are decided against other spaces by the strongest placement that reaches the cluster', () => {
    const here = { a: target({ priority: 1, uid: 'x' }), b: target({ priority: 2, uid: 'y' }) };
    expect(options(here).claim).toMatchObject({ placement: 'b', priority: 2, uid: 'y' });
    expect(options({ a: here.a }).claim).toMatchObject({ placement: 'a' });
    expect(options({}).claim).toBeUndefined();
  });

  it('stay the same if only the revision of a target changes', () => {
    expect(sameOptions(target({ priority: 1 }), target({ priority: 1, target: 9, generation: 3 }))).toBe(true);
    expect(sameOptions(target({ priority: 1 }), target({ priority: 2 }))).toBe(false);
    expect(sameOptions(target({ apply: { drift: 'Report' } }), target())).toBe(false);
    expect(sameOptions(undefined, target())).toBe(false);
  });
});
