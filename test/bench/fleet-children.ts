/**
 * A process with many agents without clusters: each reports a state, with a status, for every object that it receives, and on request another state of all of
 * them. It ends with its parent.
 */

import type { ObjectAttributes, TargetAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import type { PlacementId } from '../../core/entries/placement-id.ts';
import type { AppliedChange } from '../../core/feed/feed.ts';
import type { FeedProducer } from '../../core/feed/producer.ts';
import type { KeyAndCertificate } from '../../core/identity/authority.ts';
import { text } from '../../core/store/bytes.ts';
import { MemoryStore } from '../../core/store/memory/memory-store.ts';
import { emptyPartial, encodePartial } from '../../core/summary/partial.ts';
import { setHeapFlags } from '../../relay/process/heap-flags.ts';
import { credentialsOf } from './credentials.ts';
import { answerParent } from './forked.ts';
import { attachChild } from './mesh-child.ts';

/** All agents report that so many pods of each Deployment are available. The answer is the number of reports. */
export interface FleetFlip {
  readonly available: number;
}

export interface FleetChildrenRequest {
  readonly authority: KeyAndCertificate;
  readonly parent: { readonly address: string; readonly path: string };
  readonly names: readonly string[];
}

/** Handshakes at once: each takes some milliseconds in both processes, and a dialer waits ten seconds. */
const dialsAtOnce = 25;
const replicas = 2;
const agents: Agent[] = [];

setHeapFlags();
answerParent(async (request: FleetChildrenRequest | FleetFlip | 'reported') => {
  if (request === 'reported') return reported();
  if ('available' in request) {
    for (const agent of agents) report(agent, request.available);
    return reported();
  }
  for (let i = 0; i < request.names.length; i += dialsAtOnce) {
    await Promise.all(request.names.slice(i, i + dialsAtOnce).map((name) => attach(request, name)));
  }
  return request.names.length;
});

interface Agent {
  readonly store: MemoryStore;
  /** The form of each object, by the key of its report. */
  readonly objects: Map<string, { readonly uid: string; readonly generation: number }>;
  /** Keyed by placement. */
  readonly targets: Map<PlacementId, Pick<TargetAttributes, 'generation' | 'target'>>;
  outbox?: FeedProducer;
}

async function attach({ authority, parent }: FleetChildrenRequest, name: string): Promise<void> {
  const path = `${parent.path}:${name}`;
  const credentials = await credentialsOf(authority, { path, role: 'agent' });
  const agent: Agent = { store: new MemoryStore(), objects: new Map(), targets: new Map() };
  agents.push(agent);
  const committed = (changes: readonly AppliedChange[], outbox: FeedProducer) => {
    agent.outbox = outbox;
    for (const change of changes) note(agent, change);
    report(agent, replicas);
  };
  await attachChild({ store: agent.store, path, parent, credentials, committed });
}

function note({ objects, targets }: Agent, { key, after }: AppliedChange): void {
  const entry = parseEntryKey(key);
  if (!after) return;
  if (entry?.type === 'target') targets.set(entry.id, attributesOf<TargetAttributes>(after));
  if (entry?.type === 'object') {
    const { uid, generation } = attributesOf<ObjectAttributes>(after);
    objects.set(entryKey.state(entry.source, entry.object), { uid, generation });
  }
}

function reported(): number {
  return agents.reduce((sum, { objects }) => sum + objects.size, 0);
}

function report({ store, outbox, objects, targets }: Agent, available: number): void {
  const isAvailable = available === replicas;
  const body = statusWith(available);
  store.write((t) => {
    for (const [key, form] of objects) {
      const { generation } = form;
      const is = { desired: 1, form, applied: true, available: isAvailable, generation, local: 1 };
      outbox?.put(t, { key, attributes: text(JSON.stringify(is)), body }, 0);
    }
    for (const [id, { generation, target }] of targets) {
      const partial = emptyPartial(generation, target);
      const one = { expected: 1, fresh: 1, synced: 1, applied: 1, available: Number(isAvailable) };
      const sum = encodePartial({ ...partial, counts: { ...partial.counts, ...one } });
      outbox?.put(t, { key: entryKey.partial(id), attributes: new Uint8Array(0), body: sum }, 0);
    }
  });
}

/** As a Deployment has it. */
function statusWith(available: number): Uint8Array {
  const isAvailable = available === replicas;
  return text(
    JSON.stringify({
      availableReplicas: available,
      conditions: ['Available', 'Progressing'].map((type) => ({
        lastTransitionTime: '2026-11-27T00:00:00Z',
        lastUpdateTime: '2026-11-27T00:00:00Z',
        message: isAvailable ? `Deployment has minimum availability: ${type}` : `${type}: a pod is not available`,
        reason: isAvailable ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
        status: isAvailable || type === 'Progressing' ? 'True' : 'False',
        type,
      })),
      observedGeneration: 1,
      readyReplicas: available,
      replicas,
      updatedReplicas: replicas,
    }),
  );
}
