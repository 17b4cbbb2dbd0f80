/**
 * Agents that may have something of this node's feed which its store does not know: the store was put back to a backup. That may be of a release which
 * the node had handed to them since. What was promoted is to take its place though it was written before it, so it is shipped to them once more, as a
 * newer decision, when all that is above is here. It says so in the store, since the agent's next session would not show it any more.
 */
import { asText, concat, prefixRange, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';

export class OtherHistories {
  readonly #agents = new Set<string>();
  /** Of these, those for whom it is work by now. */
  readonly #begun = new Set<string>();

  load(reader: Reader): void {
    const prefix = prefixOf('otherHistory');
    for (const [key] of reader.scan(prefixRange(prefix))) this.#agents.add(asText(key.subarray(prefix.length)));
  }

  has(agent: string): boolean {
    return this.#agents.has(agent);
  }

  get isEmpty(): boolean {
    return this.#agents.size === 0;
  }

  note(t: Transaction, agent: string): void {
    t.put(keyOf(agent), new Uint8Array(0));
    t.afterCommit(() => {
      this.#agents.add(agent);
      this.#begun.delete(agent);
    });
  }

  /** Nothing is left to do, and all that is above is here: those for whom there is work now, which `begin` makes. What was begun is done. */
  idle(t: Transaction, begin: (agent: string) => void): void {
    for (const agent of this.#agents) {
      if (this.#begun.has(agent)) t.remove(keyOf(agent));
      else begin(agent);
    }
    t.afterCommit(() => {
      for (const agent of this.#agents) {
        if (this.#begun.delete(agent)) this.#agents.delete(agent);
        else this.#begun.add(agent);
      }
    });
  }
}

function keyOf(agent: string): Uint8Array {
  return concat(prefixOf('otherHistory'), text(agent));
}
