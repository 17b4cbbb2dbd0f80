/**
 * Checks which cluster answers, by the uid of the namespace kube-system. This uid stays the same as long as the cluster exists. The store keeps the uid of
 * the first cluster. If another cluster is behind the same kubeconfig, the agent does not touch it. Otherwise, that cluster would get objects of the first
 * cluster, and the agent would report that cluster's objects as objects of the first cluster.
 */
import { BanyanError } from '../../../core/runtime/errors.ts';
import { asText, text } from '../../../core/store/bytes.ts';
import { prefixOf } from '../../../core/store/keyspace.ts';
import type { Store } from '../../../core/store/store.ts';

export interface ClusterIdentityPorts {
  readonly store: Store;
  /** The address of the API server, for messages. */
  readonly server: string;
  /** The uid that the cluster must have from now on, even if the store has another uid. */
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

  /** Resolves if the cluster is the same as before. Asks the cluster once, and again after `unsure`. Throws Conflict for another cluster. */
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

  /** Called when the server was unreachable: the next answer may come from another server. */
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
