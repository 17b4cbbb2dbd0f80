/**
 * Agents that may have rows of this node's feed that its store does not know, because the store was restored from a backup. A row may be from a release that
 * the node handed out after the backup. The promoted form must replace this row, although the promoted form was written earlier. So when this node has received
 * everything from above, it sends these agents the promoted form once more, as a newer decision. The store has the names of the agents, because an agent's next
 * session would not show the difference any more.
 */
import { asText, concat, prefixRange, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';

export class OtherHistories {
  readonly #agents = new Set<string>();
  /** The agents whose work has been marked. */
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

  /**
   * Call it when the scheduler has no work left, and this node has received everything from above. `begin` marks the work for an agent. If the work was marked
   * before, it is done now, and the agent is forgotten.
   */
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
