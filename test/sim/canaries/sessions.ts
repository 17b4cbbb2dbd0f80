/** Canaries that remove rules of sessions. */
import { equalBytes } from '../../../core/store/bytes.ts';
import { isIn } from '../check/rows.ts';
import type { Host } from '../host.ts';
import type { Canaries } from './canary.ts';

export const sessionCanaries: Canaries = {
  'no-fence': {
    break() {},
    // The fence of a session reads the session's own record, as if there were no newer session.
    storeFaults: (host) => ({ get: (key, found) => ownSession(host, key, found) }),
  },
  'fence-in-memory': {
    break() {},
    // A process knows only the sessions that it has granted itself.
    storeFaults: (host) => {
      const begun = new Set<string>();
      return {
        get: (key, found) => {
          if (!isIn(key, 'session') || host.world.delivery?.frame.frame?.$case !== 'hello') return found;
          const name = Buffer.from(key).toString('hex');
          if (begun.has(name)) return found;
          begun.add(name);
          return undefined;
        },
      };
    },
  },
  'sessions-forgotten': {
    break() {},
    storeFaults: (host) => ({
      get: (key, found) =>
        isIn(key, 'session') && host.world.delivery?.frame.frame?.$case === 'hello' ? undefined : found,
    }),
  },
};

function ownSession(host: Host, key: Uint8Array, found: Uint8Array | undefined): Uint8Array | undefined {
  const { delivery } = host.world;
  if (!found || !delivery || delivery.to !== 'parent' || delivery.connection.parent !== host) return found;
  if (!isIn(key, 'session') || delivery.frame.frame?.$case === 'hello') return found;
  if (!equalBytes(key.subarray(2), Buffer.from(delivery.connection.child.id))) return found;
  return delivery.connection.sessionRecord ?? found;
}
