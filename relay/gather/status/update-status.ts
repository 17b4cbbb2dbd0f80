/** Writes a status into an object of an own space, or removes it. Throws StoreFull. */
import type { Space } from '../../../core/apiserver/space.ts';
import { stableStringify } from '../../../core/object/canonical.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import { BanyanError, describeError } from '../../../core/runtime/errors.ts';
import type { Logger } from '../../../core/runtime/logger.ts';
import { lacksRoom } from '../../../core/store/room.ts';

export function updateStatus(space: Space, object: KubeObject, status: object | undefined, log: Logger): void {
  if (stableStringify(object.status ?? {}) === stableStringify(status ?? {})) return;
  try {
    const { status: _old, ...rest } = object;
    space.update(
      {
        ...rest,
        apiVersion: object.apiVersion,
        kind: object.kind,
        metadata: object.metadata,
        ...(status ? { status } : {}),
      },
      { subresource: 'status' },
    );
  } catch (error) {
    // Two errors are harmless: somebody changed the object meanwhile, which made it dirty again; or the kind of the object has no status.
    if (!(error instanceof BanyanError) || lacksRoom(error)) throw error;
    log.debug({ object: object.metadata.name, reason: describeError(error) }, 'a status was not written');
  }
}
