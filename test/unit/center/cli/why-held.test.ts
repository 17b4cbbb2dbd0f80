import { describe, expect, it } from 'vitest';
import { heldBack } from '../../../../center/cli/why-held.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';

const at = 'eu:store-1';
const object = 'configmaps shop/greeting';
const placement = (status: object): KubeObject => ({
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'EdgePlacement',
  metadata: { name: 'shop' },
  status,
});
const held = (origin: object, lastHop: object) =>
  heldBack({ name: 'shop', origin: placement(origin), lastHop: placement(lastHop) }, at, object);

describe('the reason that holds an object back', () => {
  it('is none for a placement without conditions', () => {
    expect(held({}, {})).toEqual([]);
    expect(heldBack({ name: 'shop', origin: undefined, lastHop: undefined }, at, object)).toEqual([]);
  });

  it('is a release that is not promoted, with the messages of its origin and of the last hop', () => {
    const above = { rollout: { release: 3, phase: 'WaitingForGate', message: 'waits for ops' } };
    const below = { rollout: { release: 3, phase: 'Progressing', message: 'no report of the origin for 12 s' } };
    expect(held(above, below)).toEqual([
      'shop: release 3 is not promoted (WaitingForGate): waits for ops',
      'shop: release 3 at the parent of the agent: no report of the origin for 12 s',
    ]);
    const promoted = { rollout: { release: 3, phase: 'Promoted', message: 'release 3 is promoted' } };
    expect(held(promoted, below)).toEqual([]);
  });

  it('is a release, once, if the origin is the last hop', () => {
    const origin = placement({ rollout: { release: 3, phase: 'Paused', message: 'paused by hand' } });
    expect(heldBack({ name: 'shop', origin, lastHop: origin }, at, object)).toEqual([
      'shop: release 3 is not promoted (Paused): paused by hand',
    ]);
  });

  it('is a move, as the last hop describes it', () => {
    const moving = (status: string) => ({ conditions: [{ type: 'Moving', status, message: '1 old copy waits' }] });
    expect(held({}, moving('True'))).toEqual(['shop: a move is under way: 1 old copy waits']);
    expect(held({}, moving('False'))).toEqual([]);
  });

  it('is a failure of this object at this cluster, and of no other', () => {
    const failure = { path: at, object, reason: 'CustomizationFailed', message: 'no such key: zone' };
    const failures = [failure, { ...failure, path: 'eu:store-2' }, { ...failure, object: 'configmaps shop/other' }];
    expect(held({}, { failures })).toEqual(['shop: CustomizationFailed: no such key: zone']);
  });
});
