/**
 * Which cluster it is: the uid of its namespace kube-system, which lives as long as the cluster does. The first one that answers is remembered; another one
 * behind the same kubeconfig is not touched, since it would be given, and told as its own, what belongs elsewhere.
 */
import { BanyanError } from '../../../core/runtime/errors.ts';
import { asText, text } from '../../../core/store/bytes.ts';
import { prefixOf } from '../../../core/store/keyspace.ts';
import type { Store } from '../../../core/store/store.ts';

export interface ClusterIdentityPorts {
  readonly store: Store;
  /** For messages: where the API server is. */
  readonly server: string;
  /** The cluster that it is to be from now on, whichever it was. */
  readonly expected?: string | undefined;
  /** The uid as the cluster tells it now. */
  ask(): Promise<string>;
}

export class ClusterIdentity {
  readonly #ports: ClusterIdentityPorts;
  #checking: Promise<void> | undefined;

  constructor(ports: ClusterIdentityPorts) {
    this.#ports = ports;
  }

  /** Resolves when it is the cluster that it was; asked once, until the server has been away. Throws Conflict for another one. */
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

  /** The server was away, and may come back as another. */
  unsure(): void {
    this.#checking = undefined;
  }

  async #check(): Promise<void> {
    const { store, server, expected } = this.#ports;
    const uid = await this.#ports.ask();
    const known = store.read((reader) => reader.get(prefixOf('clusterIdentity')));
    const joined = known && asText(known);
    if (uid === (expected ?? joined ?? uid)) {
      if (joined !== uid) store.write((t) => t.put(prefixOf('clusterIdentity'), text(uid)));
      return;
    }
    const which = expected === undefined ? 'the one that joined' : 'the one of cluster.kubernetes.uid';
    throw new BanyanError(
      'Conflict',
      `${server} is another cluster (the uid of its namespace kube-system is ${uid}) than ${which} (${expected ?? joined}): nothing is applied to it; correct the kubeconfig, or accept it by cluster.kubernetes.uid: ${uid}`,
      {},
      { retry: 'backoff' },
    );
  }
}
