/**
 * A process with many agents that apply nothing, forked by a test: it attaches them and reports the entries that they have received. It ends with its parent.
 */
import type { KeyAndCertificate } from '../../core/identity/authority.ts';
import { issueNode } from '../../core/identity/authority.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { MemoryStore } from '../../core/store/memory/memory-store.ts';
import { attachChild } from '../bench/mesh-child.ts';

export interface CrowdRequest {
  readonly tree: string;
  readonly authority: KeyAndCertificate;
  readonly parent: { readonly address: string; readonly path: string };
  readonly names: readonly string[];
}

/** The total of all agents since the start of the process. */
export interface CrowdCount {
  readonly bytes: number;
  readonly entries: number;
}

/** Handshakes at once: each takes some milliseconds in both processes, and a dialer waits ten seconds. */
const dialsAtOnce = 50;
const count = { bytes: 0, entries: 0 };

process.on('disconnect', () => process.exit(0));
process.on('message', (request: CrowdRequest | 'count') => {
  if (request === 'count') {
    process.send?.(count satisfies CrowdCount);
    return;
  }
  attachAll(request).then(
    () => process.send?.(count satisfies CrowdCount),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});

async function attachAll(request: CrowdRequest): Promise<void> {
  for (let i = 0; i < request.names.length; i += dialsAtOnce) {
    await Promise.all(request.names.slice(i, i + dialsAtOnce).map((name) => attach(request, name)));
  }
}

async function attach({ tree, authority, parent }: CrowdRequest, name: string): Promise<void> {
  const path = `${parent.path}:${name}`;
  const node = { tree, path, role: 'agent' as const, hosts: ['127.0.0.1'] };
  const { certPem, keyPem } = await issueNode(authority, node, { clock: systemClock, random: systemRandom });
  const credentials = {
    caPem: Buffer.from(authority.certPem),
    certPem: Buffer.from(certPem),
    keyPem: Buffer.from(keyPem),
  };
  await attachChild({
    store: new MemoryStore(),
    path,
    parent,
    credentials,
    committed: (changes) => {
      count.entries += changes.length;
    },
    received: (bytes) => {
      count.bytes += bytes;
    },
  });
}
