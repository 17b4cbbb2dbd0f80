/**
 * A process with many agents without clusters: each reports a state, with a status, for every object that it receives, and on request another state of all of
 * them. It ends with its parent.
 */

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
/** The agents, each with the objects that it has. */
const agents: Agent[] = [];

let reported = 0;

setHeapFlags();
answerParent(async (request: FleetChildrenRequest | FleetFlip | 'reported') => {
  if (request === 'reported') return reported;
  if ('available' in request) return flip(request);
  for (let i = 0; i < request.names.length; i += dialsAtOnce) {
    await Promise.all(request.names.slice(i, i + dialsAtOnce).map((name) => attach(request, name)));
  }
  return request.names.length;
});

async function attach({ authority, parent }: FleetChildrenRequest, name: string): Promise<void> {
  const path = `${parent.path}:${name}`;
  const credentials = await credentialsOf(authority, { path, role: 'agent' });
  const store = new MemoryStore();
  const states = new Set<string>();
  const committed = (changes: readonly AppliedChange[], outbox: FeedProducer) => {
    const present = changes.flatMap(({ key, after }) => (after ? stateKeys(key) : []));
    if (present.length > 0 && states.size === 0) agents.push({ store, outbox, states });
    for (const state of present) states.add(state);
    report({ store, outbox, states: new Set(present) }, replicas);
    reported += present.length;
  };
  await attachChild({ store, path, parent, credentials, committed });
}

interface Agent {
  readonly store: MemoryStore;
  readonly outbox: FeedProducer;
  /** The keys of the reports, one for each object. */
  readonly states: ReadonlySet<string>;
}

function stateKeys(key: string): string[] {
  const entry = parseEntryKey(key);
  return entry?.type === 'object' ? [entryKey.state(entry.source, entry.object)] : [];
}

function flip({ available }: FleetFlip): number {
  for (const agent of agents) report(agent, available);
  return agents.reduce((sum, { states }) => sum + states.size, 0);
}

function report({ store, outbox, states }: Agent, available: number): void {
  const is = { desired: 1, applied: true, available: available === replicas, generation: 1, local: 1 };
  const [attributes, body] = [text(JSON.stringify(is)), statusWith(available)];
  store.write((t) => {
    for (const key of states) outbox.put(t, { key, attributes, body }, 0);
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
