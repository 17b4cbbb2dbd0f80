import { describe, expect, it } from 'vitest';
import { checkAttachTo, type SpacePlace } from '../../../../../core/apiserver/kinds/attach-to-check.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { refusal, testSpace } from './space-support.ts';

const inventory = (path = ''): SpacePlace => ({ type: 'Inventory', path });
const apiVersion = 'inventory.banyan.io/v1alpha1';

function target(attachTo?: string): KubeObject {
  const spec = attachTo === undefined ? {} : { attachTo };
  return { apiVersion, kind: 'SyncTarget', metadata: { name: 'cafe' }, spec };
}

const messages = (object: KubeObject, place: SpacePlace, old?: KubeObject) =>
  checkAttachTo(object, old, place).map(({ field, message }) => `${field}: ${message}`);

describe('spec.attachTo of a SyncTarget', () => {
  it('is a path below the node that has the inventory space', () => {
    expect(messages(target('store-17'), inventory())).toEqual([]);
    expect(messages(target('eu:paris:store-17'), inventory())).toEqual([]);
    expect(messages(target('eu:paris:store-17'), inventory('eu'))).toEqual([]);
  });

  it.each(['us:market', 'eu', 'europe:store', 'eu-west:store'])('is refused as %s in a space of eu', (path) => {
    const [message] = messages(target(path), inventory('eu'));
    expect(message).toContain(`spec.attachTo: Invalid value: "${path}": must be below "eu"`);
    expect(message).toContain('such as eu:store-17');
  });

  it.each(['', 'eu:', ':eu', 'eu::x', 'eu:Store', 'eu/store', 'eu.paris:x', 'center', 'center:x', ' eu'])(
    'is refused as %j, an invalid path',
    (path) => {
      expect(messages(target(path), inventory())).toEqual([expect.stringContaining('write the path of an agent')]);
    },
  );

  it('is required in an inventory space, and forbidden in a system space', () => {
    expect(messages(target(), inventory())).toEqual([
      'spec.attachTo: Required value: write the path of the agent that the SyncTarget stands for, such as eu:paris:store-17',
    ]);
    expect(messages(target(), { type: 'System', path: 'eu' })).toEqual([]);
    expect(messages(target('eu:x'), { type: 'System', path: 'eu' })).toEqual([
      'spec.attachTo: Forbidden: in this space, a SyncTarget stands for the agent with its own name: leave it out',
    ]);
  });

  it.each(['eu.paris', 'center', 'eu--1'])(
    'is not needed in a system space, where the name is the agent’s, so the name %j is refused there',
    (name) => {
      const cafe = target();
      const named = { ...cafe, metadata: { name } };
      const system: SpacePlace = { type: 'System', path: '' };
      expect(messages(named, system)).toEqual([
        expect.stringMatching(/^metadata.name: Invalid value: ".*": the agent/),
      ]);
      // An existing object can be edited.
      expect(messages(named, system, named)).toEqual([]);
      expect(messages({ ...named, spec: { attachTo: 'store-17' } }, inventory())).toEqual([]);
    },
  );

  it('is not checked again while it is unchanged', () => {
    expect(messages(target('us:x'), inventory('eu'), target('us:x'))).toEqual([]);
    expect(messages(target(), inventory(), target())).toEqual([]);
    expect(messages(target(), inventory(), target('eu:x'))).toHaveLength(1);
  });

  it('is refused by the space, with the field', () => {
    const { space } = testSpace('Inventory', 'eu');
    const error = refusal(() => space.create(target('us:x')));
    expect(error.message).toContain('spec.attachTo: Invalid value: "us:x": must be below "eu"');
    expect(space.create(target('eu:x')).spec).toMatchObject({ attachTo: 'eu:x' });
  });
});
