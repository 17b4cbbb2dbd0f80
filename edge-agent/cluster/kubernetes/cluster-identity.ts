/**
 * Checks which cluster this is, by the uid of the namespace kube-system, which stays the same as long as the cluster exists. The store remembers the first
 * uid. The agent does not touch another cluster behind the same kubeconfig: that cluster would get objects that belong elsewhere, and the agent would report
 * that cluster's objects as those of the first one.
 */
import { BanyanError } from '../../../core/runtime/errors.ts';
import { asText, text } from '../../../core/store/bytes.ts';
import { prefixOf } from '../../../core/store/keyspace.ts';
import type { Store } from '../../../core/store/store.ts';

export interface ClusterIdentityPorts {
  readonly store: Store;
  /** The address of the API server, for messages. */
  readonly server: string;
  /** The uid that the cluster must have from now on, whatever uid it had before. */
  readonly expected?: string | undefined;
  /** Asks the cluster for its uid. */
  ask(): Promise<string>;
}

export class ClusterIdentity {
  readonly #ports: ClusterIdentityPorts;
  #checking: Promise<void> | undefined;

  constructor(ports: ClusterIdentityPorts) {
    this.#ports = ports;
  }

  /** Resolves if this is the same cluster as before. Asks once, until the server was unreachable. Throws Conflict for another cluster. */
  check(): Promise<void> {
    if (!this.#checking) {
      const checking = this.#check();
      this.#checking = checking;
      checking.catch(() => {
        if (this.#checking === checking) this.#checking = undefined;
      });
    }
    return this.#checking;
  }

  /** The server was unreachable, and another server may answer next. */
  unsure(): void {
    this.#checking = undefined;
  }

  async #check(): Promise<void> {
    const { store, server, expected } = this.#ports;
    const uid = await this.#ports.ask();
    const stored = store.read((reader) => reader.get(prefixOf('clusterIdentity')));
    const remembered = stored && asText(stored);
    if (uid === (expected ?? remembered ?? uid)) {
      if (remembered !== uid) store.write((t) => t.put(prefixOf('clusterIdentity'), text(uid)));
      return;
    }
    const which = expected === undefined ? 'the one that joined' : 'the one of cluster.kubernetes.uid';
    throw new BanyanError(
      'Conflict',
      `${server} is another cluster (the uid of its namespace kube-system is ${uid}) than ${which} (${expected ?? remembered}): nothing is applied to it; correct the kubeconfig, or accept it by cluster.kubernetes.uid: ${uid}`,
      {},
      { retry: 'backoff' },
    );
  }
}
