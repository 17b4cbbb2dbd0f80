/**
 * A child with a store on the disk as a process of its own, as each agent is one, forked by a benchmark. It reports the time at which an awaited entry is
 * durable, by the clock that all processes of a machine share. It ends with its parent.
 */

import type { TargetAttributes } from '../../core/entries/down-attributes.ts';
import { parseEntryKey } from '../../core/entries/entry-keys.ts';
import { splitPlacementId } from '../../core/entries/placement-id.ts';
import type { AppliedChange } from '../../core/feed/feed.ts';
import { silentLogger } from '../../core/runtime/logger.ts';
import { asText } from '../../core/store/bytes.ts';
import { LmdbStore } from '../../core/store/lmdb/lmdb-store.ts';
import type { NodeCredentials } from '../../core/wire/node-credentials.ts';
import { setHeapFlags } from '../../relay/process/heap-flags.ts';
import { answerParent } from './forked.ts';
import { machineMs } from './measure.ts';
import { attachChild } from './mesh-child.ts';

export interface EndRequest {
  /** The folder of its store. */
  readonly directory: string;
  readonly path: string;
  /** Also the name of its own namespace and placement. */
  readonly child: string;
  readonly parent: { readonly address: string; readonly path: string };
  readonly credentials: Pick<NodeCredentials, 'caPem' | 'certPem' | 'keyPem'>;
}

/** The child's own objects that have arrived and are durable. */
export interface Arrived {
  readonly round: number;
  /** The number of the write at the center. */
  readonly revision: number;
  readonly atMs: number;
  /** The revision of the newest target. */
  readonly target: number;
}

setHeapFlags();
answerParent(attach);

async function attach({ directory, path, child, parent, credentials }: EndRequest): Promise<'attached'> {
  const store = LmdbStore.open({ directory }, silentLogger);
  let arrived: Arrived = { round: 0, revision: 0, atMs: 0, target: 0 };
  await attachChild({
    store,
    path,
    parent,
    credentials,
    committed(changes) {
      void store.flushed().then(() => {
        const atMs = machineMs();
        const before = arrived;
        for (const change of changes) arrived = afterChange(arrived, child, change, atMs);
        if (arrived !== before) process.send?.(arrived);
      });
    },
  });
  return 'attached';
}

function afterChange(arrived: Arrived, child: string, change: AppliedChange, atMs: number): Arrived {
  const { key, after, originRevision } = change;
  const entry = parseEntryKey(key);
  if (!after) return arrived;
  if (entry?.type === 'target' && splitPlacementId(entry.id).name === child) {
    return { ...arrived, target: (JSON.parse(asText(after.attributes)) as TargetAttributes).target };
  }
  if (entry?.type !== 'object' || entry.object.resource !== 'configmaps' || entry.object.namespace !== child) {
    return arrived;
  }
  const { data } = JSON.parse(asText(after.body)) as { data: { round: string } };
  return { ...arrived, round: Number(data.round), revision: originRevision, atMs };
}
