/**
 * Agents that come to one of several siblings: nothing is taken from their parent before it has heard from them what they have, and has made its mailbox fit
 * that. Whatever a sibling handed to them that this node did not would be taken away by the first reconciliation otherwise.
 *
 * Bound: one name for each agent that has come and not been heard out.
 */
export interface ArrivalsPorts {
  readonly hasSiblings: boolean;
  /** In words, what this node still has to hear before it can tell the child anything. */
  behind(child: string): string | undefined;
  /** These may follow their mailbox now. */
  changed(children: readonly string[]): void;
}

export class Arrivals {
  readonly #ports: ArrivalsPorts;
  /** All that they had to say has come; false: it has not. */
  readonly #waiting = new Map<string, boolean>();

  constructor(ports: ArrivalsPorts) {
    this.#ports = ports;
  }

  /** A session begins. */
  begin(child: string, role: 'relay' | 'agent'): void {
    if (this.#ports.hasSiblings && role === 'agent') this.#waiting.set(child, false);
  }

  /** What the child had to say is stored here. */
  caughtUp(child: string): void {
    if (this.#waiting.has(child)) this.#waiting.set(child, true);
  }

  mayFollow(child: string): boolean {
    return !this.#waiting.has(child);
  }

  /** Why the child has to wait, if all it had to say has come. */
  reason(child: string): string | undefined {
    return this.#waiting.get(child) ? this.#ports.behind(child) : undefined;
  }

  /** What was heard is worked off. */
  idle(): void {
    const now = [...this.#waiting].flatMap(([child, heard]) =>
      heard && this.#ports.behind(child) === undefined ? [child] : [],
    );
    for (const child of now) this.#waiting.delete(child);
    if (now.length > 0) this.#ports.changed(now);
  }
}
