import { beforeEach, describe, expect, it } from 'vitest';
import type { PlacementAttributes } from '../../../../core/entries/down-attributes.ts';
import { SpaceBench, source } from '../support/space-bench.ts';

const spec = (more: object = {}) => ({
  locationSelectors: [{}],
  downsync: [{ apiGroup: '*', resources: ['*'], namespaces: ['shop'] }],
  ...more,
});

describe('the order of a placement at its origin', () => {
  let bench: SpaceBench;
  const moveOf = (name: string) => {
    const row = bench.rows().find(({ key }) => key === `p/${source}/${name}`);
    return row && (JSON.parse(row.attributes) as PlacementAttributes).move;
  };
  const claim = (...accessModes: string[]) =>
    bench.space.apply(
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { namespace: 'shop', name: 'data' },
        spec: { accessModes, resources: { requests: { storage: '1Gi' } } },
      },
      { fieldManager: 'test', force: true },
    );
  const deletion = (name: string) => bench.target(name)?.deletion;

  beforeEach(() => {
    bench = new SpaceBench();
    bench.namespace('shop');
    bench.configMap('shop', 'a');
    bench.placement('auto', spec({ move: { deadlineSeconds: 30 } }));
    bench.placement('make', spec({ move: { strategy: 'MakeBeforeBreak' } }));
    bench.placement('none', spec({ move: { strategy: 'None' } }));
    bench.placement('silent', spec());
    bench.settle();
  });

  it('is on its row, also without spec.move, and absent with the strategy None', () => {
    expect(moveOf('auto')).toEqual({ order: 'MakeBeforeBreak', deadlineSeconds: 30 });
    expect(moveOf('make')).toEqual({ order: 'MakeBeforeBreak', deadlineSeconds: 600 });
    expect(moveOf('none')).toBeUndefined();
    expect(moveOf('silent')).toEqual({ order: 'MakeBeforeBreak', deadlineSeconds: 600 });
  });

  it('of Auto follows the carried claims as they come and go, and nothing else', () => {
    claim('ReadWriteOnce');
    bench.settle();
    expect(moveOf('auto')?.order).toBe('BreakBeforeMake');
    expect(moveOf('make')?.order).toBe('MakeBeforeBreak');
    expect(moveOf('none')).toBeUndefined();
    expect(moveOf('silent')?.order).toBe('BreakBeforeMake');
    bench.space.delete({ group: '', resource: 'persistentvolumeclaims', namespace: 'shop', name: 'data' });
    bench.settle();
    expect(moveOf('auto')?.order).toBe('MakeBeforeBreak');
    claim('ReadWriteMany');
    bench.settle();
    expect(moveOf('auto')?.order).toBe('MakeBeforeBreak');
  });

  it('is the same after a start that comes before the claim is processed', () => {
    claim('ReadWriteOncePod');
    bench.restart();
    bench.settle();
    expect(moveOf('auto')?.order).toBe('BreakBeforeMake');
  });

  it('of BreakBeforeMake removes in the foreground, unless the placement specifies another way', () => {
    bench.placement('breaks', spec({ move: { strategy: 'BreakBeforeMake' } }));
    bench.placement('says', spec({ move: { strategy: 'BreakBeforeMake' }, deletion: { propagationPolicy: 'Orphan' } }));
    claim('ReadWriteOnce');
    bench.settle();
    expect([deletion('breaks'), deletion('auto'), deletion('says')]).toEqual(['Foreground', 'Foreground', 'Orphan']);
    expect([deletion('make'), deletion('none')]).toEqual([undefined, undefined]);
  });

  it.each([
    [{ strategy: 'Sometimes' }, 'spec.move.strategy'],
    [{ deadlineSeconds: 0 }, 'spec.move.deadlineSeconds'],
    [{ deadlineSeconds: 700_000 }, 'spec.move.deadlineSeconds'],
  ])('is refused as %j, with the field', (move, field) => {
    expect(() => bench.placement('wrong', spec({ move }))).toThrow(field);
  });
});
