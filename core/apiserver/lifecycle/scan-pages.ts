import type { GroupResource } from '../../object/key.ts';
import type { SpaceStorage, StoredObject } from '../storage.ts';

/** Objects per page. This bounds the memory of a scan to a few megabytes. */
const pageObjectsMax = 1_000;

/** Returns the objects of a resource, sorted, and reads them in pages. Objects may be deleted during the scan. */
export function* scanPages(storage: SpaceStorage, of: GroupResource, namespace?: string): Generator<StoredObject> {
  const where = namespace === undefined ? {} : { namespace };
  let page = storage.scan(of, { ...where, limit: pageObjectsMax });
  while (page.length > 0) {
    yield* page;
    if (page.length < pageObjectsMax) return;
    page = storage.scan(of, { ...where, limit: pageObjectsMax, after: page.at(-1)!.key });
  }
}
