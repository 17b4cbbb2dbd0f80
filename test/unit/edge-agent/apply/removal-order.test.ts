import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { removalStages } from '../../../../edge-agent/apply/order.ts';
import {
  companionsMs,
  namespaceStayMs,
  RemovalOrder,
  removalWaitMs,
} from '../../../../edge-agent/apply/removal-order.ts';

const { served, workloads, support, definitions, namespaces } = removalStages;

describe('a removal', () => {
  let clock: VirtualClock;
  let order: RemovalOrder;
  let woken: string[];
  let placed: Set<string>;
  const add = (key: string, stage: number, more: object = {}) =>
    order.add(key, { groups: ['op'], stage, isKnown: true, mayHaveCompanions: false, ...more });
  const going = (...keys: string[]) => keys.filter((key) => order.mayGo(key));

  beforeEach(() => {
    clock = new VirtualClock();
    woken = [];
    placed = new Set();
    order = new RemovalOrder(
      clock,
      (key) => woken.push(key),
      (group) => placed.has(group),
    );
  });

  it('goes stage by stage, and wakes an object when its turn may have come', () => {
    for (const [key, stage] of [
      ['ns', namespaces],
      ['deploy', workloads],
      ['tank', served],
      ['tank2', served],
    ] as const)
      add(key, stage);
    expect(going('ns', 'deploy', 'tank', 'tank2')).toEqual(['tank', 'tank2']);
    order.drop('tank');
    expect(woken).toEqual([]);
    order.drop('tank2');
    expect(woken).toEqual(['ns', 'deploy']);
    expect(going('ns', 'deploy')).toEqual(['deploy']);
    order.drop('deploy');
    expect(going('ns')).toEqual(['ns']);
  });

  it('of a single object waits for nothing', () => {
    add('tank', served);
    expect(going('tank', 'unrelated')).toEqual(['tank', 'unrelated']);
  });

  it('goes on when an object of an earlier stage is wanted again', () => {
    add('tank', served);
    add('deploy', workloads);
    expect(going('deploy')).toEqual([]);
    order.drop('tank');
    expect(going('deploy')).toEqual(['deploy']);
  });

  it('goes on without an object that does not go, after the bound, and wakes that object for its report', () => {
    add('tank', served);
    add('deploy', workloads);
    expect(going('tank', 'deploy')).toEqual(['tank']);
    order.tried('tank');
    clock.advance(removalWaitMs - 1);
    expect([going('deploy'), order.isOverdue('tank')]).toEqual([[], false]);
    clock.advance(1);
    expect(woken).toEqual(['tank', 'deploy']);
    expect([going('tank', 'deploy'), order.isOverdue('tank')]).toEqual([['tank', 'deploy'], true]);
  });

  it('waits longer while objects of the stage go', () => {
    for (const key of ['a', 'b', 'c']) add(key, served);
    add('deploy', workloads);
    order.tried('a');
    clock.advance(removalWaitMs - 1);
    order.drop('a');
    clock.advance(removalWaitMs - 1);
    expect(going('deploy')).toEqual([]);
    clock.advance(1);
    expect(going('deploy')).toEqual(['deploy']);
  });

  it('does not count the time of a cluster that does not answer', () => {
    add('tank', served);
    add('deploy', workloads);
    expect(going('tank', 'deploy')).toEqual(['tank']);
    clock.advance(removalWaitMs * 10);
    expect(going('deploy')).toEqual([]);
  });

  it('bounds the wait for each stage', () => {
    add('tank', served);
    add('deploy', workloads);
    add('role', support);
    for (const key of ['tank', 'deploy']) {
      order.tried(key);
      expect(going('role')).toEqual([]);
      clock.advance(removalWaitMs);
    }
    expect(going('role')).toEqual(['role']);
  });

  it('waits for objects that the agent has not looked at', () => {
    add('config', support, { isKnown: false });
    add('deploy', workloads, { isKnown: false });
    add('role', support);
    expect([order.isUnknown('config'), going('role')]).toEqual([true, []]);
    order.know('config', served);
    order.know('deploy', workloads);
    expect(going('config', 'deploy', 'role')).toEqual(['config']);
    order.drop('config');
    expect(woken).toContain('deploy');
    expect(going('deploy', 'role')).toEqual(['deploy']);
  });

  it('covers the groups of an object: a custom object holds back the placement that brought its definition', () => {
    add('tank', served, { groups: ['tanks', 'op'] });
    add('deploy', workloads);
    add('other', workloads, { groups: ['other'] });
    expect(going('deploy', 'other')).toEqual(['other']);
    order.drop('tank');
    expect(going('deploy')).toEqual(['deploy']);
  });

  it('leaves controllers a moment longer if their custom objects may follow, whichever is withdrawn first', () => {
    add('deploy', workloads, { mayHaveCompanions: true });
    expect(going('deploy')).toEqual([]);
    add('tank', served);
    clock.advance(companionsMs);
    expect(woken).toEqual(['deploy']);
    expect(going('deploy', 'tank')).toEqual(['tank']);
    order.drop('tank');
    expect(going('deploy')).toEqual(['deploy']);
  });

  it('leaves a Namespace longer while its placement is there, because other objects may follow', () => {
    placed.add('op');
    add('config', support);
    add('ns', namespaces, { mayHaveCompanions: true });
    expect(going('config', 'ns')).toEqual(['config']);
    order.drop('config');
    expect(going('ns')).toEqual([]);
    woken = [];
    clock.advance(namespaceStayMs);
    expect(woken).toEqual(['ns']);
    expect(going('ns')).toEqual(['ns']);
  });

  it('removes a Namespace at once when its placement is withdrawn', () => {
    placed.add('op');
    add('ns', namespaces, { mayHaveCompanions: true });
    expect(going('ns')).toEqual([]);
    placed.delete('op');
    order.withdrawn('op');
    expect(woken).toEqual(['ns']);
    expect(going('ns')).toEqual(['ns']);
  });

  it('does not wait for what stays because others need it', () => {
    add('definition', definitions);
    add('ns', namespaces);
    expect(going('definition', 'ns')).toEqual(['definition']);
    order.standAside('definition');
    expect(going('definition', 'ns')).toEqual(['definition', 'ns']);
    order.drop('definition');
    order.drop('ns');
    expect(order.has('ns')).toBe(false);
  });

  it('gives an object of an earlier stage its full time, although the time of a later stage runs', () => {
    add('deploy', workloads);
    add('role', support);
    order.tried('deploy');
    clock.advance(removalWaitMs - 1);
    add('tank', served);
    order.tried('tank');
    clock.advance(removalWaitMs - 1);
    expect([order.isOverdue('tank'), going('deploy')]).toEqual([false, []]);
  });

  it('begins anew for objects that are withdrawn later', () => {
    add('tank', served);
    add('ns', namespaces);
    order.tried('tank');
    clock.advance(removalWaitMs);
    add('tank2', served);
    expect(going('ns', 'tank2')).toEqual(['tank2']);
  });
});
