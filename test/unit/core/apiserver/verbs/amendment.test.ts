import { describe, expect, it } from 'vitest';
import { crdResource } from '../../../../../core/apiserver/crd/definition.ts';
import type { Space } from '../../../../../core/apiserver/space.ts';
import { boards } from '../crd/support.ts';
import { testSpace } from '../kinds/space-support.ts';

const key = { ...crdResource, namespace: '', name: 'boards.shop.example.com' };
const status = { storedVersions: ['v1'], conditions: [] };

/** The stored bytes after the write. */
function bytesAfter(write: (space: Space) => void): string {
  const { space } = testSpace();
  space.create(boards({ type: 'object' }));
  write(space);
  return Buffer.from(space.storage.get(key)?.body ?? []).toString();
}

describe('an amendment by the node itself', () => {
  it('has the effect of an update of the status', () => {
    const updated = bytesAfter((space) =>
      space.update({ ...space.get(key)!, status }, { subresource: 'status', fieldManager: 'crd-controller' }),
    );
    expect(bytesAfter((space) => space.amend(key, { status }, 'crd-controller'))).toBe(updated);
    expect(updated).toContain('"storedVersions":["v1"]');
  });

  it('has the effect of an update of the finalizers', () => {
    const finalizers = ['example.com/wait'];
    const updated = bytesAfter((space) => {
      const object = space.get(key)!;
      space.update({ ...object, metadata: { ...object.metadata, finalizers } }, { fieldManager: 'a' });
    });
    expect(bytesAfter((space) => space.amend(key, { finalizers }, 'a'))).toBe(updated);
    expect(updated).toContain('example.com/wait');
  });

  it('removes a deleted object with its last finalizer', () => {
    const left = bytesAfter((space) => {
      space.amend(key, { finalizers: ['example.com/wait'] }, 'a');
      space.delete(key);
      space.amend(key, { finalizers: [] }, 'a');
    });
    expect(left).toBe('');
  });

  it('writes nothing if nothing changes', () => {
    const { space } = testSpace();
    space.create(boards({ type: 'object' }));
    space.amend(key, { status }, 'a');
    const revision = space.storage.revision();
    space.amend(key, { status }, 'a');
    expect(space.storage.revision()).toBe(revision);
  });
});
