/** A process with many agents without clusters: each reports a state, with a status, for every object that it receives. It ends with its parent. */

import { entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import type { AppliedChange } from '../../core/feed/feed.ts';
import type { FeedProducer } from '../../core/feed/producer.ts';
import type { KeyAndCertificate } from '../../core/identity/authority.ts';
import { text } from '../../core/store/bytes.ts';
import { MemoryStore } from '../../core/store/memory/memory-store.ts';
import { setHeapFlags } from '../../relay/process/heap-flags.ts';
import { credentialsOf } from './credentials.ts';
import { answerParent } from './forked.ts';
import { attachChild } from './mesh-child.ts';

export interface FleetChildrenRequest {
  readonly authority: KeyAndCertificate;
  readonly parent: { readonly address: string; readonly path: string };
  readonly names: readonly string[];
}

/** Handshakes at once: each takes some milliseconds in both processes, and a dialer waits ten seconds. */
const dialsAtOnce = 25;
/** As a Deployment has it. */
const status = text(
  JSON.stringify({
    availableReplicas: 2,
    conditions: ['Available', 'Progressing'].map((type) => ({
      lastTransitionTime: '2026-11-27T00:00:00Z',
      lastUpdateTime: '2026-11-27T00:00:00Z',
      message: `Deployment has minimum availability: ${type}`,
      reason: 'MinimumReplicasAvailable',
      status: 'True',
      type,
    })),
    observedGeneration: 1,
    readyReplicas: 2,
    replicas: 2,
    updatedReplicas: 2,
  }),
);
const attributes = text(JSON.stringify({ desired: 1, applied: true, available: true, generation: 1, local: 1 }));

let reported = 0;

setHeapFlags();
answerParent(async (request: FleetChildrenRequest | 'reported') => {
  if (request === 'reported') return reported;
  for (let i = 0; i < request.names.length; i += dialsAtOnce) {
    await Promise.all(request.names.slice(i, i + dialsAtOnce).map((name) => attach(request, name)));
  }
  return request.names.length;
});

async function attach({ authority, parent }: FleetChildrenRequest, name: string): Promise<void> {
  const path = `${parent.path}:${name}`;
  const credentials = await credentialsOf(authority, { path, role: 'agent' });
  const store = new MemoryStore();
  const committed = (changes: readonly AppliedChange[], outbox: FeedProducer) => report(store, outbox, changes);
  await attachChild({ store, path, parent, credentials, committed });
}

function report(store: MemoryStore, outbox: FeedProducer, changes: readonly AppliedChange[]): void {
  store.write((t) => {
    for (const { key, after } of changes) {
      const entry = parseEntryKey(key);
      if (entry?.type !== 'object' || !after) continue;
      outbox.put(t, { key: entryKey.state(entry.source, entry.object), attributes, body: status }, 0);
      reported += 1;
    }
  });
}
