import type { GroupResource } from '../../object/key.ts';
import type { SpaceStorage, StoredObject } from '../storage.ts';

/** Bytes of a page, and one object more. The store reads so much ahead. */
const pageBytesMax = 256 * 1024;

/** Returns the objects of a resource, sorted, and reads them in pages. Objects may be deleted during the scan. */
export function* scanPages(storage: SpaceStorage, of: GroupResource, namespace?: string): Generator<StoredObject> {
  const where = namespace === undefined ? {} : { namespace };
  for (let after: StoredObject | undefined, isCut = true; isCut; ) {
    const page: StoredObject[] = [];
    let bytes = 0;
    isCut = false;
    storage.visit(of, { ...where, ...(after ? { after: after.key } : {}) }, (stored) => {
      page.push(stored);
      bytes += stored.body.length;
      isCut = bytes >= pageBytesMax;
      return !isCut;
    });
    yield* page;
    after = page.at(-1);
  }
}
